package buildmodel

import "strings"

type tokenKind int

const (
	punct tokenKind = iota
	name
	number
	text
)

type token struct {
	kind tokenKind
	text string
}

var operators = []string{"===", "!==", "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", "(", ")", "[", "]", ",", "."}

// scan cuts an expression into tokens; ok is false at the first character that no expression of the subset has.
func scan(s string) (out []token, ok bool) {
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '\'' || c == '"':
			t, n, ok := scanText(s[i:])
			if !ok {
				return nil, false
			}
			out = append(out, token{text, t})
			i += n
		case c >= '0' && c <= '9':
			n := 1
			for i+n < len(s) && (s[i+n] >= '0' && s[i+n] <= '9' || s[i+n] == '.') {
				n++
			}
			if !isNumber(s[i : i+n]) {
				return nil, false
			}
			out = append(out, token{number, s[i : i+n]})
			i += n
		case isName(c):
			n := 1
			for i+n < len(s) && (isName(s[i+n]) || s[i+n] >= '0' && s[i+n] <= '9') {
				n++
			}
			out = append(out, token{name, s[i : i+n]})
			i += n
		default:
			op := operatorAt(s[i:])
			if op == "" {
				return nil, false
			}
			out = append(out, token{punct, op})
			i += len(op)
		}
	}
	return out, true
}

func isName(c byte) bool { return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func operatorAt(s string) string {
	for _, op := range operators {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

// scanText reads a quoted text and returns it with its length in the source.
func scanText(s string) (string, int, bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case s[0]:
			return b.String(), i + 1, true
		case '\\':
			i++
			if i == len(s) || !strings.ContainsRune(`'"\`, rune(s[i])) {
				return "", 0, false
			}
			b.WriteByte(s[i])
		case '\n':
			return "", 0, false
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}
