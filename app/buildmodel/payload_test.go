package buildmodel_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"eruptcloud/app/buildmodel"
)

// untouched is what a browser sends for a form that nobody touched: every line end as CRLF.
func untouched(m *buildmodel.Model, r buildmodel.Row) map[string]buildmodel.Entry {
	sent := map[string]buildmodel.Entry{}
	for i := range m.Fields {
		f := &m.Fields[i]
		switch m.Control(f, r[f.Name], false) {
		case buildmodel.ControlNone, buildmodel.ControlShown, buildmodel.ControlRows:
			continue
		}
		e := m.Entry(f, r[f.Name])
		e.Text = strings.ReplaceAll(e.Text, "\n", "\r\n")
		sent[f.Name] = e
	}
	return sent
}

func decoded(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

// save makes the payload as the console does: merge with the row as it is now, then write.
func save(t *testing.T, m *buildmodel.Model, base buildmodel.Row, sent map[string]buildmodel.Entry) map[string]any {
	t.Helper()
	changed, conflicts := m.Merge(base, base, sent)
	body, problems := m.Payload(base, changed, false)
	if len(conflicts)+len(problems) > 0 {
		t.Fatalf("conflicts %v, problems %v", conflicts, problems)
	}
	return decoded(t, body)
}

// The detail of a full row, saved unchanged, is byte for byte what a real 2.0.4 node was seen to take as "unchanged".
func TestModernRoundTripLeavesEveryTypeUnchanged(t *testing.T) {
	m, r := model(t, "modern-build-customer"), row(t, "modern-detail-customer-1")
	got, want := save(t, m, r, untouched(m, r)), decoded(t, file(t, "modern-sent-customer-1"))
	for _, flat := range []string{"region_name", "region_parent_name", "product_name", "product_kind", "gift_name"} {
		delete(want, flat) // columns of references ride along in the detail; no field reads them
	}
	for _, ref := range []string{"region", "product"} { // of a reference only id and label count
		delete(want[ref].(map[string]any), "parent_name")
		delete(want[ref].(map[string]any), "kind")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("payload of an untouched form differs:\ngot  %s\nwant %s", show(got), show(want))
	}
}

func TestClassicRoundTripLeavesEveryTypeUnchanged(t *testing.T) {
	m, r := model(t, "classic-build-widget"), row(t, "classic-detail-widget-1")
	got, want := save(t, m, r, untouched(m, r)), decoded(t, file(t, "classic-sent-widget-1"))
	// The front end cuts days and seconds off java.util.Date and rewrites 10.10; ours sends them as they came, which nodes take.
	want["oldDate"], want["oldMoment"], want["exact"] = "2026-02-28T23:59:59.123+00:00", "2026-02-28T23:59:59.123+00:00", json.Number("10.10")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("payload of an untouched form differs:\ngot  %s\nwant %s", show(got), show(want))
	}
}

func TestClassicRelationsAreSentInPayloadForm(t *testing.T) {
	m, r := model(t, "classic-build-purchase"), row(t, "classic-detail-purchase-1")
	got := save(t, m, r, untouched(m, r))
	want := decoded(t, []byte(`{"number":"P-1","customer":{"id":"1","name":"Customer 1"},"region":{"id":"5","name":"中国"},
		"warehouse":{"id":"3","name":"南仓"},"state":"SENT","orderedAt":"2026-03-02 12:00:00",
		"delivery":{"address":"Street 1","due":"2026-03-05T08:00:00.000+00:00","id":1},
		"items":[{"product_sku":"T-1","product":{"name":"Hammer","id":"1","sku":"T-1"},"quantity":1,"price":12.5,"id":1,"product_name":"Hammer"},
			{"product_sku":"T-2","product":{"name":"Saw","id":"2","sku":"T-2"},"quantity":2,"price":20.0,"id":2,"product_name":"Saw"}],
		"related":[{"id":3},{"id":4}],"areas":[{"id":3},{"id":5}],"carriers":[{"id":1},{"id":2}],"id":1}`))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("payload differs:\ngot  %s\nwant %s", show(got), show(want))
	}
}

