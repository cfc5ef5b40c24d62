package boot

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"eruptcloud/app/access"
	"eruptcloud/app/buildmodel"
	"eruptcloud/app/fault"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/proxy"
)

// liveSessions finds the session of a token; it extends it where the configuration says so.
type liveSessions interface {
	Get(ctx context.Context, token string, codes ...string) (access.Session, []bool, error)
}

// delegation makes the handle that stands for a session at one node (design decision 6).
type delegation interface {
	Issue(sessionToken, node string) string
}

// gate decides who may ask what of which node. It implements proxy.Gate.
type gate struct {
	sessions  liveSessions
	delegates delegation
	models    *modelCache
}

// Admit implements proxy.Gate: the session first (401), then the code of the erupt, its parent or the template (403), then
// the function's code, then that parent and drill source really lead to the erupt (erupt-wire 10.1).
func (g *gate) Admit(ctx context.Context, w proxy.Wish) (proxy.User, error) {
	if w.Token == "" {
		return proxy.User{}, proxy.Fail(proxy.Unauthenticated, "sign in first")
	}
	s, _, err := g.sessions.Get(ctx, w.Token)
	if err != nil {
		return proxy.User{}, failureOf(err)
	}
	user := proxy.User{
		User:      wire.User{UID: s.UserID, Account: s.Account, Name: s.Name},
		Token:     w.Token,
		Delegated: g.delegates.Issue(w.Token, w.Node),
	}
	if err := g.permit(ctx, &s, w, user); err != nil {
		return proxy.User{}, err
	}
	return user, nil
}

func (g *gate) permit(ctx context.Context, s *access.Session, w proxy.Wish, as proxy.User) error {
	switch {
	case w.Log:
		return require(s, access.CodeNodeLog)
	case w.Template != "":
		return require(s, w.Template)
	case w.Attachment != "" && w.Erupt == "":
		return requireAny(s, w.Node)
	case w.Erupt == "":
		return nil // only whether there is a session is asked
	}
	page := w.Erupt
	if w.Parent != "" {
		page = w.Parent
	}
	full := w.Node + "." + page
	if err := require(s, full); err != nil {
		return err
	}
	if err := requireFunction(s, full, w); err != nil {
		return err
	}
	if w.Parent != "" && !strings.EqualFold(w.Parent, w.Erupt) {
		model, err := g.models.get(ctx, w.Node, w.Parent, as, func(m *buildmodel.Model) bool { return m.Contains(w.Erupt) })
		if err != nil {
			return err
		}
		if !model.Contains(w.Erupt) {
			return proxy.Fail(proxy.Forbidden, "%s is no part of %s", w.Erupt, full)
		}
	}
	if w.DrillSource != "" {
		source := w.Node + "." + w.DrillSource
		if err := require(s, source); err != nil {
			return err
		}
		model, err := g.models.get(ctx, w.Node, w.DrillSource, as, func(m *buildmodel.Model) bool { return m.HasDrill(w.Drill, w.Erupt) })
		if err != nil {
			return err
		}
		if !model.HasDrill(w.Drill, w.Erupt) {
			return proxy.Fail(proxy.Forbidden, "%s has no drill %q to %s", source, w.Drill, w.Erupt)
		}
	}
	return nil
}

func require(s *access.Session, code string) error {
	if s.Holds(code) {
		return nil
	}
	return proxy.Fail(proxy.Forbidden, "this needs the permission %s", code)
}

// requireAny lets a file of a node through to those who may open one of its pages: its address does not say which shows it.
func requireAny(s *access.Session, node string) error {
	if s.Admin {
		return nil
	}
	prefix := strings.ToLower(node) + "."
	for code := range s.Values {
		if strings.HasPrefix(code, prefix) {
			return nil
		}
	}
	return proxy.Fail(proxy.Forbidden, "this needs a permission on a page of %s", node)
}

// requireFunction asks for the page's function code. A part that is reached through its page needs the page's right to
// change for changes, and its right to look for reading.
func requireFunction(s *access.Session, full string, w proxy.Wish) error {
	wanted := []proxy.Function{w.Function}
	switch {
	case w.Function == proxy.None, w.Parent != "" && !w.Write:
		return nil
	case w.Function == proxy.ViewDetail:
		wanted = []proxy.Function{proxy.ViewDetail, proxy.Edit}
	case w.Function == proxy.AddOrEdit, w.Parent != "":
		wanted = []proxy.Function{proxy.Add, proxy.Edit}
	}
	for _, f := range wanted {
		if s.Holds(full + "@" + string(f)) {
			return nil
		}
	}
	return proxy.Fail(proxy.Forbidden, "this needs the permission %s", full+"@"+string(wanted[0]))
}

// failureOf turns an error of the domain into one of the proxy.
func failureOf(err error) error {
	f := fault.Of(err)
	out := proxy.Fail(proxy.Kind(f.Code), f.Format, f.Args...)
	return out.Because(err)
}

// modelCache keeps parsed build models for a short time: the parent check asks for one a request.
type modelCache struct {
	fetch func(ctx context.Context, node, erupt string, as proxy.User) ([]byte, error)
	ttl   time.Duration
	now   func() time.Time
	group singleflight.Group
	mu    sync.Mutex
	kept  map[string]keptModel
}

type keptModel struct {
	model *buildmodel.Model
	until time.Time
}

// maxModels bounds the cache; when full it starts anew.
const maxModels = 2000

func newModelCache(ttl time.Duration, now func() time.Time, fetch func(context.Context, string, string, proxy.User) ([]byte, error)) *modelCache {
	return &modelCache{fetch: fetch, ttl: ttl, now: now, kept: make(map[string]keptModel)}
}

// get returns the model of node's erupt. A kept one that does not satisfy enough is fetched anew once: the node may have
// been upgraded since.
func (c *modelCache) get(ctx context.Context, node, erupt string, as proxy.User, enough func(*buildmodel.Model) bool) (*buildmodel.Model, error) {
	key := node + "\x00" + strings.ToLower(erupt)
	c.mu.Lock()
	kept, ok := c.kept[key]
	c.mu.Unlock()
	if ok && c.now().Before(kept.until) && enough(kept.model) {
		return kept.model, nil
	}
	v, err, _ := c.group.Do(key, func() (any, error) {
		raw, err := c.fetch(ctx, node, erupt, as)
		if err != nil {
			return nil, err
		}
		m, err := buildmodel.Parse(raw)
		if err != nil {
			return nil, proxy.Fail(proxy.UpstreamUnreachable, "'%s' sent a page description that cannot be read", node).Because(err)
		}
		c.keep(key, m)
		return m, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*buildmodel.Model), nil
}

func (c *modelCache) keep(key string, m *buildmodel.Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= maxModels {
		clear(c.kept)
	}
	c.kept[key] = keptModel{m, c.now().Add(c.ttl)}
}

// forget drops what is kept of a node.
func (c *modelCache) forget(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.kept {
		if strings.HasPrefix(key, node+"\x00") {
			delete(c.kept, key)
		}
	}
}
