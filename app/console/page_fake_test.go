package console

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
)

var _ PageCaller = (*proxy.Caller)(nil)

// fakePages answers calls as real nodes were recorded to; tests put other answers in their place.
type fakePages struct {
	t     testing.TB
	known []string // nodes with a profile
	mu    sync.Mutex
	says  map[string]nodeSays // "PATTERN FULL PARAMS…" or "PATTERN FULL" or "PATTERN"
	calls []sentCall
}

type nodeSays func(call proxy.Call, body []byte) (*proxy.Answer, error)

type sentCall struct {
	proxy.Call
	body string
}

func newFakePages(t testing.TB, known ...string) *fakePages {
	return &fakePages{t: t, known: known, says: map[string]nodeSays{}}
}

// on sets what is answered to a call; recorded and says make the usual answers.
func (f *fakePages) on(key string, say nodeSays) { f.says[key] = say }

func (f *fakePages) recorded(name string) nodeSays {
	f.t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "buildmodel", "testdata", name+".json"))
	if err != nil {
		f.t.Fatal(err)
	}
	return says(http.StatusOK, string(raw))
}

func says(status int, body string) nodeSays {
	return func(proxy.Call, []byte) (*proxy.Answer, error) {
		return &proxy.Answer{Status: status, Header: http.Header{}, Body: []byte(body), Location: "http://10.20.4.12:8080", Instance: "i-2", Took: 38 * time.Millisecond}, nil
	}
}

func fails(kind proxy.Kind, format string, args ...any) nodeSays {
	return func(proxy.Call, []byte) (*proxy.Answer, error) { return nil, proxy.Fail(kind, format, args...) }
}

func (f *fakePages) ResolveErupt(full string) (node, erupt string, ok bool) {
	return proxy.SplitRouteKey(full, func(node string) bool {
		for _, k := range f.known {
			if k == node {
				return true
			}
		}
		return false
	})
}

func (f *fakePages) Do(_ context.Context, call proxy.Call) (*proxy.Answer, error) {
	var body []byte
	if call.Body != nil {
		body, _ = io.ReadAll(call.Body)
	}
	f.mu.Lock()
	f.calls = append(f.calls, sentCall{call, string(body)})
	f.mu.Unlock()
	keys := []string{call.Path + " " + call.Full + " " + strings.Join(call.Params, " "), call.Path + " " + call.Full, call.Path}
	for _, k := range keys {
		if say, ok := f.says[k]; ok {
			return say(call, body)
		}
	}
	return says(http.StatusNotFound, "")(call, body)
}

// sent returns the bodies of the calls to an endpoint.
func (f *fakePages) sent(path string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, c := range f.calls {
		if c.Path == path {
			out = append(out, c.body)
		}
	}
	return out
}

