package console

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/views"
)

// changesOf lays the values of an entry out: one line a name where both sides are objects, what was changed first. Anything else
// stays the text that it is.
func changesOf(e access.Entry) (changes []views.AuditChange, text string) {
	after, isObject := objectOf(e.Params)
	before, known := objectOf(e.Before)
	if len(e.Params) > 0 && !isObject || len(e.Before) > 0 && !known {
		for _, raw := range []json.RawMessage{e.Before, e.Params} {
			if len(raw) > 0 {
				text += indented(raw) + "\n"
			}
		}
		return nil, text
	}
	names := slices.Sorted(maps.Keys(after))
	for _, n := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[n]; !ok {
			names = append(names, n)
		}
	}
	for _, n := range names {
		old, had := before[n]
		c := views.AuditChange{Name: n, Before: valueText(old), After: valueText(after[n]), Known: had}
		c.Same = had && c.Before == c.After
		changes = append(changes, c)
	}
	slices.SortStableFunc(changes, func(a, b views.AuditChange) int { return rank(a.Same) - rank(b.Same) })
	return changes, ""
}

// rank puts false first.
func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func objectOf(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	err := json.Unmarshal(raw, &m)
	return m, err == nil && m != nil
}

// valueText writes a value for people: texts without quotes, lists and objects as JSON.
func valueText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return joined(list)
	}
	return string(raw)
}

func joined(list []string) string {
	var b bytes.Buffer
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s)
	}
	return b.String()
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// auditItem is an entry as scripts get it.
type auditItem struct {
	ID        int64           `json:"id"`
	At        time.Time       `json:"at"`
	Account   string          `json:"account"`
	User      string          `json:"user"`
	Address   string          `json:"address"`
	Action    string          `json:"action"`
	Subject   string          `json:"subject"`
	OK        bool            `json:"ok"`
	Error     string          `json:"error,omitempty"`
	Method    string          `json:"method"`
	URL       string          `json:"url"`
	TookMS    int64           `json:"tookMs"`
	RequestID string          `json:"requestId"`
	Before    json.RawMessage `json:"before,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
}

func auditItemOf(e access.Entry) auditItem {
	item := auditItem{
		ID: e.ID, At: e.At, Account: e.Account, User: e.User, Address: e.Address, Action: e.Action, Subject: e.Subject, OK: e.OK, Error: e.Error,
		Method: e.Method, URL: e.URL, TookMS: e.Took.Milliseconds(), RequestID: e.RequestID,
	}
	if json.Valid(e.Before) {
		item.Before = e.Before
	}
	if json.Valid(e.Params) {
		item.Params = e.Params
	}
	return item
}
