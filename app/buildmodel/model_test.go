package buildmodel_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/buildmodel"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func model(t testing.TB, name string) *buildmodel.Model {
	t.Helper()
	m, err := buildmodel.Parse(file(t, name))
	if err != nil {
		t.Fatalf("Parse(%s): %v", name, err)
	}
	return m
}

func row(t testing.TB, name string) buildmodel.Row {
	t.Helper()
	r, err := buildmodel.ParseRow(file(t, name))
	if err != nil {
		t.Fatalf("ParseRow(%s): %v", name, err)
	}
	return r
}

func TestParseReadsBothDialects(t *testing.T) {
	for name, classic := range map[string]bool{
		"classic-build-customer": true, "classic-build-purchase": true, "classic-build-widget": true, "classic-build-currency": true,
		"modern-build-customer": false, "modern-build-region": false,
	} {
		m := model(t, name)
		if m.Classic != classic || len(m.Fields) == 0 || m.Key == "" {
			t.Errorf("Parse(%s): classic %t, %d fields, key %q; want classic %t", name, m.Classic, len(m.Fields), m.Key, classic)
		}
	}
	m := model(t, "classic-build-customer")
	if v := m.Field("name").Views[0]; v.Type != "TEXT" || !v.Sortable || v.Title != "Name" {
		t.Errorf("view of name = %+v, want a sortable TEXT from viewType", v)
	}
	if d := m.Field("discount").Edit.Dynamic; d == nil || d.Field != "level" || d.Match != "SHOW" || d.NoMatch != "HIDE" {
		t.Errorf("dynamic of discount = %+v, want showBy level", d)
	}
	if !m.Power.Add || !m.Power.Export || m.Layout.PageSize != 20 || !slices.Equal(m.Layout.PageSizes, []int{10, 20, 50, 100}) {
		t.Errorf("power %+v, layout %+v", m.Power, m.Layout)
	}
	if got := model(t, "modern-build-region"); got.ParentField() == nil || got.ParentField().Name != "parent" || !got.IsTree() {
		t.Errorf("tree of Region = %+v, want parent", got.Tree)
	}
	if s := model(t, "classic-build-stock"); s.Link.Field != "warehouse" || !s.Link.Required || s.Layout.Paging != buildmodel.PagingNone {
		t.Errorf("StockItem: link %+v, paging %s", s.Link, s.Layout.Paging)
	}
}

func TestParseToleratesMissingAndWrongKeys(t *testing.T) {
	tests := map[string]string{
		"nothing but a name":    `{"eruptModel":{"eruptName":"n.X"}}`,
		"nulls everywhere":      `{"eruptModel":{"eruptName":"n.X","eruptJson":null,"eruptFieldModels":null},"tabErupts":null,"power":null}`,
		"other types":           `{"eruptModel":{"eruptName":"n.X","eruptJson":[1],"eruptFieldModels":{"a":1}},"tabErupts":[1],"power":"all"}`,
		"fields of no shape":    `{"eruptModel":{"eruptName":"n.X","eruptFieldModels":[null,1,"x",{},{"fieldName":"a"},{"fieldName":"b","eruptFieldJson":7}]}}`,
		"broken tab beside":     `{"eruptModel":{"eruptName":"n.X"},"tabErupts":{"t":{"eruptModel":{}},"u":5}}`,
		"numbers with fraction": `{"eruptModel":{"eruptName":"n.X","eruptJson":{"layout":{"pageSize":10.0,"pageSizes":[10.0,"20",-1,1e9]}}}}`,
	}
	for name, doc := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := buildmodel.Parse([]byte(doc))
			if err != nil || m.Simple() != "X" || m.Power.Add || m.Power.Query {
				t.Fatalf("Parse(%s) = %+v, %v; want a model without any right", doc, m, err)
			}
		})
	}
	for _, doc := range []string{``, `null`, `[]`, `{}`, `{"eruptModel":{}}`, `{"eruptModel":{"eruptName":"X"}} {}`, `{"status":"ERROR","promptWay":"MESSAGE"}`} {
		if m, err := buildmodel.Parse([]byte(doc)); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", doc, m)
		}
	}
}

func TestParseRefusesHugeDocuments(t *testing.T) {
	doc := `{"eruptModel":{"eruptName":"n.X","eruptFieldModels":[` + strings.Repeat(`{"fieldName":"a"},`, 3000) + `{"fieldName":"a"}]}}`
	if _, err := buildmodel.Parse([]byte(doc)); err == nil {
		t.Error("3001 fields were accepted")
	}
	if _, err := buildmodel.Parse([]byte(strings.Repeat(" ", buildmodel.MaxDocument+1))); err == nil {
		t.Error("a document over the limit was accepted")
	}
}

