// Package restapi offers the console's work as JSON, below /api/v1: the same rights, the same errors, and a document that
// describes it all at /api/v1/openapi.json.
package restapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
)

// Nodes are the profiles.
type Nodes interface {
	ByName(ctx context.Context, name string) (fleet.Node, error)
	List(ctx context.Context, f fleet.NodeFilter) ([]fleet.Node, int, error)
	Create(ctx context.Context, in fleet.NewNode) (fleet.Node, string, error)
	Update(ctx context.Context, name string, p fleet.NodePatch) (fleet.Node, error)
	Delete(ctx context.Context, name, by string) error
	// SetConfig stores a new revision. fault.Conflict if BaseRevision is not the latest.
	SetConfig(ctx context.Context, name string, e fleet.ConfigEdit) (fleet.Node, error)
}

// Groups are the node groups.
type Groups interface {
	ByCode(ctx context.Context, code string) (fleet.Group, error)
	List(ctx context.Context) ([]fleet.Group, error)
	Create(ctx context.Context, in fleet.NewGroup) (fleet.Group, error)
	Update(ctx context.Context, code string, p fleet.GroupPatch) (fleet.Group, error)
	Delete(ctx context.Context, code, by string) error
	// SetConfig stores a new revision. fault.Conflict if BaseRevision is not the latest.
	SetConfig(ctx context.Context, code string, e fleet.ConfigEdit) (fleet.Group, error)
	// Chain returns from memory the ids of a group and of all above it, which rights are asked for with (D21).
	Chain(id int64) []int64
}

// Tokens rotate access tokens.
type Tokens interface {
	RotateToken(ctx context.Context, name, by string) (string, error)
	// EndGrace refuses the old token at once. fault.NotFound if none is accepted any more.
	EndGrace(ctx context.Context, name, by string) error
	Grace(name string) (fleet.Grace, bool)
	TokenAge(name, digest string) fleet.TokenAge
}

// Drains take instances out of routing until they have left.
type Drains interface {
	// Start returns the drain; one that is there already stays as it is.
	Start(ctx context.Context, d fleet.Drain) (fleet.Drain, error)
	// End calls a drain off. fault.NotFound if there is none.
	End(ctx context.Context, node, instance, by string) error
	Of(ctx context.Context, node string) ([]fleet.Drain, error)
	Draining(node, instance string) (fleet.Drain, bool)
}

// Loads tell what instances work on.
type Loads interface {
	// InFlight sums over all replicas what the locations of an instance work on.
	InFlight(node string, locations []string) fleet.InFlight
}

// Refusals are nodes whose beats are refused, from memory.
type Refusals interface {
	Of(node string) []fleet.Refusal
}

// History is what happened to nodes; Record never blocks.
type History interface {
	Record(e history.Event)
	List(ctx context.Context, f history.Filter) ([]history.Event, int, error)
}

// Holds keep locations out of routing.
type Holds interface {
	// Set returns the hold; one that is there already stays as it is.
	Set(ctx context.Context, h fleet.Hold) (fleet.Hold, error)
	// Lift ends a hold. fault.NotFound if there is none.
	Lift(ctx context.Context, node, location, by string) error
	Held(node, location string) (fleet.Hold, bool)
	// Of returns the holds of a node, by location.
	Of(ctx context.Context, node string) ([]fleet.Hold, error)
}

// Users are the accounts.
type Users interface {
	ByAccount(ctx context.Context, account string) (access.User, error)
	List(ctx context.Context, f access.UserFilter) ([]access.User, int, error)
	Create(ctx context.Context, n access.NewUser) (access.User, error)
	Update(ctx context.Context, account string, p access.UserPatch) (access.User, error)
	Delete(ctx context.Context, account string, by access.Actor) error
}

// Roles bundle menus.
type Roles interface {
	ByCode(ctx context.Context, code string) (access.Role, error)
	List(ctx context.Context) ([]access.Role, error)
	Create(ctx context.Context, n access.NewRole) (access.Role, error)
	Update(ctx context.Context, code string, p access.RolePatch) (access.Role, error)
	Delete(ctx context.Context, code string) error
}

// Menus are what roles bundle: pages, and the rights below them.
type Menus interface {
	All(ctx context.Context) ([]access.Menu, error)
	ByCode(ctx context.Context, code string) (access.Menu, error)
	Create(ctx context.Context, n access.NewMenu) (access.Menu, error)
	Update(ctx context.Context, code string, p access.MenuPatch) (access.Menu, error)
	Delete(ctx context.Context, code string) error
}

