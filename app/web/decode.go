package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
)

// DecodeJSON reads the request's body, at most limit bytes, as one JSON document into v. Unknown fields, text after the
// document and everything else that is wrong are fault.Invalid with line and column.
func DecodeJSON(c *gin.Context, v any, limit int64) error {
	release, err := ClaimBody(c.Request, limit)
	if err != nil {
		return err
	}
	defer release()
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	if err != nil {
		return BodyFault(err)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return fault.New(fault.Invalid, "the request has no body; a JSON object is expected")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return jsonFault(err, body, dec.InputOffset())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		line, col := position(body, dec.InputOffset())
		return fault.New(fault.Invalid, "line %d, column %d: text after the JSON document", line, col)
	}
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return fault.New(fault.Invalid, "the document is null; a JSON object is expected")
	}
	return CheckJSON(body)
}

// CheckJSON refuses documents that two readers understand in different ways: bytes that are no UTF-8, and a key that an
// object has twice. Keys that differ in case are the same, since encoding/json takes them so. What is no JSON at all is
// left to whoever decodes it.
func CheckJSON(body []byte) error {
	if !utf8.Valid(body) {
		return fault.New(fault.Invalid, "the JSON document is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var open []map[string]bool // the keys so far of each object around the next token; nil for a list
	atKey := false
	for {
		token, err := dec.Token()
		if err != nil {
			return nil
		}
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				open, atKey = append(open, map[string]bool{}), true
			case '[':
				open, atKey = append(open, nil), false
			default:
				open = open[:len(open)-1]
				atKey = len(open) > 0 && open[len(open)-1] != nil
			}
			continue
		case string:
			if atKey {
				keys, key := open[len(open)-1], strings.ToLower(t)
				if keys[key] {
					line, col := position(body, dec.InputOffset())
					return fault.New(fault.Invalid, "line %d, column %d: the key %q is there twice", line, col, shorten(t, 64))
				}
				keys[key], atKey = true, false
				continue
			}
		}
		atKey = len(open) > 0 && open[len(open)-1] != nil
	}
}

// BodyFault names why a body could not be read.
func BodyFault(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return fault.New(fault.TooLarge, "the request is larger than %d bytes", large.Limit).Because(err)
	}
	return fault.New(fault.Invalid, "the request broke off").Because(err)
}

func jsonFault(err error, body []byte, offset int64) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Offset == 0: // of a type that decodes itself and does not know where it stands
		return fault.New(fault.Invalid, "%s where %s is expected", withArticle(kind.Value), jsonName(kind.Type.Kind().String())).Because(err)
	case errors.As(err, &syntax):
		at, format, args := fault.JSONProblem(body, syntax)
		line, col := position(body, int64(at)+1)
		return fault.New(fault.Invalid, "line %d, column %d: "+format, append([]any{line, col}, args...)...).Because(err)
	case errors.As(err, &kind):
		line, col := position(body, kind.Offset)
		e := fault.New(fault.Invalid, "line %d, column %d: %s where %s is expected", line, col, withArticle(kind.Value), jsonName(kind.Type.Kind().String())).Because(err)
		if kind.Field != "" {
			e = e.Field(kind.Field, "must be %s", jsonName(kind.Type.Kind().String()))
		}
		return e
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		line, col := position(body, int64(len(body)))
		return fault.New(fault.Invalid, "line %d, column %d: the JSON document ends early", line, col).Because(err)
	}
	line, col := position(body, offset)
	if quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name, uerr := strconv.Unquote(quoted)
		if uerr != nil {
			name = quoted
		}
		name = shorten(name, 64)
		return fault.New(fault.Invalid, "line %d, column %d: unknown field %q", line, col, name).Field(name, "is unknown").Because(err)
	}
	return fault.New(fault.Invalid, "line %d, column %d: %s", line, col, err.Error()).Because(err)
}

func withArticle(noun string) string {
	if strings.HasPrefix(noun, "a") || strings.HasPrefix(noun, "o") { // array, object
		return "an " + noun
	}
	return "a " + noun
}

func jsonName(kind string) string {
	switch {
	case kind == "string":
		return "a string"
	case kind == "bool":
		return "true or false"
	case kind == "slice", kind == "array":
		return "an array"
	case kind == "struct", kind == "map":
		return "an object"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), strings.HasPrefix(kind, "float"):
		return "a number"
	}
	return fmt.Sprintf("a value of kind %s", kind)
}

// position turns an offset in bytes into a line and a column in characters, both from 1.
func position(body []byte, offset int64) (line, col int) {
	offset = min(max(offset, 0), int64(len(body)))
	before := body[:offset]
	line = bytes.Count(before, []byte("\n")) + 1
	last := bytes.LastIndexByte(before, '\n') + 1
	return line, max(1, len([]rune(string(before[last:]))))
}

// Bounds of lists.
const (
	DefaultPageSize = 20
	MaxPageSize     = 500
	maxPage         = 1_000_000
)

// PageOf reads ?page= (from 1) and ?pageSize= (1 to MaxPageSize).
func PageOf(c *gin.Context) (page, size int, err error) {
	if page, err = whole(c, "page", 1, maxPage); err != nil {
		return 0, 0, err
	}
	if size, err = whole(c, "pageSize", DefaultPageSize, MaxPageSize); err != nil {
		return 0, 0, err
	}
	return page, size, nil
}

func whole(c *gin.Context, name string, usual, most int) (int, error) {
	raw, given := c.GetQuery(name)
	if !given {
		return usual, nil
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < 1 || n > most {
		return 0, fault.New(fault.Invalid, "%s must be a whole number from 1 to %d", name, most).
			Field(name, "must be a whole number from 1 to %d", most)
	}
	return n, nil
}
