package boot

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"

	"eruptcloud/app/fleet"
	"eruptcloud/app/uploads"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
)

// publicFiles are the nodes whose files need no session (proxy.public_attachments).
type publicFiles struct {
	all   bool
	nodes []string
}

func newPublicFiles(names []string) publicFiles {
	return publicFiles{all: slices.Contains(names, "*"), nodes: slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "*" })}
}

func (p publicFiles) has(node string) bool { return p.all || slices.Contains(p.nodes, node) }

func (p publicFiles) none() bool { return !p.all && len(p.nodes) == 0 }

// Where implements proxy.Finder. The node whose page the session opened last comes first: a front end shows the files of its
// page, and no other node may answer for them. What was found before comes next.
func (g *gate) Where(ctx context.Context, w proxy.Wish) ([]proxy.Place, error) {
	user, s, err := g.identify(ctx, w)
	if err != nil && (g.public.none() || proxy.KindOf(err) != proxy.Unauthenticated) {
		return nil, err
	}
	all, failed := g.nodes.All(ctx)
	if failed != nil {
		return nil, failureOf(failed)
	}
	var places []proxy.Place
	for _, node := range g.hints.order(w, all) {
		as := user
		if err != nil || g.require(s, node) != nil {
			if !g.public.has(node) {
				continue
			}
			as = proxy.User{}
		} else {
			as.Delegated = g.delegates.Issue(w.Token, node)
		}
		places = append(places, proxy.Place{Node: node, As: as})
	}
	return places, nil
}

// require is asker.requireAny for a node.
func (g *gate) require(s asker, node string) error {
	s.groups = g.chain(node)
	return s.requireAny(node)
}

// Found implements proxy.Finder.
func (g *gate) Found(w proxy.Wish) { g.hints.found(w) }

// fileHints remember which node is likely to have a file. They order the search and open nothing.
type fileHints struct {
	mu     sync.Mutex
	pages  map[string][]string // session token → nodes whose pages it opened, the last one first
	places map[shown]string    // file → node that had it
}

// shown is a file as the page of a node shows it.
type shown struct{ page, path string }

// Bounds of what is remembered; when full it starts anew.
const (
	maxPageHints  = 4096
	maxPlaceHints = 8192
	pageHints     = 3 // nodes of one session
)

// opened notes that a session opened a page of a node.
func (h *fileHints) opened(token, node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.pages[token]
	if len(old) > 0 && old[0] == node {
		return
	}
	if h.pages == nil || len(h.pages) >= maxPageHints {
		h.pages = map[string][]string{}
	}
	next := append(make([]string, 0, pageHints), node)
	for _, n := range old {
		if n != node && len(next) < pageHints {
			next = append(next, n)
		}
	}
	h.pages[token] = next
}

// found notes who had a file, for sessions on the same node's pages only: a node that has every name must not stand in for all.
func (h *fileHints) found(w proxy.Wish) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.shown(w)
	if h.places[at] == w.Node {
		return
	}
	if h.places == nil || len(h.places) >= maxPlaceHints {
		h.places = map[shown]string{}
	}
	h.places[at] = w.Node
}

func (h *fileHints) shown(w proxy.Wish) shown {
	at := shown{path: w.Attachment}
	if pages := h.pages[w.Token]; len(pages) > 0 {
		at.page = pages[0]
	}
	return at
}

// order lists the enabled nodes, likeliest first.
func (h *fileHints) order(w proxy.Wish, all []fleet.Node) []string {
	h.mu.Lock()
	likely := slices.Clone(h.pages[w.Token])
	if node := h.places[h.shown(w)]; node != "" {
		likely = append(likely, node)
	}
	h.mu.Unlock()
	names := make([]string, 0, len(all))
	for _, n := range likely {
		if !slices.Contains(names, n) && slices.ContainsFunc(all, func(f fleet.Node) bool { return f.Name == n && f.Enabled }) {
			names = append(names, n)
		}
	}
	hinted := len(names)
	for i := range all {
		if all[i].Enabled && !slices.Contains(names[:hinted], all[i].Name) {
			names = append(names, all[i].Name)
		}
	}
	return names
}

// pageOpened remembers whose page a front end shows, and gives the browser what it needs to ask for the page's pictures: the
// front ends of erupt keep the session's token in a script, which pictures cannot send.
func (s *Server) pageOpened(w http.ResponseWriter, r *http.Request, token, node string) {
	s.hints.opened(token, node)
	s.shell.WriteFileToken(w, r, token)
}

// fileToken returns the session token by which a browser asks for a file: of the console, or else of a front end.
func (s *Server) fileToken(r *http.Request) string {
	return liveToken(r.Context(), s.shell.CookieToken(r), s.shell.FileToken(r), s.domain.Access.Sessions)
}

// liveToken chooses between two tokens the one whose session lives.
func liveToken(ctx context.Context, own, other string, sessions liveSessions) string {
	if own == "" || other == "" || own == other {
		return cmp.Or(own, other)
	}
	if _, _, err := sessions.Get(ctx, own); err != nil {
		return other
	}
	return own
}

// ownFiles puts the files that the server keeps itself before what else is its own below the proxy's paths.
func (s *Server) ownFiles(next http.Handler) http.Handler {
	store := uploads.New(uploads.Options{
		Folder: s.c.UploadsDir(), MaxFile: s.c.Uploads.MaxFile, MaxTotal: s.c.Uploads.MaxTotal,
		MaxAccount: s.c.Uploads.MaxAccount, Sessions: s.domain.Access.Sessions, Token: s.tokenOfFile, Query: s.c.Proxy.QueryTokens, Audit: s.domain.Access.Audit, Fail: s.shell.Fail, Logger: s.log,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := next
		if uploads.Owns(r.URL.Path) {
			to = store
		}
		to.ServeHTTP(w, r)
	})
}

// tokenOfFile is the session token by which a file of the server is asked for: as for a node's files.
func (s *Server) tokenOfFile(r *http.Request) string {
	if t := web.HeaderToken(r); t != "" {
		return t
	}
	if t := r.URL.Query().Get("_token"); t != "" && s.c.Proxy.QueryTokens {
		return t
	}
	return s.fileToken(r)
}
