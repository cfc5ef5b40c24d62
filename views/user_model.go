package views

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"
)

// UsersPath lists the accounts; an account is UserPath.
const UsersPath = "/console/users"

// UsersFragment is what a search swaps.
const UsersFragment = "users-list"

// itemPath is the address of a thing by its code. "new" is the form for a new one, so a thing of that name is asked for by name.
func itemPath(list, code string) string {
	if code == "new" {
		return list + "/new?item=1"
	}
	return list + "/" + url.PathEscape(code)
}

// UserPath returns the address of an account; what forms post to is below UserAction.
func UserPath(account string) string { return itemPath(UsersPath, account) }

// UserAction returns where a form about an account posts to.
func UserAction(account string, more ...string) string {
	return strings.Join(append([]string{UsersPath, url.PathEscape(account)}, more...), "/")
}

// UserQuery is the filter of the list of accounts as it stands in the address bar.
type UserQuery struct {
	Text, State, Role, Order string
	Org, Post                string // codes
	Page, Size               int
}

// UserOnline is the state of accounts that have open sessions; the others are those of access.
const UserOnline = "online"

// UserStateKeys are the states that the list filters for, in order.
var UserStateKeys = []string{"active", UserOnline, "locked", "expired", "admin", "password"}

// UserOrders are what the list can be sorted by; the first is the default.
var UserOrders = []string{"account", "name", "created", "expires"}

// ParseUserQuery reads the filter; what it does not understand it leaves out.
func ParseUserQuery(v url.Values) UserQuery {
	q := UserQuery{Text: strings.TrimSpace(v.Get("q")), Role: v.Get("role"), Org: v.Get("org"), Post: v.Get("post"), Page: whole(v.Get("page")), Size: whole(v.Get("size"))}
	if s := v.Get("state"); slices.Contains(UserStateKeys, s) {
		q.State = s
	}
	if o := v.Get("order"); slices.Contains(UserOrders[1:], o) {
		q.Order = o
	}
	return q
}

// Path returns the address of a list with this filter: list is UsersPath or that of its export.
func (q UserQuery) Path(list string) string {
	return withQuery(list, "q", q.Text, "state", q.State, "role", q.Role, "org", q.Org, "post", q.Post, "order", q.Order, "page", wholeText(q.Page, 1), "size", wholeText(q.Size, 0))
}

// Active reports whether anything is filtered.
func (q UserQuery) Active() bool { return q.Text+q.State+q.Role+q.Org+q.Post != "" }

// Toggled returns the filter with the state switched on or off, on the first page.
func (q UserQuery) Toggled(state string) UserQuery {
	q.Page = 0
	if q.State == state {
		state = ""
	}
	q.State = state
	return q
}

// In returns the list in another order, At another page of it.
func (q UserQuery) In(order string) UserQuery {
	q.Order, q.Page = order, 0
	if order == UserOrders[0] {
		q.Order = ""
	}
	return q
}

// At returns the same list at another page; size 0 keeps it.
func (q UserQuery) At(page, size int) UserQuery {
	q.Page = page
	if size > 0 {
		q.Size = size
	}
	return q
}

// UserList is the page of accounts.
type UserList struct {
	Filter UserQuery
	Rows   []UserRow
	Pager  Pager
	Chips  []FilterChip
	Roles  []RoleChoice
	Orgs   []GroupOption // to filter for, in tree order
	Posts  []GroupOption
	Placed bool // there are organisations
	All    int  // accounts without any filter
	Said   string
}

// UserRow is one account.
type UserRow struct {
	Account, Name string
	Roles         []RoleChoice
	States        []string // keys of user.state.…
	Created       time.Time
	Expires       time.Time // zero: never
	LastLogin     time.Time // zero: not known
	Sessions      int       // open now
	Org, Post     string    // names; empty: none
}

// place names organisation and post of a user.
func (r UserRow) place() string {
	if r.Org != "" && r.Post != "" {
		return r.Org + " · " + r.Post
	}
	return r.Org + r.Post
}

// Dim reports whether nobody can log in with it.
func (r UserRow) Dim() bool { return !slices.Contains(r.States, "active") }

// UserForm creates or changes an account.
type UserForm struct {
	Fields
	New                         bool
	Account, Name, Phone, Email string
	Remark                      string
	Enabled, Admin              bool
	Expires                     string // as forms write it: 2026-12-31T18:00 in the viewer's zone; empty: never
	AllowedIPs                  string
	Roles                       []RoleChoice
	Places                      bool   // organisation, post and first page can be chosen
	Org, Post, Home             string // codes
	Orgs, Posts, Homes          []GroupOption
	Self                        bool // the viewer's own account: it cannot be locked or deleted here
	MayAdmin                    bool // only an administrator makes administrators
	Untouchable                 bool // an administrator's account, for viewers who are none
	States                      []string
	Created, LastLogin          time.Time
	Programs                    int // ways in that act as this account
	PasswordSet                 time.Time
	Sessions                    []SessionRow
	Rights                      []RightArea
	RightNotes                  []Say
	Said                        string
	Secret                      string // a new password, shown this once
	MFA                         bool   // a second factor is bound
	Weak                        bool   // passwords are kept in a form that can be guessed
}

// RoleChoice is a role to give.
type RoleChoice struct {
	Code, Name string
	On         bool
	Enabled    bool
	ReadOnly   bool
	Limited    bool // to node groups
	Why        string
}

// RolePath returns the address of the role.
func (r RoleChoice) RolePath() string { return RolePath(r.Code) }

// RightArea are the rights of an account that belong together.
type RightArea struct {
	Title string
	Lines []RightLine
}

// RightLine is one right: what may be done, where, and because of which roles.
type RightLine struct {
	Code, Text string
	Where      string // empty: everywhere
	Roles      []RoleChoice
}

// SessionRow is a login that is still good.
type SessionRow struct {
	ID                     string
	Created, Used, Expires time.Time
	Address, Agent         string
	Browser                string // and system, in words
	Current                bool
}

func (m UserForm) title(ctx context.Context) string {
	if m.New {
		return T(ctx, "users.new")
	}
	return m.Account
}

func (m UserForm) mayChange(ctx context.Context) bool {
	if m.New {
		return May(ctx, "EruptUser@ADD")
	}
	return May(ctx, "EruptUser@EDIT") && !m.Untouchable
}

// userStateWord says a state of an account.
func userStateWord(ctx context.Context, state string) string { return T(ctx, "user.state."+state) }

// userStateClass colours what needs a look; the word stands beside it.
func userStateClass(state string) string {
	switch state {
	case "locked", "expired", "shared":
		return "is-down"
	case "password":
		return "is-slow"
	case "admin":
		return "is-drain"
	}
	return ""
}

// roleHeldBack reports whether the viewer cannot give one of the roles.
func (m UserForm) roleHeldBack() bool {
	return slices.ContainsFunc(m.Roles, func(r RoleChoice) bool { return r.Why != "" })
}
