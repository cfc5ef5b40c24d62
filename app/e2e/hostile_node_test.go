package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// strict is an arena whose server may not call loopback addresses, with the record of a node and nothing registered.
func strict(t *testing.T) (*arena, *testbed.FakeNode) {
	t.Helper()
	s := serve(t, []string{"EC_LOG_LEVEL=debug", "EC_NETGUARD_ALLOW_LOOPBACK=false"})
	a := &arena{server: s, t: t, fired: new(atomic.Int64), access: map[string]string{"orders": s.node("orders")}, sessions: map[string]string{admin: s.Token}, client: &http.Client{Timeout: 20 * time.Second}}
	a.secrets = []string{a.access["orders"], s.Token, adminPassword}
	t.Cleanup(func() { a.checkLog(t) })
	return a, testbed.NewFakeNode(t, "orders")
}

// F18, S58: the server calls no address that a node has no business to name, in whatever spelling; each is refused with the
// reason and without a packet.
func TestHostileAddresses(t *testing.T) {
	t.Parallel()
	a, trap := strict(t)
	_, port, err := net.SplitHostPort(trap.Addr())
	if err != nil {
		t.Fatal(err)
	}
	const policy, syntax, name = "policy", "", "dns"
	tests := map[string]string{ // → layer that refuses; empty: it is no address at all
		"http://127.0.0.1:{port}": policy, "http://127.0.0.2:{port}": policy, "http://localhost:{port}": policy, "http://LOCALHOST:{port}": policy,
		"http://[::1]:{port}": policy, "http://[0:0:0:0:0:0:0:1]:{port}": policy, "http://[::ffff:127.0.0.1]:{port}": policy, "http://[::ffff:7f00:1]:{port}": policy,
		"http://[::127.0.0.1]:{port}": policy, "http://[64:ff9b::7f00:1]:{port}": policy, "http://[64:ff9b::127.0.0.1]:{port}": policy, "http://[2002:7f00:1::]:{port}": policy,
		"http://0.0.0.0:{port}": policy, "http://[::]:{port}": policy, "http://0.1.2.3:{port}": policy,
		"http://169.254.169.254": policy, "http://169.254.169.254/latest/meta-data": policy, "https://169.254.169.254": policy, "http://169.254.170.2/v2": policy, "http://169.254.1.1": policy,
		"http://[fe80::1]": policy, "http://[fe80::1%25lo]": policy, "http://[::ffff:169.254.169.254]": policy, "http://[::ffff:a9fe:a9fe]": policy, "http://[64:ff9b::a9fe:a9fe]": policy,
		"http://[fd00:ec2::254]": policy, "http://100.100.100.200": policy, "http://168.63.129.16": policy, "http://192.0.0.192": policy,
		"http://224.0.0.1": policy, "http://255.255.255.255": policy, "http://[ff02::1]": policy,
		"http://127.1:{port}": syntax, "http://127.0.1:{port}": syntax, "http://2130706433:{port}": syntax, "http://0x7f000001:{port}": syntax, "http://0x7f.0.0.1:{port}": syntax,
		"http://0177.0.0.1:{port}": syntax, "http://017700000001:{port}": syntax, "http://0251.0376.0251.0376": syntax, "http://0xa9fea9fe": syntax, "http://2852039166": syntax,
		"http://127.0.0.1.:{port}": syntax, "http://127.0.0.01:{port}": syntax, "http://①②⑦.⓪.⓪.①:{port}": syntax, "http://127。0。0。1:{port}": syntax, "http://loc\u00adalhost:{port}": syntax,
		"http://user:pass@127.0.0.1:{port}": syntax, "http://10.0.0.1@127.0.0.1:{port}": syntax, "http://127.0.0.1:{port}#@10.0.0.1": syntax, "http://127.0.0.1:{port}?@10.0.0.1": syntax,
		`http://127.0.0.1:{port}\@10.0.0.1`: syntax, "http://127.0.0.1:{port};@10.0.0.1": syntax, "http:127.0.0.1:{port}": syntax, "//127.0.0.1:{port}": syntax, "127.0.0.1:{port}": syntax,
		"http:///127.0.0.1:{port}": syntax, "http:\\\\127.0.0.1:{port}": syntax, "HTTP ://127.0.0.1": syntax, " ": syntax, "": syntax, "http://": syntax, "http://:{port}": syntax,
		"http://127.0.0.1:0": syntax, "http://127.0.0.1:65536": syntax, "http://127.0.0.1:-1": syntax, "http://127.0.0.1:{port}x": syntax, "http://127.0.0.1:{port}/../x": syntax,
		"http://127.0.0.1:{port}/%2e%2e/x": syntax, "http://127.0.0.1:{port}/a%2fb": syntax, "http://127.0.0.1:{port}/\r\nHost: evil": syntax, "http://127.0.0.1:{port}/%0d%0aX: y": syntax,
		"http://[::1": syntax, "http://::1": syntax, "http://[127.0.0.1]:{port}": syntax, "http://[::1%25;rm]": syntax, "http://[v1.x]": syntax,
		"file:///etc/passwd": syntax, "gopher://127.0.0.1:6379/_x": syntax, "ftp://127.0.0.1": syntax, "unix:///var/run/docker.sock": syntax, "jar:http://127.0.0.1!/": syntax,
		"javascript:alert(1)": syntax, "data:text/plain,orders": syntax, "ws://127.0.0.1:{port}": syntax, "dict://127.0.0.1:11211": syntax, "ldap://127.0.0.1": syntax,
		"http://no-such-host.invalid": name,
	}
	for address, layer := range tests {
		t.Run(fmt.Sprintf("%.60q", address), func(t *testing.T) {
			a := a.at(t)
			r := registration("orders", a.access["orders"], strings.ReplaceAll(address, "{port}", port))
			r["instanceId"] = "EVIL{n}"
			g := a.fire(shot{method: http.MethodPost, target: "/erupt-cloud-api/register-node", body: mustJSON(t, r), kind: jsonKind})
			s := shot{method: http.MethodPost, target: "/erupt-cloud-api/register-node"}
			switch got := g.header.Get("X-Ec-Layer"); {
			case layer == syntax:
				a.refused(s, g, http.StatusBadRequest)
				if !bytes.Contains(g.body, []byte("nodeAddress")) {
					t.Errorf("the answer does not say what is wrong: %s", g.body)
				}
			case got != layer:
				t.Errorf("refused at %q with %d %s, want %q", got, g.status, g.body, layer)
			default:
				a.refused(s, g, http.StatusBadGateway)
				if !bytes.Contains(g.body, []byte("Unable to establish a connection with")) {
					t.Errorf("the answer is not what nodes print: %s", g.body)
				}
			}
		})
	}
	if n := len(trap.Requests()); n != 0 {
		t.Errorf("what listens on loopback was called %d times", n)
	}
	if all := a.instances("orders"); len(all) != 0 {
		t.Errorf("instances %v joined", all)
	}
	// One good address beside a bad one does not help.
	r := registration("orders", a.access["orders"], trap.URL(), "http://169.254.169.254")
	if status, body := a.register(r); status != http.StatusBadGateway {
		t.Errorf("a bad address behind another = %d %s", status, body)
	}
}

