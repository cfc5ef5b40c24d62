package proxy

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"eruptcloud/nodeagent/wire"
)

// browserHeaders are those of the recording "which browser headers reach the node", and more.
var browserHeaders = []string{
	"Accept", "application/json", "User-Agent", "Mozilla/5.0", "lang", "en-US", "eruptParent", "shop.Page",
	"Origin", "http://console.example", "Referer", "http://console.example/x?_token=secret", "Cookie", "a=1; ec_session=secret", "Authorization", "Basic eA==",
	"X-Custom", "kept", "Accept-Encoding", "gzip, deflate, br", "Access-Token", "client-sent", "user", "client-sent", "Accept-Language", "en",
	"If-None-Match", `"x"`, "Te", "trailers", "Keep-Alive", "5", "Proxy-Authorization", "Basic eA==", "Upgrade", "h2c",
	"Connection", "Upgrade, X-Hop", "X-Hop", "1", "link", "7", "drill", "buys", "drillValue", "1", "drillSourceErupt", "shop.Customer",
	"X-Forwarded-For", "6.6.6.6", "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "gopher", "X-Forwarded-Port", "1", "X-Forwarded-Prefix", "/x",
	"Forwarded", "for=6.6.6.6", "X-Real-IP", "6.6.6.6", "X-Original-URL", "/erupt-api/build/Secret", "X-Rewrite-URL", "/x", "X-Request-Id", "forged",
	"X-HTTP-Method-Override", "DELETE", "Sec-WebSocket-Key", "k", "Idempotency-Key", "i",
}

const userBase64 = "eyJ1aWQiOjEyLCJhY2NvdW50IjoibGluIiwibmFtZSI6IkxpbiBZdSIsInRlbmFudElkIjpudWxsfQ=="

// made are the headers that every request carries.
func made(more map[string]string) map[string]string {
	all := map[string]string{
		"Access-Token": accessToken, "Token": delegatedToken, "Erupt": "Purchase", "User": userBase64, "Eruptparent": "Page", "Drillsourceerupt": "Customer",
		"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Host": "fleet.example", "X-Forwarded-Proto": "https", "X-Request-Id": "req-1",
		"Accept": "application/json", "User-Agent": "Mozilla/5.0", "Lang": "en-US", "Accept-Language": "en", "If-None-Match": `"x"`, "Link": "7",
		"Drill": "buys", "Drillvalue": "1",
	}
	for k, v := range more {
		all[k] = v
	}
	return all
}

func TestRequestHeaders(t *testing.T) { // A20, S54, S55, S59
	tests := map[string]struct {
		change func(*Options)
		want   map[string]string
	}{
		"copied": {func(*Options) {}, made(map[string]string{
			"X-Custom": "kept", "Referer": "http://console.example/x", "Sec-Websocket-Key": "k", "Idempotency-Key": "i"})},
		"copied, with extras": {func(o *Options) {
			o.ExtraHeaders, o.OwnCookies = []string{"cookie", "Authorization"}, []string{"ec_session"}
		}, made(map[string]string{
			"X-Custom": "kept", "Referer": "http://console.example/x", "Sec-Websocket-Key": "k", "Idempotency-Key": "i", "Cookie": "a=1", "Authorization": "Basic eA=="})},
		"listed":              {func(o *Options) { o.HeaderPolicy = PolicyListed }, made(nil)},
		"listed, with extras": {func(o *Options) { o.HeaderPolicy, o.ExtraHeaders = PolicyListed, []string{"x-custom"} }, made(map[string]string{"X-Custom": "kept"})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			node := newFakeNode(t, nil)
			rig := newRig(t, tt.change, func(o *Options) {
				o.ClientIP = func(*http.Request) string { return "203.0.113.9" }
				o.External = func(*http.Request) (string, string) { return "https", "fleet.example" }
				o.RequestID = func(http.ResponseWriter, *http.Request) string { return "req-1" }
			})
			rig.dir.set("shop", node.URL)
			if got := rig.get("/erupt-api/data/depend-tree/shop.Purchase", "shop.Purchase", browserHeaders...); got.Status != 200 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			got := node.only(t)
			flat := map[string]string{}
			for k, v := range got.Header {
				flat[k] = strings.Join(v, " + ")
			}
			if diff := cmp.Diff(tt.want, flat); diff != "" {
				t.Errorf("headers at the node (-want +got):\n%s", diff)
			}
			if want := strings.TrimPrefix(node.URL, "http://"); got.Host != want {
				t.Errorf("Host %q, want the instance's own %q", got.Host, want)
			}
		})
	}
}

