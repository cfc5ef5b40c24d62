package console

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"eruptcloud/app/access"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

const routePath = "/console/nodes/order-service/route"

// fakeTraces are requests that never were.
type fakeTraces struct {
	kept   []proxy.Trace
	asked  []string // what Explain was asked
	answer proxy.Trace
}

func (f *fakeTraces) Traces(node string, limit int) []proxy.Trace {
	out := slices.DeleteFunc(slices.Clone(f.kept), func(t proxy.Trace) bool { return t.Node != node })
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out
}

func (f *fakeTraces) Explain(_ context.Context, as, method, path, erupt, parent string) proxy.Trace {
	f.asked = append(f.asked, strings.Join([]string{as, method, path, erupt, parent}, " "))
	return f.answer
}

func location(i string) string { return "http://10.20.4.1" + i + ":8080" }

// candidates are order-service's instances, i-4 first and i-3 held.
func candidates() []proxy.Candidate {
	return []proxy.Candidate{
		{Location: location("4"), Instance: "i-4", Standing: proxy.Routed}, {Location: location("1"), Instance: "i-1", Standing: proxy.Routed},
		{Location: location("2"), Instance: "i-2", Standing: proxy.Routed},
		{Location: location("3"), Instance: "i-3", Standing: proxy.Held, By: "chen.jie", Why: "bad disk on <mk-07>", Since: now.Add(-time.Minute)},
	}
}

// movedTrace is the request of the reference picture.
func movedTrace() proxy.Trace {
	return proxy.Trace{
		ID: "7f3a-91c2", At: now.Add(-8 * time.Second), Node: "order-service", Erupt: "Order", Method: "POST", Path: "/erupt-api/data/modify/order-service.Order",
		Function: proxy.Add, Write: true, Decision: proxy.Decision{Allowed: true, Account: "shop-batch", Required: "order-service.Order@ADD"},
		Candidates: candidates(), Tried: []proxy.Attempt{{Location: location("4"), Error: "dial tcp 10.20.4.14:8080: connect: connection refused", Took: time.Millisecond}, {Location: location("1"), Took: 38 * time.Millisecond}},
		Location: location("1"), Status: 200, Retry: proxy.RetryRefused, Waited: 40 * time.Millisecond, Took: 44 * time.Millisecond,
	}
}

func manyTraces() *fakeTraces {
	first := movedTrace()
	first.ID, first.Tried, first.Location, first.Retry = "first", []proxy.Attempt{{Location: location("4"), Took: 31 * time.Millisecond}}, location("4"), proxy.RetryAnswered
	first.Candidates = first.Candidates[:3]
	refused := movedTrace()
	refused.ID, refused.Tried, refused.Location, refused.Retry, refused.Status = "refused", nil, "", "", 403
	refused.Decision = proxy.Decision{Account: "guest", Required: "order-service.Order@ADD", Because: "no permission for 'Order'"}
	refused.Failure, refused.Message = proxy.Forbidden, refused.Decision.Because
	failed := movedTrace()
	failed.ID, failed.Location, failed.Status, failed.Retry = "failed", "", 502, proxy.RetryNoneLeft
	failed.Tried[1].Error, failed.Failure, failed.Message = "connection refused", proxy.UpstreamUnreachable, "'order-service' cannot be reached"
	return &fakeTraces{kept: []proxy.Trace{first, movedTrace(), refused, failed}}
}

