package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/proxy"
)

// translateForTest does what the process does with errors of the proxy.
func translateForTest(err error) error {
	var f *proxy.Failure
	if errors.As(err, &f) {
		return fault.New(fault.Code(f.Kind), f.Format, f.Args...)
	}
	return err
}

func document(t testing.TB, html string) *goquery.Document {
	t.Helper()
	d, err := goquery.NewDocumentFromReader(strings.NewReader(html))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func texts(s *goquery.Selection) []string {
	var out []string
	s.Each(func(_ int, e *goquery.Selection) { out = append(out, strings.Join(strings.Fields(e.Text()), " ")) })
	return out
}

// formValues are what a browser would send for a form.
func formValues(form *goquery.Selection) url.Values {
	v := url.Values{}
	form.Find("input[name], textarea[name], select[name]").Each(func(_ int, e *goquery.Selection) {
		name, _ := e.Attr("name")
		_, disabled := e.Attr("disabled")
		_, checked := e.Attr("checked")
		value, _ := e.Attr("value")
		switch kind, _ := e.Attr("type"); {
		case disabled, (kind == "checkbox" || kind == "radio") && !checked:
		case goquery.NodeName(e) == "textarea":
			v.Add(name, strings.ReplaceAll(strings.TrimPrefix(e.Text(), "\n"), "\n", "\r\n"))
		case goquery.NodeName(e) == "select":
			chosen := e.Find("option[selected]")
			if chosen.Length() == 0 {
				chosen = e.Find("option").First()
			}
			value, _ = chosen.Attr("value")
			v.Add(name, value)
		default:
			v.Add(name, value)
		}
	})
	return v
}

func TestMenuShowsThePagesThatOneMayOpen(t *testing.T) {
	w, f := warehouse(t)
	w.pageMenus("lin", false, "warehouse.Customer", "label-printer.Label")
	w.login("nobody", false)
	s := newPageSite(t, w, f)
	tests := map[string][]string{
		"admin":  {"Customer", "Region", "Customer", "Ledger", "Product", "Purchase", "Region", "StockItem", "Widget", "Label"},
		"lin":    {"Customer", "Label"},
		"nobody": nil,
	}
	for account, want := range tests {
		d := document(t, s.as(account, "GET", "/console/pages", nil).must(t, 200))
		if got := texts(d.Find("[data-testid=page-link]")); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s sees %v, want %v", account, got, want)
		}
	}
	d := document(t, s.as("lin", "GET", "/console/pages", nil).must(t, 200))
	if got := d.Find("[data-node=label-printer] .state").Text(); !strings.Contains(got, "Offline") {
		t.Errorf("a node that is away shows %q, want Offline", got)
	}
	if got := d.Find("[data-testid=headline]").Text(); got != "2 pages of 2 nodes that you may open. label-printer cannot be asked now." {
		t.Errorf("headline = %q", got)
	}
	d = document(t, s.get("/console/pages?q=purch").must(t, 200))
	if got := texts(d.Find("[data-testid=page-link]")); len(got) != 1 || got[0] != "Purchase" {
		t.Errorf("searching finds %v, want Purchase", got)
	}
	if body := s.get("/console/pages?q=zzz").must(t, 200); !strings.Contains(body, "no-match") {
		t.Error("nothing found is not said")
	}
}

func TestPagesNeedTheirOwnRight(t *testing.T) {
	w, f := warehouse(t)
	w.pageMenus("lin", false, "warehouse.Customer")
	s := newPageSite(t, w, f)
	for _, path := range []string{"", "/record?id=1", "/new", "/options?field=f.region"} {
		body := s.as("lin", "GET", "/console/pages/warehouse.Ledger"+path, nil).must(t, 403)
		if !strings.Contains(body, "warehouse.Ledger") {
			t.Errorf("%s does not name the missing right", path)
		}
	}
	s.as("lin", "POST", "/console/pages/warehouse.Ledger/record?id=1", url.Values{}).must(t, 403)
	s.as("lin", "GET", "/console/pages/nowhere.Ledger", nil).must(t, 404)
	if len(f.calls) != 0 {
		t.Errorf("%d calls reached a node", len(f.calls))
	}
	if got := s.as("", "GET", "/console/pages/warehouse.Ledger", nil); got.Code != http.StatusSeeOther {
		t.Errorf("without a session: %d, want the way to the login", got.Code)
	}
}

