package proxy

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type recorded struct {
	Method, Target string
	Status         int
	Headers        [][2]string
	Body           string
	Body64         string `json:"body64"`
	Cut            bool
}

func (r *recorded) bytes(t testing.TB) string {
	t.Helper()
	if r.Body64 == "" {
		return r.Body
	}
	b, err := base64.StdEncoding.DecodeString(r.Body64)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (r *recorded) header(name string) string {
	for _, h := range r.Headers {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

type recording struct {
	Name, Shows     string
	Browser, Answer recorded
	Node, Said      *recorded
}

func recordings(t testing.TB, versions ...string) []recording {
	t.Helper()
	var all []recording
	for _, v := range versions {
		file, err := os.Open(filepath.Join("testdata", v+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var r recording
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatalf("%s: %v", v, err)
			}
			all = append(all, r)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// differ are the recordings in which ours must not do what the original did, and what it does instead (deviations 14, 15).
var differ = map[string]int{
	"erupt-1.12 302-build-no-token":                   401,
	"erupt-1.12 303-build-bad-token":                  401,
	"erupt-1.12 306-build-other-node-parent":          403,
	"erupt-1.12 309-build-header-path-mismatch":       400,
	"erupt-1.12 310-build-header-path-mismatch-plain": 400,
	"erupt-1.12 312-limited-other-page-by-path":       400,
	"erupt-1.12 314-limited-insert-by-path":           400,
	"erupt-2.0 307-operation-tpl-no-token":            401,
	"erupt-2.0 320-view-tpl-html-accept":              401,
	"erupt-2.0 380-attack-header-path":                400,
	"erupt-2.0 381-attack-header-path-dotted":         400,
	"erupt-2.0 382-attack-header-path-write":          400,
	"erupt-2.0 383-attack-header-path-write-edit":     400,
	"erupt-2.0 385-attack-parent-local":               403,
	"erupt-2.0 386-attack-echo":                       404,
	"erupt-2.0 388-attack-encoded-slash":              400,
	"erupt-2.0 389-attack-dots":                       400,
	"erupt-2.0 390-attack-semicolon":                  400,
	"erupt-2.0 391-attack-double-header":              400,
	"erupt-2.0 395-attack-no-erupt-header":            400,
	"erupt-2.0 396-attack-open-page":                  401,
	"erupt-2.0 402-attack-header-path-write-ok":       400,
}

func TestReplay(t *testing.T) {
	for _, version := range []string{"erupt-1.12", "erupt-2.0"} {
		for _, r := range recordings(t, version) {
			t.Run(version+" "+r.Name, func(t *testing.T) { replay(t, version, &r) })
		}
	}
}

func replay(t *testing.T, version string, r *recording) {
	var said *recorded
	node := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) {
		if said == nil {
			return
		}
		w.Header()["Content-Type"] = nil
		for _, h := range said.Headers {
			if h[0] != "Content-Length" && h[0] != "Transfer-Encoding" && h[0] != "Connection" {
				w.Header().Set(h[0], h[1])
			}
		}
		w.WriteHeader(said.Status)
		_, _ = io.WriteString(w, said.bytes(t))
	})
	said = r.Said
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	rig.dir.set("warehouse", node.URL)
	got := rig.do(rig.browserOf(&r.Browser))
	if want, ok := differ[version+" "+r.Name]; ok {
		if got.Status != want || len(node.requests()) != 0 {
			t.Errorf("%d %s, asked %d times, want %d and nothing at the node", got.Status, got.Body, len(node.requests()), want)
		}
		return
	}
	if r.Node == nil {
		t.Fatal("the original did not forward it, and nothing says what ours should do")
	}
	checkAtNode(t, r, node.only(t))
	checkAtBrowser(t, r, got)
}

// browserOf makes a recorded request with the session of this test.
func (r *rig) browserOf(b *recorded) *http.Request {
	r.t.Helper()
	target := b.Target
	if u, err := url.ParseRequestURI(target); err == nil {
		if token := u.Query().Get("_token"); token != "" && token != "expired" {
			target = strings.ReplaceAll(target, "_token="+token, "_token="+sessionToken)
		}
	}
	req, err := http.NewRequest(b.Method, r.server.URL+target, strings.NewReader(b.bytes(r.t)))
	if err != nil {
		r.t.Fatal(err)
	}
	req.URL.Opaque = "" // keep dots and escapes as recorded
	for _, h := range b.Headers {
		switch name := http.CanonicalHeaderKey(h[0]); name {
		case "Host", "Content-Length", "Connection":
		case "Token":
			if req.Header.Set("token", sessionToken); strings.Contains(h[1], "bad") || len(h[1]) < 10 {
				req.Header.Set("token", h[1])
			}
		case "Origin":
			req.Header.Set("Origin", r.server.URL)
		default:
			req.Header[name] = append(req.Header[name], h[1])
		}
	}
	return req
}

// checkAtNode holds the request at the node against the one that the original sent.
func checkAtNode(t *testing.T, r *recording, got seen) {
	t.Helper()
	if got.Method != r.Node.Method || got.Target != localTarget(r.Node.Target) {
		t.Errorf("at the node %s %s, want %s %s", got.Method, got.Target, r.Node.Method, localTarget(r.Node.Target))
	}
	for _, name := range []string{"erupt", "lang", "link", "drill", "drillValue", "drillSourceErupt"} {
		if g, w := got.Header.Get(name), r.Node.header(name); g != w {
			t.Errorf("header %s %q, want %q", name, g, w)
		}
	}
	if strings.HasPrefix(r.Browser.header("Content-Type"), "multipart/") {
		// The original writes forms anew, ours pass byte for byte (deviation 7).
		if string(got.Body) != r.Browser.bytes(t) || got.Header.Get("Content-Type") != r.Browser.header("Content-Type") {
			t.Error("the form at the node is not the browser's")
		}
	} else if string(got.Body) != r.Node.bytes(t) {
		t.Errorf("body %q, want %q", got.Body, r.Node.bytes(t))
	}
	for _, name := range []string{"Cookie", "Origin", "Authorization", "Accept-Encoding", "Connection"} {
		if v := got.Header.Get(name); v != "" {
			t.Errorf("the node sees %s %q", name, v)
		}
	}
	if got.Header.Get("Access-Token") != accessToken || got.Header.Get("token") != delegatedToken || got.Header.Get("user") != userBase64 {
		t.Errorf("identity at the node: %v", got.Header)
	}
}

// localTarget is a recorded target without session token and with the local name in the query (design, journey 2).
func localTarget(target string) string {
	path, raw, ok := strings.Cut(target, "?")
	if !ok {
		return target
	}
	pairs := strings.Split(raw, "&")
	pairs = slices.DeleteFunc(pairs, func(p string) bool { return strings.HasPrefix(p, "_token=") })
	for i, p := range pairs {
		if name, ok := strings.CutPrefix(p, "_erupt="); ok {
			pairs[i] = "_erupt=" + name[strings.LastIndexByte(name, '.')+1:]
		}
	}
	if raw = strings.Join(pairs, "&"); raw == "" {
		return path
	}
	return path + "?" + raw
}

// checkAtBrowser holds our answer against the original's where that is right.
func checkAtBrowser(t *testing.T, r *recording, got reply) {
	t.Helper()
	if got.Status != r.Said.Status {
		t.Errorf("status %d, want %d", got.Status, r.Said.Status)
	}
	isBuild := strings.Count(r.Node.Target, "/") == 3 && strings.HasPrefix(r.Node.Target, "/erupt-api/build/") && got.Status == 200
	switch {
	case isBuild && !r.Answer.Cut && !r.Said.Cut:
		if diff := cmp.Diff(decoded(t, []byte(r.Answer.bytes(t))), decoded(t, []byte(got.Body)), sameText); diff != "" {
			t.Errorf("build model (-the original's +ours):\n%s", diff)
		}
	case isBuild:
	case got.Body != r.Said.bytes(t):
		t.Errorf("body %q, want %q", got.Body, r.Said.bytes(t))
	}
	if d := got.Header.Get("Content-Disposition"); d != r.Said.header("Content-Disposition") {
		t.Errorf("disposition %q, want %q", d, r.Said.header("Content-Disposition"))
	}
	for _, name := range []string{"Access-Control-Allow-Origin", "Set-Cookie", "Location", "Vary"} {
		if v := got.Header.Get(name); v != "" {
			t.Errorf("the browser sees %s %q", name, v)
		}
	}
	if strings.HasPrefix(r.Node.Target, "/erupt-api/tpl/") && !strings.HasPrefix(strings.ToLower(got.Header.Get("Content-Type")), "text/html") {
		t.Errorf("a template arrives as %q", got.Header.Get("Content-Type"))
	}
}

// sameText takes 5 and 5.0 for the same number: the original writes models anew with its own classes.
var sameText = cmp.Comparer(func(a, b json.Number) bool {
	return a == b || strings.TrimSuffix(a.String(), ".0") == strings.TrimSuffix(b.String(), ".0")
})
