package restapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/memstore"
	"eruptcloud/app/restapi"
	"eruptcloud/app/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what stands behind the API: repositories in memory and a real registry.
type world struct {
	nodes    map[string]fleet.Node
	groups   map[string]fleet.Group
	users    map[string]access.User
	roles    map[string]access.Role
	menus    map[string]access.Menu
	held     map[string]fleet.Hold // by location
	sessions map[string]access.Session
	registry *registry.Registry
	broken   error // what every repository answers
	refuse   error // what writes of nodes answer
	audit    []access.Entry
	actors   []access.Actor
	edits    []fleet.ConfigEdit
	doings   doings
	log      bytes.Buffer
	shell    *web.Shell
	handler  http.Handler
}

// The repositories; each is the world under another name, since their methods have the same ones.
type (
	nodeRepo  struct{ *world }
	groupRepo struct{ *world }
	holdRepo  struct{ *world }
	userRepo  struct{ *world }
	roleRepo  struct{ *world }
	menuRepo  struct{ *world }
	registryT struct{ *world }
)

func one[T any](w *world, all map[string]T, id string) (T, error) {
	v, ok := all[id]
	if w.broken != nil {
		return v, w.broken
	}
	if !ok {
		return v, fault.New(fault.NotFound, "there is no %q", id)
	}
	return v, nil
}

func sorted[T any](all map[string]T) []T {
	keys := make([]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]T, len(keys))
	for i, k := range keys {
		out[i] = all[k]
	}
	return out
}

// add refuses what is there already and ids without a character.
func add[T any](w *world, all map[string]T, id string, v T) (T, error) {
	switch _, ok := all[id]; {
	case w.broken != nil:
		return v, w.broken
	case ok:
		return v, fault.New(fault.Conflict, "%q exists already", id)
	case id == "":
		return v, fault.New(fault.Invalid, "a name is needed").Field("name", "is missing")
	}
	all[id] = v
	return v, nil
}

func remove[T any](w *world, all map[string]T, id string) error {
	if _, err := one(w, all, id); err != nil {
		return err
	}
	if id == "stuck" {
		return fault.New(fault.Conflict, "something stands in the way")
	}
	delete(all, id)
	return nil
}

func set[T any](target *T, v *T) {
	if v != nil {
		*target = *v
	}
}

func (r nodeRepo) ByName(_ context.Context, name string) (fleet.Node, error) {
	return one(r.world, r.nodes, name)
}

// List shows the last page for one past the end, as the real one does.
func (r nodeRepo) List(_ context.Context, f fleet.NodeFilter) ([]fleet.Node, int, error) {
	all := slices.DeleteFunc(sorted(r.nodes), func(n fleet.Node) bool {
		return !strings.Contains(n.Name, f.Query) || f.Group != "" && n.Group != f.Group || f.Enabled != nil && n.Enabled != *f.Enabled
	})
	page := min(max(f.Page, 1), max(1, (len(all)+f.PageSize-1)/f.PageSize))
	from := (page - 1) * f.PageSize
	return all[from:min(from+f.PageSize, len(all))], len(all), r.broken
}

func (r nodeRepo) Create(_ context.Context, in fleet.NewNode) (fleet.Node, string, error) {
	token := in.Token
	if token == "" {
		token = "GENERATED0123456"
	}
	if r.refuse != nil {
		return fleet.Node{}, "", r.refuse
	}
	r.actors = append(r.actors, access.Actor{Account: in.By})
	n, err := add(r.world, r.nodes, in.Name, fleet.Node{Name: in.Name, Display: in.Display, Group: in.Group, GroupID: r.groups[in.Group].ID, Enabled: in.Enabled})
	return n, token, err
}

func (r nodeRepo) Update(_ context.Context, name string, p fleet.NodePatch) (fleet.Node, error) {
	n, err := one(r.world, r.nodes, name)
	if err == nil {
		err = r.refuse
	}
	if err != nil {
		return n, err
	}
	set(&n.Display, p.Display)
	if set(&n.Group, p.Group); p.Group != nil {
		n.GroupID = r.groups[n.Group].ID
	}
	set(&n.Enabled, p.Enabled)
	r.nodes[name] = n
	return n, nil
}

func (r nodeRepo) Delete(_ context.Context, name, _ string) error {
	return remove(r.world, r.nodes, name)
}

func (r groupRepo) ByCode(_ context.Context, code string) (fleet.Group, error) {
	g, err := one(r.world, r.groups, code)
	for _, p := range r.groups {
		if p.ID == g.ParentID {
			g.Parent = p.Code
		}
	}
	return g, err
}
func (r groupRepo) List(context.Context) ([]fleet.Group, error) { return sorted(r.groups), r.broken }
func (r groupRepo) idOf(code string) int64                      { return r.groups[code].ID }

// Chain is the group and those above it.
func (r groupRepo) Chain(id int64) (chain []int64) {
	for id != 0 {
		chain = append(chain, id)
		parent := int64(0)
		for _, g := range r.groups {
			if g.ID == id {
				parent = g.ParentID
			}
		}
		id = parent
	}
	return chain
}