// Registry knows who is alive.
type Registry interface {
	View() *registry.View
	Remove(ctx context.Context, k registry.Key, why registry.Reason) error
	LastHeartbeats(ctx context.Context, keys ...registry.Key) ([]time.Time, error)
}

// Recorder keeps the audit trail; Record never blocks.
type Recorder interface{ Record(e access.Entry) }

// Options of Mount. All are required.
type Options struct {
	Nodes    Nodes
	Groups   Groups
	Holds    Holds
	Users    Users
	Roles    Roles
	Menus    Menus
	Dicts    Dicts
	Registry Registry
	Audit    Recorder
	Tokens   Tokens
	Drains   Drains
	Refusals Refusals
	Loads    Loads
	History  History
}

// Root is the path that everything here is below.
const Root = "/api/v1"

const maxBody = 256 << 10

type api struct {
	o        Options
	draining sync.Mutex // one order to drain after the other
}

// Mount adds the routes to shell.
func Mount(shell *web.Shell, o Options) {
	a := &api{o: o}
	may := func(code string) gin.HandlerFunc { return shell.RequireHeader(code) }
	h := shell.Handle
	g := shell.Engine().Group(Root)
	g.GET("/openapi.json", h(document))

	g.GET("/nodes", may(access.CodeNodes), h(a.listNodes))
	g.POST("/nodes", may(access.CodeNodes+"@ADD"), h(a.createNode))
	g.GET("/nodes/:nodeName", may(access.CodeNodes), h(a.getNode))
	g.PATCH("/nodes/:nodeName", may(access.CodeNodes+"@EDIT"), h(a.patchNode))
	g.DELETE("/nodes/:nodeName", may(access.CodeNodes+"@DELETE"), h(a.deleteNode))
	g.GET("/nodes/:nodeName/config", may(access.CodeNodes), h(a.getNodeConfig))
	g.PUT("/nodes/:nodeName/config", may(access.CodeNodes+"@EDIT"), h(a.putNodeConfig))
	g.GET("/nodes/:nodeName/instances", may(access.CodeNodes), h(a.listInstances))
	g.DELETE("/nodes/:nodeName/instances/:instanceId", may(access.CodeManageNodes), h(a.removeInstance))
	g.PUT("/nodes/:nodeName/instances/:instanceId/hold", may(access.CodeManageNodes), h(a.hold))
	g.DELETE("/nodes/:nodeName/instances/:instanceId/hold", may(access.CodeManageNodes), h(a.liftHold))
	g.PUT("/nodes/:nodeName/instances/:instanceId/drain", may(access.CodeManageNodes), h(a.startDrain))
	g.GET("/nodes/:nodeName/instances/:instanceId/drain", may(access.CodeNodes), h(a.getDrain))
	g.DELETE("/nodes/:nodeName/instances/:instanceId/drain", may(access.CodeManageNodes), h(a.endDrain))
	g.PUT("/nodes/:nodeName/drain", may(access.CodeManageNodes), h(a.drainNode))
	g.GET("/nodes/:nodeName/drain", may(access.CodeNodes), h(a.getNodeDrain))
	g.DELETE("/nodes/:nodeName/drain", may(access.CodeManageNodes), h(a.endNodeDrain))
	g.POST("/nodes/:nodeName/token/rotate", may(access.CodeNodes+"@EDIT"), h(a.rotateToken))
	g.DELETE("/nodes/:nodeName/token/old", may(access.CodeNodes+"@EDIT"), h(a.endGrace))
	g.GET("/nodes/:nodeName/token-use", may(access.CodeNodes), h(a.tokenUse))
	g.GET("/nodes/:nodeName/events", may(access.CodeNodes), h(a.nodeEvents))
	g.GET("/events", may(access.CodeNodes), h(a.events))
	g.GET("/nodes/:nodeName/holds", may(access.CodeNodes), h(a.listHolds))
	g.DELETE("/nodes/:nodeName/holds", may(access.CodeManageNodes), h(a.liftLocation))

	g.GET("/groups", may(access.CodeGroups), h(a.listGroups))
	g.POST("/groups", may(access.CodeGroups+"@ADD"), h(a.createGroup))
	g.GET("/groups/:code", may(access.CodeGroups), h(a.getGroup))
	g.PATCH("/groups/:code", may(access.CodeGroups+"@EDIT"), h(a.patchGroup))
	g.GET("/groups/:code/config", may(access.CodeGroups), h(a.getGroupConfig))
	g.PUT("/groups/:code/config", may(access.CodeGroups+"@EDIT"), h(a.putGroupConfig))
	g.DELETE("/groups/:code", may(access.CodeGroups+"@DELETE"), h(a.deleteGroup))

	g.GET("/users", may(access.CodeUsers), h(a.listUsers))
	g.POST("/users", may(access.CodeUsers+"@ADD"), h(a.createUser))
	g.GET("/users/:account", may(access.CodeUsers), h(a.getUser))
	g.PATCH("/users/:account", may(access.CodeUsers+"@EDIT"), h(a.patchUser))
	g.DELETE("/users/:account", may(access.CodeUsers+"@DELETE"), h(a.deleteUser))

	g.GET("/roles", may(access.CodeRoles), h(a.listRoles))
	g.POST("/roles", may(access.CodeRoles+"@ADD"), h(a.createRole))
	g.GET("/roles/:code", may(access.CodeRoles), h(a.getRole))
	g.PATCH("/roles/:code", may(access.CodeRoles+"@EDIT"), h(a.patchRole))
	g.DELETE("/roles/:code", may(access.CodeRoles+"@DELETE"), h(a.deleteRole))

	g.GET("/menus", may(access.CodeMenus), h(a.listMenus))
	g.POST("/menus", may(access.CodeMenus+"@ADD"), h(a.createMenu))
	g.GET("/menus/:code", may(access.CodeMenus), h(a.getMenu))
	g.PATCH("/menus/:code", may(access.CodeMenus+"@EDIT"), h(a.patchMenu))
	g.DELETE("/menus/:code", may(access.CodeMenus+"@DELETE"), h(a.deleteMenu))

	g.GET("/dicts", may(access.CodeDicts), h(a.listDicts))
	g.GET("/dicts/:code/items", may(access.CodeDictItems), h(a.listDictItems))
}