func TestTableShowsWhatTheNodeSent(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	d := document(t, s.get("/console/pages/warehouse.Customer").must(t, 200))
	head := texts(d.Find("[data-testid=view-table] thead th"))
	if head[1] != "Name" || head[3] != "Level" || head[len(head)-1] != "Actions" {
		t.Errorf("headings = %v", head)
	}
	first := texts(d.Find("[data-testid=view-row]").First().Find("td"))
	want := []string{"", "Customer 1", "C-0001", "Standard", "Class 2", "No", "7", "12.34", "0.125", "1990-02-07", "2026-03-01 11:00:00", "Berlin", "Germany", "Bern", "9007199254740993", "1 pcs", "Edit Customer 1"}
	if strings.Join(first, "|") != strings.Join(want, "|") {
		t.Errorf("first row = %q\nwant %q", first, want)
	}
	if got := d.Find("[data-testid=provenance]").Text(); !strings.Contains(got, "i-2") || !strings.Contains(got, "10.20.4.12:8080") ||
		!strings.Contains(got, "erupt 1.12.23") || !strings.Contains(got, "38 ms") || !strings.Contains(got, "your rights: query, view, add, edit, delete, export, import") {
		t.Errorf("provenance = %q", got)
	}
	if got := d.Find("[data-testid=page-count]").Text(); got != "120 records match" { // the class starts its search with a score
		t.Errorf("count = %q", got)
	}
	if got := d.Find("[data-testid=page-alert]").Text(); !strings.Contains(got, "<b>no</b> debts") {
		t.Errorf("alert = %q, want the node's markup as text", got)
	}
	if got := f.sent("data/table/{e}"); got[0] != `{"pageIndex":1,"pageSize":20,"sort":null,"condition":[{"key":"score","value":[0,1000]}]}` {
		t.Errorf("query = %s", got[0])
	}
}

func TestHostileContentIsText(t *testing.T) { // S60
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	for _, path := range []string{"/console/pages/warehouse.Customer", "/console/pages/warehouse.Widget", "/console/pages/shop.Customer", "/console/pages/warehouse.Widget/record?id=3", "/console/pages/warehouse.Customer/record?id=2"} {
		body := s.get(path).must(t, 200)
		for _, bad := range []string{"<script>alert", "<img src=x", `href="javascript:`, "<u>fixed", "<i>tag", "data:text/html,<script"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s contains %s", path, bad)
			}
		}
		document(t, body).Find("#page-table, #record").Find("img, iframe, object, [style], [onclick]").Each(func(_ int, e *goquery.Selection) {
			t.Errorf("%s: element %s from a node's text", path, goquery.NodeName(e))
		})
	}
}

func TestSearchSortAndPageLiveInTheAddress(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	q := url.Values{"s": {"1"}, "q.name": {"上海"}, "q.level": {"VIP"}, "q.active": {"false"}, "q.since.from": {"2026-02-27"}, "q.region": {"3\tBerlin"}, "sort": {"-score"}, "size": {"50"}, "page": {"2"}}
	d := document(t, s.get("/console/pages/warehouse.Customer?"+q.Encode()).must(t, 200))
	want := `{"pageIndex":2,"pageSize":50,"sort":"score desc","condition":[{"key":"name","value":"上海"},{"key":"level","value":["VIP"]},{"key":"active","value":false},{"key":"since","value":["2026-02-27 00:00:00","9999-12-31 23:59:59"]},{"key":"region","value":{"id":"3","name":"Berlin"}}]}`
	if got := f.sent("data/table/{e}"); got[0] != want {
		t.Errorf("query = %s\nwant    %s", got[0], want)
	}
	next, _ := d.Find("[rel=next]").Attr("href")
	u, err := url.Parse(next)
	if err != nil || u.Query().Get("page") != "3" || u.Query().Get("q.name") != "上海" || u.Query().Get("sort") != "-score" {
		t.Errorf("next page = %s, want the same search", next)
	}
	if got, _ := d.Find("th[aria-sort]").Attr("aria-sort"); got != "descending" {
		t.Errorf("sorted column says %q", got)
	}
	if v, _ := d.Find("#q-name").Attr("value"); v != "上海" {
		t.Errorf("the search box shows %q", v)
	}
	if got := formValues(d.Find("[data-testid=view-search]")); got.Get("sort") != "-score" || got.Get("q.region") != "3\tBerlin" || got.Has("page") {
		t.Errorf("searching again sends %v, want the sort kept and the page not", got)
	}
}

