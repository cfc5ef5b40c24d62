package boot

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
)

// recordedUsers are the people of the recordings by session token, with the codes of their menus.
func recordedUsers(version string) map[string]access.Session {
	pages := map[string][]string{
		"erupt-1.12": {"Customer", "Purchase", "Product", "StockItem", "Region", "Warehouse", "Category", "Ledger", "Currency", "Bulletin", "Widget"},
		"erupt-2.0":  {"Region", "Skill", "Product", "RegionNote", "Purchase", "SettingsForm", "Ledger", "Job", "Customer"},
	}[version]
	node := map[string]string{"erupt-1.12": "warehouse", "erupt-2.0": "shop"}[version]
	everything := map[string]access.Menu{}
	for _, p := range pages {
		code := strings.ToLower(node + "." + p)
		everything[code] = access.Menu{}
		for _, f := range []string{"add", "edit", "delete", "export", "importable", "view_detail"} {
			everything[code+"@"+f] = access.Menu{}
		}
	}
	of := func(id int64, account, name string, codes map[string]access.Menu) access.Session {
		return access.Session{UserID: id, Account: account, Name: name, Values: codes}
	}
	for _, code := range []string{"shop.customer", "shop.customer@view_detail", "shop.purchase", "shop.nothing", "stock.region", "report.html", "page.html"} {
		everything[code] = access.Menu{}
	}
	admin := of(1, "erupt", "erupt", everything)
	all := map[string]access.Session{}
	for _, token := range []string{
		"34OQnY8j5JHEDuZc", "klFynQvX36ZiM6GK", "ozkYgT8aPZdMYMNt", "Gdz6FQ2oRaLiGfJm", "Ccf1wmM3jL05hGQ9", "W1q57dWR83JNawi3",
	} {
		all[token] = admin
	}
	all["Pomj1WyynfbmArpx"] = of(2, "lin", "Lin Yu", codesOf("warehouse.customer", "warehouse.customer@edit", "warehouse.region", "warehouse.customer@view_detail"))
	all["NaPqdcvzLQstWgkK"] = of(10, "lin", "Lin Yu", codesOf("shop.product", "shop.product@edit", "shop.product@view_detail"))
	all["42wxBJtBaaEb3gBp"] = of(10, "lin", "Lin Yü 林", codesOf("shop.product", "shop.product@edit", "shop.product@view_detail"))
	all["ERNGIFFKTZV9MIVSIAGMPCCYDB"] = all["NaPqdcvzLQstWgkK"]
	for token, s := range all {
		s.Token = token
		all[token] = s
	}
	return all
}

func codesOf(codes ...string) map[string]access.Menu {
	all := map[string]access.Menu{}
	for _, c := range codes {
		all[c] = access.Menu{}
	}
	return all
}

// recordedSessions finds sessions without a store.
type recordedSessions map[string]access.Session

func (s recordedSessions) Get(_ context.Context, token string, _ ...string) (access.Session, []bool, error) {
	if in, ok := s[token]; ok {
		return in, nil, nil
	}
	return access.Session{}, nil, fault.New(fault.Unauthenticated, "the session has ended")
}

// oneNode is a directory of nodes that are all at one location.
type oneNode struct {
	location string
	names    []string
}

func (d oneNode) Known(node string) bool {
	return strings.Contains(" "+strings.Join(d.names, " ")+" ", " "+node+" ")
}
func (d oneNode) Evict(context.Context, string, string) {}
func (d oneNode) Lookup(node string) (proxy.Target, error) {
	if !d.Known(node) {
		return proxy.Target{}, proxy.Fail(proxy.NodeNotReady, "'%s' node not ready", node)
	}
	return proxy.Target{Node: node, Upstreams: []proxy.Upstream{{Location: d.location, Instance: "one", Token: "AT-0001"}}}, nil
}

// theatre is the server's way to nodes, with everybody around it played from recordings: sessions, node and models.
type theatre struct {
	url    string
	client *http.Client
	log    strings.Builder
	mu     sync.Mutex
	next   *said            // what the node answers
	models map[string]*said // build models by class, for the gate's own questions
	asked  []*http.Request  // what the node was asked, but for models
	bodies []string
}