// F18, S58: what answers a probe is not believed, not followed and not shown.
func TestHostileProbes(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	const secret = "internal-answer-42"
	elsewhere := testbed.NewFakeNode(t, "orders")
	raw := func(text string) func(net.Conn) {
		return func(c net.Conn) { _, _ = io.WriteString(c, text) }
	}
	packed := func() string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, "orders")
		_ = z.Close()
		return b.String()
	}()
	ok := func(body string, headers ...string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n%s", len(body), strings.Join(append(headers, ""), "\r\n"), body)
	}
	tests := map[string]func(net.Conn){
		"a redirect":                     raw("HTTP/1.1 302 Found\r\nLocation: " + elsewhere.URL() + "/node-health\r\nContent-Length: 0\r\n\r\n"),
		"a redirect that keeps":          raw("HTTP/1.1 308 Permanent Redirect\r\nLocation: " + elsewhere.URL() + "/node-health\r\nContent-Length: 6\r\n\r\norders"),
		"a redirect in a page":           raw(ok(`<meta http-equiv="refresh" content="0;url=`+elsewhere.URL()+`/node-health">`, "Refresh: 0;url="+elsewhere.URL()+"/node-health")),
		"the name of another node":       raw(ok("stock")),
		"the name in another case":       raw(ok("ORDERS")),
		"the name with a line end":       raw(ok("orders\n")),
		"the name with more behind it":   raw(ok("orders" + secret)),
		"the name in two parts":          raw(ok("orders orders")),
		"nothing":                        raw(ok("")),
		"HTML":                           raw(ok("<html>" + secret + "<script>alert(1)</script>")),
		"something internal":             raw(ok(secret)),
		"compressed":                     raw(ok(packed, "Content-Encoding: gzip")),
		"no content":                     raw("HTTP/1.1 204 No Content\r\n\r\n"),
		"a partial answer":               raw("HTTP/1.1 206 Partial Content\r\nContent-Length: 3\r\n\r\nord"),
		"an error that names the node":   raw("HTTP/1.1 500 Oops\r\nContent-Length: 6\r\n\r\norders"),
		"another instance":               raw(ok("orders", "X-Ec-Instance: SOMEBODY")),
		"half an answer":                 raw("HTTP/1.1 200 OK\r\nContent-Length: 600\r\n\r\norders"),
		"headers without end":            func(c net.Conn) { flood(c, "HTTP/1.1 200 OK\r\n", "X-A: "+strings.Repeat("a", 1000)+"\r\n") },
		"a body without end":             func(c net.Conn) { flood(c, "HTTP/1.1 200 OK\r\n\r\norders", strings.Repeat("x", 1000)) },
		"news without end":               func(c net.Conn) { flood(c, "", "HTTP/1.1 103 Early Hints\r\n\r\n") },
		"chunks of a compressed bomb":    raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n" + strings.Repeat("o", 4096)),
		"a protocol of its own":          raw("-ERR unknown command 'GET' " + secret + "\r\n"),
		"a greeting":                     raw("220 mail.internal ESMTP " + secret + "\r\n"),
		"silence":                        func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"an end without a word":          func(c net.Conn) {},
		"a switch to another protocol":   raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\norders"),
		"a status that is none":          raw("HTTP/1.1 999 Orders\r\nContent-Length: 6\r\n\r\norders"),
		"an answer of the next protocol": raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
	}
	memory := watchMemory(t, a.cmd.Process.Pid)
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each may take the second that a probe has
			a := a.at(t)
			r := registration("orders", a.access["orders"], "http://"+speaker(t, do))
			r["instanceId"] = "EVIL{n}"
			s := shot{method: http.MethodPost, target: "/erupt-cloud-api/register-node", body: mustJSON(t, r), kind: jsonKind}
			g := a.fire(s)
			a.refused(s, g, http.StatusBadGateway)
			if bytes.Contains(g.body, []byte(secret)) || bytes.Contains(g.body, []byte("ESMTP")) {
				t.Errorf("the answer shows what was read: %s", g.body)
			}
		})
	}
	t.Cleanup(func() { // after the parallel ones
		if n := len(elsewhere.Requests()); n != 0 {
			t.Errorf("a redirect was followed %d times", n)
		}
		if all := a.instances("orders"); len(all) != 1 {
			t.Errorf("orders has the instances %v, want its own", all)
		}
		if mib := memory.end(); mib > 64 {
			t.Errorf("resident memory grew by %d MiB", mib)
		}
	})
}

