package nodeagent

import (
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"eruptcloud/nodeagent/wire"
)

const (
	dayLayout   = "2006-01-02"
	exactDigits = 15      // decimal digits that a float64 keeps
	safeInteger = 1 << 53 // beyond it JavaScript rounds
)

var colour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// problem is something wrong with one value, in words for people; the title of the field is put in front.
type problem struct {
	format string
	args   []any
}

func (p *problem) Error() string { return say("", p.format, append([]any{"value"}, p.args...)...) }

// text says the problem of a field in a language.
func (p *problem) text(lang, title string) string {
	return say(lang, p.format, append([]any{title}, p.args...)...)
}

func bad(format string, args ...any) error { return &problem{format, args} }

// parse turns a value of a payload into that of a row. nil means no value. References are only read, not looked up. What is wrong
// comes back as a *problem.
func (f *Field) parse(raw any, textKey bool) (any, error) {
	if raw == nil || raw == "" {
		return nil, nil
	}
	switch {
	case f.isText(), f.Type == TypePassword:
		return f.parseText(raw)
	case f.isNumber():
		return f.parseNumber(raw)
	case f.isReference():
		return parseReference(raw, textKey)
	}
	switch f.Type {
	case TypeDate:
		return f.parseDate(raw)
	case TypeBoolean:
		return parseBool(raw)
	case TypeChoice:
		return parseScalar(raw)
	case TypeMultiChoice:
		return parseList(raw)
	case TypeTags:
		return f.parseTags(raw)
	case TypeColor:
		s, ok := raw.(string)
		if !ok || !colour.MatchString(s) {
			return nil, bad("%s must be a colour such as #2f80ed")
		}
		return strings.ToLower(s), nil
	case TypeAttachment:
		s, ok := raw.(string)
		if !ok {
			return nil, bad("%s must be text")
		}
		return emptyToNil(s), nil
	}
	return nil, bad("%s must be text")
}

func emptyToNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (f *Field) parseText(raw any) (any, error) {
	var s string
	switch v := raw.(type) {
	case string:
		s = v
	case json.Number: // a hidden counter, or a number typed into a text by a script
		s = v.String()
	case bool:
		s = strconv.FormatBool(v)
	default:
		return nil, bad("%s must be text")
	}
	if f.Type == TypeInput {
		s = strings.TrimSpace(s)
		if strings.ContainsAny(s, "\r\n") {
			return nil, bad("%s must be one line")
		}
	}
	if strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f || r == utf8.RuneError
	}) {
		return nil, bad("%s contains a character that is no text")
	}
	return emptyToNil(s), nil
}