func TestWrongSearchEntriesDoNotReachTheNode(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	d := document(t, s.get("/console/pages/warehouse.Customer?s=1&q.score.from=abc").must(t, 200))
	if len(f.sent("data/table/{e}")) != 0 || !strings.Contains(d.Find("#q-score-e").Text(), "plain number") {
		t.Errorf("sent %v, message %q", f.sent("data/table/{e}"), d.Find("#q-score-e").Text())
	}
	s.get("/console/pages/warehouse.Customer?s=1&sort="+url.QueryEscape("(select 1)")).must(t, 200)
	if got := f.sent("data/table/{e}"); !strings.Contains(got[0], `"sort":null`) {
		t.Errorf("an unknown sort went to the node: %s", got[0])
	}
}

func TestDaysOf1xNodesAreWrittenAsTheNodeTakesThem(t *testing.T) {
	w, f := warehouse(t)
	table := f.says["data/table/{e} warehouse.Widget"]
	f.on("data/table/{e} warehouse.Widget", func(c proxy.Call, body []byte) (*proxy.Answer, error) {
		if strings.Contains(string(body), `["2026-01-01","2026-12-31"]`) && strings.Contains(string(body), "oldDate") {
			return says(500, `{"status":500,"message":"Text '2026-01-01' could not be parsed"}`)(c, body)
		}
		return table(c, body)
	})
	s := newPageSite(t, w, f)
	const search = "/console/pages/warehouse.Widget?s=1&q.oldDate.from=2026-01-01&q.oldDate.to=2026-12-31"
	if body := s.get(search).must(t, 200); strings.Contains(body, "page-refused") {
		t.Error("the other form of days was not tried")
	}
	s.get(search).must(t, 200)
	got := f.sent("data/table/{e}")
	if len(got) != 3 || !strings.Contains(got[2], `["2026-01-01 00:00:00","2026-12-31 23:59:59"]`) {
		t.Errorf("queries = %q, want one guess, one other, and then the right one at once", got)
	}
}

func TestPagePastTheEndShowsTheLast(t *testing.T) { // U14
	w, f := warehouse(t)
	f.on("data/table/{e} warehouse.Customer", func(c proxy.Call, body []byte) (*proxy.Answer, error) {
		if strings.Contains(string(body), `"pageIndex":99`) {
			return says(200, `{"pageIndex":99,"pageSize":20,"total":45,"totalPage":3,"list":[]}`)(c, body)
		}
		return says(200, `{"pageIndex":3,"pageSize":20,"total":45,"totalPage":3,"list":[{"id":41,"name":"last"}]}`)(c, body)
	})
	d := document(t, newPageSite(t, w, f).get("/console/pages/warehouse.Customer?page=99").must(t, 200))
	if d.Find("[data-testid=view-row]").Length() != 1 || !strings.Contains(d.Find("[data-testid=page-pager]").Text(), "41–41 of 45") {
		t.Errorf("pager = %q", d.Find("[data-testid=page-pager]").Text())
	}
}

