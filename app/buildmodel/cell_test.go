package buildmodel_test

import (
	"encoding/json"
	"testing"

	"eruptcloud/app/buildmodel"
)

func cells(t *testing.T, m *buildmodel.Model, r buildmodel.Row) map[string]buildmodel.Cell {
	t.Helper()
	out := map[string]buildmodel.Cell{}
	for _, c := range m.Columns() {
		if _, seen := out[c.Key]; !seen {
			out[c.Key] = c.Cell(r)
		}
	}
	return out
}

func rows(t *testing.T, name string) []buildmodel.Row {
	t.Helper()
	p, err := buildmodel.ParsePage(file(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return p.Rows
}

func TestCellsOfLabelNodes(t *testing.T) { // erupt-wire 4.7: 1.x, 2.0 and 2.1 send labels
	m := model(t, "classic-build-customer")
	got := cells(t, m, rows(t, "classic-table-customer")[0])
	want := map[string]buildmodel.Cell{
		"name":        {Kind: buildmodel.KindText, Text: "Customer 1"},
		"level":       {Kind: buildmodel.KindTag, Text: "Standard", Raw: "STD"},
		"grade":       {Kind: buildmodel.KindTag, Text: "Class 2", Raw: "2"},
		"bigNumber":   {Kind: buildmodel.KindNumber, Text: "9007199254740993"},
		"discount":    {Kind: buildmodel.KindNumber, Text: "0.125"},
		"balance":     {Kind: buildmodel.KindNumber, Text: "12.34"},
		"founded":     {Kind: buildmodel.KindDate, Text: "1990-02-07", Raw: "1990-02-07"},
		"since":       {Kind: buildmodel.KindDate, Text: "2026-03-01 11:00:00", Raw: "2026-03-01 11:00:00"},
		"region_name": {Kind: buildmodel.KindText, Text: "Berlin"},
		"purchases":   {Kind: buildmodel.KindText, Text: "1 pcs", Raw: "1"}, // template
	}
	for key, w := range want {
		if g := got[key]; g.Kind != w.Kind || g.Text != w.Text || g.Raw != w.Raw {
			t.Errorf("%s = %+v, want %+v", key, g, w)
		}
	}
	if yes := got["active"].Yes; yes == nil || *yes || got["active"].Text != "No" {
		t.Errorf("active = %+v, want a No that is known to be no", got["active"])
	}
	if _, shown := got["remark"]; shown {
		t.Error("a column with show=false is shown")
	}
}

func TestCellsOfRawNodes(t *testing.T) { // 2.2 and later send raw values
	m := model(t, "modern-build-customer")
	got := cells(t, m, buildmodel.Row{"level": json.RawMessage(`"V"`), "grade": json.RawMessage(`2`), "active": json.RawMessage(`true`), "joined": json.RawMessage(`"2026-07-01T09:15:00.000"`)})
	if c := got["level"]; c.Text != "VIP" || c.Color != "#2f80ed" {
		t.Errorf("level = %+v, want the label and its colour", c)
	}
	if c := got["grade"]; c.Text != "Second" {
		t.Errorf("grade = %+v, want the label of a number", c)
	}
	if c := got["active"]; c.Text != "Enabled" || c.Yes == nil || !*c.Yes {
		t.Errorf("active = %+v, want the word for true", c)
	}
	if c := got["joined"]; c.Text != "2026-07-01 09:15:00" {
		t.Errorf("joined = %+v", c)
	}
	labelled := cells(t, m, rows(t, "modern-table-customer")[0])
	if c := labelled["level"]; c.Text != "VIP" || c.Color != "#2f80ed" {
		t.Errorf("level of a label node = %+v, want the same as of a raw one", c)
	}
	if c := labelled["tags"]; len(c.Items) != 2 || c.Items[0] != "red" {
		t.Errorf("tags = %+v", c)
	}
	if c := labelled["product_kind"]; c.Text != "Apparel" {
		t.Errorf("product_kind = %+v, want the text as sent", c)
	}
}

func TestHostileCellsCarryNoMarkupNorAddress(t *testing.T) { // S60
	m := model(t, "classic-build-widget")
	r := rows(t, "classic-table-widget")[2]
	for _, c := range m.Columns() {
		cell := c.Cell(r)
		if cell.URL != "" || cell.Color != "" {
			t.Errorf("%s (%s): URL %q, colour %q from hostile values", c.Key, c.View.Type, cell.URL, cell.Color)
		}
	}
	got := cells(t, m, rows(t, "classic-table-widget")[0])
	if got["colour"].Color != "#ff0080" {
		t.Errorf("colour = %+v", got["colour"])
	}
	for _, c := range m.Columns() {
		if c.View.Type == "LINK" && c.Cell(rows(t, "classic-table-widget")[0]).URL != "https://one.example" {
			t.Error("an https link is not linked")
		}
	}
}

func TestRowPower(t *testing.T) {
	page := buildmodel.Power{Edit: true, Delete: true, View: true}
	got := buildmodel.Row{"__power__": json.RawMessage(`{"edit":false,"delete":true}`)}.Power(page)
	if got.Edit || !got.Delete || !got.View {
		t.Errorf("row power = %+v, want no edit", got)
	}
	if got := (buildmodel.Row{"__power__": json.RawMessage(`{"edit":true}`)}).Power(buildmodel.Power{}); got.Edit {
		t.Error("a row gave a right that the page has not")
	}
}

func TestDates(t *testing.T) {
	tests := []struct{ kind, stored, want string }{
		{"DATE", "2026-03-01", "2026-03-01"},
		{"DATE", "2026-03-01 00:00:00", "2026-03-01"},
		{"DATE", "2026-03-01T00:00:00.000", "2026-03-01"},
		{"DATE", "2026-02-28T23:59:59.123+00:00", "2026-02-28"},
		{"DATE", "2026-02-28T16:00:00.000+00:00", "2026-03-01"}, // midnight at UTC+8
		{"DATE", "2026-03-01T05:00:00.000+00:00", "2026-03-01"}, // midnight at UTC-5
		{"DATE_TIME", "2026-03-01T12:00:00.005", "2026-03-01 12:00:00"},
		{"DATE_TIME", "2026-02-28T23:59:59.123+00:00", "2026-02-28 23:59:59"},
		{"DATE_TIME", "2026-02-28T23:59:59.123+0000", "2026-02-28 23:59:59"},
		{"DATE_TIME", "1772366400000", "2026-03-01 12:00:00"},
		{"TIME", "09:30:00", "09:30:00"},
		{"MONTH", "2026-02", "2026-02"},
		{"WEEK", "2026-09", "2026-09"},
		{"YEAR", "2026", "2026"},
		{"DATE", "tomorrow", "tomorrow"},
		{"DATE", "", ""},
	}
	for _, tt := range tests {
		f := buildmodel.Field{Edit: buildmodel.Edit{Type: "DATE", Date: buildmodel.DateType{Kind: tt.kind}}}
		if got := f.DateText(tt.stored); got != tt.want {
			t.Errorf("%s %q = %q, want %q", tt.kind, tt.stored, got, tt.want)
		}
	}
}

func TestEval(t *testing.T) {
	item := buildmodel.Row{
		"active": json.RawMessage(`"Yes"`), "n": json.RawMessage(`5`), "big": json.RawMessage(`"9007199254740993"`), "zero": json.RawMessage(`0`),
		"list": json.RawMessage(`["a","b"]`), "none": json.RawMessage(`null`), "price": json.RawMessage(`0.1`),
	}
	tests := map[string]string{
		`item.active == 'Yes'`: "true", `item.active === "No"`: "false", `value == 'VIP'`: "true", `value != 'VIP'`: "false",
		`item.n > 3 && item.n <= 5`: "true", `item.n == '5'`: "true", `!(item.n < 3)`: "true", `item.none == null`: "true",
		`item.missing == undefined`: "true", `item.n ? 'some' : 'none'`: "some", `item.zero ? 'some' : 'none'`: "none",
		`value + ' pcs'`: "VIP pcs", `item.n + 1`: "6", `item.n * 2 - 3`: "7", `item.price + 0.2`: "0.3", `10 / 4`: "2.5", `7 % 4`: "3",
		`item.list.includes('b')`: "true", `['x','VIP'].includes(value)`: "true", `value.includes('IP')`: "true", `value.length`: "3",
		`item.none && item.none.includes('x') ? 1 : 2`: "2", `item.big == 9007199254740993`: "true", `item.big > 9007199254740992`: "true",
		`-item.n`: "-5", `'a\'b'`: "a'b", `true || false`: "true", `(1 + 2) * 3`: "9", `item.none || 'dash'`: "dash", `"<b>" + value`: "<b>VIP",
	}
	for source, want := range tests {
		if got, ok := buildmodel.Eval(source, buildmodel.Scope{Value: json.RawMessage(`"VIP"`), Item: item}); !ok || got.Text() != want {
			t.Errorf("Eval(%s) = %q, %t; want %q", source, got.Text(), ok, want)
		}
	}
}

func TestEvalRefusesScripts(t *testing.T) { // erupt-wire 10.7
	deep, long := "", `'`
	for range 5000 {
		deep += "("
		long += "a"
	}
	for _, source := range []string{
		``, ` `, `alert(1)`, `window.location`, `item`, `item[0]`, `item.constructor.constructor('x')()`, `fetch('/x')`, `value => 1`, `a = 1`,
		`item.n = 3`, `1; 2`, "`t`", `new Date()`, `function(){}`, `/x/.test(value)`, `value.replace('a','b')`, `1 +`, `(1`, `'open`, `1 2`,
		`item.n +* 2`, `{}`, `value ? 1`, `1 / 0`, `'a' - 1`, `item.none.includes('x')`, deep, long + `'`, `"\u0041"`, `1e999999999 * 1e999999999`,
	} {
		if v, ok := buildmodel.Eval(source, buildmodel.Scope{Value: json.RawMessage(`"v"`)}); ok {
			t.Errorf("Eval(%.60s) = %q, want a refusal", source, v.Text())
		}
	}
}

func FuzzEval(f *testing.F) {
	for _, s := range []string{`item.active == 'Yes'`, `value + ' pcs'`, `['a'].includes(item.x) ? 1 : -2 % 3`, `((1+2)*3)`, `!value && 'x' || null`} {
		f.Add(s, []byte(`"v"`))
	}
	f.Fuzz(func(t *testing.T, source string, value []byte) {
		v, ok := buildmodel.Eval(source, buildmodel.Scope{Value: value, Item: buildmodel.Row{"active": value}})
		if ok {
			_ = v.Truth()
		}
		if len(v.Text()) > 10000+len(value)*6+len(source) {
			t.Fatalf("%d bytes out of %q", len(v.Text()), source)
		}
	})
}
