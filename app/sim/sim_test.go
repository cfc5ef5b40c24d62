package sim

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	na "eruptcloud/nodeagent"
	"eruptcloud/nodeagent/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plane plays the control plane: it probes at each registration, as the real one does.
type plane struct {
	*httptest.Server
	mu         sync.Mutex
	live       map[string]wire.NodeInfo // by instance id
	removed    []string
	registered chan string // labels of accepted registrations
}

func newPlane(t *testing.T) *plane {
	p := &plane{live: map[string]wire.NodeInfo{}, registered: make(chan string, 100)}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *plane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case wire.RegisterPath:
		var info wire.NodeInfo
		_ = json.NewDecoder(r.Body).Decode(&info)
		for _, address := range info.NodeAddress {
			if _, body, err := call(http.MethodGet, address+wire.HealthPath, "", ""); err != nil || body != info.NodeName {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
		}
		p.mu.Lock()
		p.live[info.InstanceID] = info
		p.mu.Unlock()
		p.registered <- info.NodeName
	case wire.RemovePath:
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.live, r.FormValue(wire.FormInstance))
		if r.FormValue(wire.FormDrain) == "" {
			p.removed = append(p.removed, r.FormValue(wire.FormNode))
		}
	case wire.PowerPath:
		_, _ = io.WriteString(w, `{"query":true,"add":true,"edit":true,"delete":true,"viewDetails":true,"export":true}`)
	}
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// call sends a request as the control plane does.
func call(method, url, token, body string) (int, string, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		r.Header.Set(wire.HeaderAccessToken, token)
		r.Header.Set(wire.HeaderToken, "d1_session")
		r.Header.Set(wire.HeaderUser, base64.StdEncoding.EncodeToString([]byte(`{"uid":1,"account":"lin","name":"Lin"}`)))
	}
	res, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	return res.StatusCode, string(all), err
}

func tokens() map[string]string {
	all := map[string]string{}
	for _, n := range DemoNodes() {
		all[n.Name] = "token-of-" + n.Name
	}
	return all
}

