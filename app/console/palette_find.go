package console

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/views"
)

// findThings looks among nodes, instances, groups, pages and users, each as far as the viewer may see them, and returns the
// nodes that the search names, for the actions.
func (p *pages) findThings(c *gin.Context, f *finder) (near []fleet.Node, err error) {
	ctx, v := c.Request.Context(), viewer(c)
	if len(f.words) == 0 && len(f.recent) == 0 {
		return nil, nil
	}
	if v.Holds(access.CodeNodes) {
		if near, err = p.findNodes(c, f); err != nil {
			return nil, err
		}
	}
	if v.Holds(access.CodeNodes) || v.Holds(access.CodeGroups) {
		if err := p.findGroups(c, f); err != nil {
			return nil, err
		}
	}
	if p.views != nil {
		if err := p.findPages(ctx, v, f); err != nil {
			return nil, err
		}
	}
	if v.Holds(access.CodeUsers) {
		if err := p.findUsers(ctx, f); err != nil {
			return nil, err
		}
	}
	return near, nil
}

func (p *pages) findNodes(c *gin.Context, f *finder) (near []fleet.Node, err error) {
	all, err := p.Nodes.All(c.Request.Context())
	if err != nil {
		return nil, err
	}
	var texts []string
	view, of := p.Registry.View(), filler(c, "find.of", "node", "id")
	sees := p.sees(c, access.CodeNodes)
	for _, n := range all {
		if !sees(n.GroupID) {
			continue
		}
		if len(near) < maxNear && f.meansOne(n.Name, n.Display) {
			near = append(near, n)
		}
		if path := views.NodePath(n.Name, ""); f.wants(path, append([]string{n.Name, n.Display, n.Group, n.Remark}, n.Duty...)...) {
			f.nodes[path] = n
			f.add(kindNode, views.Hit{Icon: "node", Title: n.Name, Note: note(n), Path: path})
		}
		if len(f.words) == 0 {
			continue
		}
		for _, in := range view.Node(n.Name) {
			texts = append(append(texts[:0], n.Name, in.ID), in.Locations...)
			if f.wants("", texts...) {
				f.add(kindInstance, instanceHit(in, of(n.Name, in.ID)))
			}
		}
	}
	return near, nil
}

func instanceHit(in registry.Instance, note string) views.Hit {
	h := views.Hit{Icon: "host", Title: in.ID, Note: note, Path: views.InstancePath(in.NodeName, in.ID)}
	if len(in.Locations) > 0 {
		h.Title, h.Mono = in.Locations[0], true
	}
	return h
}

// filler returns a text of the catalogue whose places are filled over and over: to look it up each time takes longer.
func filler(c *gin.Context, key string, places ...string) func(values ...string) string {
	args := make([]any, 0, 2*len(places))
	for i, name := range places {
		args = append(args, name, "\x00"+string(rune('0'+i)))
	}
	text := views.T(c.Request.Context(), key, args...)
	return func(values ...string) string {
		pairs := make([]string, 0, 2*len(values))
		for i, v := range values {
			pairs = append(pairs, "\x00"+string(rune('0'+i)), v)
		}
		return strings.NewReplacer(pairs...).Replace(text)
	}
}

// judgeFound gives their states to the nodes that are shown: to judge all of a large fleet with each key that is pressed would
// be a waste.
func (p *pages) judgeFound(f *finder, found views.Search) {
	view, orders := p.Registry.View(), p.orders()
	for _, g := range found.Groups {
		for i, h := range g.Hits {
			if n, ok := f.nodes[h.Path]; ok && (g.Kind == kindNode || g.Kind == kindRecent) {
				g.Hits[i].State = judge(n, view.Node(n.Name), orders, nil).kind
			}
		}
	}
}

// note is what stands beside a node's name.
func note(n fleet.Node) string {
	if n.Display != "" && !strings.EqualFold(n.Display, n.Name) {
		return n.Display
	}
	return n.Group
}