// list is one page of things, and how many there are in all.
type list[T any] struct {
	Items []T `json:"items"`
	Total int `json:"total"`
}

// answer sends v; what a session may see must not stay in a cache.
func answer(c *gin.Context, status int, v any) error {
	c.Header("Cache-Control", "no-store")
	c.JSON(status, v)
	return nil
}

func answerList[T any](c *gin.Context, items []T, total int) error {
	if items == nil {
		items = []T{}
	}
	return answer(c, http.StatusOK, list[T]{items, total})
}

// created answers with a new thing and where it is.
func created(c *gin.Context, kind, id string, v any) error {
	c.Header("Location", web.Base(c.Request)+Root+"/"+kind+"/"+url.PathEscape(id))
	return answer(c, http.StatusCreated, v)
}

func gone(c *gin.Context) error {
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
	return nil
}

// cut returns one page of all, empty past the end.
func cut[T any](all []T, page, size int) []T {
	from := min((page-1)*size, len(all))
	return all[from:min(from+size, len(all))]
}

// audit records a change that was tried, and returns how it ended.
func (a *api) audit(c *gin.Context, action, subject string, params any, err error) error {
	e := web.AuditEntry(c, action, subject)
	e.Took = time.Since(e.At)
	if params != nil {
		e.Params, _ = json.Marshal(params) // our own bodies, which were JSON before
	}
	if err != nil {
		e.OK, e.Error = false, fault.Of(err).Message()
	}
	a.o.Audit.Record(e)
	return err
}

func actor(c *gin.Context) access.Actor {
	in := web.SessionFrom(c)
	return access.Actor{Account: in.Account, Admin: in.Admin}
}

// keeping is the context of a change that may set the caller's own password: the session that asks lives on.
func keeping(c *gin.Context) context.Context {
	return access.KeepSession(c.Request.Context(), web.HeaderToken(c.Request))
}

func body(c *gin.Context, v any) error { return web.DecodeJSON(c, v, maxBody) }

func nothingToChange() error {
	return fault.New(fault.Invalid, "the request names nothing to change")
}

// when writes a time as RFC 3339 in UTC, null for none.
func when(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	return &s
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
