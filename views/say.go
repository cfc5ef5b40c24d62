package views

import (
	"context"
	"strings"
	"unicode"
)

// Say is a sentence that a rule made from data: a key and what fills it. Components write it in the viewer's language.
type Say struct {
	Key  string
	Args []any
}

// Sayf returns the sentence of key; args are pairs as for T.
func Sayf(key string, args ...any) Say { return Say{Key: key, Args: args} }

// Empty reports whether there is nothing to say.
func (s Say) Empty() bool { return s.Key == "" }

// Text returns the sentence in the language of ctx. Arguments that are a Say themselves, or a Since, are written first.
func (s Say) Text(ctx context.Context) string {
	if s.Empty() {
		return ""
	}
	args := make([]any, len(s.Args))
	for i, a := range s.Args {
		switch v := a.(type) {
		case Say:
			args[i] = v.Text(ctx)
		case Since:
			args[i] = Ago(ctx, v.Time)
		case Age:
			args[i] = Precise(ctx, v.Time)
		default:
			args[i] = a
		}
	}
	return T(ctx, s.Key, args...)
}

// Part is a piece of a sentence; with Path it is a link.
type Part struct{ Text, Path string }

// The marks around a link inside a text, while it is put together. Both are control characters, which clean removes from
// everything that is filled in, so that data cannot forge one.
const (
	linkStart, linkPath, linkEnd = "\x01", "\x02", "\x03"
)

// linked returns text marked as a link to path.
func linked(text, path string) string {
	return linkStart + clean(text) + linkPath + clean(path) + linkEnd
}

// clean removes control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

// partsOf cuts a text with marks into its parts.
func partsOf(text string) []Part {
	var parts []Part
	for text != "" {
		before, rest, found := strings.Cut(text, linkStart)
		if before != "" {
			parts = append(parts, Part{Text: before})
		}
		if !found {
			break
		}
		label, rest, _ := strings.Cut(rest, linkPath)
		path, after, _ := strings.Cut(rest, linkEnd)
		parts = append(parts, Part{Text: label, Path: path})
		text = after
	}
	return parts
}

// PlainText returns the parts without their links.
func PlainText(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
