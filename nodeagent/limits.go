package nodeagent

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
