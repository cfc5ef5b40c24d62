package views

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The addresses of the operation log and the login log.
const (
	AuditPath  = "/console/audit"
	LoginsPath = "/console/logins"
)

// The fragments of the operation log.
const (
	AuditFragment      = "audit-list"
	AuditEntryFragment = "audit-entry"
)

// AuditEntryPath returns the address of an entry.
func AuditEntryPath(id int64) string { return AuditPath + "/" + strconv.FormatInt(id, 10) }

// AuditQuery is the filter of the operation log as it stands in the address bar.
type AuditQuery struct {
	Text, Action, Outcome, Account, Subject string
	From, To                                string // as typed: 2026-12-31 or 2026-12-31T18:00
	Place                                   string // where the page begins
	Size                                    int
}

// ParseAuditQuery reads the filter; what it does not understand it leaves out, but for times and places, which are refused.
func ParseAuditQuery(v url.Values) AuditQuery {
	q := AuditQuery{
		Text: strings.TrimSpace(v.Get("q")), Action: v.Get("action"), Account: strings.TrimSpace(v.Get("account")),
		Subject: strings.TrimSpace(v.Get("subject")), From: v.Get("from"), To: v.Get("to"), Place: v.Get("at"), Size: whole(v.Get("size")),
	}
	if o := v.Get("outcome"); slices.Contains([]string{"ok", "failed"}, o) {
		q.Outcome = o
	}
	return q
}

// Path returns the address of a list with this filter: list is AuditPath or that of its export.
func (q AuditQuery) Path(list string) string {
	return withQuery(list, "q", q.Text, "action", q.Action, "outcome", q.Outcome, "account", q.Account, "subject", q.Subject,
		"from", q.From, "to", q.To, "at", q.Place, "size", wholeText(q.Size, 0))
}

// At returns the same list from another place on.
func (q AuditQuery) At(place string) AuditQuery {
	q.Place = place
	return q
}

// Active reports whether anything is filtered.
func (q AuditQuery) Active() bool {
	return q.Text+q.Action+q.Outcome+q.Account+q.Subject+q.From+q.To != ""
}

// AuditList is the operation log.
type AuditList struct {
	Filter  AuditQuery
	Actions []AuditAction // to choose from
	Rows    []AuditRow
	Older   string    // where the next page begins; empty: there is none
	Until   time.Time // how far a search looked that found too little
	Fields  Fields
}

// AuditAction is a kind of action and how it is shown.
type AuditAction struct{ Code, Word string }

// AuditRow is one entry.
type AuditRow struct {
	ID                           int64
	At                           time.Time
	Account, User, Address       string
	Action, Subject, Method, URL string
	SubjectPath                  string // the page of the subject; empty: there is none
	OK                           bool
	Error, RequestID             string
	Took                         time.Duration
	Changes                      []AuditChange
	Params                       string // what cannot be shown as changes
}

// AuditChange is one value of an entry: what it was, where that is known, and what it became.
type AuditChange struct {
	Name, Before, After string
	Known               bool // Before is known
	Same                bool
}

// LoginList is the login log.
type LoginList struct {
	Query, Place string
	Rows         []LoginRow
	Older        string
}

// Path returns the address of the login log from a place on.
func (m LoginList) Path(list, place string) string { return withQuery(list, "q", m.Query, "at", place) }

// LoginRow is a login that succeeded.
type LoginRow struct {
	At                    time.Time
	User, Address         string
	Browser, System, Kind string
}
