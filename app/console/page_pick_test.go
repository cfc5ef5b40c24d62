package console

import (
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"eruptcloud/proxy"
)

func TestReferencesAreChosenFromTheNode(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	const options = "/console/pages/warehouse.Purchase/options?"
	d := document(t, s.get(options+url.Values{"field": {"f.customer"}, "find.f.customer": {"上海"}, "f.customer": {"1\tCustomer 1"}}.Encode(), htmx("")).must(t, 200))
	values := []string{}
	d.Find("input[type=radio]").Each(func(_ int, e *goquery.Selection) { v, _ := e.Attr("value"); values = append(values, v) })
	if strings.Join(values, "|") != "1\tCustomer 1|2\t<script>alert('x')</script>" {
		t.Errorf("choices = %q", values)
	}
	if got := f.sent("data/{e}/reference-table/{f}"); got[0] != `{"pageIndex":1,"pageSize":50,"sort":null,"condition":[{"key":"name","value":"上海"}]}` {
		t.Errorf("asked %s, want the label searched by the node", got[0])
	}
	for _, c := range f.calls {
		if c.Path == "data/{e}/reference-table/{f}" && c.Query.Get("tabRef") != "false" {
			t.Error("tabRef is missing, a null pointer on the node")
		}
	}
	d = document(t, s.get(options+"field=f.region&find.f.region=berl", htmx("")).must(t, 200))
	if got := texts(d.Find("label")); strings.Join(got, "|") != "None|Europe|Germany|Berlin" {
		t.Errorf("tree choices = %q", got)
	}
	f.on("data/{e}/reference-table/{f} warehouse.Purchase gift", f.recorded("classic-refused-depend"))
	f.on("data/{e}/reference-table/{f} warehouse.Purchase gift", says(500, `{"status":500,"message":"Please select first Customer"}`))
	d = document(t, s.get(options+"field=f.gift", htmx("")).must(t, 200))
	if got := d.Find("[role=alert]").Text(); got != "Please select first Customer" {
		t.Errorf("refusal = %q", got)
	}
	s.get(options+"field=f.gift&f.customer=7%09Seven", htmx("")).must(t, 200)
	if got := f.calls[len(f.calls)-1].Query.Get("dependValue"); got != "7" {
		t.Errorf("dependValue = %q", got)
	}
	for _, bad := range []string{"field=f.number", "field=f.nope", "field=customer", ""} {
		s.get(options+bad, htmx("")).must(t, 404)
	}
	f.on("data/{e}/reference-tree/{f}", fails(proxy.UpstreamTimeout, "'%s' did not answer in time", "warehouse"))
	d = document(t, s.get(options+"field=f.region", htmx("")).must(t, 200))
	if got := d.Find("[role=alert]").Text(); got != "'warehouse' did not answer in time" {
		t.Errorf("an unreachable node says %q", got)
	}
}

func TestChoosingWorksWithoutScript(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	form := edited(t, s, customer1, url.Values{"do": {"pick:f.region"}, "find.f.region": {"berl"}, "f.name": {"typed"}})
	d := document(t, s.post(customer1, form).must(t, 200))
	if d.Find("#f-region-list input[value='2\tGermany']").Length() != 1 {
		t.Fatalf("no choices: %s", d.Find("#f-region-list").Text())
	}
	again := formValues(d.Find("#record-form"))
	if again.Get("f.region") != "3\tBerlin" || again.Get("f.name") != "typed" {
		t.Errorf("the form came back with %v", again)
	}
	again.Set("f.region", "2\tGermany")
	s.post(customer1, again).must(t, 303)
	if got := jsonOf(t, f.sent("data/modify/{e}/update")[0]); got["name"] != "typed" {
		t.Errorf("saved %v", got)
	}
	d = document(t, s.get("/console/pages/warehouse.Customer?s=1&pick=q.region").must(t, 200))
	if d.Find("#q-region-list input[value='2\tGermany']").Length() != 1 {
		t.Error("a search cannot choose without script")
	}
}

func TestDeletingTakesTwoSteps(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	const path = "/console/pages/warehouse.Customer/delete"
	back := "/console/pages/warehouse.Customer?page=2&s=1"
	d := document(t, s.post(path, url.Values{"id": {"9007199254740993\tBig", "2\t<b>"}, "back": {back}}).must(t, 200))
	if len(f.sent("data/modify/{e}/delete")) != 0 || !strings.Contains(d.Find("[data-testid=page-confirm]").Text(), "Delete 2 records: Big, <b>?") {
		t.Fatalf("first step = %q", d.Find("[data-testid=page-confirm]").Text())
	}
	if got := f.sent("data/table/{e}"); !strings.Contains(got[0], `"pageIndex":2`) {
		t.Errorf("the question stands on %s, want the list it came from", got[0])
	}
	sure := formValues(d.Find("#page-rows"))
	sure.Set("confirm", "1")
	for range 2 { // a double click
		if a := s.post(path, sure); a.Code != 303 || a.Header().Get("Location") != "/console/pages/warehouse.Customer?page=2&s=1&said=deleted" {
			t.Errorf("second step: %d to %s", a.Code, a.Header().Get("Location"))
		}
	}
	if got := f.sent("data/modify/{e}/delete"); len(got) != 1 || got[0] != `["9007199254740993","2"]` {
		t.Errorf("deleted %q, want both ids exactly, once", got)
	}
}

func TestARefusedDeletionIsSaid(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	const path = "/console/pages/warehouse.Customer/delete"
	for name, say := range map[string]nodeSays{
		"The first customer stays": says(200, `{"status":"ERROR","promptWay":"DIALOG","message":"The first customer stays"}`),
		"associated data":          says(500, `{"success":false,"status":"ERROR","promptWay":"MESSAGE","message":"The deletion failed because associated data may exist"}`),
		"did not answer in time":   fails(proxy.UpstreamTimeout, "'%s' did not answer in time", "warehouse"),
		"The node gave no reason":  says(500, ""),
	} {
		f.on("data/modify/{e}/delete", say)
		a := s.post(path, url.Values{"sure": {"1"}, "confirm": {"1"}}, htmx("page-confirm"))
		a.must(t, 422)
		if !strings.Contains(a.body, "Nothing was deleted.") || !strings.Contains(a.body, name) {
			t.Errorf("want %q in %s", name, a.body)
		}
	}
	a := s.post(path, url.Values{}, htmx("page-confirm"))
	if a.must(t, 422); !strings.Contains(a.body, "Select the records first.") {
		t.Errorf("nothing selected: %s", a.body)
	}
	f.on("data/modify/{e}/delete", f.recorded("classic-saved"))
	a = s.post(path, url.Values{"sure": {"1"}, "confirm": {"1"}, "from": {"record"}, "in": {"drawer"}}, htmx("record-confirm"))
	if a.must(t, 200); a.Header().Get("HX-Retarget") != "#drawer" || a.Header().Get("HX-Trigger") != "page-changed" {
		t.Errorf("from a drawer: %v", a.Header())
	}
}
