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
	"eruptcloud/app/fleet"
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

// gate decides who may ask what of which node. It implements proxy.Gate and proxy.Judge.
type gate struct {
	sessions  liveSessions
	delegates delegation
	models    *modelCache
	// chain returns the ids of a node's group and of all above it, from memory (D21).
	chain  func(node string) []int64
	public publicFiles
	nodes  allNodes
	hints  *fileHints
}

// allNodes lists the profiles from memory.
type allNodes interface {
	All(ctx context.Context) ([]fleet.Node, error)
}

// Admit implements proxy.Gate: the session first (401), then the code of the erupt, its parent or the template (403), then
// the function's code, then that parent and drill source really lead to the erupt (erupt-wire 10.1). Each code has to be held
// for the node's group (D21).
func (g *gate) Admit(ctx context.Context, w proxy.Wish) (proxy.User, error) {
	if w.Attachment != "" && g.public.has(w.Node) {
		return proxy.User{}, nil // nobody in particular
	}
	user, s, err := g.identify(ctx, w)
	if err != nil {
		return user, err
	}
	user.Delegated = g.delegates.Issue(w.Token, w.Node)
	if err := g.permit(ctx, s.Session, w, user); err != nil {
		return user, err
	}
	return user, nil
}

// identify finds the session that a wish comes from.
func (g *gate) identify(ctx context.Context, w proxy.Wish) (proxy.User, asker, error) {
	if w.Token == "" {
		return proxy.User{}, asker{}, proxy.Fail(proxy.Unauthenticated, "sign in first")
	}
	s, _, err := g.sessions.Get(ctx, w.Token)
	if err != nil {
		return proxy.User{}, asker{}, failureOf(err)
	}
	return proxy.User{User: wire.User{UID: s.UserID, Account: s.Account, Name: s.Name}, Token: w.Token}, asker{Session: &s}, nil
}

// Required implements proxy.Judge.
func (g *gate) Required(w proxy.Wish) string {
	switch {
	case w.Log:
		return access.CodeNodeLog
	case w.Template != "":
		return w.Template
	case w.Erupt == "":
		return ""
	}
	full := pageOf(w)
	if wanted := functionsOf(w); len(wanted) > 0 {
		return full + "@" + string(wanted[0])
	}
	return full
}

// pageOf is the page, and its code, that opens an erupt.
func pageOf(w proxy.Wish) string {
	if w.Parent != "" {
		return w.Node + "." + w.Parent
	}
	return w.Node + "." + w.Erupt
}

// asker is a session that asks something of a node in a group.
type asker struct {
	*access.Session
	groups []int64 // that group and all above it
}

func (g *gate) permit(ctx context.Context, session *access.Session, w proxy.Wish, as proxy.User) error {
	s := asker{session, g.chain(w.Node)}
	switch {
	case w.Log:
		return s.require(access.CodeNodeLog)
	case w.Template != "":
		return s.require(w.Template)
	case w.Attachment != "" && w.Erupt == "":
		return s.requireAny(w.Node)
	case w.Erupt == "":
		return nil // only whether there is a session is asked
	}
	full := pageOf(w)
	if err := s.require(full); err != nil {
		return err
	}
	if err := s.requireFunction(full, w); err != nil {
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
		if err := s.require(source); err != nil {
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

func (s asker) require(code string) error {
	if s.HoldsIn(code, s.groups) {
		return nil
	}
	return refusal(code, "this needs the permission %s", code)
}

// refusal is a refusal for want of a code.
func refusal(code, format string, args ...any) error {
	f := proxy.Fail(proxy.Forbidden, format, args...)
	f.Required = code
	return f
}

// requireAny lets a file of a node through to those who may open one of its pages: its address does not say which shows it.
func (s asker) requireAny(node string) error {
	if s.Admin {
		return nil
	}
	prefix := strings.ToLower(node) + "."
	for code := range s.Values {
		if strings.HasPrefix(code, prefix) && s.HoldsIn(code, s.groups) {
			return nil
		}
	}
	return proxy.Fail(proxy.Forbidden, "this needs a permission on a page of %s", node)
}

// functionsOf returns the functions of a page of which a wish needs one. A part that is reached through its page needs the
// page's right to change for changes, and its right to look for reading.
func functionsOf(w proxy.Wish) []proxy.Function {
	switch {
	case w.Function == proxy.None:
		return nil
	case w.Function == proxy.Export, w.Function == proxy.Importable: // a whole table leaves or comes, of a part as of its page
		return []proxy.Function{w.Function}
	case w.Parent != "" && !w.Write:
		return nil
	case w.Function == proxy.ViewDetail:
		return []proxy.Function{proxy.ViewDetail, proxy.Edit}
	case w.Function == proxy.AddOrEdit, w.Parent != "":
		return []proxy.Function{proxy.Add, proxy.Edit}
	}
	return []proxy.Function{w.Function}
}

// requireFunction asks for the page's function code, and where a change has none, for a page that is not for looking only.
func (s asker) requireFunction(full string, w proxy.Wish) error {
	wanted := functionsOf(w)
	if len(wanted) == 0 {
		if w.Write && !s.MayChangeIn(full, s.groups) {
			return refusal(full, "you may look at %s, but change nothing there", full)
		}
		return nil
	}
	for _, f := range wanted {
		if s.HoldsIn(full+"@"+string(f), s.groups) {
			return nil
		}
	}
	return s.require(full + "@" + string(wanted[0]))
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
	// describe fetches the class of a wish, or the class behind one of its fields.
	describe func(ctx context.Context, w proxy.Wish, field string, as proxy.User) ([]byte, error)
	ttl      time.Duration
	now      func() time.Time
	group    singleflight.Group
	mu       sync.Mutex
	kept     map[string]keptModel
	missed   map[string]time.Time // models that could not be had, until when
}

type keptModel struct {
	model *buildmodel.Model
	until time.Time
}

// maxModels bounds the cache; when full it starts anew.
const maxModels = 2000

func newModelCache(ttl time.Duration, now func() time.Time, fetch func(context.Context, string, string, proxy.User) ([]byte, error)) *modelCache {
	return &modelCache{fetch: fetch, ttl: ttl, now: now, kept: make(map[string]keptModel), missed: make(map[string]time.Time)}
}

// get returns the model of node's erupt. A kept one that does not satisfy enough is fetched anew once: the node may have
// been upgraded since.
func (c *modelCache) get(ctx context.Context, node, erupt string, as proxy.User, enough func(*buildmodel.Model) bool) (*buildmodel.Model, error) {
	return c.obtain(ctx, node+"\x00"+strings.ToLower(erupt), node, enough, func(ctx context.Context) ([]byte, error) {
		return c.fetch(ctx, node, erupt, as)
	})
}

func (c *modelCache) obtain(ctx context.Context, key, node string, enough func(*buildmodel.Model) bool, fetch func(context.Context) ([]byte, error)) (*buildmodel.Model, error) {
	c.mu.Lock()
	kept, ok := c.kept[key]
	c.mu.Unlock()
	if ok && c.now().Before(kept.until) && enough(kept.model) {
		return kept.model, nil
	}
	if proxy.Dry(ctx) { // its refusal must not be the answer to somebody who waits for the same model in earnest
		_, err := fetch(ctx)
		return nil, err
	}
	v, err, _ := c.group.Do(key, func() (any, error) {
		raw, err := fetch(context.WithoutCancel(ctx)) // others wait for it, and who asked first may leave
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
	for key := range c.missed {
		if strings.HasPrefix(key, node+"\x00") {
			delete(c.missed, key)
		}
	}
}
