package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"eruptcloud/proxy"
)

// The people of the table besides those of the arena.
const (
	only    = "only"    // holds exactly the code that a route states
	without = "without" // holds every code but those that a route states
	eastern = "eastern" // holds every code, for the group east
	reader  = "reader"  // holds every code, to look only
)

// What a route is about, as a right for some groups is asked for it.
type subject string

const (
	ofNobody subject = "-"      // nothing that lies in a group
	ofNode   subject = "node"   // one node
	ofGroup  subject = "group"  // one group
	ofPage   subject = "page"   // one page of a node
	inGroup  subject = "into"   // a new node or group in a group that the body names
	listed   subject = "list"   // many nodes or groups: those of others are left out
	selected subject = "select" // those that the body names: others are refused one by one
	aForm    subject = "form"   // an empty form, for whoever holds the right anywhere
)

// right is what a route asks for.
type right struct {
	codes   []string // one of these; none: a session is enough
	subject subject
}

// changing reports whether a read-only role cannot give the right.
func (r right) changing() bool {
	return len(r.codes) > 0 && !slices.ContainsFunc(r.codes, func(c string) bool {
		_, function, _ := strings.Cut(c, "@")
		return !slices.Contains([]string{"ADD", "EDIT", "DELETE", "IMPORTABLE"}, function) && !strings.HasPrefix(c, "cloud_")
	})
}

// rightOf returns what the route states. open: whoever asks is answered, or it is no session that is asked for.
func rightOf(t testing.TB, e endpoint) (r right, open bool) {
	t.Helper()
	switch e.surface {
	case onPublic:
		return right{}, true
	case onProxy:
		return proxiedRight(e), false
	case onLocal: // a session, or nothing that exists: the rows of localRefusals
		return right{subject: ofNobody}, e.refusals(nobody) == nil
	}
	line, ok := stated()[e.method+" "+e.pattern]
	if !ok {
		t.Errorf("the route %s %s states no right: add it to the list in hostile_stated_test.go", e.method, e.pattern)
		return right{}, true
	}
	return line.right, line.open
}

// proxiedRight follows from the proxy's own table.
func proxiedRight(e endpoint) right {
	page := "orders.Secret"
	switch {
	case strings.HasPrefix(e.pattern, "/erupt-api/tpl/**"):
		return right{codes: []string{"report/sales.html"}, subject: ofPage}
	case e.erupt == "":
		return right{codes: []string{page}, subject: ofPage} // a file
	}
	switch e.proxied.Function {
	case proxy.None:
		return right{codes: []string{page}, subject: ofPage}
	case proxy.ViewDetail:
		return right{codes: []string{page + "@VIEW_DETAIL", page + "@EDIT"}, subject: ofPage}
	case proxy.AddOrEdit:
		return right{codes: []string{page + "@ADD", page + "@EDIT"}, subject: ofPage}
	}
	return right{codes: []string{page + "@" + string(e.proxied.Function)}, subject: ofPage}
}

// F18, D21: route by route, who is let in and who is not, and that a refusal changes nothing. The table is in the test's log.
func TestHostileRouteTable(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	b := &bench{arena: a, menus: map[string]string{}}
	b.furnish()
	type row struct {
		endpoint
		right
		open bool
	}
	var rows []row
	for _, e := range endpoints(t) {
		r, open := rightOf(t, e)
		rows = append(rows, row{e, r, open})
	}
	// By right: the roles of "only" and "without" are changed once for each.
	slices.SortStableFunc(rows, func(x, y row) int { return strings.Compare(strings.Join(x.codes, " "), strings.Join(y.codes, " ")) })
	table := make(map[surface][]string)
	before := "?"
	for _, r := range rows {
		if key := strings.Join(r.codes, " "); key != before {
			b.appoint(r.codes)
			before = key
		}
		b := &bench{arena: a.at(t), menus: b.menus}
		cells := b.try(r.endpoint, r.right, r.open)
		table[r.surface] = append(table[r.surface], fmt.Sprintf("%-6s %-62s %-46s %-7s %s", r.method, r.pattern, b.says(r.right, r.open), r.subject, cells))
	}
	t.Log(strings.Join(b.print(table), "\n"))
}

// bench tries one route after the other.
type bench struct {
	*arena
	menus map[string]string // value in lower case → code
}

