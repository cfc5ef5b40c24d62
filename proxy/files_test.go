package proxy

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// finder is a gate that lets files be looked for in places.
type finder struct {
	*fakeGate
	places []string
	public bool
	found  []string
}

func (f *finder) Where(_ context.Context, w Wish) ([]Place, error) {
	if w.Token != sessionToken && !f.public {
		return nil, Fail(Unauthenticated, "sign in first")
	}
	var all []Place
	for _, node := range f.places {
		p := Place{Node: node}
		if w.Token == sessionToken {
			p.As = User{User: f.user, Token: w.Token, Delegated: "d1_" + node}
		}
		all = append(all, p)
	}
	return all, nil
}

func (f *finder) Found(w Wish) { f.found = append(f.found, w.Node+" "+w.Attachment) }

// newSearch is a rig whose gate finds files.
func newSearch(t *testing.T, places ...string) (*rig, *finder) {
	f := &finder{places: places}
	rig := newRig(t, func(o *Options) {
		f.fakeGate = o.Gate.(*fakeGate)
		o.Gate = f
		o.FileToken = func(r *http.Request) string {
			if c, err := r.Cookie("ec_files"); err == nil {
				return c.Value
			}
			return ""
		}
	})
	return rig, f
}

// newDisk is an instance with files of its own.
func newDisk(t *testing.T, files map[string]string) *fakeNode {
	return newFakeNode(t, func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if !ok {
			http.Error(w, "not here", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	})
}

func TestFileOfAnotherInstance(t *testing.T) { // erupt-wire 3.6: instances with disks of their own
	empty, full := newDisk(t, nil), newDisk(t, map[string]string{"/erupt-attachment/a.png": "picture"})
	rig := newRig(t)
	rig.dir.set("shop", empty.URL, full.URL)
	got := rig.get("/erupt-attachment/a.png?_node=shop", "")
	if got.Status != 200 || got.Body != "picture" || len(empty.requests()) != 1 {
		t.Errorf("%d %s, want the second instance's file", got.Status, got.Body)
	}
	if len(rig.dir.evictions()) != 0 {
		t.Errorf("an instance without the file was evicted: %v", rig.dir.evictions())
	}
	if traces := rig.proxy.Traces("shop", 1); traces[0].Retry != RetryMissing || traces[0].Tried[0].Error != missing || traces[0].Tried[1].Error != "" {
		t.Errorf("the trace says %q of %+v", traces[0].Retry, traces[0].Tried)
	}
	if got := rig.get("/erupt-attachment/b.png?_node=shop", ""); got.Status != 404 || !strings.Contains(got.Body, "not here") {
		t.Errorf("a file that nobody has: %d %s, want the node's own 404", got.Status, got.Body)
	}
	// only files are looked for elsewhere: a record that is not there is an answer
	if got := rig.get("/erupt-api/data/shop.Customer/7", "shop.Customer"); got.Status != 404 || len(empty.requests())+len(full.requests()) != 5 {
		t.Errorf("a missing record: %d, want one 404 from one instance", got.Status)
	}
}

func TestFileWithoutANode(t *testing.T) { // erupt-wire 3.6, F725: the front ends name no node
	shop := newDisk(t, map[string]string{"/erupt-attachment/shop.png": "of shop", "/erupt-api/file/download-attachment/shop.pdf": "pdf of shop"})
	bank := newDisk(t, map[string]string{"/erupt-attachment/2026-11-29/bank.png": "of bank"})
	tests := map[string]struct {
		target  string
		headers []string
		status  int
		body    string
		found   []string
	}{
		"of the first node":            {"/erupt-attachment/shop.png", nil, 200, "of shop", []string{"shop shop.png"}},
		"of the second":                {"/erupt-attachment/2026-11-29/bank.png", nil, 200, "of bank", []string{"bank 2026-11-29/bank.png"}},
		"with the token of 2.x":        {"/erupt-attachment/shop.png?_token=" + sessionToken, []string{"token", ""}, 200, "of shop", []string{"shop shop.png"}},
		"with the cookie for files":    {"/erupt-attachment/shop.png", []string{"token", "", "Cookie", "ec_files=" + sessionToken}, 200, "of shop", []string{"shop shop.png"}},
		"download":                     {"/erupt-api/file/download-attachment/shop.pdf", nil, 200, "pdf of shop", []string{"shop shop.pdf"}},
		"of nobody":                    {"/erupt-attachment/none.png", nil, 404, "not here", nil},
		"without a session":            {"/erupt-attachment/shop.png", []string{"token", ""}, 401, "sign in", nil},
		"with dots":                    {"/erupt-attachment/%2e%2e/shop.png", nil, 400, "dot segment", nil},
		"with an encoded slash":        {"/erupt-attachment/x%2Fshop.png", nil, 400, "encoded slash", nil},
		"the server's own":             {"/erupt-attachment/" + OwnFiles + "/a.png", nil, 418, "", nil},
		"a part of it":                 {"/erupt-attachment/shop.png", []string{"Range", "bytes=3-6"}, 206, "shop", []string{"shop shop.png"}},
		"a part beyond its end":        {"/erupt-attachment/shop.png", []string{"Range", "bytes=99-"}, 416, "", []string{"shop shop.png"}},
		"a writing method":             {"/erupt-attachment/shop.png", []string{"X-Method", "DELETE"}, 418, "", nil},
		"a template, without its node": {"/erupt-api/tpl/shop.html", nil, 418, "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rig, f := newSearch(t, "shop", "bank")
			rig.dir.set("shop", shop.URL)
			rig.dir.set("bank", bank.URL)
			req := rig.request("GET", tt.target, "", nil, tt.headers...)
			if m := req.Header.Get("X-Method"); m != "" {
				req.Method = m
			}
			if got := rig.do(req); got.Status != tt.status || !strings.Contains(got.Body, tt.body) {
				t.Errorf("%d %q, want %d %q", got.Status, got.Body, tt.status, tt.body)
			}
			if diff := cmp.Diff(tt.found, f.found); diff != "" {
				t.Errorf("noted (-want +got):\n%s", diff)
			}
		})
	}
}