func (p *pages) findGroups(c *gin.Context, f *finder) error {
	groups, err := p.Groups.List(c.Request.Context())
	if err != nil {
		return err
	}
	for i := range groups {
		g := &groups[i]
		switch {
		case p.mayGroup(c, access.CodeNodes, g) == nil:
			q := views.NodeQuery{Groups: []string{g.Code}}
			if f.wants(q.Path(), g.Name, g.Code) {
				f.add(kindGroup, views.Hit{Icon: "group", Title: cmp.Or(g.Name, g.Code), Note: g.Code, Path: q.Path()})
			}
		case p.mayGroup(c, access.CodeGroups, g) == nil:
			if path := views.GroupPath(g.Code, ""); f.wants(path, g.Name, g.Code) {
				f.add(kindGroup, views.Hit{Icon: "conf", Title: cmp.Or(g.Name, g.Code), Note: g.Code, Path: path})
			}
		}
	}
	return nil
}

func (p *pages) findPages(ctx context.Context, v *access.Session, f *finder) error {
	all, err := p.views.pagesOf(ctx, v)
	if err != nil {
		return err
	}
	for _, n := range all {
		for _, e := range n.Pages {
			if path := "/console/pages/" + url.PathEscape(e.Full); f.wants(path, e.Title, e.Full, n.Display) {
				f.add(kindPage, views.Hit{Icon: "page", Title: e.Title, Note: e.Full, Path: path})
			}
		}
	}
	return nil
}

func (p *pages) findUsers(ctx context.Context, f *finder) error {
	if len(f.words) == 0 {
		return nil
	}
	users, _, err := p.Users.List(ctx, access.UserFilter{Query: slices.MaxFunc(f.words, func(a, b string) int { return len(a) - len(b) }), Page: 1, PageSize: searchMany})
	if err != nil {
		return err
	}
	for _, u := range users {
		if path := "/console/users/" + url.PathEscape(u.Account); f.wants(path, u.Account, u.Name, u.Email, u.Phone) {
			f.add(kindUser, views.Hit{Icon: "user", Title: u.Account, Note: u.Name, Path: path})
		}
	}
	return nil
}

// meansOne reports whether a word of the search names a node.
func (f *finder) meansOne(name, display string) bool {
	name, display = strings.ToLower(name), strings.ToLower(display)
	return slices.ContainsFunc(f.words, func(w string) bool { return strings.Contains(name, w) || strings.Contains(display, w) })
}

// morePath is where all hits of a kind are listed.
func morePath(kind, query string, few int) string {
	switch {
	case few < searchMany:
		return "/console/search?q=" + url.QueryEscape(query)
	case kind == kindNode, kind == kindInstance:
		return "/console/nodes?q=" + url.QueryEscape(query)
	case kind == kindPage:
		return "/console/pages?q=" + url.QueryEscape(query)
	case kind == kindUser:
		return "/console/users?q=" + url.QueryEscape(query)
	}
	return ""
}

// actionEntry is something to do that the palette offers: a page, or what script does.
type actionEntry struct {
	key, icon, path, do, code string
}

