package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// allow checks a parsed value against the limits of the field. form is the row as it comes in, old the stored one or nil.
func (f *Field) allow(ctx context.Context, v any, form, old Row) error {
	if v == nil {
		return nil
	}
	switch {
	case f.isText(), f.Type == TypePassword:
		return f.allowText(v.(string))
	case f.isNumber():
		return f.allowNumber(v)
	}
	switch f.Type {
	case TypeChoice:
		return f.allowOptions(ctx, []string{v.(string)}, form, old)
	case TypeMultiChoice:
		return f.allowOptions(ctx, v.([]string), form, old)
	case TypeTags:
		if f.extensible {
			return nil
		}
		return f.allowOptions(ctx, v.([]string), form, old)
	case TypeAttachment:
		return f.allowFiles(v.(string), old)
	}
	return nil
}

func (f *Field) allowText(s string) error {
	if f.maxLength > 0 && utf8.RuneCountInString(s) > f.maxLength {
		return bad("%s is longer than %d characters", f.maxLength)
	}
	if f.pattern != nil {
		if match := f.pattern.FindStringIndex(s); match == nil || match[0] != 0 || match[1] != len(s) {
			return &problem{"%s: " + strings.ReplaceAll(f.patternText, "%", "%%"), nil}
		}
	}
	return nil
}

func (f *Field) allowNumber(v any) error {
	n, _ := asFloat(v)
	if f.min != nil && n < *f.min {
		return bad("%s must be at least %s", shortNumber(*f.min))
	}
	if f.max != nil && n > *f.max {
		return bad("%s must be at most %s", shortNumber(*f.max))
	}
	if f.step > 0 {
		steps := (n - *f.min) / f.step
		if math.Abs(steps-math.Round(steps)) > 1e-6 {
			return bad("%s must be in steps of %s", shortNumber(f.step))
		}
	}
	if _, whole := v.(int64); whole || f.Type != TypeNumber {
		return nil
	}
	text := shortNumber(n)
	_, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > f.places {
		return bad("%s has more than %d decimal places", f.places)
	}
	if len(strings.Trim(strings.ReplaceAll(text, ".", ""), "-0")) > exactDigits {
		return bad("%s has too many digits")
	}
	return nil
}

// allowOptions accepts values among the options; one that is no longer offered may stay where it is stored.
func (f *Field) allowOptions(ctx context.Context, values []string, form, old Row) error {
	options, err := f.currentOptions(ctx, form)
	if err != nil {
		return err
	}
	stored := storedChoices(old[f.Name])
	for _, v := range values {
		i := slices.IndexFunc(options, func(o Option) bool { return o.Value == v })
		if (i < 0 || options[i].Disabled) && !slices.Contains(stored, v) {
			return bad("%s: %q is not one of the options", cutText(v, 60))
		}
	}
	return nil
}

func storedChoices(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []string:
		return v
	}
	return nil
}

// currentOptions returns what may be chosen now.
func (f *Field) currentOptions(ctx context.Context, form Row) ([]Option, error) {
	if f.optionsFrom == nil {
		return f.options, nil
	}
	options, err := f.optionsFrom(ctx, form)
	if err != nil {
		return nil, fmt.Errorf("options of %s: %w", f.Name, err)
	}
	return options, nil
}

// allowFiles accepts paths that this node has given out, and what is stored already.
func (f *Field) allowFiles(joined string, old Row) error {
	paths := strings.Split(joined, fileSeparator)
	if most := max(f.files.Max, 1); len(paths) > most {
		return bad("%s has more than %d entries", most)
	}
	stored, _ := old[f.Name].(string)
	for _, path := range paths {
		if slices.Contains(strings.Split(stored, fileSeparator), path) {
			continue
		}
		if !uploadedPath.MatchString(path) || !f.files.accepts(path) {
			return bad("%s: %q is not a file of this node", cutText(path, 60))
		}
	}
	return nil
}

func asFloat(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func shortNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

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
