package console

import (
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"eruptcloud/proxy"
)

const customer1 = "/console/pages/warehouse.Customer/record?id=1"

// edited returns what a browser sends after a record was opened and changed.
func edited(t testing.TB, s *site, path string, changes url.Values) url.Values {
	t.Helper()
	v := formValues(document(t, s.get(path).must(t, 200)).Find("#record-form"))
	for name, values := range changes {
		v[name] = values
	}
	return v
}

func TestSavingUntouchedSendsTheRecordAsItWas(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	tests := map[string]string{
		// the numbers, texts, choices, dates and references of the recordings, in the form that each dialect takes
		customer1: `{"name":"Customer 1","code":"C-0001","level":"STD","grade":2,"active":false,"score":7,"balance":12.34,"discount":0.125,
			"founded":"1990-02-07","since":"2026-03-01 11:00:00","region":{"id":"3","name":"Berlin"},"city":"Bern","remark":"Remark 1","bigNumber":"9007199254740993","id":1}`,
		"/console/pages/warehouse.Ledger/record?id=9007199254740993": "", // no right to edit: no save button, see below
		"/console/pages/warehouse.Widget/record?id=1": `{"site":"https://one.example","whole":42,"exact":10.10,"floating":1.5,"filled":50,"stars":3.5,"colour":"#ff0080",
			"oldDate":"2026-02-28T23:59:59.123+00:00","oldMoment":"2026-02-28T23:59:59.123+00:00","dayField":"2026-03-01","moment":"2026-03-01 12:00:00",
			"clock":"09:30:00","ofMonth":"2026-02","ofWeek":"2026-09","ofYear":"2026","enabled":true,"sizes":["S","L"],"labels":"new|sale","notes":"plain text",
			"page":"<p>rich <em>text</em></p>","program":"{\"a\": [1, 2]}","article":"# Title\n\n* item","pictures":"/pictures/a.png|/pictures/b.png","manual":"/manual.pdf",
			"place":"{\"lng\":13.4,\"lat\":52.5,\"name\":\"Berlin\",\"address\":\"Mitte\"}","signed":"data:image/png;base64,iVBORw0KGgo=","template":"tpl","unseen":"hidden value","fixed":"fixed","id":1}`,
		"/console/pages/warehouse.Widget/record?id=3": "hostile",
	}
	for path, want := range tests {
		d := document(t, s.get(path).must(t, 200))
		if want == "" {
			if d.Find("#record-save").Length() != 0 {
				t.Errorf("%s can be saved without the right", path)
			}
			continue
		}
		before := len(f.sent("data/modify/{e}/update"))
		s.post(path, formValues(d.Find("#record-form"))).must(t, 303)
		sent := f.sent("data/modify/{e}/update")[before:]
		if len(sent) != 1 {
			t.Fatalf("%s: %d updates", path, len(sent))
		}
		if want == "hostile" {
			if got := jsonOf(t, sent[0]); got["notes"] != "<script>alert(2)</script>" || got["place"] != "not json" || got["colour"] != "red;background:url(x)" {
				t.Errorf("hostile texts changed: %s", sent[0])
			}
			continue
		}
		if got := jsonOf(t, sent[0]); !reflect.DeepEqual(got, jsonOf(t, want)) {
			t.Errorf("%s sent\n%s\nwant\n%s", path, sent[0], want)
		}
	}
}

func TestModernRecordsKeepPasswordTabsAndBoxes(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	const path = "/console/pages/shop.Customer/record?id=1"
	s.post(path, edited(t, s, path, url.Values{"f.name": {"Lin Yu 2"}})).must(t, 303)
	got := jsonOf(t, f.sent("data/modify/{e}/update")[0])
	want := map[string]string{
		"name": `Lin Yu 2`, "pwd": "••••••", "note": "first line\nsecond & line", "tags": `["red","blue"]`, "week": "2026-29",
		"amount": "12345678901234567890.1234", "html": `<p onclick="x()">Hi <b>there</b></p>`,
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s = %q, want %q", key, got[key], value)
		}
	}
	if skills, ok := got["skills"].([]any); !ok || len(skills) != 2 {
		t.Errorf("skills = %v, want two objects", got["skills"])
	}
	if contacts, ok := got["contacts"].([]any); !ok || len(contacts) != 2 || got["address"] == nil {
		t.Errorf("contacts = %v, address = %v: rows and parts must go back unchanged", got["contacts"], got["address"])
	}
}