func TestRouteHeadlineSaysWhereAndWhy(t *testing.T) { // D11, U53
	tests := map[string]struct {
		change   func(*proxy.Trace)
		want, zh string
	}{
		"moved on": {func(*proxy.Trace) {}, "It went to i-1, because i-4 refused the connection and i-3 was held.", "请求转到 i-1：i-4 拒绝连接，i-3 当时被挂起。"},
		"its turn": {func(t *proxy.Trace) {
			t.Tried, t.Candidates, t.Retry = t.Tried[1:], t.Candidates[1:3], proxy.RetryAnswered
		}, "It went to i-1, whose turn it was.", "请求转到 i-1：轮到它。"},
		"the only one": {func(t *proxy.Trace) {
			t.Tried, t.Candidates, t.Retry = t.Tried[1:], t.Candidates[1:2], proxy.RetryAnswered
		}, "It went to i-1, the only instance.", "请求转到 i-1：它是唯一的实例。"},
		"no right": {func(t *proxy.Trace) {
			t.Tried, t.Location, t.Failure, t.Decision.Allowed = nil, "", proxy.Forbidden, false
		}, "It went nowhere, because shop-batch does not hold order-service.Order@ADD.", "请求没有转出：shop-batch 没有权限 order-service.Order@ADD。"},
		"no session": {func(t *proxy.Trace) {
			t.Tried, t.Location, t.Failure, t.Decision = nil, "", proxy.Unauthenticated, proxy.Decision{Because: "log in"}
		}, "It went nowhere, because nobody was signed in.", "请求没有转出：没有登录。"},
		"nobody left": {func(t *proxy.Trace) {
			t.Location, t.Failure, t.Retry, t.Tried[1].Error = "", proxy.UpstreamUnreachable, proxy.RetryNoneLeft, "refused"
		}, "It went nowhere, because i-4 refused the connection, i-1 refused the connection and i-3 was held.", "请求没有转出：i-4 拒绝连接、i-1 拒绝连接，i-3 当时被挂起。"},
		"broke there": {func(t *proxy.Trace) {
			t.Location, t.Failure, t.Retry, t.Tried = "", proxy.UpstreamUnreachable, proxy.RetrySent, []proxy.Attempt{{Location: location("4"), Error: "EOF"}}
		}, "It went to i-4 and failed there; it was not tried elsewhere.", "请求转到 i-4 后失败，没有再试其他实例。"},
		"all out": {func(t *proxy.Trace) {
			t.Tried, t.Location, t.Failure, t.Retry, t.Candidates = nil, "", proxy.NodeNotReady, "", t.Candidates[3:]
		}, "It went nowhere, because i-3 was held.", "请求没有转出：i-3 当时被挂起。"},
		"none there": {func(t *proxy.Trace) {
			t.Tried, t.Location, t.Failure, t.Retry, t.Candidates = nil, "", proxy.NodeNotReady, "", nil
		}, "It went nowhere, because the node had no instance that takes requests.", "请求没有转出：节点没有可接收请求的实例。"},
		"caller left": {func(t *proxy.Trace) {
			t.Location, t.Failure, t.Retry, t.Tried = "", proxy.ClientGone, proxy.RetrySent, t.Tried[:1]
		}, "The caller left before an answer came.", "调用者在应答之前离开了。"},
		"dry": {func(t *proxy.Trace) {
			t.Tried, t.Location, t.Dry, t.Retry = nil, "", true, ""
		}, "It would go to i-4, because i-3 was held.", "请求会转到 i-4：i-3 当时被挂起。"},
		"own": {func(t *proxy.Trace) { *t = proxy.Trace{Dry: true, Own: true, Decision: proxy.Decision{Allowed: true}} },
			"The server answers this itself; no node is asked.", "由服务器自己应答，不询问任何节点。"},
		"many": {func(t *proxy.Trace) {
			for _, i := range []string{"5", "6", "7"} {
				t.Candidates = append(t.Candidates, proxy.Candidate{Location: location(i), Instance: "i-" + i, Standing: proxy.Draining})
			}
		}, "It went to i-1, because i-4 refused the connection, i-3 was held, i-5 was draining and 2 others took no part.", "请求转到 i-1：i-4 拒绝连接、i-3 当时被挂起、i-5 当时在排空，另有 2 个没有参与。"},
	}
	for name, tt := range tests {
		trace := movedTrace()
		tt.change(&trace)
		for lang, want := range map[string]string{"en": tt.want, "zh": tt.zh} {
			ctx := views.WithFrame(t.Context(), views.Frame{Lang: lang, Now: now})
			if got := views.RouteHeadline(ctx, routeTrace(trace)); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

func TestRouteViewShowsTheWay(t *testing.T) { // D11, U53, U80
	w := commerce()
	w.traces = manyTraces()
	s := newSite(t, w)
	doc := parse(t, s.get(routePath+"?id=7f3a-91c2").must(t, 200))
	if got := doc.Find("[data-testid=route-headline]").Text(); got != "It went to i-1, because i-4 refused the connection and i-3 was held." {
		t.Errorf("headline = %q", got)
	}
	var hops []string
	doc.Find("[data-testid=hop]").Each(func(_ int, h *goquery.Selection) { hops = append(hops, strings.Join(strings.Fields(h.Text()), " ")) })
	want := []string{
		"1. i-4 connection refused after 1.0 mshttp://10.20.4.14:8080 dial tcp 10.20.4.14:8080: connect: connection refused",
		"2. i-1 answered 200 in 38 mshttp://10.20.4.11:8080", "3. i-2 not neededhttp://10.20.4.12:8080",
		"i-3 skipped: held by chen.jie: bad disk on <mk-07>http://10.20.4.13:8080 1 min ago",
	}
	if !slices.Equal(hops, want) {
		t.Errorf("hops:\n%s", strings.Join(hops, "\n"))
	}
	if n := doc.Find("[data-testid=trace-row]").Length(); n != 4 || doc.Find("tr.on").Length() != 1 {
		t.Errorf("%d rows", n)
	}
	if text := doc.Find("#route-table").Text(); !includes(text, "through this replica") {
		t.Error("it is not said whose requests these are")
	}
	doc = parse(t, s.get(routePath+"?outcome=moved").must(t, 200))
	if n := doc.Find("[data-testid=trace-row]").Length(); n != 1 || doc.Find("[data-testid=trace-row]").AttrOr("data-outcome", "") != "moved" {
		t.Errorf("%d failed over", n)
	}
	if doc = parse(t, s.get(routePath+"?id=gone").must(t, 200)); !includes(doc.Find("[data-testid=trace-missing]").Text(), "Request gone is not among those") {
		t.Error("a request that is not kept")
	}
	if doc = parse(t, s.get("/console/nodes/ledger/route").must(t, 200)); !includes(doc.Find("#route-table").Text(), "No request went through this replica") {
		t.Error("a node without requests")
	}
	if a := s.get("/console/requests/7f3a-91c2"); a.Code != 303 || a.Header().Get("Location") != routePath+"?id=7f3a-91c2" {
		t.Errorf("by its id alone: %d %s", a.Code, a.Header().Get("Location"))
	}
	s.get("/console/requests/none").must(t, 404)
	var d routeDocument
	a := s.get(routePath+"?id=7f3a-91c2", func(r *http.Request) { r.Header.Set("Accept", "application/json") })
	if err := json.Unmarshal([]byte(a.must(t, 200)), &d); err != nil || d.Kept != 4 || d.Shown == nil || d.Shown.Instance != "i-1" || len(d.Shown.Hops) != 4 || d.Shown.Took != 44 {
		t.Errorf("%v\n%s", err, a.body)
	}
}

func TestDryRunAsksAsWhoItSays(t *testing.T) { // D11
	w := commerce()
	w.traces = manyTraces()
	w.traces.answer = movedTrace()
	w.traces.answer.Dry, w.traces.answer.Tried, w.traces.answer.Location = true, nil, ""
	w.login("lin.wei", false, access.CodeNodes)
	w.login("ops", false, access.CodeNodes)
	s := newSite(t, w)
	run := func(as string, more url.Values) *goquery.Document {
		t.Helper()
		more.Set("dry", "1")
		w.traces.asked = nil
		return parse(t, s.as(as, http.MethodGet, routePath+"?"+more.Encode(), nil).must(t, 200))
	}
	doc := run("admin", url.Values{"page": {"Order"}, "action": {"edit"}})
	if want := "admin PUT /erupt-api/data/modify/order-service.Order order-service.Order "; len(w.traces.asked) != 1 || w.traces.asked[0] != want {
		t.Errorf("asked %q, want %q", w.traces.asked, want)
	}
	if got := doc.Find("[data-testid=route-headline]").Text(); got != "It would go to i-4, because i-3 was held." {
		t.Errorf("headline = %q", got)
	}
	run("admin", url.Values{"path": {"/erupt-api/build/order-service.Order"}, "method": {"get"}, "as": {"lin.wei"}})
	if len(w.traces.asked) != 1 || !strings.HasPrefix(w.traces.asked[0], "lin.wei GET /erupt-api/build/") {
		t.Errorf("as another: %q", w.traces.asked)
	}
	for name, tt := range map[string]struct {
		as   string
		q    url.Values
		want string
	}{
		"others need no admin's rights": {"ops", url.Values{"path": {"/erupt-api/x"}, "as": {"lin.wei"}}, "only administrators"},
		"nobody of that name":           {"admin", url.Values{"path": {"/erupt-api/x"}, "as": {"nobody"}}, `"nobody" is not signed in`},
		"nothing asked":                 {"admin", url.Values{}, "a dry run needs a page or a path"},
	} {
		doc := run(tt.as, tt.q)
		if got := doc.Find("[data-testid=dry-error]").Text(); !includes(got, tt.want) || len(w.traces.asked) > 0 {
			t.Errorf("%s: %q, asked %q", name, got, w.traces.asked)
		}
	}
	if doc := run("ops", url.Values{"page": {"Order"}}); doc.Find("[name=as]").Length() != 0 {
		t.Error("the form offers others' rights to everybody")
	}
	w.traces.answer.Node = "ledger"
	if doc := run("admin", url.Values{"path": {"/erupt-api/build/ledger.Book"}}); !includes(doc.Find("[data-testid=dry-error]").Text(), "belongs to another node") || includes(doc.Text(), "It would go to") {
		t.Error("a dry run tells about a node that is not this one")
	}
}

func TestRouteNeedsTheRightForTheNode(t *testing.T) { // D21
	w := commerce()
	w.traces = manyTraces()
	for i := range w.nodes {
		for _, g := range w.groups {
			if g.Code == w.nodes[i].Group {
				w.nodes[i].GroupID = g.ID
			}
		}
	}
	w.login("team", false, access.CodeNodes)
	team := w.sessions["team"]
	team.Scopes = map[string][]int64{strings.ToLower(access.CodeNodes): {1}} // payments
	w.sessions["team"] = team
	s := newSite(t, w)
	s.as("team", http.MethodGet, "/console/nodes/ledger/route", nil).must(t, 200)
	s.as("team", http.MethodGet, routePath, nil).must(t, 403)
	s.as("team", http.MethodGet, "/console/requests/7f3a-91c2", nil).must(t, 404)
}

func TestWaysOfOthersAreTheirOwnBusiness(t *testing.T) { // D11, D21
	w := commerce()
	w.traces = manyTraces()
	failed := w.traces.kept[3]
	failed.ID, failed.Path, failed.Retry, failed.Candidates, failed.Tried, failed.Message = "odd", "/erupt-api/data/modify/order-service.Secret/1", "", nil, nil, "no answer from /erupt-api/data/modify/order-service.Secret/1"
	failed.Candidates = candidates()
	own := movedTrace()
	own.ID, own.Decision.Account, own.Decision.Required, own.Path = "own", "ops", "order-service.Mine@ADD", "/erupt-api/build/order-service.Mine"
	w.traces.kept = append(w.traces.kept, own, failed)
	w.login("ops", false, access.CodeNodes)
	w.login("trail", false, access.CodeNodes, access.CodeAudit)
	s := newSite(t, w)
	asks := func(as, id string) (page, document string) {
		t.Helper()
		page = s.as(as, http.MethodGet, routePath+"?id="+id, nil).must(t, 200)
		doc := parse(t, page)
		text := doc.Find("#route-way").Text() + doc.Find("#route-table").Text()
		doc.Find("#route-way, #route-table").Find("[title]").Each(func(_ int, e *goquery.Selection) { text += e.AttrOr("title", "") })
		return text, s.as(as, http.MethodGet, routePath+"?id="+id, nil, func(r *http.Request) { r.Header.Set("Accept", "application/json") }).must(t, 200)
	}
	secrets := []string{"shop-batch", "guest", "/erupt-api/data/modify", "order-service.Order@ADD", "no permission for"}
	for _, id := range []string{"7f3a-91c2", "refused", "failed", "odd", "own"} {
		page, document := asks("ops", id)
		for _, secret := range append(secrets, "Secret") {
			if strings.Contains(page, secret) || strings.Contains(document, secret) {
				t.Errorf("%s: a viewer without the operation log reads %q\n%s", id, secret, page)
			}
		}
		if !includes(page, "somebody else") || !strings.Contains(document, `"anonymous":true`) {
			t.Errorf("%s: requests of others are not marked", id)
		}
		if !includes(page, "order-service.Mine") || !strings.Contains(document, "order-service.Mine") {
			t.Errorf("%s: his own request is hidden from him", id)
		}
	}
	for id, want := range map[string]string{
		"7f3a-91c2": "It went to i-1, because i-4 refused the connection and i-3 was held.", "refused": "It went nowhere, because the right to it was missing.",
		"odd": "It failed: bad gateway.",
	} {
		doc := parse(t, s.as("ops", http.MethodGet, routePath+"?id="+id, nil).must(t, 200))
		if got := doc.Find("[data-testid=route-headline]").Text(); got != want {
			t.Errorf("%s: headline = %q, want %q", id, got, want)
		}
	}
	for _, as := range []string{"admin", "trail"} {
		page, document := asks(as, "refused")
		for _, known := range secrets {
			if !strings.Contains(page, known) || !strings.Contains(document, known) {
				t.Errorf("%s does not read %q", as, known)
			}
		}
		if strings.Contains(document, "anonymous") {
			t.Errorf("%s: marked as somebody else's", as)
		}
	}
}
