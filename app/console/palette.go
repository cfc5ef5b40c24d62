package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// Bounds of a search over the whole console.
const (
	maxSearch  = 200 // bytes of the text
	maxRecent  = 12  // pages that a browser says it was on
	paletteFew = 6   // hits of a kind in the palette
	searchMany = 50  // the same on the page
)

func (p *pages) mountPalette(root *gin.RouterGroup) {
	p.route(root, http.MethodGet, "/palette", p.palette)
	p.route(root, http.MethodGet, "/search", p.search)
}

// palette handles GET /console/palette?q=&recent=…: the options of the palette. recent are the pages that the browser was on,
// newest first; what the viewer may not see any more is left out. A text that begins with > looks for actions only.
func (p *pages) palette(c *gin.Context) error {
	found, err := p.find(c, c.Query("q"), paletteFew)
	if err != nil {
		return err
	}
	return web.Render(c, views.PaletteHits(found))
}

// search handles GET /console/search?q=: the same as a page, which needs no script.
func (p *pages) search(c *gin.Context) error {
	query := strings.TrimSpace(c.Query("q"))
	var found views.Search
	if query != "" {
		all, err := p.find(c, query, searchMany)
		if err != nil {
			return err
		}
		found = all.Links()
	}
	found.Query = shortQuery(query)
	return web.Twin(c, searchTwin(c, found), views.SearchPage(found))
}

// searchHit is a hit for scripts.
type searchHit struct {
	Kind  string `json:"kind"`
	Title string `json:"title"`
	State string `json:"state,omitempty"`
	Note  string `json:"note,omitempty"`
	URL   string `json:"url"` // with the base path
}

func searchTwin(c *gin.Context, found views.Search) map[string]any {
	hits := []searchHit{}
	for _, g := range found.Groups {
		if g.Kind == kindAction {
			continue
		}
		for _, h := range g.Hits {
			hits = append(hits, searchHit{Kind: g.Kind, Title: h.Title, State: string(h.State), Note: h.Note, URL: views.URL(c.Request.Context(), h.Path)})
		}
	}
	return map[string]any{"query": found.Query, "hits": hits}
}

// The kinds of hits.
const (
	kindRecent   = "recent"
	kindNode     = "node"
	kindInstance = "instance"
	kindGroup    = "group"
	kindPage     = "page"
	kindUser     = "user"
	kindAction   = "action"
)

func shortQuery(q string) string {
	return strings.ToValidUTF8(q[:min(len(q), maxSearch)], "")
}

// finder collects the hits of one search.
type finder struct {
	words  []string
	text   string         // the words
	recent map[string]int // path → how long ago, from 0
	few    int
	nodes  map[string]fleet.Node // of hits, by path
	kinds  map[string][]candidate
	beyond map[string]int // hits that are only counted
}

// candidate is a hit that may be shown, and how good it is: the lower the better.
type candidate struct {
	views.Hit
	recent, rank int
}

// find searches what the viewer may see. Without a text it offers what he was on last, and the actions.
func (p *pages) find(c *gin.Context, query string, few int) (views.Search, error) {
	query = shortQuery(strings.TrimSpace(query))
	f := &finder{few: few, recent: map[string]int{}, nodes: map[string]fleet.Node{}, kinds: map[string][]candidate{}, beyond: map[string]int{}}
	for i, path := range c.QueryArray("recent")[:min(len(c.QueryArray("recent")), maxRecent)] {
		f.recent[path] = i
	}
	only, actionsOnly := strings.CutPrefix(query, ">")
	f.words = views.Words(only)
	f.text = strings.Join(f.words, " ")
	var near []fleet.Node
	if !actionsOnly || len(f.words) > 0 {
		var err error
		if near, err = p.findThings(c, f); err != nil {
			return views.Search{}, err
		}
	}
	p.findActions(c, f, near)
	if actionsOnly {
		for kind := range f.kinds {
			if kind != kindAction {
				delete(f.kinds, kind)
			}
		}
	}
	found := f.found(strings.TrimSpace(only))
	p.judgeFound(f, found)
	return found, nil
}

// wants reports whether the search is for something that is called so: each word occurs in one of the texts. Without words
// it is for what the viewer was on last.
func (f *finder) wants(path string, texts ...string) bool {
	if len(f.words) == 0 {
		_, seen := f.recent[path]
		return seen
	}
	for i, t := range texts {
		texts[i] = strings.ToLower(t)
	}
	for _, w := range f.words {
		if !slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, w) }) {
			return false
		}
	}
	return true
}

// maxKept is how many hits of a kind are compared; what is beyond is only counted.
const maxKept = 500

// add keeps a hit that the search wants.
func (f *finder) add(kind string, h views.Hit) {
	at, seen := f.recent[h.Path]
	if !seen || h.Path == "" {
		at = maxRecent
	}
	if len(f.words) == 0 && kind != kindAction {
		kind = kindRecent
	}
	if len(f.kinds[kind]) >= maxKept && at == maxRecent {
		f.beyond[kind]++
		return
	}
	f.kinds[kind] = append(f.kinds[kind], candidate{Hit: h, recent: at, rank: rankOf(strings.ToLower(h.Title), f.text)})
}

// rankOf says how well a title fits: it is the text, begins with it, has a word that does, has it somewhere, or not at all.
func rankOf(title, text string) int {
	at := strings.Index(title, text)
	switch {
	case title == text:
		return 0
	case at == 0:
		return 1
	case at > 0 && strings.ContainsAny(title[at-1:at], " -_.:/"):
		return 2
	case at > 0:
		return 3
	}
	return 4
}

// found sorts the hits: what the viewer was on last, then what fits best, then by name. Actions keep their order.
func (f *finder) found(query string) views.Search {
	out := views.Search{Query: query}
	for _, k := range []struct{ kind, key string }{
		{kindRecent, "find.recent"}, {kindNode, "find.nodes"}, {kindInstance, "find.instances"}, {kindGroup, "find.groups"},
		{kindPage, "find.pages"}, {kindUser, "find.users"}, {kindAction, "find.actions"},
	} {
		all := f.kinds[k.kind]
		if len(all) == 0 {
			continue
		}
		slices.SortStableFunc(all, func(a, b candidate) int {
			if d := a.recent - b.recent; d != 0 {
				return d
			}
			if d := a.rank - b.rank; d != 0 || k.kind == kindAction {
				return d
			}
			return strings.Compare(a.Title, b.Title)
		})
		few := f.few
		if k.kind == kindAction && len(f.words) == 0 {
			few = len(all)
		}
		g := views.HitGroup{Kind: k.kind, Key: k.key, More: max(0, len(all)+f.beyond[k.kind]-few), MorePath: morePath(k.kind, query, f.few)}
		for i, a := range all[:min(len(all), few)] {
			a.ID = k.kind + "-hit-" + views.Num(i)
			g.Hits = append(g.Hits, a.Hit)
		}
		out.Groups = append(out.Groups, g)
	}
	return out
}
