package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	_ "image/png" // captchas
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// heard is an answer to a request that both servers got.
type heard struct {
	status int
	header http.Header
	body   []byte
}

// compare tells every difference of two answers as a field of each; values that differ from run to run are masked before.
// Answers of different status are compared by what they say, not by every key.
func compare(ours, theirs heard, differ func(field, ours, theirs string)) {
	if ours.status != theirs.status {
		differ("status", strconv.Itoa(ours.status), strconv.Itoa(theirs.status))
		if o, t := ours.says(), theirs.says(); o != t {
			differ("says", o, t)
		}
		return
	}
	for _, name := range []string{"Content-Type", "Content-Disposition", "Location", "Set-Cookie", "Access-Control-Allow-Origin"} {
		if o, t := ours.head(name), theirs.head(name); o != t {
			differ("header "+name, o, t)
		}
	}
	o, t := ours.value(), theirs.value()
	differences("body", o, t, differ)
}

// head is a header, its case and spaces put aside.
func (h heard) head(name string) string {
	v := strings.Join(h.header.Values(name), ", ")
	if name == "Content-Type" {
		v = strings.ToLower(strings.ReplaceAll(v, " ", ""))
	}
	return v
}

// says is what an answer tells a person: the message of an error document, else the body.
func (h heard) says() string {
	v := h.value()
	if m, ok := v.(map[string]any); ok {
		for _, key := range []string{"message", "error"} {
			if text, ok := m[key].(string); ok {
				return text
			}
		}
	}
	return shown(v)
}

// value decodes a body: JSON, the cells of a sheet, the size of a picture, or text.
func (h heard) value() any {
	switch {
	case bytes.HasPrefix(h.body, []byte("PK")):
		return sheets(h.body)
	case bytes.HasPrefix(h.body, []byte{0xD0, 0xCF, 0x11, 0xE0}):
		return fmt.Sprintf("an .xls of %d bytes", len(h.body))
	case bytes.HasPrefix(h.body, []byte("\x89PNG")):
		c, _, err := image.DecodeConfig(bytes.NewReader(h.body))
		return fmt.Sprintf("a picture of %d×%d %v", c.Width, c.Height, err)
	case bytes.Contains(h.body[:min(len(h.body), 200)], []byte("<!DOCTYPE html>")) && bytes.Contains(h.body, []byte("erupt.version")):
		return "(the original's console page)"
	}
	dec := json.NewDecoder(bytes.NewReader(h.body))
	dec.UseNumber() // 5.0 and 5 are not the same answer
	var v any
	if dec.Decode(&v) == nil {
		if _, err := dec.Token(); err == io.EOF {
			return v
		}
	}
	return string(h.body)
}

// sheets are the parts of an .xlsx that hold cells.
func sheets(raw []byte) any {
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return "an .xlsx that cannot be read: " + err.Error()
	}
	out := map[string]any{}
	for _, f := range z.File {
		if !strings.HasPrefix(f.Name, "xl/worksheets/") && f.Name != "xl/sharedStrings.xml" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return err.Error()
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err.Error()
		}
		out[f.Name] = string(text)
	}
	return out
}

// differences walks two decoded values.
func differences(path string, ours, theirs any, differ func(field, ours, theirs string)) {
	switch o := ours.(type) {
	case map[string]any:
		t, ok := theirs.(map[string]any)
		if !ok {
			break
		}
		keys := slices.AppendSeq(slices.Collect(maps.Keys(o)), maps.Keys(t))
		slices.Sort(keys)
		for _, k := range slices.Compact(keys) {
			ov, oOK := o[k]
			tv, tOK := t[k]
			switch {
			case !oOK:
				differ(path+"."+k, "(absent)", shown(tv))
			case !tOK:
				differ(path+"."+k, shown(ov), "(absent)")
			default:
				differences(path+"."+k, ov, tv, differ)
			}
		}
		return
	case []any:
		t, ok := theirs.([]any)
		if !ok {
			break
		}
		if len(o) != len(t) && byID(path, o, t, differ) {
			return
		}
		if len(o) != len(t) {
			differ(path, fmt.Sprintf("%d elements", len(o)), fmt.Sprintf("%d elements", len(t)))
			return
		}
		for i := range o {
			differences(fmt.Sprintf("%s[%d]", path, i), o[i], t[i], differ)
		}
		return
	}
	if o, t := shown(ours), shown(theirs); o != t {
		differ(path, o, t)
	}
}

// byID compares lists of different length whose elements all have an id: what one of them lacks is told by it.
func byID(path string, ours, theirs []any, differ func(field, ours, theirs string)) bool {
	index := func(all []any) map[string]any {
		out := map[string]any{}
		for _, v := range all {
			m, ok := v.(map[string]any)
			if !ok || m["id"] == nil {
				return nil
			}
			out[shown(m["id"])] = v
		}
		return out
	}
	o, t := index(ours), index(theirs)
	if o == nil || t == nil {
		return false
	}
	both := slices.AppendSeq(slices.Collect(maps.Keys(o)), maps.Keys(t))
	slices.Sort(both)
	for _, id := range slices.Compact(both) {
		where := path + "[id " + id + "]"
		switch {
		case o[id] == nil:
			differ(where, "(absent)", shown(t[id]))
		case t[id] == nil:
			differ(where, shown(o[id]), "(absent)")
		default:
			differences(where, o[id], t[id], differ)
		}
	}
	return true
}

func shown(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

var (
	moment = regexp.MustCompile(`(\d{4}-\d\d-\d\d)([T _]|%20)(\d\d(?::|%3A|-)\d\d(?::|%3A|-)\d\d)(\.\d+)?(Z|\+00:00|\+0000)?`)
	stored = regexp.MustCompile(`/\d{4}-\d\d-\d\d/[A-Za-z0-9]{12}(\.[a-z0-9]+)`)
	// What is drawn by lot: only its presence is compared.
	drawn = regexp.MustCompile(`("hash":|"token":"|"requestId":"|_files=)[A-Za-z0-9_=%-]+`)
)

// mask replaces what differs from run to run: moments of today, names of stored files, and the values of words by their keys.
func mask(body []byte, words map[string]string) []byte {
	text := string(body)
	for _, k := range slices.SortedFunc(maps.Keys(words), func(a, b string) int { return len(words[b]) - len(words[a]) }) {
		if len(words[k]) > 5 { // shorter ones stand for other things too
			text = strings.ReplaceAll(text, words[k], "{"+k+"}")
		}
	}
	text = stored.ReplaceAllString(text, "/{day}/{stored}$1")
	text = drawn.ReplaceAllString(text, "${1}0")
	today := time.Now().UTC()
	return []byte(moment.ReplaceAllStringFunc(text, func(s string) string {
		m := moment.FindStringSubmatch(s)
		day, err := time.Parse(time.DateOnly, m[1])
		if err != nil || day.Before(today.AddDate(0, 0, -2)) || day.After(today.AddDate(0, 0, 2)) {
			return s
		}
		fraction := ""
		if m[4] != "" {
			fraction = ".f"
		}
		return "{today}" + m[2] + "{now}" + fraction + m[5]
	}))
}
