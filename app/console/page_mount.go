package console

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/buildmodel"
	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// PageCaller asks nodes for their pages on behalf of a session (proxy.Caller).
type PageCaller interface {
	// Do sends one call. An answer of any status is no error; a *proxy.Failure is: no right, no instance, no connection.
	Do(ctx context.Context, call proxy.Call) (*proxy.Answer, error)
	// ResolveErupt splits "node.Erupt" at a node that has a profile.
	ResolveErupt(full string) (node, erupt string, ok bool)
}

// pageNodes, pageView and pageHolds are what the pages of nodes need to know of the fleet.
type pageNodes interface {
	All(ctx context.Context) ([]fleet.Node, error)
}

type pageView interface{ View() *registry.View }

type pageHolds interface {
	Held(node, location string) (fleet.Hold, bool)
}

// nodeViews are the pages that nodes host, as the console shows them: one menu, table and form for all (A32).
type nodeViews struct {
	shell  *web.Shell
	caller PageCaller
	nodes  pageNodes
	view   pageView
	holds  pageHolds
	menus  Menus
	chain  func(group int64) []int64                                     // its id and those of all above it (D21)
	audit  func(c *gin.Context, action, subject string, err error) error // the audit trail
	now    func() time.Time
	once   *onceBook
	traced bool // the ways of calls are kept and can be looked at (D11)

	mu     sync.Mutex
	days   map[string]map[string]buildmodel.DayForm // full name → field → how the node writes its days
	titles map[string]string                        // full name → what the node calls the page, where it says so
}

// mountPages adds the menu of all nodes' pages and the pages themselves. Whether a viewer may open one is decided by the page
// in the address, so the routes themselves ask only for a session.
func (p *pages) mountPages(root *gin.RouterGroup) {
	v := &nodeViews{
		shell: p.shell, caller: p.Pages, nodes: p.Nodes, view: p.Registry, holds: p.Holds, menus: p.Menus, chain: p.Groups.Chain,
		audit: p.record, now: p.Now,
		once: newOnceBook(p.Now), traced: p.Traces != nil, days: map[string]map[string]buildmodel.DayForm{}, titles: map[string]string{},
	}
	p.views = v
	p.route(root, http.MethodGet, "/pages", v.menu)
	p.route(root, http.MethodGet, "/pages/:page", v.table)
	p.route(root, http.MethodGet, "/pages/:page/options", v.options)
	p.route(root, http.MethodGet, "/pages/:page/record", v.record)
	p.route(root, http.MethodPost, "/pages/:page/record", v.saveRecord)
	p.route(root, http.MethodGet, "/pages/:page/new", v.newRecord)
	p.route(root, http.MethodPost, "/pages/:page/new", v.saveRecord)
	p.route(root, http.MethodPost, "/pages/:page/delete", v.deleteRecords)
	p.route(root, http.MethodPost, "/pages/offer", p.offerMany, access.CodeMenus+"@ADD")
	p.route(root, http.MethodPost, "/pages/:page/offer", v.offer, access.CodeMenus+"@ADD")
}

// call fills in what every call to a node carries: the session, the viewer's language, and who asks for the record.
func (v *nodeViews) call(c *gin.Context, call proxy.Call) (*proxy.Answer, error) {
	if call.Header == nil {
		call.Header = http.Header{}
	}
	lang := "en-US"
	if views.FrameOf(c.Request.Context()).Lang == "zh" {
		lang = "zh-CN"
	}
	call.Header.Set("lang", lang)
	call.Token = viewer(c).Token
	call.Address, call.RequestID = web.ClientIP(c.Request), web.RequestID(c.Request.Context())
	answer, err := v.caller.Do(c.Request.Context(), call)
	if err != nil {
		v.offerWhy(c, call)
	}
	return answer, err
}

// offerWhy has the answer to this request lead to the way of a call that failed, for who may see the node.
func (v *nodeViews) offerWhy(c *gin.Context, call proxy.Call) {
	node, _, ok := v.caller.ResolveErupt(call.Full)
	if !ok || !v.explains(c, node) {
		return
	}
	f := *views.FrameOf(c.Request.Context())
	f.Why = views.RequestPath(call.RequestID)
	c.Request = c.Request.WithContext(views.WithFrame(c.Request.Context(), f))
}

// explains reports whether the viewer may look at the ways of requests to a node.
func (v *nodeViews) explains(c *gin.Context, node string) bool {
	if !v.traced || !viewer(c).Holds(access.CodeNodes) {
		return false
	}
	groups, err := v.groupsOf(c.Request.Context(), node)
	return err == nil && viewer(c).HoldsIn(access.CodeNodes, groups)
}

// learned returns how a node writes the days of a page's fields, as far as its rows have told.
func (v *nodeViews) learned(full string) map[string]buildmodel.DayForm {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := make(map[string]buildmodel.DayForm, len(v.days[full]))
	for k, d := range v.days[full] {
		out[k] = d
	}
	return out
}

const maxLearned = 2000 // pages

func (v *nodeViews) learn(full string, days map[string]buildmodel.DayForm) {
	if len(days) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.days) >= maxLearned {
		clear(v.days)
	}
	v.days[full] = days
}

// called remembers what a node calls a page: the menu of pages does not ask each node for its models.
func (v *nodeViews) called(full, title string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.titles) >= maxLearned {
		clear(v.titles)
	}
	v.titles[full] = title
}

// title is what a page is called as far as is known, else otherwise.
func (v *nodeViews) title(full, otherwise string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return cmp.Or(v.titles[full], otherwise)
}
