package testbed

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// listenRaw answers each connection with 200 and hands on what came, byte by byte.
func listenRaw(t *testing.T) (address string, got <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	texts := make(chan string, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var seen strings.Builder
			req, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &seen)))
			if err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(conn, "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n")
			}
			conn.Close()
			texts <- seen.String()
		}
	}()
	return l.Addr().String(), texts
}

// Hutool's first lines, the same in each recording of a 2.0.4 node; between them stands the access token.
const (
	hutoolAccept = "Accept: text/html,application/json,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\n"
	hutoolAgent  = "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/75.0.3770.142 Safari/537.36 Hutool\nAccept-Encoding: gzip, deflate\n"
)

func TestEruptNodeSendsWhatWasRecorded(t *testing.T) { // erupt-wire 1.0 to 1.7
	address, got := listenRaw(t)
	old := NewEruptNode(t, EruptSettings{Name: "shop", Version: "2.0.4", Token: "RAY5QRRPV94GOGJQ", Server: "http://" + address + "/"})
	tail := "Host: " + address + "\nConnection: keep-alive\n"
	registered := `{"instanceId":"` + old.Instance + `","version":"2.0.4","nodeName":"shop","accessToken":"RAY5QRRPV94GOGJQ","nodeAddress":["` + old.URL() +
		`"],"eruptModules":["erupt-jpa","erupt-tpl"],"erupts":["Customer","PriceForm"]}`
	calls := map[string]struct {
		call func(n *EruptNode)
		want string
	}{
		"register": {func(n *EruptNode) { _, _ = n.Register() }, "POST //erupt-cloud-api/register-node HTTP/1.1\n" + hutoolAccept + hutoolAgent +
			fmt.Sprintf("Content-Length: %d\n", len(registered)) + "Content-Type: application/json;charset=UTF-8\nCache-Control: no-cache\nPragma: no-cache\n" + tail + "\n" + registered},
		"remove": {func(n *EruptNode) { _, _ = n.Remove() }, "POST //erupt-cloud-api/remove-instance-node HTTP/1.1\n" + hutoolAccept + hutoolAgent +
			"Content-Type: application/x-www-form-urlencoded;charset=UTF-8\nCache-Control: no-cache\nPragma: no-cache\n" + tail +
			"Content-Length: 42\n\nnodeName=shop&accessToken=RAY5QRRPV94GOGJQ"},
		"config": {func(n *EruptNode) { _, _ = n.Config() }, "GET //erupt-cloud-api/node-config/shop HTTP/1.1\n" + hutoolAccept + "Access-Token: RAY5QRRPV94GOGJQ\n" + hutoolAgent + tail + "\n"},
		"group config": {func(n *EruptNode) { _, _ = n.GroupConfig() }, "GET //erupt-cloud-api/node-group-config/shop?Access-Token=RAY5QRRPV94GOGJQ HTTP/1.1\n" +
			hutoolAccept + "Access-Token: RAY5QRRPV94GOGJQ\n" + hutoolAgent + tail + "\n"},
		"userinfo": {func(n *EruptNode) { _, _ = n.UserInfo("ozkYgT8aPZdMYMNt") }, "GET //erupt-cloud-api/userinfo/shop HTTP/1.1\n" +
			hutoolAccept + "Access-Token: RAY5QRRPV94GOGJQ\n" + hutoolAgent + "token: ozkYgT8aPZdMYMNt\n" + tail + "\n"},
		"permission": {func(n *EruptNode) { _, _ = n.Permission("ozkYgT8aPZdMYMNt", "shop.Customer") }, "GET //erupt-api/erupt-permission/shop.Customer HTTP/1.1\n" +
			hutoolAccept + hutoolAgent + "token: ozkYgT8aPZdMYMNt\n" + tail + "\n"},
		"power": {func(n *EruptNode) { _, _ = n.power("ozkYgT8aPZdMYMNt", "Customer") }, "GET //erupt-cloud-api/erupt-power?nodeName=shop&eruptName=Customer HTTP/1.1\n" +
			hutoolAccept + hutoolAgent + "token: ozkYgT8aPZdMYMNt\n" + tail + "\n"},
	}
	for name, c := range calls {
		go c.call(old)
		if sent := strings.ReplaceAll(<-got, "\r\n", "\n"); sent != c.want {
			t.Errorf("%s: sent\n%s\nwant\n%s", name, sent, c.want)
		}
	}
	late := NewEruptNode(t, EruptSettings{Name: "shop", Version: "2.3.0", Token: "T", Server: "http://" + address})
	go func() { _, _ = late.Register() }()
	sent := <-got
	for _, want := range []string{"POST /erupt-cloud-api/register-node HTTP/1.1\r\n", "\r\nTransfer-encoding: chunked\r\n", "\r\nUser-Agent: Java-http-client/", `"resources":{"flow":[`} {
		if !strings.Contains(sent, want) {
			t.Errorf("2.3 sent no %q: %s", want, sent)
		}
	}
	for _, never := range []string{"Accept-Encoding", "Accept:", "Content-Length"} {
		if strings.Contains(sent, never) {
			t.Errorf("2.3 sent %s: %s", never, sent)
		}
	}
	go func() { _, _ = late.Remove() }()
	if sent := <-got; !strings.HasSuffix(sent, "\r\n\r\nnodeName=shop&accessToken=T&locations=http%3A%2F%2F127.0.0.1%3A"+late.URL()[len("http://127.0.0.1:"):]) {
		t.Errorf("2.3 leaves with %s", sent)
	}
}

