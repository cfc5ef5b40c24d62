package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
	"eruptcloud/views"
)

const orderPage = "/console/nodes/order-service"

func TestDrainIsAVisibleProcess(t *testing.T) { // D12
	w := commerce()
	d := w.deepen()
	s := newSite(t, w)
	doc := parse(t, s.get(orderPage+"/instances").must(t, 200))
	if doc.Find("[data-testid=drain]").Length() != 4 || doc.Find("[data-testid=drain-row]").Length() != 0 {
		t.Errorf("before: %d buttons, %d drains", doc.Find("[data-testid=drain]").Length(), doc.Find("[data-testid=drain-row]").Length())
	}
	s.post(orderPage+"/drain", url.Values{"instance": {"i-2"}, "reason": {"deploy"}}, htmx("node-instances")).must(t, 200)
	d.loads["http://10.20.4.12:8080"] = InFlight{Count: 3, Streams: 1, Oldest: now.Add(-4100 * time.Millisecond), Known: true}
	panel := s.get(orderPage+"/drains", htmx("node-drains"))
	doc = parse(t, panel.must(t, 200))
	row := doc.Find(`[data-testid=drain-row][data-instance="i-2"]`)
	if got := text1(doc, "[data-testid=drain-row] > span"); got != "3 requests in flight, 1 of them a stream, oldest 4.1 s" || row.AttrOr("data-safe", "") != "false" {
		t.Errorf("panel says %q, safe = %s", got, row.AttrOr("data-safe", ""))
	}
	if doc.Find(`#node-drains[hx-trigger="every 2s"]`).Length() != 1 || !includes(row.Text(), "by admin, deploy") {
		t.Errorf("the panel does not ask again, or does not say who: %s", row.Text())
	}
	if got := text1(parse(t, s.get("/console/nodes").must(t, 200)), "#node-order-service .says"); got != "1 of 4 draining: 3 requests in flight, oldest 4.1 s" {
		t.Errorf("verdict = %q", got)
	}
	d.loads["http://10.20.4.12:8080"] = InFlight{} // a replica has not told its number
	if doc := parse(t, s.get(orderPage+"/drains").must(t, 200)); doc.Find("[data-testid=safe-to-stop]").Length() != 0 {
		t.Error("safe to stop before all replicas have answered")
	}
	d.loads["http://10.20.4.12:8080"] = InFlight{Known: true}
	doc = parse(t, s.get(orderPage).must(t, 200))
	if doc.Find("[data-testid=safe-to-stop]").Length() != 1 || text1(parse(t, s.get("/console/nodes").must(t, 200)), "#node-order-service .says") != "1 of 4 draining: safe to stop" {
		t.Error("with nothing in flight it is safe to stop, and the page does not say so")
	}
	s.post(orderPage+"/drain/end", url.Values{"instance": {"i-2"}}).must(t, 303)
	s.post(orderPage+"/drain/end", url.Values{"instance": {"i-2"}}).must(t, 303) // again: no error
	doc = parse(t, s.get(orderPage+"/drains").must(t, 200))
	if len(d.drains) != 0 || doc.Find("#node-drains[hx-get]").Length() != 0 {
		t.Error("called off, it still drains, or the panel still asks")
	}
	if got := d.kinds(); !slices.Equal(got, []history.Kind{history.Drained, history.Undrained}) {
		t.Errorf("history = %v", got)
	}
	if e := w.audit[len(w.audit)-2]; e.Action != "instance.undrain" || e.Subject != "order-service i-2" {
		t.Errorf("audit = %+v", e)
	}
}

func TestDrainOfTheLastInstanceSaysSoFirst(t *testing.T) { // D12
	w := commerce()
	d := w.deepen()
	s := newSite(t, w)
	doc := parse(t, s.get("/console/nodes/ledger/instances").must(t, 200))
	if got := text1(doc, "[data-testid=drain-last]"); !includes(got, "last in routing") || doc.Find(`[data-instance=ledger-1] input[name=last]`).Length() != 1 {
		t.Errorf("the question says %q", got)
	}
	s.post("/console/nodes/ledger/drain", url.Values{"instance": {"ledger-1"}}).must(t, 409) // who was overtaken has not read it
	s.post("/console/nodes/ledger/drain", url.Values{"instance": {"gone"}, "last": {"1"}}).must(t, 404)
	if len(d.drains) != 0 {
		t.Fatal("it drains without having said what that means")
	}
	s.post("/console/nodes/ledger/drain", url.Values{"instance": {"ledger-1"}, "last": {"1"}}).must(t, 303)
	s.post(orderPage+"/drain", url.Values{"last": {"1"}}).must(t, 303) // the whole node
	if len(d.drains) != 5 {
		t.Errorf("drains = %+v", d.drains)
	}
	body := s.get("/console/nodes/ledger").must(t, 200)
	if doc := parse(t, body); doc.Find("#node-head").AttrOr("data-state", "") != "drain" || doc.Find("[data-testid=drain-nothing-left]").Length() != 1 {
		t.Error("a node that drains as a whole does not say that nothing is routed to it")
	}
}

