package console

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/nodeagent"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/proxy"
)

// agentPages is a Go node in the same process: calls go to the agent's handler as the proxy would send them.
type agentPages struct {
	fakePages
	handler http.Handler
}

func (a *agentPages) Do(ctx context.Context, call proxy.Call) (*proxy.Answer, error) {
	_, erupt, _ := a.ResolveErupt(call.Full)
	path, params := strings.Replace(call.Path, "{e}", erupt, 1), call.Params
	for _, slot := range []string{"{f}", "{id}"} {
		if strings.Contains(path, slot) {
			path, params = strings.Replace(path, slot, url.PathEscape(params[0]), 1), params[1:]
		}
	}
	method := call.Method
	if method == "" {
		method = http.MethodGet
	}
	body := call.Body
	if body == nil {
		body = bytes.NewReader(nil)
	}
	r := httptest.NewRequestWithContext(ctx, method, "/erupt-api/"+path+"?"+call.Query.Encode(), body)
	for name, values := range call.Header {
		r.Header[name] = values
	}
	r.Header.Set(wire.HeaderAccessToken, "node-token-16-ch")
	r.Header.Set(wire.HeaderToken, "session")
	r.Header.Set(wire.HeaderErupt, erupt)
	r.Header.Set(wire.HeaderUser, base64.StdEncoding.EncodeToString([]byte(`{"uid":1,"account":"admin","name":"Admin","tenantId":null}`)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return &proxy.Answer{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes(), Location: "http://10.9.0.1:9000", Instance: "go-1", Took: time.Millisecond}, nil
}

// powerful answers what an agent asks the server: every right.
type powerful struct{}

func (powerful) RoundTrip(r *http.Request) (*http.Response, error) {
	body := `{"add":true,"edit":true,"delete":true,"query":true,"viewDetails":true,"export":true,"importable":true,"print":true,"copy":true}`
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func goShop(t *testing.T) (*site, *nodeagent.MemSource) {
	t.Helper()
	agent, err := nodeagent.New(nodeagent.Config{
		NodeName: "crm", AccessToken: "node-token-16-ch", ServerAddresses: []string{"http://server"}, Logger: slog.New(slog.DiscardHandler),
		HTTPClient: &http.Client{Transport: powerful{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	regions := nodeagent.NewMemSource(nodeagent.Row{"name": "Europe"}, nodeagent.Row{"name": "Germany", "parent": int64(1)})
	customers := nodeagent.NewMemSource(
		nodeagent.Row{"name": "Alice", "code": "A-1", "age": int64(20), "amount": 10.5, "birthday": "2001-01-01", "joined": "2026-07-01T10:00:00.000", "active": true, "level": "V",
			"channels": []string{"web"}, "tags": []string{"red"}, "note": "two\nlines", "pwd": "secret", "region": int64(2), "color": "#2f80ed"},
		nodeagent.Row{"id": int64(9007199254740993), "name": "李雷"})
	err = agent.Host(
		nodeagent.Page{Name: "Region", Title: "Regions", Source: regions, Tree: &nodeagent.Tree{Parent: "parent"},
			Fields: []nodeagent.Field{nodeagent.Input("name", "Name").Required(), nodeagent.ReferenceTree("parent", "Parent", "Region")}},
		nodeagent.Page{Name: "Customer", Title: "Customers", Source: customers, Fields: []nodeagent.Field{
			nodeagent.Input("name", "Name").Required().Search().Sortable(), nodeagent.Input("code", "Code").Unique(), nodeagent.Password("pwd", "Secret"),
			nodeagent.Number("age", "Age").Between(0, 150).Search(nodeagent.RANGE), nodeagent.Decimal("amount", "Amount", 2),
			nodeagent.Date("birthday", "Birthday").Search(), nodeagent.DateTime("joined", "Joined").Search(), nodeagent.Boolean("active", "Active", "Yes", "No").Search(),
			nodeagent.Choice("level", "Level", nodeagent.Option{Value: "V", Label: "VIP"}, nodeagent.Option{Value: "N", Label: "Normal"}).Search(),
			nodeagent.MultiChoice("channels", "Channels", nodeagent.Option{Value: "web", Label: "Web"}, nodeagent.Option{Value: "tel", Label: "Phone"}),
			nodeagent.Tags("tags", "Tags", "red", "green"), nodeagent.Textarea("note", "Note"), nodeagent.Color("color", "Color"),
			nodeagent.ReferenceTree("region", "Region", "Region").Search(),
		}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld()
	w.node(fleet.Node{Name: "crm", Enabled: true, FirstSeen: now})
	w.instance("crm", "go-1", "http://10.9.0.1:9000", "go-1.0", func(in *registry.Instance) { in.Node.Erupts = []string{"Customer", "Region"} })
	a := &agentPages{fakePages: *newFakePages(t, "crm"), handler: agent.Handler()}
	return newPageSite(t, w, a), customers
}

func TestPagesOfAGoNode(t *testing.T) {
	s, rows := goShop(t)
	const page = "/console/pages/crm.Customer"
	d := document(t, s.get(page).must(t, 200))
	if d.Find("h1").Text() != "Customers" || d.Find("[data-testid=view-row]").Length() != 2 {
		t.Fatalf("title %q, rows %d", d.Find("h1").Text(), d.Find("[data-testid=view-row]").Length())
	}
	find := url.Values{"s": {"1"}, "q.name": {"lic"}, "q.age.from": {"10"}, "q.joined.from": {"2026-07-01"}, "q.joined.to": {"2026-07-01"}, "q.active": {"true"}, "q.level": {"V"}, "q.region": {"2\tGermany"}, "sort": {"-name"}}
	if got := texts(document(t, s.get(page+"?"+find.Encode()).must(t, 200)).Find("[data-testid=view-row] .a")); len(got) != 1 || got[0] != "Alice" {
		t.Errorf("searching finds %q, want Alice", got)
	}
	row := func(id int64) nodeagent.Row {
		r, err := rows.Find(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	before := row(1)
	s.post(page+"/record?id=1", edited(t, s, page+"/record?id=1", nil)).must(t, 303)
	for key, was := range before {
		if now := row(1)[key]; !equalText(was, now) {
			t.Errorf("saved untouched, %s went from %v to %v", key, was, now)
		}
	}
	big := page + "/record?id=9007199254740993"
	s.post(big, edited(t, s, big, url.Values{"f.code": {"B-1"}, "f.age": {"42"}, "f.region": {"1\tEurope"}, "f.channels": {"tel"}})).must(t, 303)
	if r := row(9007199254740993); r["name"] != "李雷" || r["code"] != "B-1" || !equalText(r["age"], 42) {
		t.Errorf("after editing: %v", r)
	}
	refused := document(t, s.post(page+"/record?id=1", edited(t, s, page+"/record?id=1", url.Values{"f.name": {""}, "f.code": {"B-1"}})).must(t, 422))
	if refused.Find("#f-name-e").Text() == "" {
		t.Errorf("the missing name is not said at its field: %s", refused.Find("[data-testid=record-notice]").Text())
	}
	s.post(page+"/new", edited(t, s, page+"/new", url.Values{"f.name": {"Neu"}, "f.tags.add": {"a, b"}})).must(t, 303)
	s.post(page+"/delete", url.Values{"sure": {"9007199254740993"}, "confirm": {"1"}}).must(t, 303)
	d = document(t, s.get(page).must(t, 200))
	if got := texts(d.Find("[data-testid=view-row] .a")); strings.Join(got, " ") != "Alice Neu" {
		t.Errorf("rows = %q", got)
	}
	tree := document(t, s.get("/console/pages/crm.Region").must(t, 200))
	if got := texts(tree.Find("[data-testid=view-tree] a.open")); strings.Join(got, " ") != "Europe Germany" {
		t.Errorf("tree = %q", got)
	}
	options := document(t, s.get(page+"/options?field=f.region&find.f.region=germ", htmx("")).must(t, 200))
	if options.Find("input[value='2\tGermany']").Length() != 1 {
		t.Errorf("choices = %q", options.Text())
	}
}

func equalText(a, b any) bool {
	text := func(v any) string { return strings.TrimSuffix(strings.Trim(fmt.Sprint(v), "[]"), ".0") }
	return text(a) == text(b)
}