// furnish puts orders into the group west and stock into east, and hires the people of the table.
func (b *bench) furnish() {
	b.t.Helper()
	b.must(http.MethodPost, "/api/v1/groups", map[string]any{"code": "west", "name": westMark}, http.StatusCreated, nil)
	b.must(http.MethodPatch, "/api/v1/nodes/orders", map[string]any{"group": "west", "name": westMark}, http.StatusOK, nil)
	b.must(http.MethodPatch, "/api/v1/nodes/stock", map[string]any{"group": "east"}, http.StatusOK, nil)
	for _, page := range []string{"orders.Secret", "stock.Secret", "stock.Allowed"} {
		b.must(http.MethodPost, "/api/v1/menus", map[string]any{"code": page, "name": page, "type": "table", "value": page}, http.StatusCreated, nil)
	}
	b.must(http.MethodPost, "/api/v1/menus", map[string]any{"code": "report", "name": "report", "type": "tpl", "value": "report/sales.html"}, http.StatusCreated, nil)
	var all []string
	var menus struct {
		Items []struct{ Code, Value string }
	}
	b.must(http.MethodGet, "/api/v1/menus?pageSize=500", nil, http.StatusOK, &menus)
	for _, m := range menus.Items {
		all = append(all, m.Code)
		if m.Value != "" {
			b.menus[strings.ToLower(m.Value)] = m.Code
		}
	}
	for _, role := range []map[string]any{
		{"code": only}, {"code": without}, {"code": eastern, "groups": []string{"east"}, "menus": all}, {"code": reader, "readOnly": true, "menus": all},
	} {
		b.must(http.MethodPost, "/api/v1/roles", role, http.StatusCreated, nil)
		who := role["code"].(string)
		b.hires(who, who, staffPassword, map[string]any{"roles": []string{who}})
		b.sessions[who] = b.login(who, staffPassword)
		b.secrets = append(b.secrets, b.sessions[who])
		b.cookies[who] = b.enter(who, staffPassword)
	}
	b.forget()
}

// westMark is the name of what lies in the group west; nobody of the group east may read it.
const westMark = "Westmark-6021"

// appoint gives "only" the first of the codes, with the page that a function belongs to at nodes, and "without" all but them.
func (b *bench) appoint(codes []string) {
	b.t.Helper()
	mine, rest := []string{}, []string{}
	for _, code := range codes[:min(1, len(codes))] {
		mine = append(mine, b.menuOf(code))
		if page, _, function := strings.Cut(code, "@"); function && strings.Contains(page, ".") {
			mine = append(mine, b.menuOf(page))
		}
	}
	for value, code := range b.menus {
		if !slices.ContainsFunc(codes, func(c string) bool { return strings.ToLower(c) == value }) && !(isFile(codes) && strings.HasPrefix(value, "orders.")) {
			rest = append(rest, code)
		}
	}
	b.must(http.MethodPatch, "/api/v1/roles/"+only, map[string]any{"menus": mine}, http.StatusOK, nil)
	b.must(http.MethodPatch, "/api/v1/roles/"+without, map[string]any{"menus": rest}, http.StatusOK, nil)
}

// isFile: a file of a node opens to whoever holds any page of it.
func isFile(codes []string) bool { return slices.Equal(codes, []string{"orders.Secret"}) }

func (b *bench) menuOf(code string) string {
	b.t.Helper()
	menu, ok := b.menus[strings.ToLower(code)]
	if !ok {
		b.t.Fatalf("there is no menu with the value %s", code)
	}
	return menu
}

// says is the right in words.
func (b *bench) says(r right, open bool) string {
	switch {
	case open:
		return "none"
	case len(r.codes) == 0:
		return "session"
	}
	return strings.Join(r.codes, " or ")
}

func (b *bench) print(table map[surface][]string) []string {
	out := []string{fmt.Sprintf("%-6s %-62s %-46s %-7s %-8s%-8s%-8s%-8s%-8s%-8s%-8s%s", "", "route", "right", "about", "nobody", "guest", "without", "site", "group", "looking", "only", "own group")}
	for _, s := range []surface{onConsole, onREST, onNodeAPI, onLocal, onProxy, onPublic} {
		slices.Sort(table[s])
		out = append(append(out, "— "+string(s)), table[s]...)
	}
	return out
}