// TestFleet runs the demo's fleet against a played control plane and looks at it as a user would.
func TestFleet(t *testing.T) {
	p := newPlane(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- New(Spec{Server: p.URL, Tokens: tokens(), LogEvery: time.Millisecond, DrainSettle: time.Millisecond}).Run(ctx)
	}()
	for range 4 {
		<-p.registered
	}
	p.mu.Lock()
	byNode := map[string][]string{}
	erupts := map[string]string{}
	for _, info := range p.live {
		byNode[info.NodeName] = append(byNode[info.NodeName], info.NodeAddress[0])
		erupts[info.NodeName] = strings.Join(info.Erupts, " ")
	}
	p.mu.Unlock()
	if len(byNode) != 3 || len(byNode["crm"]) != 2 {
		t.Fatalf("instances = %v, want three names and crm twice", byNode)
	}
	for node, want := range map[string]string{"crm": "Customer Region Visit", "orders": "Buyer Order OrderItem Product", "warehouse": "Place Product Stock"} {
		if erupts[node] != want {
			t.Errorf("%s hosts %q, want %q", node, erupts[node], want)
		}
	}

	ask := func(node string, instance int, path, body string) string {
		t.Helper()
		method := http.MethodPost
		if body == "" {
			method = http.MethodGet
		}
		status, answer, err := call(method, byNode[node][instance]+"/erupt-api/"+path, "token-of-"+node, body)
		if err != nil || status != 200 {
			t.Errorf("%s %s = %d %s %v", node, path, status, answer, err)
		}
		return answer
	}
	rows := 0
	for page, node := range map[string]string{"Customer": "crm", "Region": "crm", "Visit": "crm", "Order": "orders", "Product": "orders", "Place": "warehouse", "Stock": "warehouse"} {
		var table struct{ Total int }
		_ = json.Unmarshal([]byte(ask(node, 0, "data/table/"+page, `{"pageIndex":1,"pageSize":10}`)), &table)
		rows += table.Total
		ask(node, 0, "build/"+page, "")
	}
	if rows < 450 || rows > 550 {
		t.Errorf("%d rows in all, want about 500", rows)
	}

	// The two instances of crm share their data.
	if got := ask("crm", 0, "data/modify/Customer", `{"name":"新客户 New","region":{"id":2},"level":"G","active":true}`); !strings.Contains(got, `"success":true`) {
		t.Errorf("insert = %s", got)
	}
	if got := ask("crm", 1, "data/table/Customer", `{"pageIndex":1,"pageSize":10,"condition":[{"key":"name","value":"新客户"}]}`); !strings.Contains(got, `"code":"C-0161"`) || !strings.Contains(got, `"changedBy":"lin"`) {
		t.Errorf("the other instance finds %s", got)
	}
	// An order without prices gets those of its products, and a total.
	if got := ask("orders", 0, "data/modify/Order", `{"no":"X-1","customer":{"id":1},"status":"new","placed":"2026-11-29T10:00:00","items":[{"product":{"id":1},"count":2},{"product":{"id":2},"count":1,"price":"0.05"}]}`); !strings.Contains(got, `"success":true`) {
		t.Errorf("order = %s", got)
	}
	if got := ask("orders", 0, "data/table/Order", `{"pageIndex":1,"pageSize":10,"condition":[{"key":"no","value":"X-1"}]}`); !strings.Contains(got, `"total":256.05`) {
		t.Errorf("order is %s, want a total of 2 × 128 + 0.05", got)
	}
	if got := ask("crm", 0, "data/modify/Customer/delete", `[1]`); !strings.Contains(got, `"success":false`) {
		t.Errorf("a customer with orders was deleted: %s", got)
	}
	if got := ask("crm", 0, "excel/export/Customer", `{"pageIndex":1,"pageSize":1}`); strings.Count(got, "\n") != customerCount+2 || !strings.HasPrefix(got, "\uFEFFcode,name,") {
		t.Errorf("export has %d lines", strings.Count(got, "\n"))
	}
	for node, instances := range byNode {
		for i := range instances {
			var lines []wire.LogLine
			if err := json.Unmarshal([]byte(ask(node, i, "tool/erupt-log?size=1000", "")), &lines); err != nil || len(lines) == 0 {
				t.Errorf("%s has logged nothing", node)
			}
		}
	}

	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v", err)
	}
	slices.Sort(p.removed)
	if !slices.Equal(p.removed, []string{"crm", "crm", "orders", "warehouse"}) || len(p.live) != 0 {
		t.Errorf("said goodbye: %v, still there: %v", p.removed, p.live)
	}
	for node, instances := range byNode {
		if _, _, err := call(http.MethodGet, instances[0], "", ""); err == nil {
			t.Errorf("%s still listens", node)
		}
	}
}

func TestFleetNeedsItsTokens(t *testing.T) {
	have := tokens()
	delete(have, "orders")
	if err := New(Spec{Server: "http://127.0.0.1:1", Tokens: have}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "orders") {
		t.Errorf("Run = %v, want an error that names the node", err)
	}
	if err := New(Spec{Server: "nonsense", Tokens: tokens()}).Run(t.Context()); err == nil {
		t.Error("Run with an address that is none returned nil")
	}
}

func TestFleetEndsWithoutAServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody listens there
	go func() {
		done <- New(Spec{Server: "http://" + l.Addr().String(), Tokens: tokens(), DrainSettle: time.Millisecond}).Run(ctx)
	}()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v", err)
	}
}

func TestSameSeedSameRows(t *testing.T) {
	dump := func(seed uint64) string {
		s := newShop(seed)
		var b bytes.Buffer
		for _, source := range []*na.MemSource{s.regions, s.customers, s.visits, s.products, s.orders, s.places, s.stock} {
			rows, _, err := source.Query(t.Context(), na.Query{})
			if err != nil {
				t.Fatal(err)
			}
			_ = json.NewEncoder(&b).Encode(rows)
		}
		return b.String()
	}
	if seven, again := dump(7), dump(7); seven != again || seven == dump(8) {
		t.Error("rows depend on something else than the seed")
	}
}

