package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shot is one request as an attacker makes it.
type shot struct {
	method, target string // target goes out as it stands, below the server's URL
	header         http.Header
	body           []byte
	form           url.Values // instead of body
	kind           string     // Content-Type
	who            string     // whose session; empty: nobody's
	by             string     // byHeader (default) or byCookie
	mayShow        []string   // secrets that belong into this answer
}

const (
	byHeader = "header"
	byCookie = "cookie"
)

// got is what came back.
type got struct {
	status int
	header http.Header
	body   []byte
}

// fire sends a shot and checks that its answer leaks nothing.
func (a *arena) fire(s shot) got {
	a.t.Helper()
	if s.form != nil {
		s.body, s.kind = []byte(s.form.Encode()), "application/x-www-form-urlencoded"
	}
	if bytes.Contains(s.body, []byte("{n}")) { // another instance each time, or its beats come too fast
		s.body = bytes.ReplaceAll(s.body, []byte("{n}"), strconv.AppendInt(nil, a.fired.Add(1), 10))
	}
	u, err := url.Parse(a.URL)
	if err != nil {
		a.t.Fatal(err)
	}
	path, query, _ := strings.Cut(s.target, "?")
	opaque := u.Path + path
	if strings.HasPrefix(opaque, "//") { // else it would be read as a host
		opaque = "//" + u.Host + opaque
	}
	req := &http.Request{
		Method: s.method, Host: u.Host, Header: http.Header{}, ContentLength: int64(len(s.body)),
		URL: &url.URL{Scheme: u.Scheme, Host: u.Host, Opaque: opaque, RawQuery: query},
	}
	if len(s.body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(s.body))
	}
	if s.kind != "" {
		req.Header.Set("Content-Type", s.kind)
	}
	switch {
	case s.who == "" || s.who == nobody:
	case s.by == byCookie:
		req.Header.Set("Cookie", a.cookies[s.who])
	default:
		req.Header.Set("token", a.sessions[s.who])
	}
	for k, v := range s.header {
		req.Header[k] = v
	}
	resp, err := a.client.Do(req)
	if err != nil {
		a.t.Fatalf("%s %.200s: %v", s.method, s.target, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatalf("%s %.200s: %v", s.method, s.target, err)
	}
	out := got{resp.StatusCode, resp.Header, raw}
	a.checkLeaks(s, out)
	return out
}

// internals are what no answer may show: stack traces, Go's own words for errors, files, SQL. Plain texts and no pattern:
// every answer of every attack is searched for all of them.
var internals = texts(
	"goroutine ", ".go:", "runtime error", "panic: ", "dial tcp", "dial udp", "read tcp", "write tcp", "i/o timeout", "context deadline exceeded",
	"context canceled", "unexpected EOF", ": EOF", "strconv.", "json: cannot", "invalid URL escape", "net/http", "mime: ", "multipart: ", "http: request",
	"http: server", "http: no ", "http: invalid", "http: named", "http: wrong", "http: POST", "SQLITE", "sqlite", "UNIQUE constraint", " FROM e_",
	" ent: ", "securecookie", "cipher: ", "/tmp/", "/root/", "/home/", "control.db", "%!(", "%!s", "%!d", "%!v",
)

func texts(all ...string) [][]byte {
	out := make([][]byte, len(all))
	for i, s := range all {
		out[i] = []byte(s)
	}
	return out
}

func (a *arena) checkLeaks(s shot, g got) {
	a.t.Helper()
	for _, text := range internals {
		if strings.Contains(s.target, "/console/server-log") {
			break // the log is for those who may read causes; secrets are looked for all the same
		}
		if bytes.Contains(g.body, text) {
			a.t.Errorf("%s %.200s shows %q: %s", s.method, s.target, text, digest(g.body))
		}
	}
	var head bytes.Buffer
	_ = g.header.Write(&head) // a buffer takes everything
	for _, secret := range a.secrets {
		if slices.Contains(s.mayShow, secret) {
			continue
		}
		if bytes.Contains(g.body, []byte(secret)) || strings.Contains(head.String(), secret) {
			all := head.String() + string(g.body)
			i := strings.Index(all, secret)
			a.t.Errorf("%s %.200s shows a secret: …%.200s", s.method, s.target, all[max(0, i-100):])
		}
	}
}

// checkLog fails if the server's log has a secret or a panic in it.
func (a *arena) checkLog(t testing.TB) {
	t.Helper()
	out := a.output()
	for _, secret := range a.secrets {
		if i := strings.Index(out, secret); i >= 0 {
			t.Errorf("the log shows a secret: …%.400s", out[max(0, i-300):])
		}
	}
	if i := strings.Index(out, "panic"); i >= 0 {
		t.Errorf("the server panicked: …%.2000s", out[max(0, i-300):])
	}
}

// base is the base path of the server.
func (a *arena) base() string {
	_, rest, _ := strings.Cut(a.URL, "://")
	_, path, found := strings.Cut(rest, "/")
	if !found {
		return ""
	}
	return "/" + path
}