// try fills the row of a route: the refusals first, which must change nothing, then those who are let in.
func (b *bench) try(e endpoint, r right, open bool) string {
	b.t.Helper()
	cells := make([]string, 8)
	for i := range cells {
		cells[i] = "·"
	}
	b.unchanged(e.method+" "+e.pattern+" refused", func() {
		for i, who := range []string{nobody, guest} {
			if want := e.refusals(who); want != nil {
				cells[i] = b.cell(e, e.shot(who), want)
			} else {
				cells[i] = "open"
			}
		}
		if len(r.codes) > 0 {
			cells[2] = b.cell(e, e.shot(without), []int{http.StatusForbidden})
		}
		if e.method != http.MethodGet && e.method != http.MethodHead {
			cells[3] = b.fromAnotherSite(e)
		}
		if !open {
			cells[4] = b.otherGroup(e, r)
			if r.changing() || e.proxied.Write {
				cells[5] = b.cell(e, e.shot(reader), []int{http.StatusForbidden})
			}
		}
		b.unchangedNodes(e, r)
	})
	if open || len(r.codes) == 0 {
		return strings.Join(pad(cells), "")
	}
	if cells[5] == "·" {
		cells[5] = b.letIn(e, b.harmless(e, r).shot(reader))
	}
	cells[6] = b.letIn(e, b.harmless(e, r).shot(only))
	cells[7] = b.ownGroup(e, r)
	b.arena.forget()
	return strings.Join(pad(cells), "")
}

// unchangedNodes fails if a node was asked anything, or was asked to change something by somebody who may look.
func (b *bench) unchangedNodes(e endpoint, r right) {
	b.t.Helper()
	if e.surface != onConsole || r.subject != ofPage {
		b.untouched(e.method + " " + e.pattern)
		return
	}
	for _, s := range b.reached() {
		if strings.Contains(s.Path, "/modify/") || strings.Contains(s.Path, "/operator/") || strings.Contains(s.Path, "/upload") {
			b.t.Errorf("%s %s: the node was asked %s %s", e.method, e.pattern, s.Method, s.Path)
		}
	}
	b.forget()
}

func pad(cells []string) []string {
	for i, c := range cells {
		cells[i] = fmt.Sprintf("%-8s", c)
	}
	return cells
}

// cell fires a shot that must be refused with one of the statuses.
func (b *bench) cell(e endpoint, s shot, want []int) string {
	b.t.Helper()
	g := b.fire(s)
	if e.surface == onNodeAPI && silent(e.pattern) {
		b.grantsNothing(s, g)
	} else {
		b.refused(s, g, want...)
	}
	return fmt.Sprint(g.status)
}

func (b *bench) fromAnotherSite(e endpoint) string {
	b.t.Helper()
	s := e.shot(admin)
	s.by, s.header = byCookie, s.header.Clone()
	s.header.Set("Origin", "https://evil.example")
	s.header.Set("Sec-Fetch-Site", "cross-site")
	return b.cell(e, s, []int{http.StatusForbidden})
}

// otherGroup asks for what lies in the group west as somebody who holds everything in the group east.
func (b *bench) otherGroup(e endpoint, r right) string {
	b.t.Helper()
	switch {
	case r.subject == aForm, len(r.codes) == 0 && r.subject != listed:
		return "·"
	case r.subject == listed:
		g := b.fire(e.shot(eastern))
		if g.status != http.StatusOK || bytes.Contains(g.body, []byte(westMark)) {
			b.t.Errorf("%s %s as %s = %d, shows the other group: %v", e.method, e.pattern, eastern, g.status, bytes.Contains(g.body, []byte(westMark)))
		}
		return "filters"
	case r.subject == selected:
		g := b.fire(e.shot(eastern)) // that nothing changed is asserted
		return fmt.Sprintf("%d/0", g.status)
	}
	s := e.aiming("orders", "west", "orders.Secret").into("west").shot(eastern)
	want := []int{http.StatusForbidden}
	if r.subject == inGroup {
		b.cell(e, e.shot(eastern), want) // beside all groups is not his either
	}
	g := b.fire(s)
	b.refused(s, g, want...)
	if name, _, _ := strings.Cut(r.codes[0], "@"); !bytes.Contains(g.body, []byte(name)) && e.erupt != "" {
		b.t.Errorf("%s %s refuses without the name of the permission %s: %s", e.method, e.pattern, name, digest(g.body))
	}
	return fmt.Sprint(g.status)
}