func TestTokenRotationInTwoSteps(t *testing.T) { // S12
	w := commerce()
	d := w.deepen()
	for i := range w.instances {
		w.instances[i].Node.Token = "new"
		if w.instances[i].ID == "i-3" || w.instances[i].ID == "i-1" {
			w.instances[i].Node.Token = "old"
		}
	}
	w.table.Replace(slices.Clone(w.instances), 99, false)
	d.old["old"] = true
	s := newSite(t, w)
	if doc := parse(t, s.get(orderPage+"/settings").must(t, 200)); doc.Find("[data-testid=rotate-now]").Length() != 1 || doc.Find("[data-testid=end-grace]").Length() != 0 {
		t.Error("the settings do not offer to rotate, or offer to end what has not begun")
	}
	a := s.post(orderPage+"/token/rotate", nil)
	if body := a.must(t, 200); text1(parse(t, body), "[data-testid=token]") != rotatedToken || a.Header().Get("Cache-Control") != "no-store" {
		t.Error("the new token is not in the answer, or may be cached")
	}
	body := s.get(orderPage+"/settings").must(t, 200)
	doc := parse(t, body)
	if got := text1(doc, "[data-testid=old-token]"); got != "i-1 registered 3 h agoi-3 registered 3 h ago" || includes(body, rotatedToken) {
		t.Errorf("still with the old token: %q", got)
	}
	if got := text1(parse(t, s.get(orderPage).must(t, 200)), "[data-testid=grace]"); !includes(got, "2 instances still use the old one, accepted until 2026-12-02 06:32:05") {
		t.Errorf("the overview says %q", got)
	}
	if parse(t, s.get(orderPage+"/instances").must(t, 200)).Find(`[data-instance=i-3] .tag.split`).Length() != 1 {
		t.Error("the instance is not marked")
	}
	s.post(orderPage+"/token/end-grace", nil).must(t, 303)
	s.post(orderPage+"/token/end-grace", nil).must(t, 303) // again: no error
	if len(d.graces) != 0 || !slices.Equal(d.kinds(), []history.Kind{history.Rotated, history.GraceEnded}) {
		t.Errorf("graces = %v, history = %v", d.graces, d.kinds())
	}
	// Who may change nodes and not see tokens rotates blindly.
	w.login("li", false, "CloudNode", "CloudNode@EDIT")
	if a := s.as("li", http.MethodPost, orderPage+"/token/rotate", url.Values{}); a.Code != 303 || includes(a.body, rotatedToken) {
		t.Errorf("without the right to see it: %d", a.Code)
	}
	s.login("viewer", false, "CloudNode")
	s.as("viewer", http.MethodPost, orderPage+"/token/rotate", url.Values{}).must(t, 403)
	s.as("viewer", http.MethodPost, orderPage+"/token/end-grace", url.Values{}).must(t, 403)
}

func TestWrongTokenIsSaid(t *testing.T) { // S12
	w := commerce()
	d := w.deepen()
	d.refusals = []fleet.Refusal{
		{Node: "legacy-mall", Address: "10.1.1.9", Reason: fleet.WrongToken, Since: now.Add(-12 * time.Minute), Last: now, Count: 48},
		{Node: "coupon-v1", Address: "10.1.1.8", Reason: fleet.NodeDisabled, Since: now, Last: now, Count: 1},
	}
	s := newSite(t, w)
	doc := parse(t, s.get("/console/nodes").must(t, 200))
	if got := text1(doc, "#node-legacy-mall .says"); got != "Wrong token since 12 min ago from 10.1.1.9" {
		t.Errorf("verdict = %q", got)
	}
	if got := text1(parse(t, s.get("/console/nodes/legacy-mall").must(t, 200)), "[data-testid=refused]"); !includes(got, "from 10.1.1.9 since 12 min ago, 48 attempts") {
		t.Errorf("the node's page says %q", got)
	}
	if parse(t, s.get("/console/nodes/coupon-v1").must(t, 200)).Find("[data-testid=refused]").Length() != 0 {
		t.Error("a disabled node that reports shows no wrong token")
	}
}