func TestChangedFieldsAndNewRecords(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	s.post(customer1, edited(t, s, customer1, url.Values{
		"f.name": {"Müller & Söhne"}, "f.score": {"12"}, "f.active": {"true"}, "f.level": {"VIP"}, "f.since": {"2026-03-04T05:06"},
		"f.region": {"2\tGermany"}, "f.city": {""}, "f.bigNumber": {"9007199254740995"},
	})).must(t, 303)
	got := jsonOf(t, f.sent("data/modify/{e}/update")[0])
	want := jsonOf(t, `{"name":"Müller & Söhne","code":"C-0001","level":"VIP","grade":2,"active":true,"score":12,"balance":12.34,"discount":0.125,"founded":"1990-02-07",
		"since":"2026-03-04 05:06:00","region":{"id":"2","name":"Germany"},"remark":"Remark 1","bigNumber":"9007199254740995","id":1}`)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sent %v\nwant %v", got, want)
	}
	const add = "/console/pages/warehouse.Customer/new"
	a := s.post(add, edited(t, s, add, url.Values{"f.name": {"New one"}, "f.level": {"STD"}}))
	a.must(t, 303)
	if got := f.sent("data/modify/{e}"); len(got) != 1 || !reflect.DeepEqual(jsonOf(t, got[0]), jsonOf(t, `{"name":"New one","level":"STD","active":true,"score":100,"founded":"2020-02-29"}`)) {
		t.Errorf("inserted %q, want the entries and the initial values only", got)
	}
	if to := a.Header().Get("Location"); to != "/console/pages/warehouse.Customer?said=added" {
		t.Errorf("then to %s", to)
	}
}

func TestARefusalKeepsEverythingThatWasTyped(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	typed := url.Values{"f.name": {"Typed name"}, "f.remark": {"two\r\nlines"}, "f.region": {"2\tGermany"}, "f.active": {"true"}}
	tests := map[string]struct {
		say         nodeSays
		title, more string
		field       string
	}{
		"names a field": {says(200, `{"success":false,"status":"ERROR","promptWay":"MESSAGE","message":"Name required"}`), "Not saved.", "Warehouse refused one field.", "f-name-e"},
		"tip":           {says(200, `{"status":"ERROR","promptWay":"MESSAGE","message":"This <b>name</b> is not allowed"}`), "Not saved.", "This <b>name</b> is not allowed", ""},
		"constraint":    {says(500, `{"success":false,"status":"ERROR","promptWay":"MESSAGE","message":"Data duplication"}`), "Not saved.", "Data duplication", ""},
		"crash":         {says(500, `{"status":500,"message":"boom"}`), "Not saved.", "boom", ""},
		"no right":      {says(500, `{"status":500,"message":"权限不足，该操作将被记录!"}`), "Not saved.", "权限不足，该操作将被记录!", ""},
		"unreachable":   {fails(proxy.UpstreamUnreachable, "no instance of '%s' could be reached", "warehouse"), "Not saved.", "no instance of 'warehouse' could be reached", ""},
		"too slow":      {fails(proxy.UpstreamTimeout, "'%s' did not answer in time", "warehouse"), "It is not known whether this was saved. Look before you save again.", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f.on("data/modify/{e}/update", tt.say)
			first := edited(t, s, customer1, typed)
			d := document(t, s.post(customer1, first).must(t, 422))
			notice := strings.Join(strings.Fields(d.Find("[data-testid=record-notice]").Text()), " ")
			if !strings.HasPrefix(notice, tt.title) || !strings.Contains(notice, tt.more) {
				t.Errorf("notice = %q, want %q %q", notice, tt.title, tt.more)
			}
			if tt.field != "" && d.Find("#"+tt.field).Text() == "" {
				t.Errorf("no message at the field")
			}
			again := formValues(d.Find("#record-form"))
			for key, want := range typed {
				if again.Get(key) != want[0] {
					t.Errorf("%s came back as %q, want %q", key, again.Get(key), want[0])
				}
			}
			if again.Get("nonce") == first.Get("nonce") {
				t.Error("the form came back with its old number, so sending it again would do nothing")
			}
			if _, dirty := d.Find("#record-form").Attr("data-dirty"); !dirty {
				t.Error("leaving would not ask")
			}
		})
	}
}