func TestTabRowsAreAlwaysPresentAndNullsNever(t *testing.T) {
	m, r := model(t, "classic-build-purchase"), row(t, "classic-detail-purchase-7")
	got := save(t, m, r, untouched(m, r))
	if items, ok := got["items"].([]any); !ok || len(items) != 0 {
		t.Errorf("items = %v, want []: leaving it out is a null pointer on the node", got["items"])
	}
	body, _ := m.Payload(buildmodel.Row{}, map[string]buildmodel.Entry{"number": {Text: "P-9"}}, true)
	if string(body) != `{"number":"P-9","items":[]}` {
		t.Errorf("new row = %s, want number and the empty tab only", body)
	}
	c := model(t, "classic-build-customer")
	for _, name := range []string{"classic-detail-customer-5", "classic-detail-widget-2"} {
		if body, _ := c.Payload(row(t, name), nil, false); bytes.Contains(body, []byte("null")) {
			t.Errorf("%s: payload %s has a null, which 1.x answers with an exception", name, body)
		}
	}
}

func TestHostileAndAwkwardTextsSurvive(t *testing.T) { // S60, S85
	for _, name := range []string{"classic-detail-widget-3", "classic-detail-widget-4"} {
		m, r := model(t, "classic-build-widget"), row(t, name)
		got := save(t, m, r, untouched(m, r))
		for key, raw := range r {
			if key == "moment" {
				continue // written in the other of the two forms
			}
			if want := decoded(t, []byte(`{"v":`+string(raw)+`}`))["v"]; !reflect.DeepEqual(got[key], want) {
				t.Errorf("%s: %s = %v, want %v", name, key, got[key], want)
			}
		}
	}
}

func TestBigNumbersStayText(t *testing.T) { // S85
	m, r := model(t, "classic-build-ledger"), row(t, "classic-detail-ledger-big")
	body, _ := m.Payload(r, map[string]buildmodel.Entry{"text": {Text: "changed"}}, false)
	if !bytes.Contains(body, []byte(`"id":"9007199254740993"`)) || !bytes.Contains(body, []byte(`"amount":0.1000`)) {
		t.Errorf("payload = %s, want id and scale as they came", body)
	}
	c := model(t, "classic-build-customer")
	body, problems := c.Payload(row(t, "classic-detail-customer-1"), map[string]buildmodel.Entry{
		"bigNumber": {Text: "9007199254740995"}, "balance": {Text: "12345678901234567890.1234"}, "score": {Text: "12"},
	}, false)
	for _, want := range []string{`"bigNumber":"9007199254740995"`, `"balance":"12345678901234567890.1234"`, `"score":12`} {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("payload %s lacks %s (problems %v)", body, want, problems)
		}
	}
}