// Each node sees the handle that was made for it, and no node another's.
func TestSearchShowsEachNodeItsOwnHandle(t *testing.T) {
	shop, bank := newDisk(t, nil), newDisk(t, map[string]string{"/erupt-attachment/a.png": "x"})
	rig, _ := newSearch(t, "shop", "bank")
	rig.dir.set("shop", shop.URL)
	rig.dir.set("bank", bank.URL)
	rig.dir.nodes["bank"].Upstreams[0].Token = "AT-bank"
	if got := rig.get("/erupt-attachment/a.png?_token=", "", "If-None-Match", `"x"`); got.Status != 200 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	a, b := shop.only(t).Header, bank.only(t).Header
	if a.Get("token") != "d1_shop" || a.Get("Access-Token") != accessToken || b.Get("token") != "d1_bank" || b.Get("Access-Token") != "AT-bank" {
		t.Errorf("handles %q and %q, tokens %q and %q", a.Get("token"), b.Get("token"), a.Get("Access-Token"), b.Get("Access-Token"))
	}
	if a.Get("user") != userBase64 || b.Get("user") != userBase64 || b.Get("If-None-Match") != `"x"` {
		t.Errorf("headers %v and %v", a, b)
	}
}

func TestPublicFilesGoWithoutAUser(t *testing.T) { // erupt-wire 10.6: an opt-out for public files
	shop := newDisk(t, map[string]string{"/erupt-attachment/a.png": "x"})
	rig, f := newSearch(t, "shop")
	rig.dir.set("shop", shop.URL)
	f.public = true
	if got := rig.get("/erupt-attachment/a.png", "", "token", ""); got.Status != 200 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if h := shop.only(t).Header; h.Get("user") != "" || h.Get("token") != "" || h.Get("Access-Token") != accessToken {
		t.Errorf("for nobody the node sees %v", h)
	}
}

