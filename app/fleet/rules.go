package fleet

import (
	"crypto/rand"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"eruptcloud/app/fault"
)

// Limits in characters, those of erupt's columns.
const (
	maxName   = 255
	maxRemark = 2000
	minToken  = 8
	maxToken  = 128
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// nodeName refuses names that could not stand in a route key, a Redis key and a metric everywhere (S36).
func nodeName(name string) error {
	if !validName.MatchString(name) {
		return invalid("name", "node name %q must have 1 to 64 letters (A to Z), digits, hyphens or underscores", name)
	}
	return nil
}

func groupCode(code string) error {
	if !validName.MatchString(code) {
		return invalid("code", "group code %q must have 1 to 64 letters (A to Z), digits, hyphens or underscores", code)
	}
	return nil
}

// invalid is fault.Invalid whose text also stands at one input.
func invalid(field, format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Field(field, format, args...)
}

// line checks a text of one line.
func line(field, text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) }) {
		return invalid(field, "%s must be one line of text without control characters", field)
	}
	return limited(field, text, maxName)
}

// deceives reports characters that make a text look other than it is: those that turn the direction of writing, and control
// characters other than the ends of lines.
func deceives(r rune) bool {
	return unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
}

// limited checks the length of a text, that it reads as it is, and that any database can store it.
func limited(field, text string, limit int) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return invalid(field, "%s is not valid text", field)
	}
	if strings.ContainsFunc(text, deceives) {
		return invalid(field, "%s must not hold control characters or ones that turn the direction of writing", field)
	}
	if n := utf8.RuneCountInString(text); n > limit {
		return invalid(field, "%s has %d characters, at most %d fit", field, n, limit)
	}
	return nil
}

// accessToken checks a token that was chosen, not generated: it travels in a header.
func accessToken(token string) error {
	odd := strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
	if odd || len(token) < minToken || len(token) > maxToken {
		return invalid("token", "an access token must have %d to %d printable ASCII characters without blanks", minToken, maxToken)
	}
	return nil
}

// newToken returns 16 random upper-case letters and digits, 80 bits, in the form that erupt makes (A25).
func newToken() string { return rand.Text()[:16] }

// dutyText returns the duty column: a JSON array of user names.
func dutyText(duty []string) (string, error) {
	kept := make([]string, 0, len(duty))
	for _, d := range duty {
		if d = strings.TrimSpace(d); d != "" {
			kept = append(kept, d)
		}
	}
	if len(kept) == 0 {
		return "", nil
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return "", err
	}
	return string(text), line("duty", string(text))
}

// dutyOf reads the duty column. Older versions of erupt separated the names by bars or commas.
func dutyOf(text string) []string {
	var duty []string
	if text == "" || json.Unmarshal([]byte(text), &duty) == nil {
		return duty
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == ',' })
}

// folded makes texts comparable whatever their case and composition (S37).
func folded(text string) string { return cases.Fold().String(norm.NFKC.String(text)) }