func TestEnteredValues(t *testing.T) {
	tests := []struct {
		name, build, detail, field string
		entry                      buildmodel.Entry
		want, problem              string
	}{
		{"1.x moment", "classic-build-widget", "classic-detail-widget-1", "moment", buildmodel.Entry{Text: "2026-03-04T05:06"}, `"2026-03-04 05:06:00"`, ""},
		{"1.x moment in a zone", "classic-build-widget", "classic-detail-widget-1", "oldMoment", buildmodel.Entry{Text: "2026-03-04 05:06:07"}, `"2026-03-04T05:06:07.000+00:00"`, ""},
		{"1.x day", "classic-build-widget", "classic-detail-widget-1", "dayField", buildmodel.Entry{Text: "2026-03-04"}, `"2026-03-04"`, ""},
		{"week of a browser", "classic-build-widget", "classic-detail-widget-1", "ofWeek", buildmodel.Entry{Text: "2026-W10"}, `"2026-10"`, ""},
		{"2.x moment", "modern-build-customer", "modern-detail-customer-1", "joined", buildmodel.Entry{Text: "2026-03-04 05:06:07"}, `"2026-03-04T05:06:07.000"`, ""},
		{"no date", "modern-build-customer", "modern-detail-customer-1", "joined", buildmodel.Entry{Text: "soon"}, "", "date"},
		{"no number", "modern-build-customer", "modern-detail-customer-1", "age", buildmodel.Entry{Text: "1,904.00"}, "", "number"},
		{"over the bound", "modern-build-customer", "modern-detail-customer-1", "age", buildmodel.Entry{Text: "151"}, "", "max"},
		{"emptied number", "modern-build-customer", "modern-detail-customer-1", "age", buildmodel.Entry{}, "", ""},
		{"default bounds do not bind", "modern-build-customer", "modern-detail-customer-1", "big", buildmodel.Entry{Text: "9007199254740994"}, `"9007199254740994"`, ""},
		{"password kept", "modern-build-customer", "modern-detail-customer-1", "pwd", buildmodel.Entry{}, `"••••••"`, ""},
		{"password cleared", "modern-build-customer", "modern-detail-customer-1", "pwd", buildmodel.Entry{Clear: true}, "", ""},
		{"password replaced", "modern-build-customer", "modern-detail-customer-1", "pwd", buildmodel.Entry{Text: "n3w"}, `"n3w"`, ""},
		{"choice", "modern-build-customer", "modern-detail-customer-1", "level", buildmodel.Entry{Text: "N"}, `"N"`, ""},
		{"choice not offered", "modern-build-customer", "modern-detail-customer-1", "level", buildmodel.Entry{Text: "admin"}, "", "choice"},
		{"several choices", "classic-build-widget", "classic-detail-widget-1", "sizes", buildmodel.Entry{Many: []string{"L"}}, `["L"]`, ""},
		{"no choice left", "classic-build-widget", "classic-detail-widget-1", "sizes", buildmodel.Entry{}, `[]`, ""},
		{"tags joined", "classic-build-widget", "classic-detail-widget-1", "labels", buildmodel.Entry{Many: []string{"new", "特价"}}, `"new|特价"`, ""},
		{"tag with the separator", "classic-build-widget", "classic-detail-widget-1", "labels", buildmodel.Entry{Many: []string{"a|b"}}, "", "tag"},
		{"too many tags", "classic-build-widget", "classic-detail-widget-1", "labels", buildmodel.Entry{Many: []string{"a", "b", "c", "d", "e"}}, "", "tags"},
		{"tags as JSON", "modern-build-customer", "modern-detail-customer-1", "tags", buildmodel.Entry{Many: []string{`a"b`, "c"}}, `"[\"a\\\"b\",\"c\"]"`, ""},
		{"yes to no", "classic-build-widget", "classic-detail-widget-1", "enabled", buildmodel.Entry{Text: "false"}, `false`, ""},
		{"colour", "classic-build-widget", "classic-detail-widget-1", "colour", buildmodel.Entry{Text: "#00ff00"}, `"#00ff00"`, ""},
		{"no colour", "classic-build-widget", "classic-detail-widget-1", "colour", buildmodel.Entry{Text: "red;background:url(x)"}, "", "color"},
		{"reference", "classic-build-customer", "classic-detail-customer-1", "region", buildmodel.Entry{Ref: buildmodel.Ref{ID: "2", Label: "Germany"}}, `{"id":"2","name":"Germany"}`, ""},
		{"reference emptied", "classic-build-customer", "classic-detail-customer-1", "region", buildmodel.Entry{}, "", ""},
		{"locked on edit", "classic-build-customer", "classic-detail-customer-1", "code", buildmodel.Entry{Text: "HACK"}, `"C-0001"`, ""},
		{"key cannot change", "classic-build-customer", "classic-detail-customer-1", "id", buildmodel.Entry{Text: "77"}, `1`, ""},
		{"line ends as stored", "modern-build-customer", "modern-detail-customer-1", "note", buildmodel.Entry{Text: "a\r\nb"}, `"a\nb"`, ""},
		{"unknown type untouched", "classic-build-widget", "classic-detail-widget-1", "place", buildmodel.Entry{Text: "x"}, `"{\"lng\":13.4,\"lat\":52.5,\"name\":\"Berlin\",\"address\":\"Mitte\"}"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, r := model(t, tt.build), row(t, tt.detail)
			body, problems := m.Payload(r, map[string]buildmodel.Entry{tt.field: tt.entry}, false)
			var out buildmodel.Row
			if err := json.Unmarshal(body, &out); err != nil {
				t.Fatalf("payload %s: %v", body, err)
			}
			if got := string(out[tt.field]); got != tt.want && tt.problem == "" || problems[tt.field].Kind != tt.problem {
				t.Errorf("%s = %s, problem %q; want %s, %q", tt.field, got, problems[tt.field].Kind, tt.want, tt.problem)
			}
		})
	}
}

func TestMergeKeepsWhatOthersChanged(t *testing.T) {
	m, base := model(t, "classic-build-customer"), row(t, "classic-detail-customer-1")
	fresh := row(t, "classic-detail-customer-1")
	fresh["city"], fresh["score"] = json.RawMessage(`"Basel"`), json.RawMessage(`8`)
	sent := untouched(m, base)
	sent["name"] = buildmodel.Entry{Text: "New name"}
	changed, conflicts := m.Merge(base, fresh, sent)
	if len(changed) != 1 || len(conflicts) != 0 {
		t.Fatalf("changed %v, conflicts %v; want only the name", changed, conflicts)
	}
	body, _ := m.Payload(fresh, changed, false)
	if !bytes.Contains(body, []byte(`"city":"Basel"`)) || !bytes.Contains(body, []byte(`"name":"New name"`)) {
		t.Errorf("payload = %s, want the other person's city and this one's name", body)
	}
	sent["score"] = buildmodel.Entry{Text: "9"}
	if _, conflicts = m.Merge(base, fresh, sent); !reflect.DeepEqual(conflicts, []string{"score"}) {
		t.Errorf("conflicts = %v, want score: both changed it to something else", conflicts)
	}
	sent["score"] = buildmodel.Entry{Text: "8"}
	if _, conflicts = m.Merge(base, fresh, sent); len(conflicts) != 0 {
		t.Errorf("conflicts = %v, want none: both chose the same", conflicts)
	}
}

func TestValuesThatAFormWouldChangeAreOnlyShown(t *testing.T) {
	m := model(t, "classic-build-customer")
	f := m.Field("city")
	for text, want := range map[string]buildmodel.Control{
		`"plain"`: buildmodel.ControlText, `"a\nb"`: buildmodel.ControlArea, `"a\u0000b"`: buildmodel.ControlShown,
		`"a\rb"`: buildmodel.ControlShown, `"a\u001bb"`: buildmodel.ControlShown,
	} {
		if got := m.Control(f, json.RawMessage(text), false); got != want {
			t.Errorf("control of %s = %s, want %s", text, got, want)
		}
	}
}

func TestStateFollowsTheOtherField(t *testing.T) {
	c := model(t, "classic-build-customer")
	for level, hidden := range map[string]bool{`"VIP"`: false, `"STD"`: true, `null`: true} {
		if got := c.State(c.Field("discount"), buildmodel.Row{"level": json.RawMessage(level)}); got.Hidden != hidden {
			t.Errorf("level %s: %+v, want hidden %t", level, got, hidden)
		}
	}
	m := model(t, "modern-build-customer")
	if got := m.State(m.Field("amount"), buildmodel.Row{"level": json.RawMessage(`"V"`)}); !got.Required || got.Locked {
		t.Errorf("matched: %+v, want required", got)
	}
	if got := m.State(m.Field("amount"), buildmodel.Row{"level": json.RawMessage(`"N"`)}); got.Required || !got.Locked {
		t.Errorf("not matched: %+v, want locked", got)
	}
}

func TestAffixesAreCutAndKept(t *testing.T) {
	f := model(t, "classic-build-widget").Field("site")
	for text, want := range map[string][3]string{
		"https://one.example": {"https://", "one", ".example"}, "中文 网址": {"", "中文 网址", ""}, ".example": {"", "", ".example"}, "": {"", "", ""},
	} {
		p, m, s := f.SplitAffix(text)
		if [3]string{p, m, s} != want || p+m+s != text {
			t.Errorf("SplitAffix(%q) = %q %q %q, want %q", text, p, m, s, want)
		}
	}
}

func show(v any) string { b, _ := json.Marshal(v); return string(b) }

// TestWire11_08RoundTrip: erupt-wire 11, item 8: what is read and saved unchanged stays as it was, in both dialects.
func TestWire11_08RoundTrip(t *testing.T) {
	t.Run("2.0", TestModernRoundTripLeavesEveryTypeUnchanged)
	t.Run("1.12", TestClassicRoundTripLeavesEveryTypeUnchanged)
	t.Run("1.12, relations", TestClassicRelationsAreSentInPayloadForm)
	t.Run("tabs and nulls", TestTabRowsAreAlwaysPresentAndNullsNever)
}