func TestANodeThatIsAwayCostsOnlyItsPanel(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	tests := map[string]struct {
		say    nodeSays
		status int
		code   string
	}{
		"no instance":  {fails(proxy.NodeNotReady, "'%s' has no available instance", "warehouse"), 503, "node_not_ready"},
		"unreachable":  {fails(proxy.UpstreamUnreachable, "no instance of '%s' could be reached", "warehouse"), 502, "upstream_unreachable"},
		"too slow":     {fails(proxy.UpstreamTimeout, "'%s' did not answer in time", "warehouse"), 504, "upstream_timeout"},
		"not hosted":   {says(404, ""), 404, "not_hosted"},
		"crashed":      {says(500, `{"status":500,"message":"boom <b>"}`), 502, "refused"},
		"markup":       {says(502, "<html>bad gateway</html>"), 502, "refused"},
		"no page":      {says(200, `{"x":1}`), 502, "unreadable"},
		"an R refusal": {says(200, `{"status":"ERROR","promptWay":"MESSAGE","message":"closed"}`), 502, "refused"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f.on("build/{e} warehouse.Customer", tt.say)
			d := document(t, s.get("/console/pages/warehouse.Customer").must(t, tt.status))
			if code, _ := d.Find("[data-testid=page-problem]").Attr("data-code"); code != tt.code {
				t.Errorf("panel says %q, want %q", code, tt.code)
			}
			if d.Find("#side a[aria-current=page]").Length() != 1 || d.Find("h1").Text() == "" {
				t.Error("the rest of the page is gone")
			}
		})
	}
	for _, path := range []string{"", "/record?id=1", "/new"} { // a part of a page must arrive where it was asked for
		if body := s.get("/console/pages/warehouse.Customer"+path, htmx("")).must(t, 200); !strings.Contains(body, "page-problem") {
			t.Errorf("the part %s does not say what is wrong", path)
		}
	}
	f.on("build/{e} warehouse.Customer", f.recorded("classic-build-customer"))
	f.on("data/table/{e} warehouse.Customer", fails(proxy.UpstreamTimeout, "'%s' did not answer in time", "warehouse"))
	d := document(t, s.get("/console/pages/warehouse.Customer").must(t, 504))
	if d.Find("[data-testid=page-problem]").Length() != 1 || d.Find("[data-testid=view-search]").Length() != 1 {
		t.Error("a table that fails takes the search with it")
	}
}

func TestARefusedQueryIsSaidAboveTheTable(t *testing.T) {
	w, f := warehouse(t)
	f.on("data/table/{e} warehouse.Customer", f.recorded("classic-table-currency-info"))
	d := document(t, newPageSite(t, w, f).get("/console/pages/warehouse.Customer").must(t, 200))
	if got := d.Find("[data-testid=page-refused]").Text(); !strings.Contains(got, "Currency name required") {
		t.Errorf("refusal = %q", got)
	}
}

func TestTreePages(t *testing.T) {
	w, f := warehouse(t)
	w.pageMenus("admin", true, "warehouse.Region")
	s := newPageSite(t, w, f)
	d := document(t, s.get("/console/pages/warehouse.Region").must(t, 200))
	rows := d.Find("[data-testid=view-tree] [data-testid=view-row]")
	var got []string
	rows.Each(func(_ int, e *goquery.Selection) {
		class, _ := e.Attr("class")
		got = append(got, class+" "+strings.TrimSpace(e.Find("a.open").Text()))
	})
	want := "lv-0 Europe|lv-1 Germany|lv-2 Berlin|lv-0 亚洲|lv-1 中国"
	if strings.Join(got, "|") != want {
		t.Errorf("lines = %q, want %q", got, want)
	}
	d = document(t, s.get("/console/pages/warehouse.Region?find=berl").must(t, 200))
	if got := texts(d.Find("[data-testid=view-row] a.open")); strings.Join(got, "|") != "Europe|Germany|Berlin" {
		t.Errorf("searching shows %v, want Berlin and the way to it", got)
	}
	if href, _ := d.Find("[data-id='2'] a.btn").Attr("href"); !strings.Contains(href, "parent=2%09Germany") {
		t.Errorf("adding below leads to %s", href)
	}
	add := document(t, s.get("/console/pages/warehouse.Region/new?parent=2%09Germany").must(t, 200))
	if got := formValues(add.Find("#record-form")).Get("f.parent"); got != "2\tGermany" {
		t.Errorf("the new record is below %q", got)
	}
}

func TestLeftTreeMustBeChosenFirst(t *testing.T) {
	w, f := warehouse(t)
	f.on("data/table/{e} warehouse.StockItem", says(200, `{"pageIndex":1,"pageSize":15,"total":1,"totalPage":1,"list":[{"id":1,"product_name":"Hammer","pieces":3}]}`))
	s := newPageSite(t, w, f)
	d := document(t, s.get("/console/pages/warehouse.StockItem").must(t, 200))
	if !strings.Contains(d.Find("[data-testid=page-empty]").Text(), "warehouse") || len(f.sent("data/table/{e}")) != 0 || d.Find("[data-testid=page-new]").Length() != 0 {
		t.Errorf("nothing chosen: %q", d.Find("[data-testid=page-empty]").Text())
	}
	d = document(t, s.get("/console/pages/warehouse.StockItem?link=2").must(t, 200))
	if got := f.sent("data/table/{e}"); !strings.Contains(got[0], `"linkTreeVal":"2"`) {
		t.Errorf("query = %s, want the chosen line as 1.x takes it", got[0])
	}
	href, _ := d.Find("[data-testid=page-new]").Attr("href")
	add := document(t, s.get(href).must(t, 200))
	v := formValues(add.Find("#record-form"))
	v.Set("f.pieces", "4")
	s.post("/console/pages/warehouse.StockItem/new", v).must(t, 303)
	var header string
	for _, c := range f.calls {
		if c.Path == "data/modify/{e}" {
			header = c.Header.Get("link")
		}
	}
	if header != "2" {
		t.Errorf("header link = %q, want the chosen line", header)
	}
}

