package views

import (
	"cmp"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// toldError finds the format that an English message was made from.
type toldError struct {
	start string         // what stands before the first verb
	re    *regexp.Regexp // with a group for each verb
	local string         // the format in Chinese
}

var verb = regexp.MustCompile(`%(?:\[(\d+)\])?[-+# 0-9.]*([a-zA-Z%])`)

// toldErrors are the formats of the catalogue, those that say most by themselves first: "%s: %s" would fit nearly everything.
var toldErrors = sync.OnceValue(func() []toldError {
	files, err := fs.Glob(localeFiles, "locale/errors_*.zh.toml")
	if err != nil {
		panic(err)
	}
	var out []toldError
	for _, f := range files {
		raw, err := localeFiles.ReadFile(f)
		if err != nil {
			panic(err) // embedded
		}
		var texts map[string]any
		if err := toml.Unmarshal(raw, &texts); err != nil {
			panic(err) // a test loads them all
		}
		for key, text := range texts {
			format, ok := strings.CutPrefix(key, errorKey(""))
			local, plain := text.(string)
			if ok && plain {
				out = append(out, toldOf(format, local))
			}
		}
	}
	slices.SortFunc(out, func(a, b toldError) int {
		return cmp.Or(cmp.Compare(len(b.re.String()), len(a.re.String())), cmp.Compare(a.re.String(), b.re.String()))
	})
	return out
})

func toldOf(format, local string) toldError {
	t := toldError{local: local}
	var pattern strings.Builder
	at := 0
	for _, m := range verb.FindAllStringSubmatchIndex(format, -1) {
		pattern.WriteString(regexp.QuoteMeta(format[at:m[0]]))
		if at == 0 {
			t.start = format[:m[0]]
		}
		at = m[1]
		switch format[m[4]:m[5]] {
		case "%":
			pattern.WriteString("%")
		case "d":
			pattern.WriteString(`(-?\d+)`)
		case "q":
			pattern.WriteString(`("(?:[^"\\]|\\.)*")`)
		default:
			pattern.WriteString(`((?s:.*?))`)
		}
	}
	if at == 0 {
		t.start = format
	}
	t.re = regexp.MustCompile(`^` + pattern.String() + regexp.QuoteMeta(format[at:]) + `$`)
	return t
}

// Retell returns an English message, as it was written down when something failed, in the language of lang: what filled its format
// is found in it again. One whose format is not in the catalogue stays as it is.
func Retell(lang, message string) string {
	if lang == Langs[0] || message == "" {
		return message
	}
	for _, t := range toldErrors() {
		if !strings.HasPrefix(message, t.start) {
			continue
		}
		if found := t.re.FindStringSubmatch(message); found != nil {
			return t.fill(found[1:])
		}
	}
	return message
}

// fill writes the Chinese format with what stood in the English message; it may take it in another order.
func (t toldError) fill(values []string) string {
	next := 1
	return verb.ReplaceAllStringFunc(t.local, func(v string) string {
		m := verb.FindStringSubmatch(v)
		if m[2] == "%" {
			return "%"
		}
		if m[1] != "" {
			if n, err := strconv.Atoi(m[1]); err == nil {
				next = n
			}
		}
		if next > len(values) || next < 1 {
			return v
		}
		value := values[next-1]
		next++
		return value
	})
}