var actionEntries = []actionEntry{
	{"find.do.new_node", "plus", "/console/nodes/new", "", access.CodeNodes + "@ADD"},
	{"find.do.new_group", "plus", "/console/groups/new", "", access.CodeGroups + "@ADD"},
	{"find.do.new_user", "plus", "/console/users/new", "", access.CodeUsers + "@ADD"},
	{"find.do.new_role", "plus", "/console/roles/new", "", access.CodeRoles + "@ADD"},
	{"find.do.new_org", "plus", "/console/orgs/new", "", access.CodeOrgs + "@ADD"},
	{"find.do.new_post", "plus", "/console/posts/new", "", access.CodePosts + "@ADD"},
	{"find.do.new_menu", "plus", "/console/menus/new", "", access.CodeMenus + "@ADD"},
	{"find.do.new_dict", "plus", "/console/dicts/new", "", access.CodeDicts + "@ADD"},
	{"find.do.new_open_api", "plus", "/console/open-api/new", "", access.CodeOpenAPI + "@ADD"},
	{"find.do.nodes", "right", "/console/nodes", "", access.CodeNodes},
	{"find.do.config", "right", "/console/groups", "", access.CodeGroups},
	{"find.do.pages", "right", "/console/pages", "", ""},
	{"find.do.users", "right", "/console/users", "", access.CodeUsers},
	{"find.do.roles", "right", "/console/roles", "", access.CodeRoles},
	{"find.do.orgs", "right", "/console/orgs", "", access.CodeOrgs},
	{"find.do.posts", "right", "/console/posts", "", access.CodePosts},
	{"find.do.menus", "right", "/console/menus", "", access.CodeMenus},
	{"find.do.dicts", "right", "/console/dicts", "", access.CodeDicts},
	{"find.do.open_api", "right", "/console/open-api", "", access.CodeOpenAPI},
	{"find.do.online", "right", "/console/online", "", access.CodeOnline},
	{"find.do.logins", "right", "/console/logins", "", access.CodeLogins},
	{"find.do.audit", "right", "/console/audit", "", access.CodeAudit},
	{"find.do.server_log", "right", "/console/server-log", "", access.CodeServerLog},
	{"find.do.me", "right", "/console/me", "", ""},
	{"find.do.theme", "theme", "", views.DoTheme, ""},
	{"find.do.lang", "edit", "", views.DoLang, ""},
	{"find.do.keys", "info", "", views.DoKeys, ""},
	{"find.do.logout", "out", "", views.DoLogout, ""},
}

// nodeAction is something to do with a node; tab is the page where it is done.
type nodeAction struct {
	key, icon, tab, code string
	asks                 bool
}

var nodeActions = []nodeAction{
	{"find.do.log", "log", "/log", access.CodeNodeLog, false},
	{"find.do.hold", "held", views.TabInstances, access.CodeManageNodes, true},
	{"find.do.drain", "drain", views.TabInstances, access.CodeManageNodes, true},
	{"find.do.edit", "conf", views.TabConfig, access.CodeNodes + "@EDIT", false},
	{"find.do.badge", "link", "/badge", access.CodeViewToken, false},
	{"find.do.settings", "edit", "/settings", access.CodeNodes + "@EDIT", false},
}

// maxNear is of how many nodes that a search names the actions are looked at.
const maxNear = 50

// findActions offers what the viewer may do, each also found by its name in the other language.
func (p *pages) findActions(c *gin.Context, f *finder, near []fleet.Node) {
	ctx, v := c.Request.Context(), viewer(c)
	add := func(h views.Hit, others ...string) {
		if len(f.words) == 0 || f.wants("", append(others, h.Title)...) {
			f.add(kindAction, h)
		}
	}
	for _, a := range actionEntries {
		if a.code == "" || v.Holds(a.code) {
			add(views.Hit{Icon: a.icon, Title: views.T(ctx, a.key), Path: a.path, Do: a.do}, views.Text("en", a.key), views.Text("zh", a.key))
		}
	}
	const hole = "\x00"
	for _, a := range nodeActions {
		if !v.Holds(a.code) {
			continue
		}
		title, en, zh := views.T(ctx, a.key, "node", hole), views.Text("en", a.key, "node", hole), views.Text("zh", a.key, "node", hole)
		asks := ""
		if a.asks {
			asks = views.T(ctx, "find.asks")
		}
		for _, n := range near {
			if p.holds(v, a.code, n.GroupID) {
				add(views.Hit{Icon: a.icon, Title: strings.Replace(title, hole, n.Name, 1), Note: asks, Path: views.NodePath(n.Name, a.tab)},
					strings.Replace(en, hole, n.Name, 1), strings.Replace(zh, hole, n.Name, 1))
			}
		}
	}
}