func TestSearchPastNodesThatAreAway(t *testing.T) {
	full := newDisk(t, map[string]string{"/erupt-attachment/a.png": "x"})
	rig, _ := newSearch(t, "ghost", "down", "bank")
	rig.dir.set("down", "http://127.0.0.1:1")
	rig.dir.set("bank", full.URL)
	if got := rig.get("/erupt-attachment/a.png", ""); got.Status != 200 {
		t.Errorf("with one node away: %d %s, want the file of the other", got.Status, got.Body)
	}
	if got := rig.get("/erupt-attachment/b.png", ""); got.Status != 502 {
		t.Errorf("a file that the node which is away may have: %d %s, want 502 and no 404", got.Status, got.Body)
	}
	rig.dir.set("bank")
	rig.dir.set("down")
	if got := rig.get("/erupt-attachment/a.png", ""); got.Status != 503 {
		t.Errorf("with nobody there: %d %s, want 503", got.Status, got.Body)
	}
	none, _ := newSearch(t)
	if got := none.get("/erupt-attachment/a.png", ""); got.Status != 404 {
		t.Errorf("with no node to ask: %d %s, want 404", got.Status, got.Body)
	}
}

func TestSearchIsBounded(t *testing.T) {
	empty := newDisk(t, nil)
	var places []string
	rig, f := newSearch(t)
	for i := range 3 * maxSearch {
		places = append(places, "n"+string(rune('A'+i)))
		rig.dir.set(places[i], empty.URL)
	}
	f.places = places
	if got := rig.get("/erupt-attachment/a.png", ""); got.Status != 404 || len(empty.requests()) != maxSearch {
		t.Errorf("%d after %d questions, want 404 after %d", got.Status, len(empty.requests()), maxSearch)
	}
}

func TestDryRunOfASearch(t *testing.T) { // D11
	rig, _ := newSearch(t, "shop")
	rig.dir.set("shop", "http://x")
	if tr := rig.proxy.Explain(t.Context(), sessionToken, "GET", "/erupt-attachment/a.png", "", ""); tr.Node != "shop" || !tr.Decision.Allowed || tr.Own {
		t.Errorf("dry run of a search: %+v", tr)
	}
	if tr := rig.proxy.Explain(t.Context(), "x", "GET", "/erupt-attachment/a.png", "", ""); tr.Failure != Unauthenticated {
		t.Errorf("without a session: %+v", tr)
	}
}

func TestOnPage(t *testing.T) { // the cookie for pictures is given where a page begins
	node := newFakeNode(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "Broken") {
			w.WriteHeader(500)
		}
		_, _ = io.WriteString(w, `{"eruptModel":{"eruptName":"X"}}`)
	})
	rig := newRig(t, func(o *Options) {
		o.CookieToken = func(*http.Request) string { return sessionToken }
		o.OnPage = func(w http.ResponseWriter, _ *http.Request, token, node string) {
			w.Header().Set("Set-Cookie", "files="+token+"."+node)
		}
	})
	rig.dir.set("shop", node.URL)
	tests := map[string]struct {
		target, erupt string
		headers       []string
		want          string
	}{
		"a page":               {"/erupt-api/build/shop.X", "shop.X", nil, "files=" + sessionToken + ".shop"},
		"of the console":       {"/erupt-api/build/shop.X", "shop.X", []string{"token", ""}, ""},
		"that is refused":      {"/erupt-api/build/shop.Broken", "shop.Broken", nil, ""},
		"a part of it":         {"/erupt-api/build/shop.X/y", "shop.X", nil, ""},
		"no page but its data": {"/erupt-api/data/tree/shop.X", "shop.X", nil, ""},
	}
	for name, tt := range tests {
		req := rig.request("GET", tt.target, tt.erupt, nil, tt.headers...)
		if len(tt.headers) > 0 {
			req.Header.Del("token")
		}
		if got := rig.do(req); got.Header.Get("Set-Cookie") != tt.want {
			t.Errorf("%s: %d, cookie %q, want %q", name, got.Status, got.Header.Get("Set-Cookie"), tt.want)
		}
	}
}