// TestEveryRowCanBeSavedAsItIs holds the generated rows against the rules of their own pages.
func TestEveryRowCanBeSavedAsItIs(t *testing.T) {
	p := newPlane(t)
	s := newShop(0)
	for _, node := range []string{"crm", "orders", "warehouse"} {
		agent, err := na.New(na.Config{NodeName: node, AccessToken: "t", ServerAddresses: []string{p.URL}, EnableRegister: new(false), HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		if err := agent.Host(s.pages(node)...); err != nil {
			t.Fatal(err)
		}
		handler := agent.Handler()
		ask := func(method, path, body string) string {
			r := httptest.NewRequest(method, "/erupt-api/"+path, strings.NewReader(body))
			r.Header.Set(wire.HeaderAccessToken, "t")
			r.Header.Set(wire.HeaderToken, "s")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Body.String()
		}
		for _, page := range s.pages(node) {
			if page.Power != nil {
				continue
			}
			rows, _, err := page.Source.Query(t.Context(), na.Query{})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				detail := ask(http.MethodGet, fmt.Sprintf("data/%s/%d", page.Name, row["id"]), "")
				if got := ask(http.MethodPost, "data/modify/"+page.Name+"/update", detail); !strings.Contains(got, `"success":true`) {
					t.Errorf("%s %d: %s\n%s", page.Name, row["id"], got, detail)
				}
			}
		}
	}
}

func TestFlakyPort(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := newFlaky(inner)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(f) }()
	url := "http://" + f.Addr().String()
	held, err := net.Dial("tcp", f.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := io.WriteString(held, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1024)
	if _, err := held.Read(buf); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f.suspend()
		f.suspend() // twice is once
		if _, _, err := call(http.MethodGet, url, "", ""); err == nil {
			t.Fatal("the port answers although it is closed")
		}
		f.resume()
		f.resume()
		if _, body, err := call(http.MethodGet, url, "", ""); err != nil || body != "here" {
			t.Fatalf("after the stumble: %q, %v", body, err)
		}
	}
	if _, err := io.ReadAll(held); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("held connection: %v, want it cut", err)
	}
	f.suspend()
	_ = srv.Close()
	if err := <-served; err == nil {
		t.Error("Serve ended without a reason")
	}
	f.resume()
	if _, _, err := call(http.MethodGet, url, "", ""); err == nil {
		t.Error("a closed listener was opened again")
	}
}

func TestStumbling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f := newFlaky(inner)
		defer f.Close()
		ring := na.NewLogRing(0)
		in := &instance{spec: Spec{}.complete(), label: "crm-2", log: logTo(ring)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); in.stumble(ctx, f) }()
		open := func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.inner != nil
		}
		state := func() string {
			return fmt.Sprintf("open %v, healthy %v", open(), in.healthy(nil) == nil)
		}
		steps := []struct {
			after time.Duration
			want  string
		}{
			{3 * time.Minute, "open true, healthy true"},
			{70 * time.Second, "open false, healthy true"}, // 4:10
			{20 * time.Second, "open true, healthy true"},
			{4 * time.Minute, "open true, healthy false"}, // 8:30
			{20 * time.Second, "open true, healthy true"},
			{4 * time.Minute, "open false, healthy true"}, // 12:50
		}
		for i, step := range steps {
			time.Sleep(step.after)
			synctest.Wait()
			if got := state(); got != step.want {
				t.Errorf("step %d: %s, want %s", i, got, step.want)
			}
		}
		cancel()
		<-done
		if got := state(); got != "open true, healthy true" {
			t.Errorf("at the end: %s, want it as it was", got)
		}
		if log := fmt.Sprint(ring.Since(0, 100)); strings.Count(log, "recovered") != 2 {
			t.Errorf("log = %s", log)
		}
	})
}

func TestChatter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring := na.NewLogRing(2000)
		in := &instance{spec: Spec{}.complete(), label: "crm-1", log: logTo(ring), random: random(1)}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		in.chatter(ctx)
		lines := ring.Since(0, 2000)
		if len(lines) < 1000 || len(lines) > 1500 {
			t.Errorf("%d lines in 20 minutes, want about one a second", len(lines))
		}
		all := fmt.Sprint(lines)
		for _, part := range []string{" INFO", " WARN", "ERROR", "goroutine ", "\n\t/srv/app/", "登录"} {
			if !strings.Contains(all, part) {
				t.Errorf("20 minutes of log have no %q", part)
			}
		}
	})
}

func logTo(ring *na.LogRing) *slog.Logger { return slog.New(ring.Handler(nil)) }

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
