// Package access knows who a caller is and which permission codes they hold: users, roles, menus, logins, sessions,
// tokens delegated to nodes, and the audit trail.
package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// User is an account without its secrets.
type User struct {
	ID           int64
	Account      string // unique
	Name         string // display name
	Phone, Email string
	Enabled      bool
	Admin        bool // holds everything
	Roles        []int64
	RoleCodes    []string // of Roles, in the same order
	Org, Post    int64    // zero: none
	HomeMenu     int64    // zero: none
	ExpiresAt    time.Time
	AllowedIPs   string    // addresses or CIDR, one a line; empty: all
	PasswordSet  time.Time // zero: never changed by the user
	Avatar       string    // URL of a picture; empty: none
	MFA          bool      // a second factor is bound
	Remark       string
	Created      time.Time
	Shared       bool // other rows of an adopted database have the account too, so nobody can log in with it; only in lists
	// OrgCode and the others name these where lists and single users are read.
	OrgCode, OrgName   string
	PostCode, PostName string
	HomeCode           string
}

// Role bundles menus.
type Role struct {
	ID      int64
	Code    string // unique
	Name    string
	Sort    int
	Enabled bool
	Menus   []int64
	// MenuCodes are the codes of Menus, in the same order.
	MenuCodes []string
	// ReadOnly: codes that change something do not count, whatever the role bundles (D21).
	ReadOnly bool
	// Groups are node groups, by id; the role counts for nodes in their trees only, and of its codes only those that are about
	// nodes and groups. Empty: everywhere (D21).
	Groups []int64
}

// MenuStatus tells whether a menu is shown and whether its permission counts.
type MenuStatus int

// The statuses of a menu.
const (
	MenuOpen     MenuStatus = 1
	MenuHidden   MenuStatus = 2 // not in navigation, permission counts
	MenuDisabled MenuStatus = 3 // no effect at all
)

// Menu is a navigation entry or, as type button or api, a permission.
type Menu struct {
	ID     int64
	Code   string // unique
	Name   string
	Type   string // table, tree, form, button, api, link, … (erupt-wire 5.2); empty: folder
	Value  string // erupt name, permission code, URL or path, by type
	Status MenuStatus
	Parent int64 // zero: none
	// ParentCode is the code of Parent; empty in sessions.
	ParentCode string
	Sort       *int
	Icon       string
	Param      string
}

// Permission codes that the server itself asks for.
const (
	CodeViewToken   = "cloud_access_token_permission"
	CodeManageNodes = "cloud_node_manager_permission"
	CodeNodeLog     = "erupt_cloud_node_log"
	CodeNodes       = "CloudNode"      // + @ADD, @EDIT, @DELETE, @VIEW_DETAIL
	CodeGroups      = "CloudNodeGroup" // + the same
	CodeUsers       = "EruptUser"
	CodeRoles       = "EruptRole"
	CodeMenus       = "EruptMenu"
	CodeAudit       = "EruptOperateLog"
	CodeLogins      = "EruptLoginLog"
	CodeOrgs        = "EruptOrg"      // + @ADD, @EDIT, @DELETE
	CodePosts       = "EruptPost"     // + the same
	CodeDicts       = "EruptDict"     // + the same
	CodeDictItems   = "EruptDictItem" // + the same
	CodeOpenAPI     = "EruptOpenApi"  // + the same
	CodeOnline      = "EruptOnline"   // + @DELETE ends sessions
	CodeServerLog   = "erupt-log"     // the log of the server itself
)

// Session is a login. It holds what the user held when it was made or last rebuilt; Values is the permission set.
type Session struct {
	Token     string // 22 random alphanumerics
	UserID    int64
	Account   string
	Name      string
	Admin     bool
	Org, Post string   // codes
	Roles     []string // codes
	Menus     []Menu   // of status open, by sort
	Values    map[string]Menu
	// Scopes names for a code of Values the node groups, by id, in whose trees it is held (D21). A code that is missing here is
	// held everywhere.
	Scopes map[string][]int64
	// Writes names for a code of Values the node groups in whose trees it counts for changes, where these are fewer than those in
	// which it is held: a role that grants it is read-only. Empty: it counts for looking only.
	Writes map[string][]int64
	// Above are menus by id that were not granted but lie above granted ones; the stored form of a menu nests them.
	Above   map[int64]Menu
	Created time.Time
	Expires time.Time
	Used    time.Time // last request, a minute off at most; zero: not known, made by a Java server
	Address string    // client address at login
	Agent   string    // browser at login, shortened
}

// Holds reports whether the session has the permission code, compared in lower case. An admin holds every code.
func (s *Session) Holds(code string) bool {
	if s.Admin {
		return true
	}
	_, ok := s.Values[strings.ToLower(code)]
	return ok
}

// HoldsIn reports whether the session has the code for something that lies in a node group: groups are the ids of that group
// and of all above it. Nothing lies in no group but what belongs to no node, or to a node without a group; codes with a scope
// are not held there.
func (s *Session) HoldsIn(code string, groups []int64) bool {
	return s.Holds(code) && s.Reaches(code, groups)
}