// harmless is the example at what does not exist, where it would change something of the server's.
func (b *bench) harmless(e endpoint, r right) endpoint {
	if e.method == http.MethodGet || r.subject == ofPage {
		return e
	}
	e = e.aiming("ghost", "ghosts", "ghosts.Page")
	e.form, e.json = strings.ReplaceAll(e.form, "&admin=1", ""), strings.ReplaceAll(e.json, `,"admin":true`, "")
	return e
}

// letIn fires a shot that must not be refused.
func (b *bench) letIn(e endpoint, s shot) string {
	b.t.Helper()
	g := b.fire(s)
	toLogin := g.status == http.StatusSeeOther && strings.Contains(g.header.Get("Location"), "/login")
	if g.status == http.StatusUnauthorized || g.status == http.StatusForbidden || toLogin || g.status == http.StatusInternalServerError {
		b.t.Errorf("%s %s as %s = %d, want to be let in: %s", e.method, s.target, s.who, g.status, digest(g.body))
	}
	return fmt.Sprint(g.status)
}

// ownGroup asks for what lies in the group east as somebody who holds everything there. What is changed is there for that.
func (b *bench) ownGroup(e endpoint, r right) string {
	b.t.Helper()
	if r.subject == ofNobody || len(r.codes) == 0 {
		return "·"
	}
	node, group := "stock", "east"
	if e.method != http.MethodGet || strings.HasSuffix(e.pattern, "remove-instance/:node") {
		node, group = "spare", "spares"
		for target, body := range map[string]string{
			"/api/v1/nodes": `{"nodeName":"spare","name":"spare","group":"east"}`, "/api/v1/groups": `{"code":"spares","name":"spares","parent":"east"}`,
		} {
			b.fire(shot{method: http.MethodPost, target: target, body: []byte(body), kind: jsonKind, who: admin}) // it may be there
		}
	}
	e.form = strings.Replace(e.form, "&raw=1", "", 1) // that is an administrator's alone
	s := e.aiming(node, group, "stock.Secret").into("east").shot(eastern)
	return b.letIn(e, s)
}

// aiming is the example with another node, group and page.
func (e endpoint) aiming(node, group, page string) endpoint {
	if e.surface == onConsole || e.surface == onREST || e.surface == onNodeAPI {
		e.target = strings.NewReplacer("/nodes/orders", "/nodes/"+node, "/groups/east", "/groups/"+group, "/pages/orders.Secret", "/pages/"+page,
			"/users/clerk", "/users/"+node, "/roles/clerks", "/roles/"+group, "/menus/pageAllowed", "/menus/"+node,
			"nodeName=orders", "nodeName="+node, "remove-instance/orders", "remove-instance/"+node).Replace(e.target)
		e.form = strings.ReplaceAll(e.form, "confirm=orders", "confirm="+node)
		return e
	}
	e.target = strings.NewReplacer("orders.Secret", page, "_node=orders", "_node="+node).Replace(e.target)
	if e.erupt != "" {
		e.erupt = page
	}
	return e
}

// into makes the example put what it makes into a group.
func (e endpoint) into(group string) endpoint {
	switch e.method + " " + e.pattern {
	case "POST /console/nodes":
		e.form += "&group=" + url.QueryEscape(group)
	case "POST /console/nodes/:node/settings", "PUT /console/nodes/:node/settings":
		e.form = strings.Replace(e.form, "&group=", "&group="+url.QueryEscape(group), 1) // else it leaves all groups
	case "POST /console/groups", "POST /console/groups/:group", "PUT /console/groups/:group":
		e.form = strings.Replace(e.form, "&parent=", "", 1) + "&parent=" + url.QueryEscape(group)
	case "POST /api/v1/nodes":
		e.json = strings.Replace(e.json, "{", `{"group":"`+group+`",`, 1)
	case "POST /api/v1/groups":
		e.json = strings.Replace(e.json, "{", `{"parent":"`+group+`",`, 1)
	}
	return e
}
