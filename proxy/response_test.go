package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResponseHeaders(t *testing.T) { // A22, deviation 18
	node := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range []string{
			"Content-Type: application/x-download;charset=UTF-8", "Content-Disposition: attachment; filename=a.xlsx", "Etag: \"1\"",
			"Last-Modified: Sun, 29 Nov 2026 20:56:04 GMT", "Cache-Control: no-cache", "Accept-Ranges: bytes", "Content-Range: bytes 0-1/2",
			"Set-Cookie: a=1", "Location: http://evil.example", "Access-Control-Allow-Origin: 255.255.255.255", "Access-Control-Expose-Headers: x",
			"Server: Tomcat", "X-Frame-Options: ALLOWALL", "Content-Security-Policy: default-src *", "Strict-Transport-Security: max-age=1",
			"Refresh: 0; url=http://evil.example", "WWW-Authenticate: Basic", "Link: <x>; rel=preload", "X-Custom: 1", "Vary: Origin", "Keep-Alive: timeout=60",
		} {
			k, v, _ := strings.Cut(h, ": ")
			w.Header().Set(k, v)
		}
		_, _ = io.WriteString(w, "ok")
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	got := rig.get("/erupt-api/excel/template/shop.X", "shop.X").Header
	got.Del("Date")
	want := http.Header{
		"Content-Type": {"application/x-download;charset=UTF-8"}, "Content-Disposition": {"attachment; filename=a.xlsx"}, "Etag": {`"1"`},
		"Last-Modified": {"Sun, 29 Nov 2026 20:56:04 GMT"}, "Cache-Control": {"no-cache"}, "Accept-Ranges": {"bytes"}, "Content-Range": {"bytes 0-1/2"},
		"Content-Length": {"2"}, "Content-Security-Policy": {foreignPolicy}, "X-Content-Type-Options": {"nosniff"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers at the browser (-want +got):\n%s", diff)
	}
}

// What middleware has set is neither doubled nor lost.
func TestResponseHeadersOfMiddleware(t *testing.T) {
	node := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		_, _ = io.WriteString(w, "ok")
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "req-7")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", "sandbox")
		rig.proxy.ServeHTTP(w, r)
	}))
	rig.server.Close()
	rig.server = outer
	got := rig.get("/erupt-api/data/tree/shop.X", "shop.X").Header
	if csp, cc := got["Content-Security-Policy"], got["Cache-Control"]; len(csp) != 1 || csp[0] != "sandbox" || len(cc) != 1 || cc[0] != "max-age=60" {
		t.Errorf("policy %q, cache %q", csp, cc)
	}
	if id := node.only(t).Header.Get("X-Request-Id"); id != "req-7" {
		t.Errorf("request id at the node %q", id)
	}
}

// Informational answers of a node stay with us: they could carry cookies and would wipe the headers set so far.
func TestInformationalAnswersStayHere(t *testing.T) {
	node := newScriptedNode(t, func(int, int, *http.Request) (string, bool) {
		return "HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=1\r\nLink: <x>\r\n\r\n" + emptyOK, true
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	conn := rig.dial()
	defer conn.Close()
	fmt.Fprintf(conn, "GET /erupt-api/data/tree/shop.X HTTP/1.1\r\nHost: x\r\ntoken: %s\r\nerupt: shop.X\r\nConnection: close\r\n\r\n", sessionToken)
	all, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 200 ") || strings.Contains(string(all), "Set-Cookie") {
		t.Errorf("%q, %v", all, err)
	}
}

func TestContentTypes(t *testing.T) { // erupt-1.12: templates come without one
	tests := map[string]struct {
		target, erupt, given, want string
	}{
		"template without type":   {"/erupt-api/tpl/operation-tpl/shop.X/card?_erupt=shop.X", "", "", "text/html; charset=utf-8"},
		"page without type":       {"/erupt-api/tpl/report.html?_node=shop", "", "", "text/html; charset=utf-8"},
		"template with type":      {"/erupt-api/tpl/report.html?_node=shop", "", "text/html", "text/html;charset=UTF-8"},
		"template in its charset": {"/erupt-api/tpl/report.html?_node=shop", "", "text/html; charset=GBK", "text/html; charset=GBK"},
		"JSON":                    {"/erupt-api/data/tree/shop.X", "shop.X", "application/json", "application/json;charset=UTF-8"},
		"JSON with charset":       {"/erupt-api/data/tree/shop.X", "shop.X", "application/json;charset=UTF-8", "application/json;charset=UTF-8"},
		"data without type":       {"/erupt-api/data/tree/shop.X", "shop.X", "", ""},
		"download":                {"/erupt-api/excel/template/shop.X", "shop.X", "application/x-download", "application/x-download"},
		"file":                    {"/erupt-attachment/a.txt?_node=shop", "", "text/plain", "text/plain"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			node := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) {
				if w.Header()["Content-Type"] = nil; tt.given != "" {
					w.Header().Set("Content-Type", tt.given)
				}
				_, _ = io.WriteString(w, "<b>盘点</b>")
			})
			rig := newRig(t)
			rig.dir.set("shop", node.URL)
			got := rig.get(tt.target, tt.erupt)
			if ct := got.Header.Get("Content-Type"); ct != tt.want || got.Body != "<b>盘点</b>" {
				t.Errorf("content type %q, body %q, want %q", ct, got.Body, tt.want)
			}
		})
	}
}