// speaker accepts connections, reads the head of a request and lets do answer.
func speaker(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			head := make([]byte, 4096)
			if _, err := c.Read(head); err == nil {
				do(c)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// flood writes for as long as somebody reads.
func flood(c net.Conn, first, again string) {
	if _, err := io.WriteString(c, first); err != nil {
		return
	}
	for {
		if _, err := io.WriteString(c, again); err != nil {
			return
		}
	}
}

// F18: a node can take no other node's place, nor another instance's, and says nothing for others.
func TestHostileClaims(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	a.unchanged("a claim", func() {
		for name, tt := range map[string]struct {
			node, token, address string
			status               int
		}{
			"another node's address":           {"stock", a.access["stock"], a.orders.URL(), 502},
			"another node's name":              {"orders", a.access["stock"], a.stock.URL(), 401},
			"another node's name and address":  {"orders", a.access["stock"], a.orders.URL(), 401},
			"a name in another case":           {"ORDERS", a.access["orders"], a.orders.URL(), 404},
			"a name with a blank":              {"orders ", a.access["orders"], a.orders.URL(), 404},
			"a name that looks the same":       {"оrders", a.access["orders"], a.orders.URL(), 404},
			"a name that nobody has":           {"ghost", a.access["orders"], a.orders.URL(), 404},
			"a name that is a path":            {"../orders", a.access["orders"], a.orders.URL(), 404},
			"a name that is a pattern":         {"order%", a.access["orders"], a.orders.URL(), 404},
			"a name that is a query":           {"orders' OR '1'='1", a.access["orders"], a.orders.URL(), 404},
			"no token":                         {"orders", "", a.orders.URL(), 401},
			"half a token":                     {"orders", a.access["orders"][:8], a.orders.URL(), 401},
			"a token in another case":          {"orders", strings.ToLower(a.access["orders"]), a.orders.URL(), 401},
			"a token with more behind it":      {"orders", a.access["orders"] + "x", a.orders.URL(), 401},
			"a session as token":               {"orders", a.sessions[admin], a.orders.URL(), 401},
			"the sealed token of the database": {"orders", a.column(t.Context(), "SELECT access_token FROM e_cloud_node WHERE node_name = 'orders'")[0], a.orders.URL(), 401},
		} {
			r := registration(tt.node, tt.token, tt.address)
			r["instanceId"] = "EVIL{n}"
			s := shot{method: http.MethodPost, target: "/erupt-cloud-api/register-node", body: mustJSON(t, r), kind: jsonKind}
			if g := a.fire(s); g.status != tt.status {
				t.Errorf("%s = %d %s, want %d", name, g.status, g.body, tt.status)
			}
		}
		for name, form := range map[string]string{
			"leaving for another node":           "nodeName=orders&accessToken=" + a.access["stock"] + "&locations=" + a.orders.URL(),
			"another node's location":            "nodeName=stock&accessToken=" + a.access["stock"] + "&locations=" + a.orders.URL(),
			"another node's location, all forms": "nodeName=stock&accessToken=" + a.access["stock"] + "&locations=" + a.orders.URL() + "/," + strings.ToUpper(a.orders.URL()) + ",*,%25,http%3A%2F%2F*",
			"an instance of another node":        "nodeName=stock&accessToken=" + a.access["stock"] + "&instanceId=ORDERS/ABCDEF",
			"two names":                          "nodeName=stock&nodeName=orders&accessToken=" + a.access["stock"] + "&locations=" + a.orders.URL(),
		} {
			g := a.fire(shot{method: http.MethodPost, target: "/erupt-cloud-api/remove-instance-node", body: []byte(form), kind: formKind})
			if g.status != http.StatusOK && g.status != http.StatusUnauthorized && g.status != http.StatusBadRequest {
				t.Errorf("%s = %d %s", name, g.status, g.body)
			}
		}
	})
	// What is the server's own word is not taken from a node.
	r := registration("stock", a.access["stock"], a.stock.URL())
	r["locations"], r["registerTime"] = []string{"http://10.9.8.7:1"}, "2001-01-01T00:00:00"
	if status, body := a.register(r); status != http.StatusOK {
		t.Fatalf("registration = %d %s", status, body)
	}
	for _, in := range a.instances("stock") {
		if strings.Contains(fmt.Sprint(in.Locations), "10.9.8.7") || in.Registered.Year() == 2001 {
			t.Errorf("stock became %+v", in)
		}
	}
	// A second process that draws the same id from another address is told apart once both beat, never shown by turns (S3).
	twin := testbed.NewFakeNode(t, "orders")
	for _, address := range []string{twin.URL(), a.orders.URL(), twin.URL(), a.orders.URL()} {
		if status, body := a.register(registration("orders", a.access["orders"], address)); status != http.StatusOK {
			t.Errorf("a beat of a twin = %d %s", status, body)
		}
	}
	if all := a.instances("orders"); len(all) != 2 {
		t.Errorf("two processes of one id are shown as %v", all)
	}
}

// F18, erupt-wire 10.4, 10.7: what a node answers is bounded in the server's memory, and costs its own panel only.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	endless := func(first, again string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, err := io.WriteString(w, first)
			for n := 0; err == nil && n < 96<<20; n += len(again) {
				_, err = io.WriteString(w, again)
			}
		}
	}
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	block := strings.Repeat(`{"a":"`+strings.Repeat("x", 1000)+`"},`, 60)
	for page, h := range map[string]http.HandlerFunc{
		"Endless": endless(`{"eruptModel":{"eruptFieldModels":[`, block), "Deep": text(strings.Repeat(`{"eruptModel":`, 200_000)),
		"Null": text("null"), "List": text("[]"), "Empty": text(""), "Html": text("<html>"), "Number": text("1e999999"), "Half": text(`{"eruptModel":{"eruptName":"Half"`),
		"Typed": text(`{"eruptModel":{"eruptName":7,"eruptJson":[],"eruptFieldModels":{"a":1}},"tabErupts":[1],"power":"x"}`),
		"Many":  text(`{"eruptModel":{"eruptName":"Many","eruptJson":{},"eruptFieldModels":[` + strings.TrimSuffix(strings.Repeat(`{"fieldName":"a","eruptFieldJson":{"views":[{"title":"a"}],"edit":{"title":"a","type":"INPUT"}}},`, 5000), ",") + `]}}`),
		"Bomb":  text(gzipped(t, strings.Repeat("0", 8<<20))),
	} {
		a.orders.Handle("/erupt-api/build/"+page, h)
	}
	a.orders.Handle("/erupt-api/data/table/Secret", endless(`{"list":[`, block))
	a.orders.Handle("/erupt-api/data/Secret/{id}", text(strings.Repeat("[", 200_000)))
	a.orders.Handle("/erupt-api/tool/erupt-log", endless(`[`, `{"num":1,"content":"`+strings.Repeat("x", 1000)+`"},`))
	memory := watchMemory(t, a.cmd.Process.Pid)
	for _, page := range []string{"Endless", "Deep", "Null", "List", "Empty", "Html", "Number", "Half", "Typed", "Many", "Bomb", "Missing"} {
		s := shot{method: http.MethodGet, target: "/console/pages/orders." + page, who: admin, by: byCookie, header: browser()}
		g := a.fire(s)
		if g.status == http.StatusInternalServerError || !bytes.Contains(g.body, []byte("<html")) {
			t.Errorf("the page %s = %d %s", page, g.status, digest(g.body))
		}
		s = shot{method: http.MethodGet, target: "/erupt-api/build/orders." + page, who: admin, header: http.Header{"Erupt": {"orders." + page}}}
		if g := a.fire(s); g.status == http.StatusInternalServerError || len(g.body) > 17<<20 {
			t.Errorf("build %s = %d, %d bytes", page, g.status, len(g.body))
		}
	}
	for _, target := range []string{
		"/console/pages/orders.Secret", "/console/pages/orders.Secret/record?id=7", "/console/nodes/orders/log", "/console/nodes/orders/log/lines?instance=ABCDEF",
		"/console/nodes/orders/log/text?instance=ABCDEF", "/console/pages/orders.Secret/record?id=" + strings.Repeat("i", 8000), "/console/pages/orders.Secret/record?id=..%2f..%2ftool",
	} {
		g := a.fire(shot{method: http.MethodGet, target: target, who: admin, by: byCookie, header: browser()})
		if g.status == http.StatusInternalServerError {
			t.Errorf("%.100s = %d %s", target, g.status, digest(g.body))
		}
	}
	for _, s := range a.reached() {
		if strings.Contains(s.Path, "..") && s.Path != "/erupt-api/data/Secret/../../tool" { // one segment, its slashes encoded
			t.Errorf("the node was asked %s", s.Path)
		}
	}
	if mib := memory.end(); mib > 256 {
		t.Errorf("resident memory grew by %d MiB", mib)
	} else {
		t.Logf("resident memory grew by %d MiB", mib)
	}
}

func gzipped(t *testing.T, s string) string {
	t.Helper()
	rec := httptest.NewRecorder()
	z := gzip.NewWriter(rec)
	if _, err := io.WriteString(z, s); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return rec.Body.String()
}