func TestTransportSettings(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	o := Options{ConnectTimeout: time.Second, RequestTimeout: time.Minute}
	setDefaults(&o)
	tr := newTransport(&o, 0)
	if tr.IdleConnTimeout <= 0 || tr.IdleConnTimeout > 4*time.Second {
		t.Errorf("idle connections stay %s: servers must not end them first", tr.IdleConnTimeout)
	}
	if tr.ResponseHeaderTimeout != time.Minute || tr.TLSHandshakeTimeout != time.Second || !tr.DisableCompression {
		t.Errorf("transport %+v", tr)
	}
	if u, err := tr.Proxy(httptest.NewRequest("GET", "http://10.0.0.1/", nil)); u != nil || err != nil {
		t.Errorf("a proxy of the environment is used: %v, %v", u, err)
	}
}

func TestExpectStaysHere(t *testing.T) {
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	got := rig.post("/erupt-api/data/table/shop.Customer", "shop.Customer", "{}", "Expect", "100-continue")
	if asked := node.only(t); got.Status != 200 || asked.Header.Get("Expect") != "" || string(asked.Body) != "{}" {
		t.Errorf("%d, at the node %v %q", got.Status, asked.Header, asked.Body)
	}
}

func TestExtraHeadersThatCannotPass(t *testing.T) {
	for _, name := range []string{"Host", "Origin", "token", "user", "ERUPT", "access-token", "Connection", "Content-Length", "X-Forwarded-For", "a b", ""} {
		_, err := New(Options{Directory: &fakeDirectory{}, Gate: &fakeGate{}, Local: http.NotFoundHandler(),
			Fail: func(http.ResponseWriter, *http.Request, error) {}, ExtraHeaders: []string{name}})
		if err == nil {
			t.Errorf("extra header %q is accepted", name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("New without parts gives no error")
	}
	_, err := New(Options{Directory: &fakeDirectory{}, Gate: &fakeGate{}, Local: http.NotFoundHandler(),
		Fail: func(http.ResponseWriter, *http.Request, error) {}, HeaderPolicy: "everything"})
	if err == nil {
		t.Error("New with an unknown header policy gives no error")
	}
}

func TestRawSession(t *testing.T) { // deviation 13
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	rig.dir.nodes["shop"].RawSession = true
	rig.get("/erupt-api/build/shop.X", "shop.X")
	if got := node.requests()[0].Header.Get("token"); got != sessionToken {
		t.Errorf("token at the node %q, want the session's own", got)
	}
}

func TestTemplatesGetNoEruptHeader(t *testing.T) { // erupt-wire 2.4.1
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	rig.get("/erupt-api/tpl/page.html?_node=shop", "Whatever", "eruptParent", "shop.X")
	got := node.only(t).Header
	if got.Get("erupt") != "" || got.Get("eruptParent") != "" || got.Get("user") != userBase64 || got.Get("token") != delegatedToken {
		t.Errorf("headers of a template page: %v", got)
	}
}

func TestUserHeader(t *testing.T) { // erupt-wire 2.5
	tenant := int64(7)
	tests := map[string]struct {
		user wire.User
		want string
	}{
		"plain":        {wire.User{UID: 12, Account: "lin", Name: "Lin Yu"}, `{"uid":12,"account":"lin","name":"Lin Yu","tenantId":null}`},
		"no escaping":  {wire.User{UID: 1, Account: "a&b", Name: "<Li> 林"}, `{"uid":1,"account":"a&b","name":"<Li> 林","tenantId":null}`},
		"escaping":     {wire.User{UID: 1, Account: `a"\`, Name: "x\ny"}, `{"uid":1,"account":"a\"\\","name":"x\ny","tenantId":null}`},
		"tenant":       {wire.User{UID: 1, TenantID: &tenant}, `{"uid":1,"account":"","name":"","tenantId":7}`},
		"largest":      {wire.User{UID: 9007199254740991}, `{"uid":9007199254740991,"account":"","name":"","tenantId":null}`},
		"beyond exact": {wire.User{UID: 9007199254740993}, `{"uid":"9007199254740993","account":"","name":"","tenantId":null}`},
		"negative":     {wire.User{UID: -9007199254740992}, `{"uid":"-9007199254740992","account":"","name":"","tenantId":null}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := base64.StdEncoding.Strict().DecodeString(userHeader(&tt.user))
			if err != nil || string(got) != tt.want {
				t.Errorf("user header %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func FuzzUserHeader(f *testing.F) {
	f.Add(int64(1), "lin", "Lin\u2028 \"<>&")
	f.Fuzz(func(t *testing.T, uid int64, account, name string) {
		text, err := base64.StdEncoding.DecodeString(userHeader(&wire.User{UID: uid, Account: account, Name: name}))
		var got struct {
			Account, Name string
		}
		if err != nil || json.Unmarshal(text, &got) != nil {
			t.Fatalf("%q is no JSON: %v", text, err)
		}
		if got.Account != strings.ToValidUTF8(account, "\ufffd") && strings.ToValidUTF8(account, "") == account {
			t.Errorf("account %q arrives as %q", account, got.Account)
		}
	})
}

// A node that registered with line breaks in its token gets no request, and no header of its making.
func TestAccessTokenWithLineBreak(t *testing.T) {
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.nodes["shop"] = &Target{Node: "shop", Upstreams: []Upstream{{Location: node.URL, Token: "x\r\nuser: forged"}}}
	if got := rig.get("/erupt-api/build/shop.X", "shop.X"); got.Status != 502 {
		t.Errorf("%d %s, want 502", got.Status, got.Body)
	}
	if n := len(node.requests()); n != 0 {
		t.Errorf("the node was asked %d times", n)
	}
}

func TestRequestTrailersStayHere(t *testing.T) {
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	rig.raw("POST /erupt-api/data/table/shop.Customer HTTP/1.1\r\nHost: x\r\ntoken: " + sessionToken +
		"\r\nerupt: shop.Customer\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\nX-Late: 1\r\n\r\n")
	if got := node.only(t); len(got.Trailer) != 0 || string(got.Body) != "{}" {
		t.Errorf("trailers at the node: %v, body %q", got.Trailer, got.Body)
	}
}

func TestFilterCookies(t *testing.T) {
	h := headerPolicy{ownCookies: map[string]bool{"ec_session": true}}
	tests := map[string][]string{
		"a=1; ec_session=x; b=2": {"a=1; b=2"},
		"ec_session=x":           nil,
		" ec_session = x ;a=1":   {"a=1"},
		"EC_SESSION=x":           {"EC_SESSION=x"},
	}
	for line, want := range tests {
		out := http.Header{"Cookie": {line}}
		h.filterCookies(out, out["Cookie"])
		if diff := cmp.Diff(want, out["Cookie"]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

func TestSameSite(t *testing.T) { // erupt-wire 3.7
	tests := []struct {
		origin, scheme, host string
		want                 bool
	}{
		{"", "http", "fleet.example", true},
		{"http://fleet.example", "http", "fleet.example", true},
		{"https://FLEET.example", "https", "fleet.example:443", true},
		{"http://fleet.example:80", "http", "fleet.example", true},
		{"http://fleet.example:8080", "http", "fleet.example", false},
		{"http://fleet.example.evil.example", "http", "fleet.example", false}, // a substring in the original
		{"http://example", "http", "fleet.example", false},
		{"null", "http", "fleet.example", false},
		{"%zz", "http", "fleet.example", false},
	}
	for _, tt := range tests {
		r := httptest.NewRequest("GET", "/", nil)
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		if got := sameSite(r, tt.scheme, tt.host); got != tt.want {
			t.Errorf("origin %q at %s://%s: %v, want %v", tt.origin, tt.scheme, tt.host, got, tt.want)
		}
	}
}
