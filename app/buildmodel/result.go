package buildmodel

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxMessage is how much of a node's message is shown, in bytes.
const maxMessage = 2000

// Result is the answer to a command, or the refusal of a question, in any of the shapes that nodes use.
type Result struct {
	OK     bool
	Status string // SUCCESS, ERROR, INFO, WARNING; empty for an error object and for text
	// Message is untrusted text for people; empty if the node gave none.
	Message string
	Data    json.RawMessage
	// Fields are messages for single fields, untrusted; only our own agents send them.
	Fields map[string]string
	// Crashed: the node reported an exception or a missing right (an error object), not a decision about the input.
	Crashed bool
}

// ReadResult reads the answer to insert, update, delete and the like. Only status SUCCESS within a 200 is a success: 1.x has no
// "success" key and a refusal comes with 200, too (erupt-wire 3.2).
func ReadResult(httpStatus int, body []byte) Result {
	r, ok := envelope(httpStatus, body)
	if !ok {
		r = Result{Message: shorten(string(bytes.TrimSpace(body))), Crashed: true}
		if looksLikeMarkup(r.Message) {
			r.Message = ""
		}
	}
	if httpStatus < 200 || httpStatus > 299 {
		r.OK = false
	}
	return r
}

// Refused reports whether the answer to a question (table, detail, tree, build) is no data but a refusal.
func Refused(httpStatus int, body []byte) (Result, bool) {
	if _, ok := envelope(httpStatus, body); !ok && httpStatus == 200 {
		return Result{}, false
	}
	return ReadResult(httpStatus, body), true
}

// envelope recognises R, EruptApiModel and the error object. A row may have a field called status: only status together with
// promptWay is an envelope, and an error object never comes with 200.
func envelope(httpStatus int, body []byte) (Result, bool) {
	if t := bytes.TrimSpace(body); len(t) == 0 || t[0] != '{' {
		return Result{}, false
	}
	var doc struct {
		Status    json.RawMessage `json:"status"`
		PromptWay json.RawMessage `json:"promptWay"`
		Message   json.RawMessage `json:"message"`
		Error     json.RawMessage `json:"error"`
		Data      json.RawMessage `json:"data"`
		Fields    json.RawMessage `json:"fields"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return Result{}, false
	}
	status := Text(doc.Status)
	switch status {
	case "SUCCESS", "ERROR", "INFO", "WARNING":
		if doc.PromptWay != nil {
			return Result{OK: status == "SUCCESS", Status: status, Message: shorten(Text(doc.Message)), Data: doc.Data, Fields: messages(doc.Fields)}, true
		}
	}
	if httpStatus != 200 && len(doc.Status) > 0 && isNumber(status) {
		r := Result{Message: shorten(Text(doc.Message)), Crashed: true}
		if r.Message == "" {
			r.Message = shorten(Text(doc.Error))
		}
		return r, true
	}
	return Result{}, false
}

func messages(raw json.RawMessage) map[string]string {
	row, err := ParseRow(raw)
	if err != nil || len(row) == 0 {
		return nil
	}
	out := make(map[string]string, len(row))
	for name := range row {
		if t := row.Text(name); t != "" {
			out[name] = shorten(t)
		}
	}
	return out
}

func looksLikeMarkup(s string) bool { return strings.HasPrefix(s, "<") }

// shorten cuts s at a character boundary.
func shorten(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxMessage {
		return s
	}
	cut := maxMessage
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// Blames returns the field that a node's message is about: messages start with the field's title ("Age Must be numeric").
// nil if none is named.
func (m *Model) Blames(message string) *Field {
	var found *Field
	for i := range m.Fields {
		f := &m.Fields[i]
		title := f.Edit.Title
		if title == "" || !strings.HasPrefix(message, title) || found != nil && len(title) <= len(found.Edit.Title) {
			continue
		}
		// "Age" must not take the message about "Agent": a Latin title ends at a word's end.
		next, _ := utf8.DecodeRuneInString(message[len(title):])
		if last, _ := utf8.DecodeLastRuneInString(title); isWord(last) && isWord(next) {
			continue
		}
		found = f
	}
	return found
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}
