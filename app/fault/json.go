package fault

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// What a JSON text may do wrong, in our own words: encoding/json has its own, which nobody could translate.
const (
	jsonEnd        = "the text ends too early"
	jsonNoValue    = "a value is missing before %q"
	jsonValue      = "%q where a value is expected"
	jsonSingle     = "a single quote where a value is expected; texts stand in double quotes"
	jsonLastComma  = "a comma too many, or a key is missing, before %q"
	jsonKey        = "%q where a key in double quotes is expected"
	jsonColon      = "a colon is missing before %q"
	jsonComma      = "a comma or } is missing before %q"
	jsonListComma  = "a comma or ] is missing before %q"
	jsonAfter      = "%q after the end of the JSON document"
	jsonLineBreak  = `a line break inside a text: its closing quote is missing, or the break must be written \n`
	jsonControl    = `a control character inside a text, which must be written \u%04x`
	jsonEscape     = `%q after a backslash, where one of " \ / b f n r t u must stand`
	jsonHex        = `%q after \u, where four hexadecimal digits must stand`
	jsonDigit      = "%q in a number where a digit is expected"
	jsonZero       = "a number must not begin with 0"
	jsonWord       = "%q in a word that must be true, false or null"
	jsonDeep       = "the values are nested too deeply"
	jsonUnexpected = "%q is not expected here"
)

// JSONFormats are all formats that JSONProblem returns; callers put the place before them, and translations go by the whole.
var JSONFormats = []string{
	jsonEnd, jsonNoValue, jsonValue, jsonSingle, jsonLastComma, jsonKey, jsonColon, jsonComma, jsonListComma, jsonAfter,
	jsonLineBreak, jsonControl, jsonEscape, jsonHex, jsonDigit, jsonZero, jsonWord, jsonDeep, jsonUnexpected,
}

// JSONProblem says what is wrong with text, and at which byte of it, from what the decoder found.
func JSONProblem(text []byte, e *json.SyntaxError) (at int, format string, args []any) {
	said := e.Error()
	at = min(max(int(e.Offset)-1, 0), len(text))
	// At the end of the text the checker reads one more blank, and may blame that.
	blank := strings.HasPrefix(said, "invalid character ' '") && !bytes.HasSuffix(text, []byte(" "))
	if int(e.Offset) >= len(text) && (blank || strings.HasPrefix(said, "unexpected end")) || at == len(text) {
		return len(text), jsonEnd, nil
	}
	if strings.HasPrefix(said, "exceeded max depth") || strings.HasSuffix(said, "exceeded max depth") {
		return at, jsonDeep, nil
	}
	c, _ := utf8.DecodeRune(text[at:])
	format = jsonFormat(said, c, text[:at])
	if !strings.Contains(format, "%") {
		return at, format, nil
	}
	return at, format, []any{c}
}

// jsonFormat goes by the place that the scanner's text names, by the character that it does not like and by what is before.
func jsonFormat(said string, c rune, before []byte) string {
	in := func(place string) bool { return strings.Contains(said, place) }
	switch {
	case in("beginning of value") && strings.ContainsRune("}],:", c):
		return jsonNoValue
	case in("beginning of value") && c == '\'':
		return jsonSingle
	case in("beginning of value"):
		return jsonValue
	case in("beginning of object key") && c == '}':
		return jsonLastComma
	case in("beginning of object key"):
		return jsonKey
	case in("after object key:value pair"), in("after array element"), in("after top-level value"):
		return jsonAfterValue(said, c, before)
	case in("after object key"):
		return jsonColon
	case in("in string literal") && (c == '\n' || c == '\r'):
		return jsonLineBreak
	case in("in string literal"):
		return jsonControl
	case in("in string escape code"):
		return jsonEscape
	case in("hexadecimal character escape"):
		return jsonHex
	case in("numeric literal"):
		return jsonDigit
	case in("in literal"):
		return jsonWord
	}
	return jsonUnexpected
}

func jsonAfterValue(said string, c rune, before []byte) string {
	switch {
	case c >= '0' && c <= '9' && bytes.HasSuffix(before, []byte("0")):
		return jsonZero
	case strings.Contains(said, "after object key:value pair"):
		return jsonComma
	case strings.Contains(said, "after array element"):
		return jsonListComma
	}
	return jsonAfter
}
