package boot

import (
	"context"
	"strings"
	"time"

	"eruptcloud/app/buildmodel"
	"eruptcloud/proxy"
)

// Examine implements proxy.Examiner: a table is sorted by what its page shows, and nobody searches for passwords (erupt-wire
// 4.7, 10.7). Other names that a class does not have are left to the node, which drops such conditions. Without a model only
// the form of the names was checked: a page whose model cannot be had still has to work.
func (g *gate) Examine(ctx context.Context, w proxy.Wish, as proxy.User, n proxy.Names) error {
	m := g.models.known(ctx, w, n, as)
	if m == nil {
		return nil
	}
	page := w.Node + "." + w.Erupt
	if n.Field != "" {
		page += "/" + n.Field
	}
	for _, name := range n.Sort {
		if !m.SortsBy(name) {
			return proxy.Fail(proxy.Invalid, "the table of %s cannot be sorted by '%s'", page, name)
		}
	}
	for _, name := range n.Keys {
		if m.Conceals(name) {
			return proxy.Fail(proxy.Invalid, "nobody can search %s by '%s', which is a password", page, name)
		}
	}
	return nil
}

// missedFor is how long a model that could not be had is not asked for again.
const missedFor = 10 * time.Second

// known returns the model of the class that a wish, or the field in n, is about; nil if there is none to be had. One whose
// time is over is better than none.
func (c *modelCache) known(ctx context.Context, w proxy.Wish, n proxy.Names, as proxy.User) *buildmodel.Model {
	key := w.Node + "\x00" + strings.ToLower(w.Erupt)
	if n.Field != "" {
		key += "\x00" + n.Field
	}
	c.mu.Lock()
	kept, missed := c.kept[key], c.missed[key]
	c.mu.Unlock()
	enough := func(m *buildmodel.Model) bool {
		for _, name := range n.Sort {
			if !m.SortsBy(name) {
				return false
			}
		}
		return true
	}
	if c.now().Before(missed) {
		return kept.model
	}
	m, err := c.obtain(ctx, key, w.Node, enough, func(ctx context.Context) ([]byte, error) { return c.describe(ctx, w, n.Field, as) })
	if err != nil {
		c.miss(key)
		return kept.model
	}
	return m
}

func (c *modelCache) miss(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.missed) >= maxModels {
		clear(c.missed)
	}
	c.missed[key] = c.now().Add(missedFor)
}