func TestContainsOnlyWhatThePageLeadsTo(t *testing.T) { // erupt-wire 10.1
	tests := []struct {
		page, class string
		want        bool
	}{
		{"classic-build-purchase", "PurchaseItem", true},   // TAB_TABLE_ADD
		{"classic-build-purchase", "purchaseitem", true},   // as Java looks names up
		{"classic-build-purchase", "Product", true},        // TAB_TABLE_REFER
		{"classic-build-purchase", "Delivery", true},       // COMBINE
		{"classic-build-purchase", "Carrier", false},       // a reference of 1.x names no class; the owner is in the path
		{"classic-build-customer", "DiscountForm", true},   // form of an operation
		{"classic-build-customer", "Purchase", false},      // a drill is checked by HasDrill
		{"classic-build-customer", "Ledger", false},        // something else on the node
		{"modern-build-customer", "Contact", true},         // tab
		{"modern-build-customer", "Skill", true},           // boxes, by fieldReturnName
		{"modern-build-customer", "Region", true},          // reference
		{"modern-build-customer", "PriceForm", true},       // operation
		{"modern-build-customer", "Address", true},         // combined form
		{"modern-build-customer", "Secret", false},         // only the target of a drill
		{"modern-build-customer", "String", false},         // type of a plain field
		{"modern-build-customer", "", false},               // no class at all
		{"modern-build-customer", "shop.Contact", false},   // simple names only
		{"modern-build-region", "Region", true},            // itself as parent
		{"modern-build-region", "Customer", false},         // refers to it, not the other way
		{"classic-build-bulletin", "PurchaseItem", false},  // page without parts
		{"modern-build-field-gift", "Region", true},        // plain names of an unrewritten document
		{"modern-build-field-gift", "PurchaseItem", false}, //
	}
	for _, tt := range tests {
		if got := model(t, tt.page).Contains(tt.class); got != tt.want {
			t.Errorf("%s contains %q: %t, want %t", tt.page, tt.class, got, tt.want)
		}
	}
}

func TestHasDrillNeedsCodeAndTarget(t *testing.T) {
	m := model(t, "classic-build-customer")
	if !m.HasDrill("purchases", "Purchase") || !m.HasDrill("780459356", "purchase") {
		t.Error("a drill of the model was not found")
	}
	for _, bad := range [][2]string{{"purchases", "Ledger"}, {"nope", "Purchase"}, {"", "Purchase"}, {"purchases", ""}} {
		if m.HasDrill(bad[0], bad[1]) {
			t.Errorf("HasDrill(%q, %q) = true", bad[0], bad[1])
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, n := range []string{"classic-build-purchase", "classic-build-widget", "modern-build-customer", "modern-build-region"} {
		f.Add(file(f, n), file(f, "classic-detail-purchase-1"))
	}
	for _, kind := range []string{"INPUT", "NUMBER", "DATE", "CHOICE", "TAGS", "REFERENCE_TABLE", "TAB_TABLE_ADD", "CHECKBOX", "COMBINE", "NEW"} {
		f.Add([]byte(`{"eruptModel":{"eruptName":"X","eruptFieldModels":[{"fieldName":"a","eruptFieldJson":{"views":[{"title":"A","template":"value+1"}],
			"edit":{"title":"A","type":"`+kind+`","showBy":{"dependField":"a","expr":"value==1"}}}}]}}`), []byte(`{"id":1,"a":"2026-01-01T00:00:00"}`))
	}
	f.Fuzz(func(t *testing.T, doc, detail []byte) {
		m, err := buildmodel.Parse(doc)
		if err != nil {
			return
		}
		m.Contains("X")
		m.Searchable()
		r, err := buildmodel.ParseRow(detail)
		if err != nil {
			return
		}
		for _, c := range m.Columns() {
			c.Cell(r)
		}
		sent := map[string]buildmodel.Entry{}
		for i := range m.Fields {
			fd := &m.Fields[i]
			e := m.Entry(fd, r[fd.Name])
			if !m.Same(fd, e, e) {
				t.Fatalf("entry of %q differs from itself: %+v", fd.Name, e)
			}
			sent[fd.Name] = e
			fd.Show(r[fd.Name])
			m.State(fd, r)
		}
		changed, _ := m.Merge(r, r, sent)
		if len(changed) != 0 {
			t.Fatalf("an untouched form counts as changed: %v", changed)
		}
		body, _ := m.Payload(r, nil, false)
		if !json.Valid(body) {
			t.Fatalf("payload is no JSON: %s", body)
		}
	})
}