func TestBadEntriesAreSaidAtTheField(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	d := document(t, s.post(customer1, edited(t, s, customer1, url.Values{"f.score": {"1,000"}, "f.balance": {"x"}, "f.founded": {"soon"}, "f.level": {"root"}})).must(t, 422))
	for id, want := range map[string]string{"#f-score-e": "plain number", "#f-balance-e": "plain number", "#f-founded-e": "complete date", "#f-level-e": "not one of the choices"} {
		if got := d.Find(id).Text(); !strings.Contains(got, want) {
			t.Errorf("%s = %q", id, got)
		}
	}
	if to, _ := d.Find("[data-testid=record-notice] a").Attr("href"); to != "#f-level" {
		t.Errorf("the notice leads to %q, want the first wrong field", to)
	}
	if v, _ := d.Find("#f-founded").Attr("value"); v != "soon" {
		t.Errorf("founded came back as %q", v)
	}
	if len(f.sent("data/modify/{e}/update")) != 0 {
		t.Error("it was sent all the same")
	}
}

func TestSomebodyElsesChangeIsNeitherLostNorOverwritten(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	mine := edited(t, s, customer1, url.Values{"f.name": {"Mine"}})
	theirs := strings.NewReplacer(`"city":"Bern"`, `"city":"Basel"`).Replace(string(mustAnswer(t, f, "data/{e}/{id} warehouse.Customer 1")))
	f.on("data/{e}/{id} warehouse.Customer 1", says(200, theirs))
	s.post(customer1, mine).must(t, 303)
	if got := jsonOf(t, f.sent("data/modify/{e}/update")[0]); got["name"] != "Mine" || got["city"] != "Basel" {
		t.Errorf("sent name %v, city %v; want mine and theirs", got["name"], got["city"])
	}
	mine = edited(t, s, customer1, url.Values{"f.city": {"Zürich"}})
	f.on("data/{e}/{id} warehouse.Customer 1", says(200, strings.Replace(theirs, "Basel", "Genf", 1)))
	d := document(t, s.post(customer1, mine).must(t, 422))
	if !strings.Contains(d.Find("#f-city-e").Text(), "Now on the node: Genf") {
		t.Errorf("conflict = %q", d.Find("#f-city-e").Text())
	}
	s.post(customer1, formValues(d.Find("#record-form"))).must(t, 303)
	if got := f.sent("data/modify/{e}/update"); len(got) != 2 || jsonOf(t, got[1])["city"] != "Zürich" {
		t.Errorf("saving again sent %v", got)
	}
}