// Reaches is HoldsIn for a code that is known to be held, which is all that can be asked of a session that Check returned.
func (s *Session) Reaches(code string, groups []int64) bool {
	if s.Admin {
		return true
	}
	scope, limited := s.Scopes[strings.ToLower(code)]
	return !limited || slices.ContainsFunc(scope, func(g int64) bool { return slices.Contains(groups, g) })
}

// MayChangeIn is HoldsIn for what changes something but has no code of its own, such as an operation on the records of a page:
// a page that is held by read-only roles alone does not do.
func (s *Session) MayChangeIn(code string, groups []int64) bool {
	if !s.HoldsIn(code, groups) {
		return false
	}
	scope, limited := s.Writes[strings.ToLower(code)]
	return s.Admin || !limited || slices.ContainsFunc(scope, func(g int64) bool { return slices.Contains(groups, g) })
}

// Gains names a code that the session holds for what lies in the groups to but not for what lies in the groups from: who moves
// something there would give himself that right for it. Both are as in HoldsIn; empty: none.
func (s *Session) Gains(from, to []int64) string {
	if s.Admin {
		return ""
	}
	var gained []string
	for code := range s.Scopes {
		if s.HoldsIn(code, to) && !s.HoldsIn(code, from) {
			gained = append(gained, code)
		}
	}
	for code := range s.Writes {
		if s.MayChangeIn(code, to) && !s.MayChangeIn(code, from) {
			gained = append(gained, code)
		}
	}
	if len(gained) == 0 {
		return ""
	}
	return slices.Min(gained)
}

// holdsFully reports whether the code is held without any limit.
func (s *Session) holdsFully(code string) bool {
	_, scoped := s.Scopes[strings.ToLower(code)]
	_, looks := s.Writes[strings.ToLower(code)]
	return s.Admin || s.Holds(code) && !scoped && !looks
}

// ID names the session where people see it: it is not the token, and the token does not follow from it.
func (s *Session) ID() string {
	sum := sha256.Sum256([]byte("session id\x00" + s.Token))
	return hex.EncodeToString(sum[:16])
}

// HoldsMenu is Holds without the admin's privilege: whether a menu with that value exists and was granted.
func (s *Session) HoldsMenu(code string) bool {
	_, ok := s.Values[strings.ToLower(code)]
	return ok
}

// SessionStore keeps sessions, in memory or in Redis in erupt's own layout (erupt-wire 7.2), and with them the count of
// failed logins, so that replicas share it. A store that does not answer is fault.Unavailable, never "unauthenticated".
// Sessions that it returns share memory with it: read only.
type SessionStore interface {
	// Create keeps s until ttl has passed.
	Create(ctx context.Context, s Session, ttl time.Duration) error
	// Get returns the session. fault.Unauthenticated if unknown or over.
	Get(ctx context.Context, token string) (Session, error)
	// Check is Get for the hot path: account, user and for each code whether Holds says so, without loading menus. Of Scopes
	// and Writes the session has those of the codes.
	Check(ctx context.Context, token string, codes ...string) (Session, []bool, error)
	// Replace puts user, menus and codes of s anew in one step and keeps its end. fault.Unauthenticated if it is over.
	Replace(ctx context.Context, s Session) error
	// Touch notes that the session is used, and moves its end unless ttl is zero.
	Touch(ctx context.Context, token string, ttl time.Duration) error
	// Delete ends a session; unknown is no error.
	Delete(ctx context.Context, token string) error
	// Tokens lists the live sessions of an account.
	Tokens(ctx context.Context, account string) ([]string, error)
	// Accounts lists the accounts that have live sessions.
	Accounts(ctx context.Context) ([]string, error)
	// CountTry counts one try to log in. A pair that has reached the limit is locked: such a try is not counted and must not be
	// made, and wait tells for how long; zero: go on, it was one of tries.
	CountTry(ctx context.Context, account, address string, l TryLimit) (tries int, wait time.Duration, err error)
	// ForgetTries drops the count and the lock, after a login that succeeded.
	ForgetTries(ctx context.Context, account, address string) error
}

// TryLimit says when tries lock a pair of account and address.
type TryLimit struct {
	Max  int           // tries until the lock; zero: they never lock
	Lock time.Duration // how long it lasts
	Life time.Duration // of the count, after its last try
}

// Entry is one row of the audit trail: who did what to what, from where, with which outcome.
type Entry struct {
	ID        int64 // set by the trail
	At        time.Time
	User      string // display name, or account
	Account   string
	Address   string
	Action    string          // e.g. "node.create", "token.view", "UPDATE | Customers"
	Subject   string          // e.g. node name
	Method    string          // HTTP method
	URL       string          // without tokens
	Params    json.RawMessage // masked
	Before    json.RawMessage // what a change replaced, in the form of Params, where it is known; masked
	OK        bool
	Error     string
	Took      time.Duration
	RequestID string
}
