package console

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/proxy"
)

var (
	_ Nodes    = (*fleet.Nodes)(nil)
	_ Groups   = (*fleet.Groups)(nil)
	_ Holds    = (*fleet.Holds)(nil)
	_ Registry = (*registry.Registry)(nil)
	_ Caller   = (*proxy.Caller)(nil)
	_ Users    = (*access.Users)(nil)
	_ Roles    = (*access.Roles)(nil)
	_ Menus    = (*access.Menus)(nil)
	_ Login    = (*access.Login)(nil)
	_ Sessions = (*access.Sessions)(nil)
	_ Audit    = (*access.Audit)(nil)
)

const secretToken = "TOPSECRETTOKEN16"

// now is the clock of all tests.
var now = time.Date(2026, 12, 1, 6, 32, 5, 0, time.UTC)

// world is everything behind the console, in memory.
type world struct {
	mu        sync.Mutex
	nodes     []fleet.Node
	groups    []fleet.Group
	holds     []fleet.Hold
	revisions map[string][]fleet.Revision // newest first
	table     *registry.Table
	instances []registry.Instance
	removed   []registry.Key
	log       map[string][]wire.LogLine // by location
	logCalls  []proxy.LogCall
	logErr    error
	traces    *fakeTraces      // nil: nobody keeps any
	failLog   map[string]error // by location
	ownLog    ownLines
	replicas  []string // the first answers
	users     []access.User
	roles     []access.Role
	menus     []access.Menu
	sessions  map[string]access.Session
	audit     []access.Entry
	searched  []access.AuditFilter
	logins    []access.LoginRecord
	fresh     bool // nobody has ever logged in
	listeners []func([]registry.Change)
	changed   []func(kind, id string)
	fail      error // what writes answer
	// generation is the number of the fleet's memory; 0: it has none, and nothing is kept from one request to the next.
	generation uint64
	asked      func(context.Context) // hears who asks for the number
	done       chan struct{}
	upms       *upmsWorld // organisations, dictionaries and the like; nil: the console has none of them
	deep       *deepWorld // drains, tokens, history and the like; nil: the console has none of them
}

func newWorld() *world {
	w := &world{
		revisions: map[string][]fleet.Revision{}, log: map[string][]wire.LogLine{}, sessions: map[string]access.Session{},
		table: registry.NewTable(func() time.Time { return now }), done: make(chan struct{}),
	}
	w.login("admin", true)
	return w
}

// login makes a session whose token is the account; codes are what it holds.
func (w *world) login(account string, admin bool, codes ...string) {
	s := access.Session{Token: account, Account: account, Name: account, Admin: admin, Values: map[string]access.Menu{}, Created: now, Expires: now.Add(time.Hour), Address: "10.0.0.9", Agent: "Firefox 140"}
	for _, c := range codes {
		s.Values[strings.ToLower(c)] = access.Menu{Value: c}
	}
	w.sessions[account] = s
}

func (w *world) node(n fleet.Node) {
	n.ID = int64(len(w.nodes) + 1)
	if n.Created.IsZero() {
		n.Created = now.Add(-72 * time.Hour)
	}
	w.nodes = append(w.nodes, n)
}

func (w *world) group(code, name, parent string) {
	g := fleet.Group{ID: int64(len(w.groups) + 1), Code: code, Name: name, Parent: parent}
	for _, p := range w.groups {
		if p.Code == parent {
			g.ParentID = p.ID
		}
	}
	w.groups = append(w.groups, g)
}

// instance registers one instance of a node.
func (w *world) instance(node, id, location, version string, change ...func(*registry.Instance)) {
	in := registry.Instance{
		Key: registry.Key{App: strings.ToUpper(node), ID: id}, NodeName: node, Origin: registry.OriginNode, Rev: registry.Seq(len(w.instances) + 1),
		Locations: []string{location}, Status: registry.Up, Lease: registry.Terms{Interval: 15 * time.Second, Duration: 10 * time.Minute},
		Registered: now.Add(-3 * time.Hour), Updated: now.Add(-time.Hour),
		Node: &registry.NodeDetail{Version: version, Erupts: []string{"Customer", "Order"}, Modules: []string{"erupt-core"}, Resources: map[string][]string{"flow": {"approve"}}, Peer: "10.0.0.5"},
	}
	for _, f := range change {
		f(&in)
	}
	w.instances = append(w.instances, in)
	w.table.Replace(slices.Clone(w.instances), registry.Seq(len(w.instances)), false)
}