func mustAnswer(t testing.TB, f *fakePages, key string) []byte {
	t.Helper()
	a, err := f.says[key](proxy.Call{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a.Body
}

func TestADoubleSendingActsOnce(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	const add = "/console/pages/warehouse.Customer/new"
	form := edited(t, s, add, url.Values{"f.name": {"Once"}, "f.level": {"STD"}})
	inside, release := make(chan struct{}), make(chan struct{})
	saved := f.says["data/modify/{e}"]
	f.on("data/modify/{e}", func(c proxy.Call, body []byte) (*proxy.Answer, error) {
		close(inside)
		<-release
		return saved(c, body)
	})
	var wg sync.WaitGroup
	answers := make([]answer, 2)
	cookie := s.cookie("admin")
	send := func(i int) {
		answers[i] = s.as("", http.MethodPost, add, form, func(r *http.Request) { r.AddCookie(cookie) })
	}
	wg.Go(func() { send(0) })
	<-inside
	wg.Go(func() { send(1) })
	close(release)
	wg.Wait()
	send2 := s.as("", http.MethodPost, add, form, func(r *http.Request) { r.AddCookie(cookie) })
	for i, a := range append(answers, send2) {
		if a.Code != http.StatusSeeOther {
			t.Errorf("sending %d got %d", i, a.Code)
		}
	}
	if got := f.sent("data/modify/{e}"); len(got) != 1 {
		t.Errorf("%d records were added, want 1", len(got))
	}
}

func TestTheOnceBook(t *testing.T) {
	at := now
	b := newOnceBook(func() time.Time { return at })
	runs := 0
	act := func() (any, error) { runs++; return runs, nil }
	do := func(key string) any {
		out, err := b.do(t.Context(), key, act)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if first, again, other := do("a"), do("a"), do("b"); first != 1 || again != 1 || other != 2 {
		t.Error("the same form must act once, another one on its own")
	}
	if do("") != 3 || do("") != 4 {
		t.Error("forms without a number are all their own")
	}
	at = at.Add(onceLife)
	if do("a") != 5 {
		t.Error("an outcome is kept for ever")
	}
	if _, err := b.do(t.Context(), "c", func() (any, error) { return nil, errors.New("no") }); err == nil {
		t.Error("the error was lost")
	}
	if do("c") != 6 {
		t.Error("after an error the form must be able to act")
	}
	for i := range 2 * onceMax {
		do(strconv.Itoa(i))
	}
	if len(b.all) > onceMax {
		t.Errorf("%d outcomes are kept, want %d at most", len(b.all), onceMax)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = b.do(t.Context(), "p", func() (any, error) { panic("broken") })
	}()
	if n := do("p"); n == nil {
		t.Error("after a panic the form hangs")
	}
}

func TestADrawerClosesAndTheTableReloads(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	drawer := document(t, s.get(customer1, htmx("drawer")).must(t, 200))
	if drawer.Find("nav").Length() != 0 || drawer.Find("#record.drawer").Length() != 1 {
		t.Fatal("the drawer is no fragment")
	}
	form := formValues(drawer.Find("#record-form"))
	a := s.post(customer1, form, htmx("record"))
	a.must(t, 200)
	h := a.Header()
	if h.Get("HX-Retarget") != "#drawer" || h.Get("HX-Trigger") != "page-changed" || !strings.Contains(a.body, "Record saved") {
		t.Errorf("answer = %v %s", h, a.body)
	}
	f.on("data/modify/{e}/update", f.recorded("classic-refused-required"))
	form = formValues(document(t, s.get(customer1, htmx("drawer")).must(t, 200)).Find("#record-form"))
	d := document(t, s.post(customer1, form, htmx("record")).must(t, 422))
	if d.Find("#record.drawer").Length() != 1 || d.Find("nav.nav").Length() != 0 {
		t.Error("a refusal does not come back as the drawer's own part")
	}
}

func TestWhenTheNodeGoesAwayTheTypedTextStays(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	form := edited(t, s, customer1, url.Values{"f.name": {"Typed name"}})
	build := f.says["build/{e} warehouse.Customer"]
	f.on("build/{e} warehouse.Customer", fails(proxy.NodeNotReady, "'%s' has no available instance", "warehouse"))
	a := s.post(customer1, form, htmx("record"))
	a.must(t, 422)
	if a.Header().Get("HX-Retarget") != "#record-alert" || !strings.Contains(a.body, "no instance that can be asked") {
		t.Errorf("in a drawer: %v %s", a.Header(), a.body)
	}
	d := document(t, s.post(customer1, form).must(t, 503))
	kept := formValues(d.Find("[data-testid=record-kept]"))
	if kept.Get("f.name") != "Typed name" {
		t.Errorf("without script: %v", kept)
	}
	f.on("build/{e} warehouse.Customer", build)
	s.post(customer1, kept).must(t, 303)
	if got := f.sent("data/modify/{e}/update"); len(got) != 1 || jsonOf(t, got[0])["name"] != "Typed name" {
		t.Errorf("sent again: %v", got)
	}
}

func TestReadOnlyFieldsCannotBeForced(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	s.post(customer1, edited(t, s, customer1, url.Values{"f.code": {"HACK"}, "f.id": {"2"}, "f.purchases": {"9"}, "f.nope": {"x"}})).must(t, 303)
	if got := jsonOf(t, f.sent("data/modify/{e}/update")[0]); got["code"] != "C-0001" || got["nope"] != nil || got["purchases"] != nil {
		t.Errorf("sent %v", got)
	}
	bad := edited(t, s, customer1, url.Values{"base": {"{"}})
	s.post(customer1, bad).must(t, 400)
}

func TestDependentFieldsFollow(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	d := document(t, s.get(customer1).must(t, 200))
	if _, hidden := d.Find("[data-field='f.discount']").Attr("hidden"); !hidden {
		t.Error("discount is only for VIPs, but shown")
	}
	form := edited(t, s, customer1, url.Values{"f.level": {"VIP"}, "f.name": {"typed"}, "do": {"form"}})
	d = document(t, s.post(customer1, form, htmx("record")).must(t, 200))
	if _, hidden := d.Find("[data-field='f.discount']").Attr("hidden"); hidden {
		t.Error("discount stays hidden for a VIP")
	}
	if v, _ := d.Find("#f-name").Attr("value"); v != "typed" || len(f.sent("data/modify/{e}/update")) != 0 {
		t.Errorf("name = %q, updates %d", v, len(f.sent("data/modify/{e}/update")))
	}
}
