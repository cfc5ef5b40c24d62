// Package console adapts the pages that admins see to the domain: one file a page or action, which reads the request,
// calls one thing and renders.
package console

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/proxy"
	"eruptcloud/static"
)

// Nodes are the profiles (fleet.Nodes).
type Nodes interface {
	ByName(ctx context.Context, name string) (fleet.Node, error)
	All(ctx context.Context) ([]fleet.Node, error)
	Create(ctx context.Context, n fleet.NewNode) (fleet.Node, string, error)
	Update(ctx context.Context, name string, p fleet.NodePatch) (fleet.Node, error)
	Delete(ctx context.Context, name, by string) error
	Token(ctx context.Context, name string) (string, error)
	SetConfig(ctx context.Context, name string, e fleet.ConfigEdit) (fleet.Node, error)
	Revisions(ctx context.Context, name string, limit int) ([]fleet.Revision, error)
	Effective(ctx context.Context, name string) (fleet.Effective, error)
}

// Groups are the group tree (fleet.Groups).
type Groups interface {
	ByCode(ctx context.Context, code string) (fleet.Group, error)
	List(ctx context.Context) ([]fleet.Group, error)
	Create(ctx context.Context, n fleet.NewGroup) (fleet.Group, error)
	Update(ctx context.Context, code string, p fleet.GroupPatch) (fleet.Group, error)
	Delete(ctx context.Context, code, by string) error
	SetConfig(ctx context.Context, code string, e fleet.ConfigEdit) (fleet.Group, error)
	Revisions(ctx context.Context, code string, limit int) ([]fleet.Revision, error)
	// Chain returns from memory the ids of a group and of all above it.
	Chain(id int64) []int64
}

// Holds keep addresses out of routing (fleet.Holds).
type Holds interface {
	Set(ctx context.Context, h fleet.Hold) (fleet.Hold, error)
	Lift(ctx context.Context, node, location, by string) error
	Of(ctx context.Context, node string) ([]fleet.Hold, error)
	Held(node, location string) (fleet.Hold, bool)
}

// Registry knows who is alive (registry.Registry).
type Registry interface {
	View() *registry.View
	LastHeartbeats(ctx context.Context, keys ...registry.Key) ([]time.Time, error)
	Conflicts(node string) []registry.Conflict
	Remove(ctx context.Context, k registry.Key, why registry.Reason) error
	Listen(func([]registry.Change))
}

// Caller speaks to nodes on behalf of a user (proxy.Caller).
type Caller interface {
	Log(ctx context.Context, c proxy.LogCall) ([]wire.LogLine, error)
}

// Users are the accounts (access.Users).
type Users interface {
	ByAccount(ctx context.Context, account string) (access.User, error)
	List(ctx context.Context, f access.UserFilter) ([]access.User, int, error)
	Counts(ctx context.Context, f access.UserFilter) (map[access.UserState]int, error)
	CountByRole(ctx context.Context) (map[string]int, error)
	LastLogins(ctx context.Context, users []access.User) (map[string]time.Time, error)
	Create(ctx context.Context, n access.NewUser) (access.User, error)
	Update(ctx context.Context, account string, p access.UserPatch) (access.User, error)
	Delete(ctx context.Context, account string, by access.Actor) error
	ChangePassword(ctx context.Context, account, old, new string) error
}

// Roles are the roles (access.Roles).
type Roles interface {
	ByCode(ctx context.Context, code string) (access.Role, error)
	List(ctx context.Context) ([]access.Role, error)
	Create(ctx context.Context, n access.NewRole) (access.Role, error)
	Update(ctx context.Context, code string, p access.RolePatch) (access.Role, error)
	Delete(ctx context.Context, code string) error
}

