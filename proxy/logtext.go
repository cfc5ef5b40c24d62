package proxy

import (
	"encoding/json"
	"io"
	"mime"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"eruptcloud/nodeagent/wire"
)

// asUTF8 translates an answer that names another character set. Without a name the bytes stay as they are: what is no UTF-8
// is left to whoever shows the lines (S98).
func asUTF8(body io.Reader, contentType string) io.Reader {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["charset"] == "" {
		return body
	}
	set, err := htmlindex.Get(params["charset"])
	if err != nil {
		return body // a name that nobody knows is no name
	}
	if name, _ := htmlindex.Name(set); name == "utf-8" { // its decoder would replace bytes that are to stay visible
		return body
	}
	return set.NewDecoder().Reader(body)
}

// decodeLogLine reads one line. Unlike encoding/json it keeps bytes that are no UTF-8. Content is at most maxLogBytes/2 long;
// Size says how long it was.
func decodeLogLine(dec *json.Decoder) (wire.LogLine, error) {
	var raw struct {
		Content json.RawMessage `json:"content"`
		Num     int64           `json:"num"`
	}
	if err := dec.Decode(&raw); err != nil {
		return wire.LogLine{}, err
	}
	line := wire.LogLine{Num: raw.Num}
	if utf8.Valid(raw.Content) {
		if len(raw.Content) > 0 {
			if err := json.Unmarshal(raw.Content, &line.Content); err != nil {
				return line, err
			}
		}
	} else {
		line.Content = unquoteBytes(raw.Content)
	}
	if len(line.Content) > maxLogBytes/2 {
		line.Size = len(line.Content)
		line.Content = string([]byte(cutText(line.Content, maxLogBytes/2))) // copied: the rest is not to stay in memory
	}
	return line, nil
}

// cutText returns at most n bytes of s, and does not end inside a character.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range utf8.UTFMax {
		if n-i > 0 && utf8.RuneStart(s[n-i]) {
			return s[:n-i]
		}
	}
	return s[:n] // no UTF-8 anyway
}

// unquoteBytes is what a JSON string says, where its bytes may be of any character set. The decoder has checked its syntax.
func unquoteBytes(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	raw = raw[1 : len(raw)-1]
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r := hexRune(raw, i+1)
			i += 4
			if utf16.IsSurrogate(r) && i+6 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
				if both := utf16.DecodeRune(r, hexRune(raw, i+3)); both != utf8.RuneError {
					r, i = both, i+6
				}
			}
			out = utf8.AppendRune(out, r)
		default: // a quote, a slash, a backslash
			out = append(out, raw[i])
		}
	}
	return string(out)
}

func hexRune(raw []byte, at int) rune {
	if at+4 > len(raw) {
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(raw[at:at+4]), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}