func TestQueryTokensCanBeSwitchedOff(t *testing.T) { // erupt-wire 10.2.1
	rig := newRig(t, func(o *Options) { o.NoQueryToken = true })
	rig.dir.set("shop", newFakeNode(t, nil).URL)
	for _, target := range []string{"/erupt-api/tpl/page.html?_node=shop&_token=", "/erupt-attachment/a.png?_node=shop&_token="} {
		if got := rig.get(target+sessionToken, "", "token", ""); got.Status != 401 {
			t.Errorf("%s: %d, want 401", target, got.Status)
		}
	}
}

func TestHostileCallbacks(t *testing.T) { // UEditor's JSONP (erupt-wire 3.5)
	node := newFakeNode(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = io.WriteString(w, r.URL.Query().Get("callback")+"({})")
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	tests := map[string]int{
		"action=config": 200, "action=config&callback=bd__editor__1x2": 200, "callback=": 200, "callback=$f_1": 200,
		"callback=%3Cscript%3Ealert(1)%3C/script%3E": 400, "callback=alert(1)//": 400, "callback=a.b": 400, "callback=a%0d%0aX:1": 400,
		"%63allback=a(": 400, "callback=ok&callback=alert(1)": 400, "callback=" + strings.Repeat("a", 65): 400, "callback=a;b": 400, "callback=1a": 400,
	}
	for query, want := range tests {
		before := len(node.requests())
		got := rig.get("/erupt-api/file/upload-ueditor/shop.Customer/html?_erupt=shop.Customer&"+query, "")
		if got.Status != want || len(node.requests())-before != map[int]int{200: 1, 400: 0}[want] {
			t.Errorf("%s: %d %s, want %d", query, got.Status, got.Body, want)
		}
		if kind := got.Header.Get("Content-Type"); got.Status == 200 && (strings.Contains(kind, "html") || kind == "" || got.Header.Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s arrives as %q", query, kind)
		}
	}
	// elsewhere the word means nothing
	if got := rig.get("/erupt-api/comp/choice-item/shop.Customer/x?callback=a(b)", "shop.Customer"); got.Status != 200 {
		t.Errorf("a callback of another endpoint: %d %s", got.Status, got.Body)
	}
}

func TestMaxOpen(t *testing.T) { // erupt-wire 10.4: one instance does not take all there is
	hold, here := make(chan struct{}), make(chan struct{}, 2)
	slow := newFakeNode(t, func(http.ResponseWriter, *http.Request) {
		here <- struct{}{}
		<-hold
	})
	fast := newFakeNode(t, nil)
	rig := newRig(t, func(o *Options) { o.MaxOpen = 1 })
	rig.dir.set("shop", slow.URL)
	done := make(chan reply, 1)
	go func() { done <- rig.get("/erupt-api/data/tree/shop.X", "shop.X") }()
	<-here
	if got := rig.get("/erupt-api/data/tree/shop.X", "shop.X"); got.Status != 503 || !strings.Contains(got.Body, "as many requests open") {
		t.Errorf("with one open: %d %s, want 503", got.Status, got.Body)
	}
	rig.dir.set("shop", slow.URL, fast.URL)
	if got := rig.post("/erupt-api/data/table/shop.X", "shop.X", "{}"); got.Status != 200 || len(fast.requests()) != 1 || string(fast.requests()[0].Body) != "{}" {
		t.Errorf("with a free instance: %d %s", got.Status, got.Body)
	}
	close(hold)
	if got := <-done; got.Status != 200 {
		t.Errorf("the first: %d %s", got.Status, got.Body)
	}
	if got := rig.get("/erupt-api/data/tree/shop.X", "shop.X"); got.Status != 200 || len(rig.dir.evictions()) != 0 {
		t.Errorf("afterwards: %d %s, evicted %v", got.Status, got.Body, rig.dir.evictions())
	}
}
