package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestResolveErupt(t *testing.T) { // A24
	rig := newRig(t)
	rig.dir.set("shop")
	c := rig.proxy.Caller()
	for full, want := range map[string]string{"shop.Customer": "shop Customer true", "shop.a.b.Customer": "shop Customer true", "Customer": "  false", "ghost.X": "  false",
		"shop.Secret\x00.html": "  false", "shop.a/b": "  false", "shop.Zubehör": "  false"} {
		node, erupt, ok := c.ResolveErupt(full)
		if got := fmt.Sprint(node, " ", erupt, " ", ok); got != want {
			t.Errorf("ResolveErupt(%q) = %s, want %s", full, got, want)
		}
	}
}

func TestCalls(t *testing.T) { // A24: the calls of pages, as they arrive at the node
	tests := map[string]struct {
		call       func(context.Context, *Caller) (*Answer, error)
		method, at string
		body       string
		function   Function
		write      bool
	}{
		"Build": {func(ctx context.Context, c *Caller) (*Answer, error) {
			return c.Build(ctx, sessionToken, "shop.Customer")
		}, "GET", "/erupt-api/build/Customer", "", None, false},
		"TableQuery": {func(ctx context.Context, c *Caller) (*Answer, error) {
			return c.TableQuery(ctx, sessionToken, "shop.Customer", []byte(`{"pageIndex":1}`))
		}, "POST", "/erupt-api/data/table/Customer", `{"pageIndex":1}`, None, false},
		"Tree": {func(ctx context.Context, c *Caller) (*Answer, error) { return c.Tree(ctx, sessionToken, "shop.Region") }, "GET", "/erupt-api/data/tree/Region", "", None, false},
		"FindByID": {func(ctx context.Context, c *Caller) (*Answer, error) {
			return c.FindByID(ctx, sessionToken, "shop.Customer", "a%2F b")
		}, "GET", "/erupt-api/data/Customer/a%252F%20b", "", ViewDetail, false},
		"InitValue": {func(ctx context.Context, c *Caller) (*Answer, error) {
			return c.InitValue(ctx, sessionToken, "shop.Customer")
		}, "GET", "/erupt-api/data/init-value/Customer", "", None, false},
		"Insert": {func(ctx context.Context, c *Caller) (*Answer, error) {
			return c.Insert(ctx, sessionToken, "shop.Customer", []byte(`{"a":1}`))
		}, "POST", "/erupt-api/data/modify/Customer", `{"a":1}`, Add, true},
		"Update": {func(ctx context.Context, c *Caller) (*Answer, error) {
			return c.Update(ctx, sessionToken, "shop.Customer", []byte(`{"id":1}`))
		}, "POST", "/erupt-api/data/modify/Customer/update", `{"id":1}`, Edit, true},
		"Delete": {func(ctx context.Context, c *Caller) (*Answer, error) {
			return c.Delete(ctx, sessionToken, "shop.Customer", []byte(`[1]`))
		}, "POST", "/erupt-api/data/modify/Customer/delete", `[1]`, Delete, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			node := newFakeNode(t, nil)
			rig := newRig(t)
			dead := deadAddress(t)
			rig.dir.set("shop", dead, node.URL)
			answer, err := tt.call(t.Context(), rig.proxy.Caller())
			if err != nil {
				t.Fatal(err)
			}
			got := node.only(t)
			if got.Method != tt.method || got.Target != tt.at || string(got.Body) != tt.body {
				t.Errorf("at the node: %s %s %q", got.Method, got.Target, got.Body)
			}
			if got.Header.Get("Access-Token") != accessToken || got.Header.Get("token") != delegatedToken || got.Header.Get("user") != userBase64 ||
				got.Header.Get("erupt") == "" || got.Header.Get("Accept-Encoding") != "" || tt.body != "" && got.Header.Get("Content-Type") != "application/json" {
				t.Errorf("headers at the node: %v", got.Header)
			}
			if w := rig.gate.last(); w.Function != tt.function || w.Write != tt.write || w.Node != "shop" || w.Token != sessionToken {
				t.Errorf("wish %+v", w)
			}
			if answer.Status != 200 || string(answer.Body) != `{"ok":true}` || answer.Location != node.URL || answer.Instance != "i2" {
				t.Errorf("answer %+v", answer)
			}
			if evicted := rig.dir.evictions(); !slices.Equal(evicted, []string{"shop " + dead}) {
				t.Errorf("evicted %v", evicted)
			}
			if e := rig.recorder.all(); len(e) != 1 || e[0].Status != 200 || len(e[0].Tried) != 2 {
				t.Errorf("record %+v", e)
			}
		})
	}
}