type fakeNodes struct{ *world }

func (f fakeNodes) find(name string) int {
	return slices.IndexFunc(f.nodes, func(n fleet.Node) bool { return n.Name == name })
}

func (f fakeNodes) ByName(_ context.Context, name string) (fleet.Node, error) {
	if i := f.find(name); i >= 0 {
		return f.nodes[i], nil
	}
	return fleet.Node{}, fault.New(fault.NotFound, "no node is called %q", name)
}

func (f fakeNodes) All(context.Context) ([]fleet.Node, error) { return slices.Clone(f.nodes), nil }

func (f fakeNodes) Create(_ context.Context, n fleet.NewNode) (fleet.Node, string, error) {
	if f.fail != nil {
		return fleet.Node{}, "", f.fail
	}
	node := fleet.Node{Name: n.Name, Display: n.Display, Group: n.Group, Duty: n.Duty, Remark: n.Remark, Enabled: n.Enabled, Core: n.Core, UpdatedBy: n.By}
	f.node(node)
	return node, secretToken, nil
}

func (f fakeNodes) Update(_ context.Context, name string, p fleet.NodePatch) (fleet.Node, error) {
	i := f.find(name)
	if f.fail != nil || i < 0 {
		return fleet.Node{}, f.fail
	}
	n := &f.nodes[i]
	set(&n.Display, p.Display)
	set(&n.Group, p.Group)
	set(&n.Remark, p.Remark)
	set(&n.Enabled, p.Enabled)
	set(&n.Core, p.Core)
	set(&n.RawSession, p.RawSession)
	set(&n.Duty, p.Duty)
	n.UpdatedBy = p.By
	for _, tell := range f.changed {
		tell("node", name)
	}
	return *n, nil
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (f fakeNodes) Delete(_ context.Context, name, _ string) error {
	if f.fail != nil {
		return f.fail
	}
	f.nodes = slices.Delete(f.nodes, f.find(name), f.find(name)+1)
	return nil
}

// testBadgeKey makes the links to badges in tests.
var testBadgeKey = []byte("badges of a test")

func (f fakeNodes) Tokens(name string) []string {
	switch {
	case f.find(name) < 0:
		return nil
	case name == "empty":
		return []string{""}
	}
	return []string{secretToken}
}

func (f fakeNodes) Token(_ context.Context, name string) (string, error) {
	if f.find(name) < 0 {
		return "", fault.New(fault.NotFound, "no node is called %q", name)
	}
	return secretToken, nil
}

func (f fakeNodes) SetConfig(_ context.Context, name string, e fleet.ConfigEdit) (fleet.Node, error) {
	n := &f.nodes[f.find(name)]
	if e.BaseRevision != n.Revision {
		return fleet.Node{}, fault.New(fault.Conflict, "stale")
	}
	n.Config, n.Revision = e.JSON, n.Revision+1
	f.revise(name, *n, e)
	return *n, nil
}

func (f fakeNodes) revise(name string, n fleet.Node, e fleet.ConfigEdit) {
	f.world.revisions[name] = append([]fleet.Revision{{Number: n.Revision, Config: e.JSON, Author: e.Editor, Address: e.Address, Note: e.Note, Created: now}}, f.world.revisions[name]...)
}

func (f fakeNodes) Revisions(_ context.Context, name string, limit int) ([]fleet.Revision, error) {
	return limited(f.world.revisions[name], limit), nil
}

func limited(r []fleet.Revision, limit int) []fleet.Revision {
	if limit > 0 {
		return r[:min(limit, len(r))]
	}
	return r
}

func (f fakeNodes) Effective(_ context.Context, name string) (fleet.Effective, error) {
	return fleet.Effective{JSON: `{"pool":{"max":8,"password":"hunter2"},"log":"info"}`, Origin: map[string]string{"pool": "node", "log": "group:commerce"}}, nil
}

type fakeGroups struct{ *world }

func (f fakeGroups) ByCode(_ context.Context, code string) (fleet.Group, error) {
	i := slices.IndexFunc(f.groups, func(g fleet.Group) bool { return g.Code == code })
	if i < 0 {
		return fleet.Group{}, fault.New(fault.NotFound, "no group has the code %q", code)
	}
	return f.groups[i], nil
}
func (f fakeGroups) List(context.Context) ([]fleet.Group, error) { return slices.Clone(f.groups), nil }
func (f fakeGroups) Create(_ context.Context, n fleet.NewGroup) (fleet.Group, error) {
	if f.fail != nil {
		return fleet.Group{}, f.fail
	}
	f.group(n.Code, n.Name, n.Parent)
	return f.groups[len(f.groups)-1], nil
}
func (f fakeGroups) Update(_ context.Context, code string, p fleet.GroupPatch) (fleet.Group, error) {
	i := slices.IndexFunc(f.groups, func(g fleet.Group) bool { return g.Code == code })
	if f.fail != nil || i < 0 {
		return fleet.Group{}, f.fail
	}
	set(&f.groups[i].Name, p.Name)
	set(&f.groups[i].Remark, p.Remark)
	return f.groups[i], nil
}
func (f fakeGroups) Delete(context.Context, string, string) error { return f.fail }

// Chain knows of the tree what the world does: parents by id.
func (f fakeGroups) Chain(id int64) []int64 {
	var out []int64
	for id != 0 {
		out = append(out, id)
		i := slices.IndexFunc(f.groups, func(g fleet.Group) bool { return g.ID == id })
		if i < 0 {
			break
		}
		id = f.groups[i].ParentID
	}
	return out
}
func (f fakeGroups) SetConfig(_ context.Context, code string, e fleet.ConfigEdit) (fleet.Group, error) {
	g, err := f.ByCode(context.Background(), code)
	if err == nil && e.BaseRevision != g.Revision {
		err = fault.New(fault.Conflict, "stale")
	}
	return g, err
}
func (f fakeGroups) Revisions(_ context.Context, code string, limit int) ([]fleet.Revision, error) {
	return limited(f.world.revisions["group "+code], limit), nil
}

type fakeHolds struct{ *world }

func (f fakeHolds) Set(_ context.Context, h fleet.Hold) (fleet.Hold, error) {
	f.holds = append(f.holds, h)
	return h, nil
}
func (f fakeHolds) Lift(_ context.Context, node, location, _ string) error {
	before := len(f.holds)
	f.holds = slices.DeleteFunc(f.holds, func(h fleet.Hold) bool { return h.Node == node && h.Location == location })
	if len(f.holds) == before {
		return fault.New(fault.NotFound, "not held")
	}
	return nil
}
func (f fakeHolds) Of(_ context.Context, node string) ([]fleet.Hold, error) {
	return slices.DeleteFunc(slices.Clone(f.holds), func(h fleet.Hold) bool { return h.Node != node }), nil
}
func (f fakeHolds) Held(node, location string) (fleet.Hold, bool) {
	i := slices.IndexFunc(f.holds, func(h fleet.Hold) bool { return h.Node == node && h.Location == location })
	if i < 0 {
		return fleet.Hold{}, false
	}
	return f.holds[i], true
}

type fakeRegistry struct{ *world }

func (f fakeRegistry) View() *registry.View { return f.table.View() }
func (f fakeRegistry) LastHeartbeats(_ context.Context, keys ...registry.Key) ([]time.Time, error) {
	out := make([]time.Time, len(keys))
	for i := range out {
		out[i] = now.Add(-3 * time.Second)
	}
	return out, nil
}
func (f fakeRegistry) Conflicts(string) []registry.Conflict { return nil }
func (f fakeRegistry) Remove(_ context.Context, k registry.Key, why registry.Reason) error {
	f.removed = append(f.removed, k)
	var gone []registry.Change
	f.instances = slices.DeleteFunc(f.instances, func(in registry.Instance) bool {
		if in.Key == k {
			gone = append(gone, registry.Change{Seq: registry.Seq(len(f.instances) + 1), At: now, Action: registry.Deleted, Reason: why, In: in})
		}
		return in.Key == k
	})
	f.table.Apply(gone)
	for _, l := range f.listeners {
		l(gone)
	}
	return nil
}
func (f fakeRegistry) Listen(l func([]registry.Change)) { f.listeners = append(f.listeners, l) }

type fakeCaller struct{ *world }

func (f fakeCaller) Log(_ context.Context, c proxy.LogCall) ([]wire.LogLine, error) {
	f.mu.Lock() // instances are asked side by side
	defer f.mu.Unlock()
	f.logCalls = append(f.logCalls, c)
	if f.logErr != nil {
		return nil, f.logErr
	}
	if err := f.failLog[c.Location]; err != nil {
		return nil, err
	}
	all := f.log[c.Location]
	if c.Offset == nil {
		return all[max(len(all)-c.Size, 0):], nil
	}
	if n := len(all); n > 0 && all[n-1].Num == *c.Offset {
		return nil, nil // as a Java node does
	}
	out := slices.DeleteFunc(slices.Clone(all), func(l wire.LogLine) bool { return l.Num < *c.Offset })
	return out[:min(len(out), c.Size)], nil
}

type fakeUsers struct{ *world }

func (f fakeUsers) ByAccount(_ context.Context, account string) (access.User, error) {
	i := slices.IndexFunc(f.users, func(u access.User) bool { return u.Account == account })
	if i < 0 {
		return access.User{}, fault.New(fault.NotFound, "no user is called %q", account)
	}
	return f.users[i], nil
}
func (f fakeUsers) List(_ context.Context, l access.UserFilter) ([]access.User, int, error) {
	found := slices.DeleteFunc(slices.Clone(f.users), func(u access.User) bool {
		return l.Role != "" && !slices.Contains(u.RoleCodes, l.Role) || l.State != "" && !slices.Contains(u.States(now), l.State) ||
			l.Among != nil && !slices.Contains(l.Among, u.Account) || !strings.Contains(u.Account+u.Name, l.Query)
	})
	from := min((max(l.Page, 1)-1)*l.PageSize, len(found))
	return found[from:min(from+l.PageSize, len(found))], len(found), nil
}
func (f fakeUsers) Counts(_ context.Context, _ access.UserFilter) (map[access.UserState]int, error) {
	out := map[access.UserState]int{}
	for _, u := range f.users {
		for _, s := range u.States(now) {
			out[s]++
		}
	}
	return out, nil
}
func (f fakeUsers) CountByRole(context.Context) (map[string]int, error) {
	out := map[string]int{}
	for _, u := range f.users {
		for _, r := range u.RoleCodes {
			out[r]++
		}
	}
	return out, nil
}
func (f fakeUsers) LastLogins(context.Context, []access.User) (map[string]time.Time, error) {
	return map[string]time.Time{"lin.wei": now.Add(-2 * time.Hour)}, nil
}
func (f fakeUsers) Create(_ context.Context, n access.NewUser) (access.User, error) {
	if f.fail != nil {
		return access.User{}, f.fail
	}
	f.users = append(f.users, access.User{Account: n.Account, Name: n.Name, Enabled: n.Enabled, Admin: n.Admin})
	return access.User{}, nil
}
func (f fakeUsers) Update(context.Context, string, access.UserPatch) (access.User, error) {
	return access.User{}, f.fail
}
func (f fakeUsers) Delete(context.Context, string, access.Actor) error { return f.fail }
func (f fakeUsers) ChangePassword(_ context.Context, _, old, _ string) error {
	if old != "right" {
		return fault.New(fault.Invalid, "the present password is wrong").Field("old", "is wrong")
	}
	return nil
}

type fakeRoles struct{ *world }

func (f fakeRoles) ByCode(_ context.Context, code string) (access.Role, error) {
	i := slices.IndexFunc(f.roles, func(r access.Role) bool { return r.Code == code })
	if i < 0 {
		return access.Role{}, fault.New(fault.NotFound, "no role has the code %q", code)
	}
	return f.roles[i], nil
}
func (f fakeRoles) List(context.Context) ([]access.Role, error) { return f.roles, nil }
func (f fakeRoles) Create(_ context.Context, n access.NewRole) (access.Role, error) {
	if f.fail == nil {
		f.roles = append(f.roles, access.Role{Code: n.Code, Name: n.Name, Enabled: n.Enabled})
	}
	return access.Role{}, f.fail
}
func (f fakeRoles) Update(_ context.Context, code string, p access.RolePatch) (access.Role, error) {
	for i := range f.roles {
		if f.fail == nil && f.roles[i].Code == code {
			set(&f.roles[i].MenuCodes, p.Menus)
		}
	}
	return access.Role{}, f.fail
}
func (f fakeRoles) Delete(context.Context, string) error { return f.fail }

type fakeMenus struct{ *world }

func (f fakeMenus) All(context.Context) ([]access.Menu, error) { return f.menus, nil }
func (f fakeMenus) ByCode(_ context.Context, code string) (access.Menu, error) {
	i := slices.IndexFunc(f.menus, func(m access.Menu) bool { return m.Code == code })
	if i < 0 {
		return access.Menu{}, fault.New(fault.NotFound, "no menu has the code %q", code)
	}
	return f.menus[i], nil
}

func (f fakeMenus) Create(_ context.Context, n access.NewMenu) (access.Menu, error) {
	if f.fail != nil {
		return access.Menu{}, f.fail
	}
	m := access.Menu{ID: int64(len(f.menus) + 100), Code: n.Code, Name: n.Name, Type: n.Type, Value: n.Value, ParentCode: n.Parent, Status: n.Status, Sort: n.Sort, Icon: n.Icon}
	f.world.menus = append(f.menus, m)
	return m, nil
}

func (f fakeMenus) Update(_ context.Context, code string, p access.MenuPatch) (access.Menu, error) {
	i := slices.IndexFunc(f.menus, func(m access.Menu) bool { return m.Code == code })
	if f.fail != nil || i < 0 {
		return access.Menu{}, f.fail
	}
	m := &f.menus[i]
	set(&m.Name, p.Name)
	set(&m.Type, p.Type)
	set(&m.Value, p.Value)
	set(&m.ParentCode, p.Parent)
	set(&m.Icon, p.Icon)
	set(&m.Status, p.Status)
	m.Sort = p.Sort
	return *m, nil
}

func (f fakeMenus) Delete(_ context.Context, code string) error {
	if f.fail == nil {
		f.world.menus = slices.DeleteFunc(f.menus, func(m access.Menu) bool { return m.Code == code })
	}
	return f.fail
}

func (f fakeMenus) Offer(ctx context.Context, p access.Page) (access.Menu, bool, error) {
	m, err := f.Create(ctx, access.NewMenu{Code: p.Node + "." + p.Erupt, Name: p.Title, Type: cmp.Or(p.Type, "table"), Value: p.Node + "." + p.Erupt, Status: access.MenuOpen})
	return m, err == nil, err
}

type fakeLogin struct{ *world }

func (f fakeLogin) Attempt(_ context.Context, a access.Attempt) (access.Session, error) {
	switch {
	case a.Account == "locked":
		return access.Session{}, fault.New(fault.TooMany, "too many failed attempts; try again in %d minutes", 10).Retry(10 * time.Minute)
	case a.Password != "right":
		return access.Session{}, fault.New(fault.Unauthenticated, "account or password is wrong")
	}
	return f.sessions[a.Account], nil
}

type fakeSessions struct{ *world }

func (f fakeSessions) Get(_ context.Context, token string, codes ...string) (access.Session, []bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.sessions[token]
	if !ok {
		return access.Session{}, nil, fault.New(fault.Unauthenticated, "log in")
	}
	return s, make([]bool, len(codes)), nil
}
func (f fakeSessions) Logout(_ context.Context, token string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, token)
	return nil
}
func (f fakeSessions) EndAll(ctx context.Context, account string) error {
	return f.Logout(ctx, account)
}
func (f fakeSessions) End(_ context.Context, account, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for token, s := range f.sessions {
		if s.Account == account && s.ID() == id {
			delete(f.sessions, token)
			return nil
		}
	}
	return fault.New(fault.NotFound, "this session has ended already")
}
func (f fakeSessions) Accounts(context.Context) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, s := range f.sessions {
		out = append(out, s.Account)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
func (f fakeSessions) Of(_ context.Context, account string) ([]access.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, ok := f.sessions[account]; ok {
		return []access.Session{s}, nil
	}
	return nil, nil
}

type fakeAudit struct{ *world }

func (f fakeAudit) Record(e access.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.audit = append(f.audit, e)
}
func (f fakeAudit) Search(_ context.Context, l access.AuditFilter, from string) (access.AuditPage, error) {
	f.searched = append(f.searched, l)
	first, _ := strconv.Atoi(from)
	page := access.AuditPage{Entries: f.audit[min(first, len(f.audit)):min(first+max(l.PageSize, 1), len(f.audit))]}
	if next := first + l.PageSize; next < len(f.audit) {
		page.Older = strconv.Itoa(next)
	}
	return page, nil
}
func (f fakeAudit) Each(context.Context, access.AuditFilter) iter.Seq2[access.Entry, error] {
	return func(yield func(access.Entry, error) bool) {
		for _, e := range f.audit {
			if !yield(e, nil) {
				return
			}
		}
	}
}
func (f fakeAudit) ByID(_ context.Context, id int64) (access.Entry, error) {
	i := slices.IndexFunc(f.audit, func(e access.Entry) bool { return e.ID == id })
	if i < 0 {
		return access.Entry{}, fault.New(fault.NotFound, "the operation log has no entry %d", id)
	}
	return f.audit[i], nil
}
func (f fakeAudit) Logins(_ context.Context, q, _ string, _ int) ([]access.LoginRecord, string, error) {
	return slices.DeleteFunc(slices.Clone(f.logins), func(l access.LoginRecord) bool { return !strings.Contains(l.User, q) }), "", nil
}
func (f fakeAudit) NeverUsed(context.Context) (bool, error) { return f.fresh, nil }

// site is the console over a world, behind the front door.
type site struct {
	*world
	t       testing.TB
	http    http.Handler
	shell   *web.Shell
	cookies map[string]*http.Cookie // by account
}

func newSite(t testing.TB, w *world, change ...func(*web.Options)) *site {
	t.Helper()
	key := sha256.Sum256([]byte("test"))
	o := web.Options{
		Sessions: fakeSessions{w}, CookieKeys: [][]byte{key[:], key[:]}, CookieName: "ec_test", Logger: slog.New(slog.DiscardHandler),
		Version: "test", Counts: func(context.Context) (int, int) { return len(w.nodes), 0 }, Now: func() time.Time { return now },
	}
	for _, f := range change {
		f(&o)
	}
	shell, err := web.New(o)
	if err != nil {
		t.Fatal(err)
	}
	options := Options{
		Nodes: fakeNodes{w}, Groups: fakeGroups{w}, Holds: fakeHolds{w}, Registry: fakeRegistry{w}, Caller: fakeCaller{w},
		Users: fakeUsers{w}, Roles: fakeRoles{w}, Menus: fakeMenus{w}, Login: fakeLogin{w}, Sessions: fakeSessions{w}, Audit: fakeAudit{w},
		Listen: func(f func(kind, id string)) { w.changed = append(w.changed, f) }, Done: w.done, Now: func() time.Time { return now },
		ReadTokens: fakeNodes{w}, BadgeKey: testBadgeKey, ServerLog: w.ownLog.read, Replica: w.replica(), Replicas: func() []string { return w.replicas },
	}
	if w.generation > 0 {
		options.Fresh = w.freshNumber
	}
	if w.deep != nil {
		w.deep.fill(&options)
	}
	if w.upms != nil {
		w.upms.fill(&options)
	}
	if w.traces != nil {
		options.Traces = w.traces
	}
	err = Mount(shell, options)
	if err != nil {
		t.Fatal(err)
	}
	return &site{world: w, t: t, http: shell.Handler(), shell: shell, cookies: map[string]*http.Cookie{}}
}

// answer is what the console sent.
type answer struct {
	*httptest.ResponseRecorder
	body string
}

// as sends a request with the session of an account; opts change it.
func (s *site) as(account, method, path string, form url.Values, opts ...func(*http.Request)) answer {
	s.t.Helper()
	r := httptest.NewRequest(method, path, nil)
	if form != nil {
		r = httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Accept", "text/html")
	if account != "" {
		r.AddCookie(s.cookie(account))
	}
	for _, o := range opts {
		o(r)
	}
	rec := httptest.NewRecorder()
	s.http.ServeHTTP(rec, r)
	return answer{rec, rec.Body.String()}
}

func (s *site) get(path string, opts ...func(*http.Request)) answer {
	s.t.Helper()
	return s.as("admin", http.MethodGet, path, nil, opts...)
}

func (s *site) post(path string, form url.Values, opts ...func(*http.Request)) answer {
	s.t.Helper()
	if form == nil {
		form = url.Values{}
	}
	return s.as("admin", http.MethodPost, path, form, opts...)
}

// cookie seals a session token as a login would.
func (s *site) cookie(account string) *http.Cookie {
	s.t.Helper()
	if c := s.cookies[account]; c != nil {
		return c
	}
	form := url.Values{"account": {account}, "password": {"right"}}
	r := httptest.NewRequest(http.MethodPost, "/console/login", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	rec := httptest.NewRecorder()
	s.http.ServeHTTP(rec, r)
	for _, c := range rec.Result().Cookies() {
		if strings.HasPrefix(c.Name, "ec_test") {
			s.cookies[account] = c
			return c
		}
	}
	s.t.Fatalf("no session cookie for %s: %d %s", account, rec.Code, rec.Body)
	return nil
}

func htmx(target string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("HX-Request", "true")
		if target != "" {
			r.Header.Set("HX-Target", target)
		}
	}
}

func chinese(r *http.Request) { r.AddCookie(&http.Cookie{Name: web.LangCookie, Value: "zh"}) }

// commerce is a small fleet in every state that can be known.
func commerce() *world {
	w := newWorld()
	w.group("payments", "Payments", "")
	w.group("commerce", "Commerce", "")
	w.group("promo", "Promotions", "commerce")
	seen := now.Add(-48 * time.Hour)
	w.node(fleet.Node{Name: "payment-gateway", Display: "Payment gateway", Group: "payments", Enabled: true, Core: true, FirstSeen: seen, Duty: []string{"chen.yu"}})
	w.node(fleet.Node{Name: "ledger", Display: "General ledger", Group: "payments", Enabled: true, FirstSeen: seen})
	w.node(fleet.Node{Name: "order-service", Display: "Orders", Group: "commerce", Enabled: true, FirstSeen: seen, Revision: 2, Config: `{"pool":{"max":8,"password":"hunter2"}}`, UpdatedBy: "zhao.min", Updated: now.Add(-time.Hour), Remark: "the shop's heart"})
	w.node(fleet.Node{Name: "cart-service", Display: "Cart", Group: "commerce", Enabled: true, FirstSeen: seen})
	w.node(fleet.Node{Name: "promo-engine", Display: "Promotions", Group: "promo", Enabled: true, FirstSeen: seen})
	w.node(fleet.Node{Name: "legacy-mall", Display: "Old mall", Group: "commerce", Enabled: true, FirstSeen: seen})
	w.node(fleet.Node{Name: "coupon-v1", Display: "Coupons", Group: "promo", Enabled: false, FirstSeen: seen})
	w.node(fleet.Node{Name: "carrier-sf", Display: "Carrier", Enabled: true})
	w.instance("payment-gateway", "pg-1", "http://10.20.7.11:8080", "2.3.0")
	w.instance("ledger", "ledger-1", "http://10.20.7.21:8080", "2.3.0")
	for i := range 4 {
		version := "2.3.0"
		if i == 3 {
			version = "2.2.0"
		}
		w.instance("order-service", fmt.Sprintf("i-%d", i+1), fmt.Sprintf("http://10.20.4.1%d:8080", i+1), version)
	}
	w.instance("cart-service", "cart-1", "http://10.20.5.1:8080", "2.3.0", func(in *registry.Instance) { in.Status = registry.OutOfService })
	w.instance("cart-service", "cart-2", "http://10.20.5.2:8080", "2.3.0")
	w.instance("promo-engine", "promo-1", "http://10.20.6.1:8080", "2.2.0")
	w.holds = append(w.holds, fleet.Hold{Node: "promo-engine", Location: "http://10.20.6.1:8080", Reason: "bad disk on mk-07", Account: "chen.jie", Created: now.Add(-20 * time.Minute)})
	w.revisions["order-service"] = []fleet.Revision{
		{Number: 2, Config: `{"pool":{"max":8,"password":"hunter2"}}`, Author: "zhao.min", Address: "10.8.1.44", Note: "smaller pool", Created: now.Add(-time.Hour)},
		{Number: 1, Config: `{"pool":{"max":40,"password":"hunter2"}}`, Author: "lin.wei", Address: "10.8.1.31", Note: "first", Created: now.Add(-50 * time.Hour)},
	}
	w.users = []access.User{{ID: 1, Account: "admin", Name: "Administrator", Enabled: true, Admin: true, Created: now, PasswordSet: now}, {ID: 2, Account: "lin.wei", Name: "林薇", Enabled: true, Roles: []int64{1}, RoleCodes: []string{"ops"}, Created: now, PasswordSet: now}}
	w.roles = []access.Role{{ID: 1, Code: "ops", Name: "Operators", Enabled: true, Menus: []int64{2}}}
	w.menus = []access.Menu{{ID: 1, Code: "$NodeManager", Name: "Micronode Management", Status: access.MenuOpen}, {ID: 2, Code: "CloudNode", Name: "Node Config", Value: "CloudNode", Parent: 1, Status: access.MenuOpen}, {ID: 3, Code: "token", Name: "View Token", Type: "button", Value: "cloud_access_token_permission", Parent: 2, Status: access.MenuOpen}}
	for i := range 40 {
		content := fmt.Sprintf("2026-12-01 14:31:%02d.004 \x1b[32mINFO\x1b[m \x1b[36mx.e.sample.order.OrderController\x1b[0;39m GET /orders?customer=%d 200 31 ms", i, 8000+i)
		switch i % 7 {
		case 3:
			content = "2026-12-01 14:31:12.117 \x1b[33m WARN\x1b[m com.zaxxer.hikari.pool.HikariPool pool stats (total=8, active=8, idle=0, waiting=23)"
		case 6:
			content = "2026-12-01 14:31:13.020 \x1b[1;31mERROR\x1b[m x.e.sample.order.OrderService \x1b[31mcould not load order 90188214\x1b[m see https://wiki.internal/db-pool.\njava.sql.SQLTransientConnectionException: HikariPool-1\n\tat com.zaxxer.hikari.pool.HikariPool.getConnection(HikariPool.java:179)"
		}
		w.log["http://10.20.4.11:8080"] = append(w.log["http://10.20.4.11:8080"], wire.LogLine{Num: int64(i + 1), Content: content})
	}
	w.audit = []access.Entry{{ID: 7, At: now.Add(-time.Minute), User: "林薇", Account: "lin.wei", Address: "10.8.1.31", Action: "node.update", Subject: "order-service", Method: "POST", URL: "/console/nodes/order-service/settings", OK: true, Took: 12 * time.Millisecond, RequestID: "REQ1"}}
	return w
}

// must fails the test unless the answer has that status; it returns the body.
func (a answer) must(t testing.TB, status int) string {
	t.Helper()
	if a.Code != status {
		t.Fatalf("status = %d, want %d\n%s", a.Code, status, bytes.TrimSpace(a.Body.Bytes()))
	}
	return a.body
}
