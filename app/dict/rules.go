package dict

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"eruptcloud/app/fault"
)

const (
	usualPage   = 20
	largestPage = 500
)

// pageOf turns a page number from 1 into offset and limit.
func pageOf(page, size int) (offset, limit int) {
	if size <= 0 {
		size = usualPage
	}
	size = min(size, largestPage)
	return (min(max(page, 1), 1<<30) - 1) * size, size
}

// codeRule is what a code of a new dictionary is made of; it stands in addresses.
var codeRule = regexp.MustCompile(`^[A-Za-z0-9_.$@-]{1,64}$`)

func (w Wish) check(create bool) error {
	var wrong *fault.Error
	if create && (!codeRule.MatchString(w.Code) || strings.Trim(w.Code, ".") == "") { // dots alone are a step in an address
		wrong = field(wrong, "code", "needs 1 to 64 letters, digits and . _ - $ @")
	}
	if strings.TrimSpace(w.Name) == "" {
		wrong = field(wrong, "name", "must not be empty")
	}
	wrong = text(wrong, "name", w.Name, 255)
	return orNil(text(wrong, "remark", w.Remark, 255))
}

func (w ItemWish) check() error {
	var wrong *fault.Error
	if strings.TrimSpace(w.Code) == "" {
		wrong = field(wrong, "code", "is needed")
	}
	wrong = text(wrong, "code", w.Code, 64)
	wrong = text(wrong, "name", w.Name, 255)
	wrong = text(wrong, "value", w.Value, 255)
	return orNil(text(wrong, "remark", w.Remark, 255))
}

// inRow tells in which row of an import something is wrong.
func inRow(i int, err error) error {
	f := fault.Of(err)
	for _, name := range []string{"code", "name", "value", "remark", "sort"} {
		if why, ok := f.Fields[name]; ok {
			const format = "row %d: %s %s"
			column, reason := fault.Phrase(name), fault.Phrase(why)
			return fault.New(fault.Invalid, format, i+1, column, reason).Field("file", format, i+1, column, reason)
		}
	}
	return err
}

// text adds a fault if s is too long for its column, no valid UTF-8 or holds control characters.
func text(err *fault.Error, name, s string, limit int) *fault.Error {
	switch {
	case !utf8.ValidString(s):
		return field(err, name, "is not valid UTF-8")
	case utf8.RuneCountInString(s) > limit:
		return field(err, name, "has more than %d characters", limit)
	case strings.ContainsFunc(s, func(r rune) bool {
		return unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	}):
		return field(err, name, "holds control characters")
	}
	return err
}

func field(err *fault.Error, name, format string, args ...any) *fault.Error {
	if err == nil {
		err = fault.New(fault.Invalid, "some fields need correction")
	}
	return err.Field(name, format, args...)
}

// orNil avoids the nil pointer that is no nil error.
func orNil(err *fault.Error) error {
	if err == nil {
		return nil
	}
	return err
}