func TestDoWithEverything(t *testing.T) {
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	_, err := rig.proxy.Caller().Do(t.Context(), Call{
		Full: "shop.Contact", Method: "POST", Path: "/erupt-api/data/{e}/reference-table/{f}", Params: []string{"product"},
		Query: url.Values{"tabRef": {"false"}, "dependValue": {"a b&c"}}, Body: strings.NewReader("{}"), Token: sessionToken, Parent: "shop.Customer",
		Header:  http.Header{"Lang": {"zh-CN"}, "Drill": {"buys"}, "Drillvalue": {"1"}, "Drillsourceerupt": {"shop.Page"}, "Cookie": {"a=1"}, "User": {"forged"}, "Token": {"forged"}},
		Address: "203.0.113.9", RequestID: "req-9",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := node.only(t)
	if got.Target != "/erupt-api/data/Contact/reference-table/product?dependValue=a+b%26c&tabRef=false" {
		t.Errorf("at the node: %s", got.Target)
	}
	want := map[string]string{
		"lang": "zh-CN", "drill": "buys", "drillValue": "1", "drillSourceErupt": "Page", "eruptParent": "Customer", "erupt": "Contact", "Cookie": "",
		"user": userBase64, "token": delegatedToken, "X-Forwarded-For": "203.0.113.9", "X-Request-Id": "req-9",
	}
	for k, v := range want {
		if got.Header.Get(k) != v {
			t.Errorf("header %s %q, want %q", k, got.Header.Get(k), v)
		}
	}
	wish := Wish{Token: sessionToken, Node: "shop", Erupt: "Contact", Parent: "Customer", Drill: "buys", DrillSource: "Page"}
	if diff := cmp.Diff(wish, rig.gate.last()); diff != "" {
		t.Errorf("wish (-want +got):\n%s", diff)
	}
}

func TestCallsThatFail(t *testing.T) {
	node := newFakeNode(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "Big"):
			_, _ = io.CopyN(w, zeros{}, maxData+1)
		case strings.HasSuffix(r.URL.Path, "Cut"):
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	rig.dir.set("dead", deadAddress(t), deadAddress(t))
	rig.dir.set("empty")
	tests := map[string]struct {
		call Call
		kind Kind
		text string
	}{
		"no token":            {Call{Full: "shop.X", Path: "build/{e}"}, Unauthenticated, ""},
		"unknown node":        {Call{Full: "ghost.X", Path: "build/{e}"}, NodeNotReady, "'ghost' node not ready"},
		"unknown page's node": {Call{Node: "ghost", Path: "tpl/**", Params: []string{"a"}}, NodeNotReady, "'ghost' node not ready"},
		"no instance":         {Call{Full: "empty.X", Path: "build/{e}", Token: sessionToken}, NodeNotReady, "no available instance"},
		"dead":                {Call{Full: "dead.X", Path: "build/{e}", Token: sessionToken}, UpstreamUnreachable, "can be reached"},
		"local name":          {Call{Full: "X", Path: "build/{e}", Token: sessionToken}, NodeNotReady, ""},
		"unknown endpoint":    {Call{Full: "shop.X", Path: "evil/{e}", Token: sessionToken}, NotFound, "no such endpoint"},
		"local endpoint":      {Call{Full: "shop.X", Path: "login", Method: "POST", Token: sessionToken}, NotFound, ""},
		"wrong method":        {Call{Full: "shop.X", Path: "data/table/{e}", Token: sessionToken}, NotFound, ""},
		"slash in an id":      {Call{Full: "shop.X", Path: "data/{e}/{id}", Params: []string{"a/b"}, Token: sessionToken}, Invalid, "slash"},
		"dots as an id":       {Call{Full: "shop.X", Path: "data/{e}/{id}", Params: []string{".."}, Token: sessionToken}, Invalid, "dot segment"},
		"no id":               {Call{Full: "shop.X", Path: "data/{e}/{id}", Token: sessionToken}, Invalid, "empty segment"},
		"bad field":           {Call{Full: "shop.X", Path: "comp/choice-item/{e}/{f}", Params: []string{"a b"}, Token: sessionToken}, Invalid, ""},
		"word as a name":      {Call{Full: "shop.tree", Path: "data/{e}/{id}", Params: []string{"1"}, Token: sessionToken}, Invalid, "cannot be called"},
		"parent elsewhere":    {Call{Full: "shop.X", Path: "build/{e}", Parent: "dead.Y", Token: sessionToken}, Forbidden, "is not on the node 'shop'"},
		"dots in a file":      {Call{Node: "shop", Path: "/erupt-attachment/**", Params: []string{"..", "x"}, Token: sessionToken}, Invalid, "dot segment"},
		"bad method":          {Call{Full: "shop.X", Path: "build/{e}", Method: "B AD", Token: sessionToken}, NotFound, ""},
		"answer too long":     {Call{Full: "shop.Big", Path: "data/tree/{e}", Token: sessionToken}, UpstreamUnreachable, "larger than 8 MiB"},
		"answer over a limit": {Call{Full: "shop.Big", Path: "data/tree/{e}", Token: sessionToken, Limit: 100}, UpstreamUnreachable, "larger than 1 MiB"},
		"answer breaks off":   {Call{Full: "shop.Cut", Path: "data/tree/{e}", Token: sessionToken}, UpstreamUnreachable, "broke off"},
		"unknown location":    {Call{Full: "shop.X", Path: "build/{e}", Token: sessionToken, Location: "http://x"}, NodeNotReady, "no instance at http://x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := rig.proxy.Caller().Do(t.Context(), tt.call)
			if err == nil || KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want %s %q", err, tt.kind, tt.text)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rig.proxy.Caller().Build(ctx, sessionToken, "shop.X"); KindOf(err) != ClientGone {
		t.Errorf("with a context that is over: %v", err)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if _, err := rig.proxy.Caller().Build(ctx, sessionToken, "shop.X"); KindOf(err) != UpstreamTimeout {
		t.Errorf("with a deadline that has passed: %v", err)
	}
}

func TestDoPassesRefusals(t *testing.T) {
	node := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		_, _ = io.WriteString(w, `{"message":"no"}`)
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	got, err := rig.proxy.Caller().Insert(t.Context(), sessionToken, "shop.X", []byte("{}"))
	if err != nil || got.Status != 500 || string(got.Body) != `{"message":"no"}` {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOpenStreams(t *testing.T) {
	const size = 32 << 20
	node := newBareNode(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=a.xlsx")
		w.Header().Set("Set-Cookie", "a=1")
		_, _ = io.CopyN(w, zeros{}, size)
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	s, err := rig.proxy.Caller().Open(t.Context(), Call{Full: "shop.X", Method: "POST", Path: "excel/export/{e}", Body: strings.NewReader("[]"), Token: sessionToken})
	if err != nil {
		t.Fatal(err)
	}
	if len(rig.recorder.all()) != 0 {
		t.Error("recorded before it is over")
	}
	n, err := io.Copy(io.Discard, s.Body)
	if err != nil || n != size || s.Header.Get("Content-Disposition") == "" || s.Header.Get("Set-Cookie") != "" {
		t.Errorf("%d bytes, %v, headers %v", n, err, s.Header)
	}
	_, _ = s.Body.Close(), s.Body.Close()
	if e := rig.recorder.all(); len(e) != 1 || e[0].Wish.Function != Export {
		t.Errorf("record %+v", e)
	}
}

func TestBuildOfTheCallerIsRewritten(t *testing.T) {
	node := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"eruptModel":{"eruptName":"X"}}`)
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	got, err := rig.proxy.Caller().Build(t.Context(), sessionToken, "shop.X")
	if err != nil || string(got.Body) != `{"eruptModel":{"eruptName":"shop.X"}}` {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestModelForTheGate(t *testing.T) {
	node := newFakeNode(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "Nothing"):
			w.WriteHeader(404)
		case strings.HasSuffix(r.URL.Path, "Bad"):
			w.WriteHeader(500)
		default:
			_, _ = io.WriteString(w, `{"eruptModel":{"eruptName":"X"}}`)
		}
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	var models Models = rig.proxy.Caller()
	as := User{User: rig.gate.user, Delegated: delegatedToken}
	got, err := models.Model(t.Context(), "shop", "X", as)
	if err != nil || string(got) != `{"eruptModel":{"eruptName":"X"}}` {
		t.Errorf("%s, %v, want the node's own words", got, err)
	}
	if len(rig.gate.wishes) != 0 || len(rig.recorder.all()) != 0 {
		t.Error("the gate was asked, or the request recorded")
	}
	if h := node.only(t).Header; h.Get("token") != delegatedToken || h.Get("erupt") != "X" || h.Get("user") != userBase64 {
		t.Errorf("headers %v", h)
	}
	for erupt, want := range map[string]Kind{"Nothing": NotFound, "Bad": UpstreamUnreachable, "a/b": Invalid, "": Invalid} {
		if _, err := models.Model(t.Context(), "shop", erupt, as); KindOf(err) != want {
			t.Errorf("Model(%q): %v, want %s", erupt, err, want)
		}
	}
	if _, err := models.Model(t.Context(), "ghost", "X", as); KindOf(err) != NodeNotReady {
		t.Errorf("Model of an unknown node: %v", err)
	}
}

func TestPinnedCalls(t *testing.T) {
	a, b := newFakeNode(t, nil), newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", a.URL, b.URL)
	rig.dir.rotates = true
	for range 4 {
		got, err := rig.proxy.Caller().Do(t.Context(), Call{Full: "shop.X", Path: "data/tree/{e}", Token: sessionToken, Location: b.URL})
		if err != nil || got.Location != b.URL || got.Instance != "i2" {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if len(a.requests()) != 0 {
		t.Error("the other location was asked")
	}
	dead := deadAddress(t)
	rig.dir.set("shop", dead, b.URL)
	if _, err := rig.proxy.Caller().Do(t.Context(), Call{Full: "shop.X", Path: "data/tree/{e}", Token: sessionToken, Location: dead}); KindOf(err) != UpstreamUnreachable {
		t.Errorf("a pinned dead location: %v, want no failover", err)
	}
}

func TestUploadByTheCaller(t *testing.T) {
	var got int64
	node := newBareNode(t, func(_ http.ResponseWriter, r *http.Request) { got, _ = io.Copy(io.Discard, r.Body) })
	rig := newRig(t)
	rig.dir.set("shop", deadAddress(t), node.URL)
	a, err := rig.proxy.Caller().Do(t.Context(), Call{
		Full: "shop.X", Method: "POST", Path: "file/upload/{e}/{f}", Params: []string{"photo"}, Token: sessionToken,
		Header: http.Header{"Content-Type": {"multipart/form-data; boundary=x"}}, Body: io.LimitReader(zeros{}, 1<<20),
	})
	if err != nil || a.Status != 200 || got != 1<<20 {
		t.Errorf("%+v, %v, %d bytes", a, err, got)
	}
	if e := rig.recorder.all(); len(e) != 1 || e[0].Params != nil {
		t.Errorf("record %+v", e)
	}
	if _, err := rig.proxy.Caller().Do(t.Context(), Call{Full: "shop.X", Method: "POST", Path: "data/table/{e}", Body: bytes.NewReader(nil), Token: sessionToken}); err != nil {
		t.Errorf("an empty body: %v", err)
	}
}

// listing is a directory that knows its pages.
type listing struct{ *fakeDirectory }

func (listing) Names() []string { return []string{"shop.Customer"} }

func TestCallerNames(t *testing.T) { // A24
	if got := newRig(t).proxy.Caller().Names(); got != nil {
		t.Errorf("of a directory that does not know: %q", got)
	}
	rig := newRig(t, func(o *Options) { o.Directory = listing{o.Directory.(*fakeDirectory)} })
	if got := rig.proxy.Caller().Names(); len(got) != 1 || got[0] != "shop.Customer" {
		t.Errorf("Names = %q", got)
	}
}