func TestAttachmentsDoNotRunHere(t *testing.T) { // erupt-wire 10.6
	tests := map[string]struct{ ct, given, want string }{
		"picture":            {"image/png", "", ""},
		"picture with param": {"image/jpeg; q=1", "inline; filename=a.jpg", "inline; filename=a.jpg"},
		"SVG":                {"image/svg+xml", "", "attachment"},
		"page":               {"text/html", "inline; filename=a.html", "attachment; filename=a.html"},
		"no type":            {"", "", "attachment"},
		"nonsense":           {"x/", "", "attachment"},
		"named already":      {"application/pdf", `attachment; filename="a.pdf"`, `attachment; filename="a.pdf"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			if tt.given != "" {
				h.Set("Content-Disposition", tt.given)
			}
			if tt.ct != "" {
				h.Set("Content-Type", tt.ct)
			}
			setType(h, &Endpoint{kind: kindAttachment}, "")
			if got := h.Get("Content-Disposition"); got != tt.want {
				t.Errorf("%s %q becomes %q, want %q", tt.ct, tt.given, got, tt.want)
			}
		})
	}
}

func TestDownloadNames(t *testing.T) { // S94, S99: byte for byte
	for _, value := range []string{
		`attachment; filename="??.xlsx"; filename*=UTF-8''%E8%AE%A2%E5%8D%95%20%E5%AF%BC%E5%87%BA.xlsx`,
		"attachment; filename=\"订单 导出.xlsx\"",
		"attachment; filename=Products_2026-07-20T09%3A15%3A02.118.xlsx",
	} {
		node := newScriptedNode(t, func(int, int, *http.Request) (string, bool) {
			return "HTTP/1.1 200 OK\r\nContent-Type: application/x-download\r\nContent-Disposition: " + value + "\r\nContent-Length: 3\r\n\r\nPK\x00", true
		})
		rig := newRig(t)
		rig.dir.set("shop", node.URL)
		got := rig.post("/erupt-api/excel/export/shop.X", "shop.X", "[]", "Origin", rig.server.URL)
		if d := got.Header.Get("Content-Disposition"); d != value || got.Body != "PK\x00" {
			t.Errorf("disposition %q, want %q; body %q", d, value, got.Body)
		}
	}
}

func TestRefusalsPassAndAreKept(t *testing.T) { // A22
	long := strings.Repeat("é", maxErrorText)
	tests := map[string]struct {
		status     int
		body, kept string
	}{
		"error object": {500, `{"status":500,"message":"Insufficient permissions"}`, `{"status":500,"message":"Insufficient permissions"}`},
		"empty 404":    {404, "", ""}, // the original makes up a text
		"long":         {500, long, long[:maxErrorText]},
		"success":      {200, `{"ok":true}`, ""},
		"not modified": {304, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			node := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			rig := newRig(t)
			rig.dir.set("shop", node.URL)
			got := rig.post("/erupt-api/data/table/shop.X", "shop.X", "{}")
			if got.Status != tt.status || got.Body != tt.body {
				t.Errorf("%d, %d bytes, want %d, %d bytes", got.Status, len(got.Body), tt.status, len(tt.body))
			}
			if e := rig.recorder.wait(1)[0]; e.Status != tt.status || e.Error != tt.kept {
				t.Errorf("record: %d, %d bytes of error, want %d, %d bytes", e.Status, len(e.Error), tt.status, len(tt.kept))
			}
		})
	}
}

func TestBuildModelIsRewritten(t *testing.T) { // erupt-wire 2.8
	model := `{"eruptModel":{"eruptName":"Customer","big":9007199254740993,"eruptJson":{"power":{"comment":true}}},"power":{"comment":true,"add":true},"new":1.50}`
	want := `{"eruptModel":{"big":9007199254740993,"eruptJson":{"power":{"comment":false}},"eruptName":"shop.Customer"},"new":1.50,"power":{"add":true,"comment":false}}`
	node := newFakeNode(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Accept-Ranges", "bytes")
		if r.Method == "HEAD" {
			w.Header().Set("Content-Length", strconv.Itoa(len(model)))
			return
		}
		_, _ = io.WriteString(w, model)
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	got := rig.get("/erupt-api/build/shop.Customer", "shop.Customer")
	if got.Body != want || got.Header.Get("Content-Length") != strconv.Itoa(len(want)) || got.Header.Get("Accept-Ranges") != "" {
		t.Errorf("%s\nwant %s\nheaders %v", got.Body, want, got.Header)
	}
	if got := rig.get("/erupt-api/build/shop.Customer/region", "shop.Customer"); got.Body != model {
		t.Errorf("the model behind a field: %s, want it untouched", got.Body)
	}
	if got := rig.do(rig.request("HEAD", "/erupt-api/build/shop.Customer", "shop.Customer", nil)); got.Status != 200 || got.Header.Get("Content-Length") == strconv.Itoa(len(model)) {
		t.Errorf("HEAD: %d, length %q", got.Status, got.Header.Get("Content-Length"))
	}
	node.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		_, _ = io.WriteString(w, model)
	}
	if got := rig.get("/erupt-api/build/shop.Customer", "shop.Customer"); got.Status != 500 || got.Body != model {
		t.Errorf("an error: %d %s, want it untouched", got.Status, got.Body)
	}
}

func TestBuildModelLimits(t *testing.T) { // S48
	tests := map[string]struct {
		answer http.HandlerFunc
		status int
		text   string
	}{
		"5 MB": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"eruptModel":{"eruptName":"X"},"pad":%q}`, strings.Repeat("x", 5<<20))
		}, 200, `"shop.X"`},
		"too long, announced": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(maxBuild+1))
			_, _ = io.CopyN(w, zeros{}, maxBuild+1)
		}, 502, "larger than 16 MiB"},
		"too long, chunked": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.CopyN(w, zeros{}, maxBuild+1)
		}, 502, "larger than 16 MiB"},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, 502, "cannot be read"},
		"empty":   {func(http.ResponseWriter, *http.Request) {}, 502, "cannot be read"},
		"compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "{}")
		}, 502, "cannot be read"},
		"breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"erupt`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 502, "broke"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			node := newFakeNode(t, tt.answer)
			rig := newRig(t)
			rig.dir.set("shop", node.URL)
			got := rig.get("/erupt-api/build/shop.X", "shop.X")
			if got.Status != tt.status || !strings.Contains(got.Body, tt.text) {
				t.Errorf("%d %.200s, want %d %q", got.Status, got.Body, tt.status, tt.text)
			}
			if len(rig.dir.evictions()) != 0 {
				t.Error("the location was evicted")
			}
		})
	}
}

// A node that compresses unasked stays readable.
func TestEncodedAnswerKeepsItsEncoding(t *testing.T) {
	node := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "bytes")
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	if got := rig.get("/erupt-api/data/tree/shop.X", "shop.X"); got.Header.Get("Content-Encoding") != "br" || got.Body != "bytes" {
		t.Errorf("%v %q", got.Header, got.Body)
	}
}

func TestContextPathOfTheNode(t *testing.T) {
	node := newFakeNode(t, nil)
	for location, want := range map[string]string{
		node.URL + "/shop":      "/shop/erupt-api/data/X/a%20b",
		node.URL + "/shop/":     "/shop/erupt-api/data/X/a%20b",
		node.URL + "/a%2Fb/":    "/a%2Fb/erupt-api/data/X/a%20b",
		node.URL + "/caf%C3%A9": "/caf%C3%A9/erupt-api/data/X/a%20b",
	} {
		rig := newRig(t)
		rig.dir.set("shop", location)
		before := len(node.requests())
		rig.get("/erupt-api/data/shop.X/a%20b", "shop.X")
		if asked := node.requests(); len(asked) != before+1 || asked[before].Target != want {
			t.Errorf("location %s: asked %v, want %s", location, asked[before:], want)
		}
	}
}

func TestLocationsThatAreNone(t *testing.T) {
	for _, location := range []string{"", "ftp://x", "http://", "http://u:p@x", "::"} {
		rig := newRig(t)
		rig.dir.set("shop", location)
		if got := rig.get("/erupt-api/build/shop.X", "shop.X"); got.Status != 502 {
			t.Errorf("location %q: %d %s, want 502", location, got.Status, got.Body)
		}
	}
}