// isMachine reports whether programs are answered at a path.
func isMachine(target string) bool {
	for _, root := range []string{"/api", "/erupt-api", "/erupt-cloud-api", "/erupt-attachment", "/livez", "/readyz"} {
		if target == root || strings.HasPrefix(target, root+"/") || strings.HasPrefix(target, root+"?") {
			return true
		}
	}
	return false
}

// envelope is the error document for programs (design 10).
type envelope struct {
	Timestamp, Path, Error, Message, Code, RequestID string
	Status                                           int
	Fields                                           map[string]string
}

// refused fails unless the answer has one of the statuses and says so in the form that the caller reads.
func (a *arena) refused(s shot, g got, statuses ...int) {
	a.t.Helper()
	if !slices.Contains(statuses, g.status) {
		a.t.Errorf("%s %.200s as %s = %d, want %v: %s", s.method, s.target, s.who, g.status, statuses, digest(g.body))
		return
	}
	if problem := misformed(s, g); problem != "" {
		a.t.Errorf("%s %.200s as %s = %d: %s: %s", s.method, s.target, s.who, g.status, problem, digest(g.body))
	}
}

// misformed says what is wrong with the form of a refusal, or nothing.
func misformed(s shot, g got) string {
	if g.status < 400 || s.method == http.MethodHead {
		return ""
	}
	kind := g.header.Get("Content-Type")
	accept, fragment := s.header.Get("Accept"), s.header.Get("HX-Request") == "true"
	switch path := collapsed(s.target); {
	case !isMachine(path) && fragment && g.header.Get("HX-Redirect") != "":
		return ""
	case !isMachine(path) && bytes.Contains(g.body, []byte("<form")) && (g.status == http.StatusUnprocessableEntity || path == "/console/login"):
		return "" // the form itself says what is wrong
	case !isMachine(path) && (fragment || strings.Contains(accept, "text/html")):
		if !strings.HasPrefix(kind, "text/html") {
			return "a browser gets " + kind
		}
		if !bytes.Contains(g.body, []byte(`data-testid="failure"`)) && !bytes.Contains(g.body, []byte("<form")) {
			return "the page says nothing of a failure"
		}
		if whole := bytes.Contains(g.body, []byte("<html")); whole == fragment {
			return "page and fragment are mixed up"
		}
		return ""
	}
	if !strings.HasPrefix(kind, "application/json") {
		return "a program gets " + kind
	}
	var e envelope
	if err := json.Unmarshal(g.body, &e); err != nil {
		return "no JSON"
	}
	if e.Status != g.status || e.Code == "" || e.Message == "" || e.Path == "" || e.Timestamp == "" || e.RequestID == "" {
		return "the envelope is not complete"
	}
	if e.Code == "internal" {
		return "an internal error"
	}
	return ""
}

// collapsed makes one slash of several, as the server reads paths.
func collapsed(target string) string {
	for strings.Contains(target, "//") {
		target = strings.ReplaceAll(target, "//", "/")
	}
	return target
}

// browser are the headers by which a page is asked for, fragment those of htmx.
func browser() http.Header {
	return http.Header{"Accept": {"text/html,application/xhtml+xml,*/*;q=0.8"}, "Sec-Fetch-Site": {"same-origin"}}
}

func fragment() http.Header {
	return http.Header{"Accept": {"*/*"}, "Hx-Request": {"true"}, "Hx-Current-Url": {"http://127.0.0.1/console/nodes"}, "Sec-Fetch-Site": {"same-origin"}}
}

func with(h http.Header, more http.Header) http.Header {
	out := h.Clone()
	if out == nil {
		out = http.Header{}
	}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// The models of a fake node's pages: Allowed has the tab Item and the drill "lines" to Line, Secret has nothing to do with it.
const (
	allowedModel = `{"eruptModel":{"eruptName":"Allowed","eruptJson":{"primaryKeyCol":"id","drills":[{"code":"lines","title":"Lines","link":{"linkErupt":"Line"}}]},
		"eruptFieldModels":[{"fieldName":"id","eruptFieldJson":{"views":[{"title":"Id"}],"edit":{"title":"Id","type":"INPUT"}}},
		{"fieldName":"items","fieldReturnName":"Item","eruptFieldJson":{"views":[],"edit":{"title":"Items","type":"TAB_TABLE_ADD"}}}]},
		"tabErupts":{"items":{"eruptModel":{"eruptName":"Item","eruptJson":{"primaryKeyCol":"id"},"eruptFieldModels":[]}}},
		"power":{"add":true,"edit":true,"delete":true,"query":true,"viewDetails":true,"export":true,"importable":true}}`
	secretModel = `{"eruptModel":{"eruptName":"Secret","eruptJson":{"primaryKeyCol":"id"},"eruptFieldModels":[{"fieldName":"name","eruptFieldJson":{"views":[{"title":"Name"}],"edit":{"title":"Name","type":"INPUT"}}}]},
		"power":{"add":true,"edit":true,"delete":true,"query":true,"viewDetails":true,"export":true,"importable":true}}`
)

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