func TestPagesSpeakChinese(t *testing.T) {
	w, f := warehouse(t)
	body := newPageSite(t, w, f).get("/console/pages/warehouse.Customer", chinese).must(t, 200)
	for _, word := range []string{"搜索", "每页", "你的权限：查询、查看、新增", "条符合条件"} {
		if !strings.Contains(body, word) {
			t.Errorf("the page lacks %q", word)
		}
	}
	if got := f.calls[0].Header.Get("lang"); got != "zh-CN" {
		t.Errorf("the node is asked in %q", got)
	}
}

func TestFailedPagesLeadToTheWayOfTheirRequest(t *testing.T) { // D11
	w, f := warehouse(t)
	w.traces = &fakeTraces{}
	w.pageMenus("lin", false, "warehouse.Customer") // may open the page, and not look at nodes
	w.login("ops", false, access.CodeNodes)         // the other way round
	s := newPageSite(t, w, f)
	const page = "/console/pages/warehouse.Customer"
	for name, tt := range map[string]struct {
		as     string
		say    nodeSays
		status int
		want   bool
	}{
		"no instance":             {"admin", fails(proxy.NodeNotReady, "'%s' has no available instance", "warehouse"), 503, true},
		"unreachable":             {"admin", fails(proxy.UpstreamUnreachable, "no instance of '%s' could be reached", "warehouse"), 502, true},
		"the gate refuses":        {"admin", fails(proxy.Forbidden, "no permission for '%s'", "Customer"), 403, true},
		"no right to the page":    {"ops", fails(proxy.Forbidden, "no permission for '%s'", "Customer"), 403, true},
		"no right to the node":    {"lin", fails(proxy.NodeNotReady, "'%s' has no available instance", "warehouse"), 503, false},
		"a node that says no":     {"lin", fails(proxy.Forbidden, "no permission for '%s'", "Customer"), 403, false},
		"a page that is all well": {"admin", f.recorded("classic-build-customer"), 200, false},
	} {
		f.on("build/{e} warehouse.Customer", tt.say)
		f.calls = nil
		a := s.as(tt.as, http.MethodGet, page, nil)
		why := document(t, a.must(t, tt.status)).Find("[data-testid=why]")
		if got := why.Length() == 1; got != tt.want {
			t.Errorf("%s: a way is offered: %t, want %t", name, got, tt.want)
		}
		if tt.want && why.AttrOr("href", "") != "/console/requests/"+a.Header().Get("X-Request-Id") {
			t.Errorf("%s: it leads to %q, the request is %s", name, why.AttrOr("href", ""), a.Header().Get("X-Request-Id"))
		}
		if tt.want && (len(f.calls) != 1 || f.calls[0].RequestID != a.Header().Get("X-Request-Id")) {
			t.Errorf("%s: no way under that id is kept: %d calls", name, len(f.calls))
		}
	}
	f.on("build/{e} warehouse.Customer", fails(proxy.Forbidden, "no permission for '%s'", "Customer"))
	for lang, want := range map[string]string{"en": "Why?", "zh": "查看原因"} {
		a := s.as("admin", http.MethodGet, page, nil, func(r *http.Request) { r.Header.Set("Accept-Language", lang) })
		if got := strings.TrimSpace(document(t, a.must(t, 403)).Find("[data-testid=why]").Text()); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
	w.traces = nil
	if body := newPageSite(t, w, f).get(page).must(t, 403); strings.Contains(body, "data-testid=\"why\"") {
		t.Error("nobody keeps ways, and one is offered")
	}
}