func TestEruptNodeIsAsTrustingAsNodesAre(t *testing.T) { // erupt-wire 1.5, 2.6, 4.7
	var answer atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a := answer.Load().(Answer)
		w.WriteHeader(a.Status)
		_, _ = io.WriteString(w, a.Body)
	}))
	t.Cleanup(server.Close)
	ask := func(n *EruptNode, method, path, body string, header http.Header) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, n.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header.Clone()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(raw)
	}
	user := base64.StdEncoding.EncodeToString([]byte(`{"uid":1,"account":"a","name":"nö","tenantId":null}`))
	good := http.Header{"Access-Token": {"T"}, "Erupt": {"Customer"}, "User": {user}}
	with := func(name, value string) http.Header {
		h := good.Clone()
		h.Set(name, value)
		return h
	}
	granted := Answer{Status: 200, Body: `{"add":true,"edit":true,"delete":true}`}
	for _, version := range []string{"2.0.4", "2.1.1", "2.2.0", "2.3.0"} {
		n := NewEruptNode(t, EruptSettings{Name: "shop", Version: version, Token: "T", Server: server.URL})
		for _, c := range []struct {
			what    string
			answer  Answer
			method  string
			path    string
			body    string
			header  http.Header
			old     int // up to 2.1
			late    int // from 2.2
			contain string
		}{
			{"power in full", granted, "POST", "/erupt-api/data/modify/Customer", `{"name":"x"}`, good, 200, 200, "SUCCESS"},
			{"an error document as power", Answer{Status: 500, Body: `{"status":500}`}, "POST", "/erupt-api/data/modify/Customer", `{"name":"x"}`, good, 200, 500, ""},
			{"an empty power", Answer{Status: 200}, "POST", "/erupt-api/data/modify/Customer", `{"name":"x"}`, good, 500, 500, ""},
			{"no power", Answer{Status: 200, Body: `{"add":false}`}, "POST", "/erupt-api/data/modify/Customer", `{"name":"x"}`, good, 500, 500, "Insufficient"},
			{"a wrong token", granted, "GET", "/erupt-api/build/Customer", "", with("Access-Token", "x"), 500, 500, "AccessToken incorrect"},
			{"an unknown class", granted, "GET", "/erupt-api/build/Nothing", "", with("Erupt", "Nothing"), 404, 404, ""},
			{"a user without padding", granted, "GET", "/erupt-api/build/Customer", "", with("User", strings.TrimRight(user, "=")), 200, 500, ""},
		} {
			answer.Store(c.answer)
			want := c.old
			if n.gen >= 22 {
				want = c.late
			}
			if status, body := ask(n, c.method, c.path, c.body, c.header); status != want || !strings.Contains(body, c.contain) {
				t.Errorf("%s, %s: %d %s, want %d with %q", version, c.what, status, body, want, c.contain)
			}
		}
		answer.Store(granted)
		status, _ := ask(n, "GET", "/erupt-api/build/Customer", "", with("Origin", "http://x"))
		if want := map[bool]int{true: 200, false: 403}[n.gen == 20]; status != want {
			t.Errorf("%s: an origin gets %d, want %d", version, status, want)
		}
		_, table := ask(n, "POST", "/erupt-api/data/table/Customer", `{"pageIndex":1,"pageSize":1}`, good)
		if want := map[bool]string{true: `"level":"Very important"`, false: `"level":"V"`}[n.gen < 22]; !strings.Contains(table, want) || !strings.Contains(table, `"big":"9007199254740993"`) {
			t.Errorf("%s: the table is %s, want %s", version, table, want)
		}
	}
}