func (r groupRepo) Create(_ context.Context, in fleet.NewGroup) (fleet.Group, error) {
	return add(r.world, r.groups, in.Code, fleet.Group{ID: int64(len(r.groups) + 1), Code: in.Code, Name: in.Name, ParentID: r.idOf(in.Parent), Remark: in.Remark})
}

func (r groupRepo) Update(_ context.Context, code string, p fleet.GroupPatch) (fleet.Group, error) {
	g, err := one(r.world, r.groups, code)
	if err != nil {
		return g, err
	}
	set(&g.Name, p.Name)
	set(&g.Remark, p.Remark)
	if p.Parent != nil {
		g.ParentID = r.idOf(*p.Parent)
	}
	r.groups[code] = g
	return g, nil
}

func (r groupRepo) Delete(_ context.Context, code, _ string) error {
	return remove(r.world, r.groups, code)
}

func (r holdRepo) Set(_ context.Context, h fleet.Hold) (fleet.Hold, error) {
	if old, ok := r.held[h.Location]; ok {
		return old, r.broken
	}
	h.Created = start
	r.held[h.Location] = h
	return h, r.broken
}

func (r holdRepo) Lift(_ context.Context, _, location, _ string) error {
	return remove(r.world, r.held, location)
}

func (r holdRepo) Of(_ context.Context, node string) ([]fleet.Hold, error) {
	return slices.DeleteFunc(sorted(r.held), func(h fleet.Hold) bool { return h.Node != node }), r.broken
}

func (r holdRepo) Held(node, location string) (fleet.Hold, bool) {
	h, ok := r.held[location]
	return h, ok && h.Node == node
}

func (r userRepo) ByAccount(_ context.Context, account string) (access.User, error) {
	return one(r.world, r.users, account)
}

func (r userRepo) List(_ context.Context, f access.UserFilter) ([]access.User, int, error) {
	all := sorted(r.users)
	from := min((f.Page-1)*f.PageSize, len(all))
	return all[from:min(from+f.PageSize, len(all))], len(all), r.broken
}

func (r userRepo) Create(_ context.Context, n access.NewUser) (access.User, error) {
	r.actors = append(r.actors, n.By)
	return add(r.world, r.users, n.Account, access.User{Account: n.Account, Name: n.Name, Phone: n.Phone, Email: n.Email, Enabled: n.Enabled,
		Admin: n.Admin, RoleCodes: n.Roles, Remark: n.Remark, Created: start})
}

func (r userRepo) Update(ctx context.Context, account string, p access.UserPatch) (access.User, error) {
	r.actors = append(r.actors, p.By)
	u, err := one(r.world, r.users, account)
	if err != nil {
		return u, err
	}
	if account == "stuck" {
		return u, fault.New(fault.Conflict, "the last administrator")
	}
	set(&u.Name, p.Name)
	set(&u.Enabled, p.Enabled)
	set(&u.Admin, p.Admin)
	set(&u.RoleCodes, p.Roles)
	r.users[account] = u
	return u, nil
}

func (r userRepo) Delete(_ context.Context, account string, _ access.Actor) error {
	return remove(r.world, r.users, account)
}

func (r roleRepo) ByCode(_ context.Context, code string) (access.Role, error) {
	return one(r.world, r.roles, code)
}
func (r roleRepo) List(context.Context) ([]access.Role, error) { return sorted(r.roles), r.broken }

func (r roleRepo) Create(_ context.Context, n access.NewRole) (access.Role, error) {
	return add(r.world, r.roles, n.Code, access.Role{Code: n.Code, Name: n.Name, Sort: n.Sort, Enabled: n.Enabled, MenuCodes: n.Menus, ReadOnly: n.ReadOnly, Groups: n.Groups})
}

func (r roleRepo) Update(_ context.Context, code string, p access.RolePatch) (access.Role, error) {
	v, err := one(r.world, r.roles, code)
	if err != nil {
		return v, err
	}
	if code == "stuck" {
		return v, fault.New(fault.Conflict, "changed by somebody else")
	}
	set(&v.Name, p.Name)
	set(&v.Sort, p.Sort)
	set(&v.Enabled, p.Enabled)
	set(&v.MenuCodes, p.Menus)
	set(&v.ReadOnly, p.ReadOnly)
	set(&v.Groups, p.Groups)
	r.roles[code] = v
	return v, nil
}

func (r roleRepo) Delete(_ context.Context, code string) error {
	return remove(r.world, r.roles, code)
}

func (r menuRepo) ByCode(_ context.Context, code string) (access.Menu, error) {
	return one(r.world, r.menus, code)
}
func (r menuRepo) All(context.Context) ([]access.Menu, error) { return sorted(r.menus), r.broken }

func (r menuRepo) Create(_ context.Context, n access.NewMenu) (access.Menu, error) {
	return add(r.world, r.menus, n.Code, access.Menu{Code: n.Code, Name: n.Name, Type: n.Type, Value: n.Value, ParentCode: n.Parent, Status: n.Status, Sort: n.Sort, Icon: n.Icon})
}