// Menus are the menus and permissions (access.Menus).
type Menus interface {
	All(ctx context.Context) ([]access.Menu, error)
	ByCode(ctx context.Context, code string) (access.Menu, error)
	Create(ctx context.Context, n access.NewMenu) (access.Menu, error)
	Update(ctx context.Context, code string, p access.MenuPatch) (access.Menu, error)
	Delete(ctx context.Context, code string) error
	Offer(ctx context.Context, p access.Page) (m access.Menu, added bool, err error)
}

// Login checks passwords (access.Login).
type Login interface {
	Attempt(ctx context.Context, a access.Attempt) (access.Session, error)
}

// Sessions are the logins that are still good (access.Sessions).
type Sessions interface {
	Logout(ctx context.Context, token string) error
	EndAll(ctx context.Context, account string) error
	Accounts(ctx context.Context) ([]string, error)
	Of(ctx context.Context, account string) ([]access.Session, error)
	// End ends the session of the account with that Session.ID. fault.NotFound if there is none any more.
	End(ctx context.Context, account, id string) error
}

// Audit is the operation log (access.Audit).
type Audit interface {
	Record(e access.Entry)
	Search(ctx context.Context, f access.AuditFilter, from string) (access.AuditPage, error)
	Each(ctx context.Context, f access.AuditFilter) iter.Seq2[access.Entry, error]
	ByID(ctx context.Context, id int64) (access.Entry, error)
	Logins(ctx context.Context, query, from string, size int) ([]access.LoginRecord, string, error)
	NeverUsed(ctx context.Context) (bool, error)
}

// Options of Mount. All interfaces are required.
type Options struct {
	Nodes    Nodes
	Groups   Groups
	Holds    Holds
	Registry Registry
	Caller   Caller
	// Pages asks nodes for the pages they host (proxy.Caller); nil: the console shows none.
	Pages PageCaller
	Users Users
	Roles Roles
	Menus Menus
	Login Login
	// Captcha and MFA may be nil: logins are asked for neither.
	Captcha Captcha
	MFA     MFA
	// AlwaysCaptcha: each login has to read a picture, the first one too.
	AlwaysCaptcha bool
	// WeakPasswords: the database keeps passwords in a form that whoever reads it can guess.
	WeakPasswords bool
	Sessions      Sessions
	Audit         Audit
	Tokens        Tokens
	Drains        Drains
	Refusals      Refusals
	Loads         Loads
	Traces        Traces
	History       History
	// Where these are nil, the console has no such pages.
	Orgs     Orgs
	Posts    Posts
	Dicts    Dicts
	OpenAPIs OpenAPIs
	Online   Online
	// ServerLog returns at most size lines of what this server logged, oldest first: from a number on, or the newest if it is below
	// zero. Nil: the console does not show it. Replica names this server among the Replicas that there are.
	ServerLog func(from int64, size int) []wire.LogLine
	Replica   string
	Replicas  func() []string
	// Fresh returns a number that is another one as soon as profiles, groups, holds or drains are (fleet.Fleet.Fresh); nil: nothing
	// is kept from one request to the next.
	Fresh func(context.Context) (uint64, error)
	// Listen registers for changes of profiles, groups and holds (fleet.Fleet.Listen).
	Listen func(func(kind, id string))
	// ReadTokens and BadgeKey make the links by which others read the state of a node; without either there are none.
	ReadTokens ReadTokens
	BadgeKey   []byte
	// Server is the address of this server as nodes reach it, with its base path; empty: as the browser sees it.
	Server string
	// Done ends when the process stops: open event streams end with it. Nil: never.
	Done <-chan struct{}
	Now  func() time.Time
}

// pages holds what all handlers of the console need.
type pages struct {
	Options
	shell    *web.Shell
	pictures *web.Limiter // captchas by address
	live     *hub
	logins   *web.Limiter // attempts by address
	views    *nodeViews   // nil: the console shows no pages of nodes
	own      ownPasswords
	board    board
}