func newTheatre(t testing.TB, version string, calls []recordedCall) *theatre {
	t.Helper()
	th := &theatre{models: map[string]*said{}}
	for _, r := range calls {
		if r.Said != nil && r.Said.Status == 200 && strings.Count(r.Node.Target, "/") == 3 && strings.HasPrefix(r.Node.Target, "/erupt-api/build/") && !r.Said.Cut {
			th.models[strings.ToLower(strings.TrimPrefix(r.Node.Target, "/erupt-api/build/"))] = r.Said
		}
	}
	node := httptest.NewServer(http.HandlerFunc(th.play))
	t.Cleanup(node.Close)
	names := map[string][]string{"erupt-1.12": {"warehouse", "shop"}, "erupt-2.0": {"shop", "stock"}}[version]
	th.mount(t, oneNode{node.URL, names}, recordedUsers(version))
	return th
}

// mount puts the real gate and the real error answers around a proxy.
func (th *theatre) mount(t testing.TB, d oneNode, users recordedSessions) {
	var caller *proxy.Caller
	g := &gate{
		sessions: users, delegates: plainDelegates{}, chain: noGroups, hints: &fileHints{},
		models: newModelCache(time.Minute, time.Now, func(ctx context.Context, node, erupt string, as proxy.User) ([]byte, error) {
			return caller.Model(ctx, node, erupt, as)
		}),
	}
	g.models.describe = func(ctx context.Context, w proxy.Wish, field string, as proxy.User) ([]byte, error) {
		return caller.Describe(ctx, w, field, as)
	}
	for _, name := range d.names {
		g.nodes = append(nodesOf(g.nodes), fleet.Node{Name: name, Enabled: true})
	}
	shell, err := web.New(web.Options{
		Sessions: users, CookieKeys: [][]byte{make([]byte, 32), make([]byte, 16)}, Translate: faultOf,
		Logger: slog.New(slog.NewTextHandler(lockedWriter{&th.mu, &th.log}, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.New(proxy.Options{
		Directory: d, Gate: g, Local: http.NotFoundHandler(), Fail: shell.Fail, CookieToken: shell.CookieToken, FileToken: shell.CookieToken,
		ClientIP: web.ClientIP, External: externalOrigin,
	})
	if err != nil {
		t.Fatal(err)
	}
	caller = p.Caller()
	server := httptest.NewServer(shell.Front(p))
	th.url, th.client = server.URL, &http.Client{Transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(func() {
		th.client.CloseIdleConnections()
		server.Close()
		p.Close()
	})
}

func nodesOf(n allNodes) listedNodes {
	if n == nil {
		return nil
	}
	return n.(listedNodes)
}

type lockedWriter struct {
	mu *sync.Mutex
	to io.Writer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// play answers as the node on record did.
func (th *theatre) play(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	th.mu.Lock()
	answer := th.next
	if r.Header.Get("User-Agent") == "eruptcloud" { // the gate's own question
		answer = th.models[strings.ToLower(strings.TrimPrefix(r.URL.Path, "/erupt-api/build/"))]
	} else {
		th.asked, th.bodies = append(th.asked, r.Clone(context.Background())), append(th.bodies, string(body))
	}
	th.mu.Unlock()
	w.Header()["Content-Type"] = nil
	if answer == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	for _, h := range answer.Headers {
		if h[0] != "Content-Length" && h[0] != "Transfer-Encoding" && h[0] != "Connection" && h[0] != "Keep-Alive" {
			w.Header().Add(h[0], h[1])
		}
	}
	w.WriteHeader(answer.Status)
	_, _ = io.WriteString(w, answer.bytes())
}

// send repeats a browser's request.
func (th *theatre) send(t testing.TB, b *said) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(b.Method, th.url+b.Target, strings.NewReader(b.bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range b.Headers {
		switch name := http.CanonicalHeaderKey(h[0]); name {
		case "Host", "Content-Length", "Connection", "Accept-Encoding":
		case "Origin":
			req.Header.Set("Origin", strings.Replace(h[1], originOf(b), th.url, 1))
		default:
			req.Header[name] = append(req.Header[name], h[1])
		}
	}
	res, err := th.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func originOf(b *said) string { return "http://" + b.header("Host") }