// parseNumber reads whole numbers exactly and all others as float64; it never builds a number out of a long exponent.
func (f *Field) parseNumber(raw any) (any, error) {
	var s string
	switch v := raw.(type) {
	case json.Number:
		s = v.String()
	case string:
		s = strings.TrimSpace(v)
	default:
		return nil, bad("%s must be a number")
	}
	if s == "" {
		return nil, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if f.Type == TypeNumber && f.places < 0 {
			return n, nil
		}
		return float64(n), nil
	}
	if len(s) > 40 || strings.ContainsAny(s, "xXpP_iInN") { // hexadecimal, infinity and the like are no numbers here
		return nil, bad("%s must be a number")
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(n, 0) {
		return nil, bad("%s must be a number")
	}
	if f.Type == TypeNumber && f.places < 0 {
		if n != math.Trunc(n) || math.Abs(n) > safeInteger {
			return nil, bad("%s must be a whole number")
		}
		return int64(n), nil
	}
	return n, nil
}

func parseReference(raw any, textKey bool) (any, error) {
	if object, ok := raw.(map[string]any); ok {
		raw = object[defaultKey]
		if raw == nil && len(object) == 1 { // a page with another key: the only entry is it
			for _, v := range object {
				raw = v
			}
		}
	}
	id, ok := parseID(raw, textKey)
	if !ok {
		return nil, bad("%s must be a row of the list")
	}
	return id, nil
}

// parseID reads a primary key from JSON or a path segment.
func parseID(raw any, textKey bool) (ID, bool) {
	var s string
	switch v := raw.(type) {
	case nil:
		return nil, true
	case json.Number:
		s = v.String()
	case string:
		s = v
	case int64:
		return v, !textKey
	default:
		return nil, false
	}
	if s == "" {
		return nil, true
	}
	if textKey {
		return s, len(s) <= 255
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func (f *Field) parseDate(raw any) (any, error) {
	s, ok := raw.(string)
	if !ok {
		return nil, f.badDate()
	}
	t, ok := parseMoment(s)
	if !ok {
		return nil, f.badDate()
	}
	return t.Format(f.dateLayout()), nil
}

func (f *Field) dateLayout() string {
	if f.withTime {
		return wire.TimestampLayout
	}
	return dayLayout
}

func (f *Field) badDate() error {
	if f.withTime {
		return bad("%s must be a moment such as %s", "2026-01-31T09:30:00")
	}
	return bad("%s must be a day such as 2026-01-31")
}

// momentLayouts are what consoles, browsers and scripts send. A zone Z is ignored: moments are local ones.
var momentLayouts = []string{wire.TimestampLayout, "2006-01-02T15:04:05", "2006-01-02T15:04", dayLayout, "2006-01-02 15:04:05"}

func parseMoment(s string) (time.Time, bool) {
	s = strings.TrimSuffix(strings.TrimSpace(s), "Z")
	for _, layout := range momentLayouts {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1000 {
			return t, true
		}
	}
	return time.Time{}, false
}

func parseBool(raw any) (any, error) {
	switch v := raw.(type) {
	case bool:
		return v, nil
	case string:
		if b, err := strconv.ParseBool(v); err == nil {
			return b, nil
		}
	}
	return nil, bad("%s must be yes or no")
}

func parseScalar(raw any) (any, error) {
	switch v := raw.(type) {
	case string:
		return emptyToNil(v), nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return nil, bad("%s must be text")
}

func parseList(raw any) (any, error) {
	values, ok := raw.([]any)
	if !ok {
		return nil, bad("%s must be a list")
	}
	if len(values) > maxItems {
		return nil, bad("%s has more than %d entries", maxItems)
	}
	var out []string
	for _, v := range values {
		s, err := parseScalar(v)
		if err != nil {
			return nil, err
		}
		if text, ok := s.(string); ok && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if out == nil {
		return nil, nil
	}
	return out, nil
}

// parseTags accepts a list and, as erupt sends it, a list as JSON text.
func (f *Field) parseTags(raw any) (any, error) {
	if s, ok := raw.(string); ok {
		var list []any
		if err := json.Unmarshal([]byte(s), &list); err != nil {
			return nil, bad("%s must be a list")
		}
		raw = list
	}
	v, err := parseList(raw)
	tags, _ := v.([]string)
	if err != nil || tags == nil {
		return nil, err
	}
	if len(tags) > maxTags {
		return nil, bad("%s has more than %d entries", maxTags)
	}
	text := Field{Type: TypeInput}
	for i, tag := range tags {
		clean, err := text.parseText(tag)
		if err != nil {
			return nil, err
		}
		tags[i], _ = clean.(string)
		if utf8.RuneCountInString(tags[i]) > defaultInputLength {
			return nil, bad("%s is longer than %d characters", defaultInputLength)
		}
	}
	tags = slices.DeleteFunc(tags, func(t string) bool { return t == "" })
	if len(tags) == 0 {
		return nil, nil
	}
	return tags, nil
}

// normal brings a row of a source into the form that Field describes: sources may use all of Go's number types and time.Time.
func (p *page) normal(row Row) Row {
	for name, v := range row {
		switch v := v.(type) {
		case string, bool, int64, float64, []string, nil:
			continue
		case int:
			row[name] = int64(v)
		case int32:
			row[name] = int64(v)
		case uint32:
			row[name] = int64(v)
		case float32:
			row[name] = float64(v)
		case time.Time:
			layout := wire.TimestampLayout
			if f := p.byName[name]; f != nil {
				layout = f.dateLayout()
			}
			row[name] = v.Format(layout)
		case []Row:
			if item := p.items[name]; item != nil {
				for _, r := range v {
					item.normal(r)
				}
			}
		}
	}
	for _, f := range p.fields { // a whole number is a fine value of a decimal field
		if n, ok := row[f.Name].(int64); ok && f.isNumber() && (f.places >= 0 || f.Type != TypeNumber) {
			row[f.Name] = float64(n)
		} else if x, ok := row[f.Name].(float64); ok && f.Type == TypeNumber && f.places < 0 {
			row[f.Name] = int64(x)
		}
	}
	return row
}

// isProblem reports whether err is about the value rather than about the program.
func isProblem(err error) (*problem, bool) {
	var p *problem
	ok := errors.As(err, &p)
	return p, ok
}