// Mount adds the console and the static files to the shell's router.
func Mount(shell *web.Shell, o Options) error {
	if o.Nodes == nil || o.Groups == nil || o.Holds == nil || o.Registry == nil || o.Caller == nil || o.Users == nil ||
		o.Roles == nil || o.Menus == nil || o.Login == nil || o.Sessions == nil || o.Audit == nil {
		return errors.New("console: an interface of Options is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &pages{Options: o, shell: shell, live: newHub(), logins: web.NewLimiter(5, 30, 20_000, o.Now), pictures: web.NewLimiter(2, 30, 20_000, o.Now)}
	o.Registry.Listen(p.live.registryChanged)
	if o.Listen != nil {
		o.Listen(p.live.fleetChanged)
	}
	e := shell.Engine()
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		e.Handle(method, static.Prefix+"*file", shell.Handle(asset))
	}
	root := e.Group("/console", compress, p.stampVersion)
	p.mountEntry(root)
	p.mountNodes(root)
	p.mountGroups(root)
	p.mountAccess(root)
	p.mountLive(root)
	if o.Traces != nil {
		p.mountRoute(root)
	}
	p.mountPalette(root)
	p.mountBadges(e, root)
	if o.Pages != nil {
		p.mountPages(root)
	}
	return nil
}

// asset handles GET /static/*file; what is missing is said like everywhere else.
func asset(c *gin.Context) error {
	if !static.Has(c.Request.URL.Path) {
		return fault.New(fault.NotFound, "nothing is at this address")
	}
	static.Handler().ServeHTTP(c.Writer, c.Request)
	return nil
}

// route adds a route whose viewers need one of the codes; without codes any session will do.
func (p *pages) route(g *gin.RouterGroup, method, path string, h func(*gin.Context) error, codes ...string) {
	if method != http.MethodGet {
		h = formed(h, formLimit(path))
	}
	g.Handle(method, path, p.shell.RequireCookie(codes...), p.ownPassword, p.countVisible, p.shell.Handle(h))
}

// formed reads the form, at most limit bytes, before h does.
func formed(h func(*gin.Context) error, limit int64) func(*gin.Context) error {
	return func(c *gin.Context) error {
		release, err := web.ClaimBody(c.Request, limit)
		if err != nil {
			return err
		}
		defer release()
		if err := readForm(c, limit); err != nil {
			return err
		}
		return h(c)
	}
}

// form adds a route that changes something: forms send POST, scripts may say what they mean.
func (p *pages) form(g *gin.RouterGroup, method, path string, h func(*gin.Context) error, codes ...string) {
	p.route(g, http.MethodPost, path, h, codes...)
	if method != http.MethodPost {
		p.route(g, method, path, h, codes...)
	}
}

// record writes one line of the audit trail about what a handler just did, or failed to do; it returns err.
func (p *pages) record(c *gin.Context, action, subject string, err error) error {
	e := web.AuditEntry(c, action, subject)
	e.Took = p.Now().Sub(e.At)
	if err != nil {
		e.OK, e.Error = false, fault.Of(err).Message()
	}
	p.Audit.Record(e)
	return err
}

// viewer is the session of the request; RequireCookie has let it in.
func viewer(c *gin.Context) *access.Session { return web.SessionFrom(c) }

// actor is the viewer as access asks for him.
func actor(c *gin.Context) access.Actor {
	v := viewer(c)
	return access.Actor{Account: v.Account, Admin: v.Admin}
}

// isLive reports whether the live script asks for parts of an open page: htmx names the element that an answer is for.
func isLive(c *gin.Context) bool {
	return c.Request.Method == http.MethodGet && isFragment(c) && c.GetHeader("HX-Target") == ""
}

// isFragment reports whether htmx or the live script asks for a part of a page.
func isFragment(c *gin.Context) bool {
	h := c.Request.Header
	return h.Get("HX-Request") == "true" && h.Get("HX-Boosted") != "true" && h.Get("HX-History-Restore-Request") != "true"
}
