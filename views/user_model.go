package views

import "time"

// UserList is the page of accounts.
type UserList struct {
	Query string
	Rows  []UserRow
	Pager Pager
	Said  string
}

// UserRow is one account.
type UserRow struct {
	Account, Name  string
	Roles          []string // names
	Enabled, Admin bool
	Created        time.Time
}

// UserForm creates or changes an account.
type UserForm struct {
	Fields
	New                         bool
	Account, Name, Phone, Email string
	Remark                      string
	Enabled, Admin              bool
	Roles                       []RoleChoice
	Self                        bool // the viewer's own account: it cannot be disabled or deleted here
	MayAdmin                    bool // only an administrator makes administrators
	Sessions                    []SessionRow
	Said                        string
}

// RoleChoice is a role to give.
type RoleChoice struct {
	Code, Name string
	On         bool
	Enabled    bool
}

// RoleList is the page of roles.
type RoleList struct {
	Rows []RoleRow
	Said string
}

// RoleRow is one role.
type RoleRow struct {
	Code, Name string
	Sort       int
	Enabled    bool
	Menus      int
}

// RoleForm creates or changes a role.
type RoleForm struct {
	Fields
	New        bool
	Code, Name string
	Sort       string
	Enabled    bool
	Menus      []MenuChoice
	Said       string
}

// MenuChoice is a menu or a permission that a role may bundle, in tree order.
type MenuChoice struct {
	Code, Name, Value string
	Depth             int
	On                bool
	Button            bool // a permission, not a page
	Disabled          bool
}

// AuditList is the operation log.
type AuditList struct {
	Query, Account, Subject string
	From, To                string // as typed: YYYY-MM-DD
	Rows                    []AuditRow
	Pager                   Pager
	Fields                  Fields
}

// AuditRow is one entry.
type AuditRow struct {
	At                           time.Time
	Account, User, Address       string
	Action, Subject, Method, URL string
	OK                           bool
	Error, Params, RequestID     string
	Took                         time.Duration
}

// LoginForm is the sign-in page.
type LoginForm struct {
	Fields
	Account string
	Next    string // where a login leads
	Ended   bool   // a session ended: say so
	Server  string // name of this installation, as its address says
}

// MePage is the viewer's own account.
type MePage struct {
	Fields
	Account, Name string
	Admin         bool
	Roles         []string
	Sessions      []SessionRow
	Said          string
}

// SessionRow is a login that is still good.
type SessionRow struct {
	Created, Expires time.Time
	Address, Agent   string
	Current          bool
}