func (r menuRepo) Update(_ context.Context, code string, p access.MenuPatch) (access.Menu, error) {
	r.actors = append(r.actors, p.By)
	v, err := one(r.world, r.menus, code)
	if err != nil {
		return v, err
	}
	if code == "stuck" {
		return v, fault.New(fault.Conflict, "changed by somebody else")
	}
	set(&v.Name, p.Name)
	set(&v.ParentCode, p.Parent)
	set(&v.Status, p.Status)
	r.menus[code] = v
	return v, nil
}

func (r menuRepo) Delete(_ context.Context, code string) error {
	return remove(r.world, r.menus, code)
}

func (r registryT) View() *registry.View { return r.registry.View() }
func (r registryT) Remove(ctx context.Context, k registry.Key, why registry.Reason) error {
	if r.broken != nil {
		return r.broken
	}
	return r.registry.Remove(ctx, k, why)
}

func (r registryT) LastHeartbeats(ctx context.Context, keys ...registry.Key) ([]time.Time, error) {
	if r.broken != nil {
		return nil, r.broken
	}
	return r.registry.LastHeartbeats(ctx, keys...)
}

func (w *world) Get(_ context.Context, token string, _ ...string) (access.Session, []bool, error) {
	s, ok := w.sessions[token]
	if !ok {
		return s, nil, fault.New(fault.Unauthenticated, "the session has ended")
	}
	return s, nil, nil
}

func (w *world) Record(e access.Entry) { w.audit = append(w.audit, e) }

var start = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		nodes: map[string]fleet.Node{"orders": {Name: "orders", Display: "Orders", Group: "eu", GroupID: 1, Enabled: true, FirstSeen: start}, "stock": {Name: "stock", Display: "Stock", Enabled: true}},
		groups: map[string]fleet.Group{"eu": {ID: 1, Code: "eu", Name: "Europe"}, "de": {ID: 2, Code: "de", Name: "Germany", ParentID: 1},
			"stuck": {ID: 3, Code: "stuck", Name: "stuck"}},
		users: map[string]access.User{"lin": {Account: "lin", Name: "Lin Yu", Enabled: true, RoleCodes: []string{"clerk"}, Created: start},
			"stuck": {Account: "stuck", Name: "stuck"}},
		roles:  map[string]access.Role{"clerk": {Code: "clerk", Name: "Clerk", Enabled: true, MenuCodes: []string{"m1"}}, "stuck": {Code: "stuck", Name: "stuck"}},
		menus:  map[string]access.Menu{"page": {Code: "page", Name: "Page", Type: "table", Value: "orders.Page", ParentCode: "stuck", Status: access.MenuHidden}, "stuck": {Code: "stuck", Name: "stuck"}},
		held:   map[string]fleet.Hold{},
		doings: doings{drains: map[string]fleet.Drain{}, loads: map[string]fleet.InFlight{}},
		sessions: map[string]access.Session{
			"root": {Account: "erupt", Name: "erupt", Admin: true}, "poor": {Account: "poor", Name: "poor"},
		},
	}
	now := func() time.Time { return start }
	w.registry = registry.New(registry.Options{Store: memstore.New(now), Now: now})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.registry.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := w.registry.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	var err error
	w.shell, err = web.New(web.Options{Sessions: w, BasePath: "/fleet", CookieKeys: [][]byte{make([]byte, 32), make([]byte, 16)},
		Logger: slog.New(slog.NewTextHandler(&w.log, nil)), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	restapi.Mount(w.shell, restapi.Options{
		Nodes: nodeRepo{w}, Groups: groupRepo{w}, Holds: holdRepo{w}, Users: userRepo{w}, Roles: roleRepo{w}, Menus: menuRepo{w}, Dicts: dictRepo{w}, Registry: registryT{w}, Audit: w,
		Tokens: tokenRepo{w}, Drains: drainRepo{w}, Refusals: refusalRepo{w}, Loads: loadRepo{w}, History: eventRepo{w},
	})
	w.handler = w.shell.Handler()
	return w
}

// register puts an instance into the registry.
func (w *world) register(t *testing.T, node, id, version string, locations ...string) {
	t.Helper()
	_, _, err := w.registry.Register(t.Context(), registry.Instance{
		Key: registry.Key{App: strings.ToUpper(node), ID: id}, NodeName: node, Origin: registry.OriginNode, Status: registry.Up, Locations: locations,
		Node: &registry.NodeDetail{Version: version, Erupts: []string{"Customer", "Order"}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) do(method, target, body, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if token != "" {
		r.Header.Set("token", token)
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec
}

// get reads an answer into v, refusing fields that v lacks.
func (w *world) get(t *testing.T, target string, v any) {
	t.Helper()
	res := w.do("GET", target, "", "root")
	dec := json.NewDecoder(res.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil || res.Code != 200 {
		t.Fatalf("GET %s answered %d: %v", target, res.Code, err)
	}
}