func TestEventsOfANode(t *testing.T) { // U20, U61, U80
	w := commerce()
	d := w.deepen()
	for i := range 120 {
		fakeHistory{d}.Record(history.Event{At: now.Add(time.Duration(i) * time.Second), Node: "order-service", Kind: history.Registered, Instance: "i-1", Version: "2.3.0"})
	}
	fakeHistory{d}.Record(history.Event{At: now, Node: "order-service", Kind: history.Held, Instance: "i-4", Reason: "disk <full> 100%d", Account: "chen"})
	s := newSite(t, w)
	body := s.get(orderPage+"/events").must(t, 200)
	doc := parse(t, body)
	if text1(doc, ".tabs [aria-current]") != "Events" || doc.Find("[data-testid=event-row]").Length() != 50 || text1(doc, "[data-testid=event-row]") != "2026-12-01 06:32:05 Heldi-4 disk <full> 100%dchen" {
		t.Errorf("first row = %q", text1(doc, "[data-testid=event-row]"))
	}
	if got := parse(t, s.get(orderPage+"/events?page=99").must(t, 200)); got.Find("[data-testid=event-row]").Length() != 21 {
		t.Error("a page past the end is not the last one")
	}
	if got := parse(t, s.get(orderPage+"/events?kind=held&kind=nonsense").must(t, 200)).Find("[data-testid=event-row]"); got.Length() != 1 {
		t.Errorf("?kind=held shows %d", got.Length())
	}
	src := doc.Find("#events-new").AttrOr("data-src", "")
	if got := parse(t, s.get(src).must(t, 200)).Find("[data-testid=events-new]").Length(); got != 0 {
		t.Error("new events are announced although there are none")
	}
	fakeHistory{d}.Record(history.Event{At: now, Node: "order-service", Kind: history.Lifted})
	fakeHistory{d}.Record(history.Event{At: now, Node: "ledger", Kind: history.Lifted})
	if got := text1(parse(t, s.get(src).must(t, 200)), "[data-testid=events-new]"); got != "1 new, show" {
		t.Errorf("announced: %q", got)
	}
	var twin struct {
		Events []struct{ Kind, Reason, Account string }
		Total  int
	}
	if err := json.Unmarshal([]byte(s.get(orderPage+"/events?kind=held", func(r *http.Request) { r.Header.Set("Accept", "application/json") }).must(t, 200)), &twin); err != nil || twin.Total != 1 || twin.Events[0].Account != "chen" {
		t.Errorf("twin = %+v, %v", twin, err)
	}
	file := parse(t, s.get(orderPage+"/events?kind=held&page=1").must(t, 200)).Find("[data-testid=csv]").AttrOr("href", "")
	if got := s.get(file).must(t, 200); file != orderPage+"/events.csv?kind=held" || got != "\ufeffWhen,What,Instance,Address,Why,Who,Version\r\n2026-12-01T06:32:05Z,Held,i-4,,disk <full> 100%d,chen,\r\n" {
		t.Errorf("export %s (S94) is %q", file, got)
	}
	if n := parse(t, s.get(orderPage).must(t, 200)).Find("[data-testid=events-card] li").Length(); n != lastEvents {
		t.Errorf("the overview shows %d events", n)
	}
	w.deep = nil // nobody keeps events: the tab is absent, not empty
	plain := newSite(t, w)
	if parse(t, plain.get(orderPage).must(t, 200)).Find(`.tabs a[href$="/events"]`).Length() > 0 {
		t.Error("the tab is there although nobody keeps events")
	}
	plain.get(orderPage+"/events").must(t, 404)
	plain.get(orderPage+"/events.csv").must(t, 404)
}

func TestInstancePage(t *testing.T) { // U20, U21
	w := commerce()
	w.deepen()
	w.instance("order-service", "a/b #1", "http://10.20.4.19:8080", "2.3.0", func(in *registry.Instance) {
		in.Moved = &registry.Move{From: []string{"http://10.9.9.9:1"}, At: now.Add(-time.Hour)}
	})
	s := newSite(t, w)
	doc := parse(t, s.get(views.InstancePath("order-service", "a/b #1")).must(t, 200))
	main := doc.Find("#instance-facts").Text()
	for _, want := range []string{"a/b #1", "http://10.20.4.19:8080", "http://10.9.9.9:1", "10.0.0.5", "erupt-core", "Customer"} {
		if !includes(main, want) {
			t.Errorf("the page does not show %s", want)
		}
	}
	if doc.Find("[data-testid=instance-row]").Length() != 1 || doc.Find("[data-testid=instance-switch] ~ .menu a.item").Length() != 6 {
		t.Error("not one row, or the switcher lacks instances")
	}
	if got := doc.Find(`[data-testid=instance-switch] ~ .menu [aria-current]`).AttrOr("href", ""); got != "/console/nodes/order-service/instance?id=a%2Fb+%231" {
		t.Errorf("current = %q", got)
	}
	if body := s.get(views.InstancePath("order-service", "gone"), htmx("")).must(t, 404); !includes(body, "is not registered any more") {
		t.Error("a vanished instance is not said to be gone")
	}
	here := func(r *http.Request) {
		r.Header.Set("HX-Current-URL", "http://x"+views.InstancePath("order-service", "i-1"))
	}
	a := s.post(orderPage+"/hold", url.Values{"instance": {"i-1"}, "reason": {"r"}}, htmx("node-instances"), here)
	if got := a.Header().Get("HX-Redirect"); got != "/console/nodes/order-service/instance?id=i-1&said=held" {
		t.Errorf("after a hold on its page it goes to %q", got)
	}
}

