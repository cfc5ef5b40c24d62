package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// warm makes the proxy hold n idle connections to the node.
func warm(t *testing.T, rig *rig, node *scriptedNode, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if got := rig.get("/erupt-api/build/shop.Warm", "shop.Warm"); got.Status != 200 {
				t.Errorf("warming up: %d %s", got.Status, got.Body)
			}
		})
	}
	wg.Wait()
}

// gather answers the first n requests only once all of them are there, so that each has a connection of its own.
func gather(n int) func() {
	var mu sync.Mutex
	all := make(chan struct{})
	return func() {
		mu.Lock()
		n--
		if n == 0 {
			close(all)
		}
		mu.Unlock()
		<-all
	}
}

func TestDeadReusedConnection(t *testing.T) { // S44, deviation 25
	const warmed = 5
	tests := map[string]struct {
		method, target, body string
		headers              []string
		want                 int // requests that the node saw
		status               int
	}{
		"GET goes out once more":            {"GET", "/erupt-api/data/tree/shop.X", "", nil, 2, 502},
		"HEAD goes out once more":           {"HEAD", "/erupt-api/data/tree/shop.X", "", nil, 2, 502},
		"POST goes out once":                {"POST", "/erupt-api/data/modify/shop.X", `{"a":1}`, nil, 1, 502},
		"POST without a body goes out once": {"POST", "/erupt-api/data/shop.X/operator/pay/form-value", "", nil, 1, 502},
		"a key for repetitions is no leave": {"POST", "/erupt-api/data/shop.X/operator/pay", "", []string{"Idempotency-Key", "k", "X-Idempotency-Key", "k"}, 1, 502},
		"PUT goes out once":                 {"PUT", "/erupt-api/data/modify/shop.X", `{"a":1}`, nil, 1, 502},
		"DELETE goes out once":              {"DELETE", "/erupt-api/data/modify/shop.X/1", "", nil, 1, 502},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			together := gather(warmed)
			node := newScriptedNode(t, func(_, request int, r *http.Request) (string, bool) {
				if strings.Contains(r.URL.Path, "Warm") {
					together()
					return emptyOK, false
				}
				return "", true // takes the request and dies
			})
			rig := newRig(t)
			rig.dir.set("shop", node.URL, deadAddress(t))
			warm(t, rig, node, warmed)
			before := node.asked(tt.method)
			got := rig.do(rig.request(tt.method, tt.target, "shop.X", strings.NewReader(tt.body), tt.headers...))
			if n := node.asked(tt.method) - before; n != tt.want {
				t.Errorf("the node saw %s %d times, want %d", tt.method, n, tt.want)
			}
			if got.Status != tt.status {
				t.Errorf("%d %s, want %d", got.Status, got.Body, tt.status)
			}
			if evicted := rig.dir.evictions(); len(evicted) != 0 {
				t.Errorf("evicted %v: a connection that breaks proves nothing about the location", evicted)
			}
		})
	}
}

func TestDeadReusedConnectionThenAnswer(t *testing.T) {
	together := gather(2)
	var first sync.Once
	node := newScriptedNode(t, func(_, _ int, r *http.Request) (string, bool) {
		if strings.Contains(r.URL.Path, "Warm") {
			together()
			return emptyOK, false
		}
		text, die := emptyOK, false
		first.Do(func() { text, die = "", true })
		return text, die
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	warm(t, rig, node, 2)
	if got := rig.get("/erupt-api/data/tree/shop.X", "shop.X"); got.Status != 200 {
		t.Errorf("%d %s, want the answer of the second try", got.Status, got.Body)
	}
}

// A node that closes its connections at the wrong moment: nothing is counted twice, and what is not counted is said so.
func TestPostsOnClosingConnections(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	n := 0
	node := newScriptedNode(t, func(_, _ int, r *http.Request) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Header.Get("X-Number")]++
		n++
		return emptyOK, n%3 == 0 // answers, promises to stay, and hangs up
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	failed := 0
	for i := range 1000 {
		got := rig.post("/erupt-api/data/modify/shop.X", "shop.X", "{}", "X-Number", fmt.Sprint(i))
		mu.Lock()
		counted := seen[fmt.Sprint(i)]
		mu.Unlock()
		switch {
		case got.Status == 200 && counted == 1:
		case got.Status == 502 && counted <= 1:
			failed++
		default:
			t.Fatalf("request %d: %d %s, counted %d times", i, got.Status, got.Body, counted)
		}
	}
	t.Logf("%d of 1000 met a closing connection", failed)
}

// After the first byte of an answer nothing is asked again.
func TestDeathInTheHeader(t *testing.T) {
	together := gather(1)
	node := newScriptedNode(t, func(_, _ int, r *http.Request) (string, bool) {
		if strings.Contains(r.URL.Path, "Warm") {
			together()
			return emptyOK, false
		}
		return "HTTP/1.1 200 O", true
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	warm(t, rig, node, 1)
	before := node.asked("GET")
	if got := rig.get("/erupt-api/data/tree/shop.X", "shop.X"); got.Status != 502 || node.asked("GET") != before+1 {
		t.Errorf("%d, asked %d times, want 502 and one request", got.Status, node.asked("GET")-before)
	}
}

func TestDeathInTheBody(t *testing.T) { // F17, A22: never a short success
	tests := map[string]string{
		"known length": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
		"chunked":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			node := newScriptedNode(t, func(int, int, *http.Request) (string, bool) { return text, true })
			rig := newRig(t)
			rig.dir.set("shop", node.URL)
			res, err := rig.client.Do(rig.request("GET", "/erupt-api/data/tree/shop.X", "shop.X", nil))
			if err == nil { // else the connection broke before the header was out, which is as honest
				defer res.Body.Close()
				if body, err := io.ReadAll(res.Body); err == nil {
					t.Errorf("the client got %q as a whole answer", body)
				}
			}
			rig.server.Close() // waits for the handler
			if n := counted(t, rig, "shop", "cut"); n != 1 {
				t.Errorf("%v requests counted as cut, want 1", n)
			}
			if n := node.asked("GET"); n != 1 {
				t.Errorf("the node was asked %d times", n)
			}
		})
	}
}