// warehouse is a fleet with a 1.12 node and a 2.0 node, as recorded, and a third that is away.
func warehouse(t testing.TB) (*world, *fakePages) {
	w := newWorld()
	seen := now.Add(-48 * time.Hour)
	w.node(fleet.Node{Name: "warehouse", Display: "Warehouse", Enabled: true, FirstSeen: seen})
	w.node(fleet.Node{Name: "shop", Enabled: true, FirstSeen: seen})
	w.node(fleet.Node{Name: "label-printer", Enabled: true, FirstSeen: seen})
	erupts := func(names ...string) func(*registry.Instance) {
		return func(in *registry.Instance) { in.Node.Erupts = names }
	}
	w.instance("warehouse", "i-2", "http://10.20.4.12:8080", "1.12.23", erupts("Customer", "Purchase", "Product", "Region", "Widget", "Ledger", "StockItem"))
	w.instance("shop", "s-1", "http://10.20.5.1:8080", "2.0.4", erupts("Customer", "Region"))
	w.pageMenus("admin", true, "label-printer.Label")
	f := newFakePages(t, "warehouse", "shop", "label-printer")
	for page, name := range map[string]string{
		"warehouse.Customer": "classic-build-customer", "warehouse.Purchase": "classic-build-purchase", "warehouse.Widget": "classic-build-widget",
		"warehouse.Region": "classic-build-region", "warehouse.Ledger": "classic-build-ledger", "warehouse.StockItem": "classic-build-stock",
		"shop.Customer": "modern-build-customer", "shop.Region": "modern-build-region",
	} {
		f.on("build/{e} "+page, f.recorded(name))
	}
	for key, name := range map[string]string{
		"data/table/{e} warehouse.Customer": "classic-table-customer", "data/table/{e} warehouse.Widget": "classic-table-widget",
		"data/table/{e} warehouse.Purchase": "classic-table-purchase", "data/table/{e} warehouse.Ledger": "classic-table-ledger",
		"data/table/{e} shop.Customer": "modern-table-customer", "data/tree/{e} warehouse.Region": "classic-tree-region", "data/tree/{e} shop.Region": "modern-tree-region",
		"data/{e}/{id} warehouse.Customer 1": "classic-detail-customer-1", "data/{e}/{id} warehouse.Customer 2": "classic-detail-customer-2", "data/{e}/{id} warehouse.Customer 5": "classic-detail-customer-5",
		"data/{e}/{id} warehouse.Widget 1": "classic-detail-widget-1", "data/{e}/{id} warehouse.Widget 3": "classic-detail-widget-3", "data/{e}/{id} warehouse.Purchase 1": "classic-detail-purchase-1",
		"data/{e}/{id} warehouse.Ledger 9007199254740993": "classic-detail-ledger-big", "data/{e}/{id} warehouse.Region 3": "classic-detail-region-3",
		"data/{e}/{id} shop.Customer 1": "modern-detail-customer-1", "data/init-value/{e} warehouse.Customer": "classic-init-customer", "data/init-value/{e} shop.Customer": "modern-init-customer",
		"data/{e}/reference-tree/{f}": "classic-tree-region", "data/{e}/reference-table/{f} warehouse.Purchase customer": "classic-reference-customer", "build/{e}/{f} warehouse.Purchase customer": "classic-build-field-customer",
		"data/{e}/reference-table/{f} shop.Customer gift": "modern-reference-gift", "data/depend-tree/{e}": "classic-tree-region",
		"data/modify/{e}": "classic-saved", "data/modify/{e}/update": "classic-saved", "data/modify/{e}/delete": "classic-saved",
	} {
		f.on(key, f.recorded(name))
	}
	f.on("data/init-value/{e}", says(http.StatusOK, "{}"))
	f.on("build/{e} label-printer.Label", fails(proxy.NodeNotReady, "'%s' has no available instance", "label-printer"))
	return w, f
}

// pageMenus gives an account menus for pages, with all their function codes.
func (w *world) pageMenus(account string, admin bool, pages ...string) {
	w.login(account, admin)
	s := w.sessions[account]
	for _, p := range pages {
		kind := "table"
		if strings.HasSuffix(p, "Region") {
			kind = "tree"
		}
		s.Values[strings.ToLower(p)] = access.Menu{Name: "", Type: kind, Value: p, Status: access.MenuOpen}
		for _, f := range []string{"ADD", "EDIT", "DELETE", "EXPORT", "IMPORTABLE", "VIEW_DETAIL"} {
			s.Values[strings.ToLower(p+"@"+f)] = access.Menu{Type: "button", Value: p + "@" + f, Status: access.MenuOpen}
		}
	}
	w.sessions[account] = s
}

// newPageSite is newSite with nodes that have pages.
func newPageSite(t testing.TB, w *world, f PageCaller, change ...func(*web.Options)) *site {
	t.Helper()
	key := sha256.Sum256([]byte("test"))
	o := web.Options{
		Sessions: fakeSessions{w}, CookieKeys: [][]byte{key[:], key[:]}, CookieName: "ec_test", Logger: slog.New(slog.DiscardHandler),
		Version: "test", Counts: func(context.Context) (int, int) { return len(w.nodes), 0 }, Now: func() time.Time { return now }, Translate: translateForTest,
	}
	for _, c := range change {
		c(&o)
	}
	shell, err := web.New(o)
	if err != nil {
		t.Fatal(err)
	}
	options := Options{
		Nodes: fakeNodes{w}, Groups: fakeGroups{w}, Holds: fakeHolds{w}, Registry: fakeRegistry{w}, Caller: fakeCaller{w}, Pages: f,
		Users: fakeUsers{w}, Roles: fakeRoles{w}, Menus: fakeMenus{w}, Login: fakeLogin{w}, Sessions: fakeSessions{w}, Audit: fakeAudit{w},
		Done: w.done, Now: func() time.Time { return now },
	}
	if w.traces != nil {
		options.Traces = w.traces
	}
	if err := Mount(shell, options); err != nil {
		t.Fatal(err)
	}
	return &site{world: w, t: t, http: shell.Handler(), shell: shell, cookies: map[string]*http.Cookie{}}
}

func jsonOf(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}