func TestNewNodeWaitsForItsFirstProcess(t *testing.T) { // U14, U23
	w := newWorld()
	d := w.deepen()
	d.refusals = []fleet.Refusal{{Node: "ghost", Address: "10.7.7.7", Reason: fleet.NoSuchNode, Since: now, Last: now, Count: 1}}
	s := newSite(t, w)
	doc := parse(t, s.get("/console/nodes").must(t, 200))
	if doc.Find("[data-testid=empty] form[data-testid=node-form] #f-name").Length() != 1 || !includes(text1(doc, "[data-testid=stranger]"), "10.7.7.7 reports as ghost") {
		t.Error("an empty installation offers no form, or does not name who reports")
	}
	created := s.post("/console/nodes", url.Values{"name": {"fresh"}, "enabled": {"1"}}).must(t, 200)
	doc = parse(t, created)
	src := doc.Find("#node-arrival").AttrOr("data-src", "")
	if src != "/console/nodes/fresh/arrival" || !includes(text1(doc, "#node-arrival"), "Waiting for fresh") || text1(doc, "#node-arrival-state") != "Never seen" || doc.Find("#node-arrival-link .primary").Length() > 0 {
		t.Fatalf("the page does not wait: %q", src)
	}
	if got := d.kinds(); !slices.Equal(got, []history.Kind{history.Created}) {
		t.Errorf("history = %v", got)
	}
	d.refusals = append(d.refusals, fleet.Refusal{Node: "fresh", Address: "10.7.7.8", Reason: fleet.WrongToken, Since: now, Last: now, Count: 1})
	if got := text1(parse(t, s.get(src).must(t, 200)), "#node-arrival"); !includes(got, "10.7.7.8 shows another token") {
		t.Errorf("refused: %q", got)
	}
	w.instance("fresh", "f-1", "http://10.7.7.8:80", "1")
	doc = parse(t, s.get(src).must(t, 200))
	if doc.Find(`#node-arrival[data-here=true]`).Length() != 1 || doc.Find(`.primary[data-testid=arrived]`).Length() != 1 || doc.Find(".btn").Length() != 1 {
		t.Error("it has registered, and the page does not say so, or leads on more than once")
	}
	if got := text1(doc, "#node-arrival-state"); got != "Reachable" {
		t.Errorf("beside the title stands %q of a node that has come", got)
	}
	s.login("guest", false, "CloudNode")
	w.nodes = nil
	if body := s.as("guest", http.MethodGet, "/console/nodes", nil).must(t, 200); !includes(body, `data-testid="ask"`) || includes(body, "10.7.7.7") {
		t.Error("who may not create is not told whom to ask, or sees who tried to register")
	}
}

func TestAnnouncedPagesWithoutAModelAreNoLinks(t *testing.T) {
	w := commerce()
	d := w.deepen()
	f := newFakePages(t, "order-service")
	f.on("build/{e} order-service.Customer", says(http.StatusNotFound, `{"status":404,"error":"Not Found"}`))
	f.on("build/{e} order-service.Order", fails("upstream_timeout", "the node does not answer"))
	d.pages = f
	s := newSite(t, w)
	before := parse(t, s.get(orderPage+"/pages").must(t, 200))
	if got := text1(before, "[data-testid=node-resource]"); !includes(got, "flow") || !includes(got, "approve") { // erupt-wire 1.1
		t.Errorf("what modules contribute is shown as %q", got)
	}
	src := before.Find(`#node-pages[hx-trigger=load]`).AttrOr("hx-get", "")
	if before.Find("#node-pages a").Length() != 2 || src != orderPage+"/pages?checked=1" {
		t.Fatalf("%d links, asked for again at %q", before.Find("#node-pages a").Length(), src)
	}
	after := parse(t, s.get(src, htmx("node-pages")).must(t, 200))
	if got := text1(after, "[data-testid=no-model]"); !includes(got, "Customer") || after.Find("#node-pages a").Length() != 1 || after.Find("#node-pages[hx-get]").Length() != 0 {
		t.Errorf("afterwards: %q, %d links", got, after.Find("#node-pages a").Length())
	}
	if got := after.Find("#node-pages a").Text(); got != "Order" {
		t.Errorf("the page of a node that is silent is no link: %q", got)
	}
}
