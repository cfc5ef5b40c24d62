package nodeagent

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"eruptcloud/nodeagent/wire"
)

func TestHostNamesWhatIsWrong(t *testing.T) {
	source := NewMemSource()
	name := Input("name", "Name")
	ok := Page{Name: "Ok", Title: "Ok", Source: source, Fields: []Field{name}}
	tests := map[string]struct {
		pages []Page
		want  string
	}{
		"fine":                           {[]Page{ok}, ""},
		"a dotted name":                  {[]Page{{Name: "a.B", Source: source}}, "letters, digits"},
		"a name that is part of paths":   {[]Page{{Name: "Table", Source: source}}, "stands for something else"},
		"twice":                          {[]Page{ok, {Name: "OK", Source: source}}, "declared twice"},
		"no source":                      {[]Page{{Name: "P"}}, "no Source"},
		"a field twice":                  {[]Page{{Name: "P", Source: source, Fields: []Field{name, name}}}, "field name is declared twice"},
		"the key as a field":             {[]Page{{Name: "P", Source: source, Fields: []Field{Number("id", "Id")}}}, "needs no declaration"},
		"a field made by hand":           {[]Page{{Name: "P", Source: source, Fields: []Field{{Name: "x", Title: "X"}}}}, "made by hand"},
		"a field without a title":        {[]Page{{Name: "P", Source: source, Fields: []Field{Input("x", "")}}}, "no title"},
		"a choice without options":       {[]Page{{Name: "P", Source: source, Fields: []Field{Choice("x", "X")}}}, "no options"},
		"an option twice":                {[]Page{{Name: "P", Source: source, Fields: []Field{Choice("x", "X", Option{Value: "a"}, Option{Value: "a"})}}}, "option"},
		"search by a password":           {[]Page{{Name: "P", Source: source, Fields: []Field{Password("x", "X").Search()}}}, "cannot be searched"},
		"an operator that does not fit":  {[]Page{{Name: "P", Source: source, Fields: []Field{Number("x", "X").Search(LIKE)}}}, "operator LIKE"},
		"sort by tags":                   {[]Page{{Name: "P", Source: source, Fields: []Field{Tags("x", "X").Sortable()}}}, "cannot be sorted"},
		"limits upside down":             {[]Page{{Name: "P", Source: source, Fields: []Field{Number("x", "X").Between(2, 1)}}}, "lower limit"},
		"a reference to nothing":         {[]Page{{Name: "P", Source: source, Fields: []Field{ReferenceTable("x", "X", "Nothing")}}}, `page "Nothing"`},
		"a reference without a label":    {[]Page{ok, {Name: "P", Source: source, Fields: []Field{ReferenceTable("x", "X", "Ok").Label("no")}}}, `no field "no"`},
		"a column that is not there":     {[]Page{ok, {Name: "P", Source: source, Fields: []Field{ReferenceTable("x", "X", "Ok").Show("no", "No")}}}, `no field "no"`},
		"a dependence on nothing":        {[]Page{ok, {Name: "P", Source: source, Fields: []Field{ReferenceTable("x", "X", "Ok").DependsOn("y", "name")}}}, `depends on "y"`},
		"a tree without a parent":        {[]Page{{Name: "P", Source: source, Tree: &Tree{Parent: "name"}, Fields: []Field{name}}}, "Tree.Parent"},
		"a left tree of nothing":         {[]Page{{Name: "P", Source: source, LinkTree: "name", Fields: []Field{name}}}, "LinkTree"},
		"a default sort that cannot be":  {[]Page{{Name: "P", Source: source, DefaultSort: []Order{{Field: "name"}}, Fields: []Field{name}}}, "DefaultSort"},
		"items in items":                 {[]Page{{Name: "P", Source: source, Fields: []Field{Items("x", "X", Page{Name: "Q", Fields: []Field{Items("y", "Y", Page{Name: "R"})}})}}}, "no items of their own"},
		"items named like a page":        {[]Page{ok, {Name: "P", Source: source, Fields: []Field{Items("x", "X", Page{Name: "ok"})}}}, "declared twice"},
		"an extension with a dot":        {[]Page{{Name: "P", Source: source, Fields: []Field{Attachment("x", "X", Files{Extensions: []string{".txt"}})}}}, "without a dot"},
		"an export that writes nothing":  {[]Page{{Name: "P", Source: source, Export: &Export{}}}, "no Write"},
		"a page size beyond all reason":  {[]Page{{Name: "P", Source: source, PageSize: 1 << 30}}, "PageSize"},
		"unique where it cannot be kept": {[]Page{{Name: "P", Source: source, Fields: []Field{Tags("x", "X").Unique()}}}, "cannot be unique"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, (&plane{}).config())
			err := a.Host(tt.pages...)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Host = %v, want an error with %q", err, tt.want)
			}
			if err != nil && len(a.eruptNames()) != 0 {
				t.Errorf("half of it is hosted: %v", a.eruptNames())
			}
		})
	}
}

func TestErupts(t *testing.T) {
	s := shop(t)
	if got := s.agent.eruptNames(); !slices.Equal(got, []string{"Customer", "Product", "Region", "Sale", "SaleLine"}) {
		t.Errorf("erupts = %v", got)
	}
}

// TestBuildModelHasTheShapeOfErupt compares the keys of each part with a recording of a real node.
func TestBuildModelHasTheShapeOfErupt(t *testing.T) { // wire 4.1–4.6
	raw, err := os.ReadFile("testdata/build-customer.json")
	if err != nil {
		t.Fatal(err)
	}
	var real, ours map[string]any
	if err := json.Unmarshal(raw, &real); err != nil {
		t.Fatal(err)
	}
	s := shop(t)
	ours = decode[map[string]any](t, s.call(http.MethodGet, "build/Customer", ""))
	at := func(doc map[string]any, path ...string) map[string]any {
		for _, p := range path {
			doc, _ = doc[p].(map[string]any)
		}
		return doc
	}
	lacks := func(where string, ours, real map[string]any, optional ...string) {
		for key := range real {
			if _, ok := ours[key]; !ok && !slices.Contains(optional, key) {
				t.Errorf("%s lacks %q", where, key)
			}
		}
	}
	lacks("model", ours, real)
	lacks("eruptModel", at(ours, "eruptModel"), at(real, "eruptModel"))
	lacks("eruptJson", at(ours, "eruptModel", "eruptJson"), at(real, "eruptModel", "eruptJson"), "param")
	lacks("layout", at(ours, "eruptModel", "eruptJson", "layout"), at(real, "eruptModel", "eruptJson", "layout"))
	lacks("tree", at(ours, "eruptModel", "eruptJson", "tree"), at(real, "eruptModel", "eruptJson", "tree"))
	lacks("power", at(ours, "power"), at(real, "power"))

	byType := func(doc map[string]any) map[string]map[string]any {
		out := map[string]map[string]any{}
		for _, f := range at(doc, "eruptModel")["eruptFieldModels"].([]any) {
			field := f.(map[string]any)
			edit := at(field, "eruptFieldJson", "edit")
			if edit["title"] != "" {
				out[edit["type"].(string)] = field
			}
		}
		return out
	}
	realFields := byType(real)
	for kind, field := range byType(ours) {
		model := realFields[kind]
		if model == nil {
			continue
		}
		lacks(kind, field, model)
		edit, realEdit := at(field, "eruptFieldJson", "edit"), at(model, "eruptFieldJson", "edit")
		lacks(kind+" edit", edit, realEdit, "dynamic")
		for key, settings := range realEdit {
			if nested, ok := settings.(map[string]any); ok && key != "dynamic" {
				lacks(kind+" "+key, at(edit, key), nested, "min", "max")
			}
		}
		for _, views := range []map[string]any{at(field, "eruptFieldJson")} {
			if list := views["views"].([]any); len(list) > 0 {
				lacks(kind+" view", list[0].(map[string]any), at(model, "eruptFieldJson")["views"].([]any)[0].(map[string]any))
			}
		}
	}
}

func TestBuildModelSaysWhatWasDeclared(t *testing.T) {
	s := shop(t)
	doc := s.call(http.MethodGet, "build/Customer", "").Body.String()
	for _, part := range []string{
		`"eruptName":"Customer"`, `"name":"客户 Customers"`, `"desc":"who buys"`, `"linkTree":{"dependNode":false,"field":"region"}`,
		`"fieldReturnName":"Region"`, `"numberType":{"max":150,"min":0}`, `"numberType":{"precision":2}`, `"type":"DATE_TIME"`,
		`"referenceTableType":{"dependField":"region","id":"id","label":"name"}`, `"referenceTreeType":{"dependField":"","expandLevel":999,"id":"id","label":"name","pid":"parent.id"}`,
		`"attachmentType":{"fileSeparator":"|","fileTypes":["txt","bin"],"maxLimit":3,"size":2048,"type":"BASE"}`,
		`"readOnly":{"add":true,"allowChange":false,"edit":true}`, `"readOnly":{"add":false,"allowChange":false,"edit":true}`,
		`"primaryKeyCol":"id"`, `"boolType":{"falseText":"Disabled","trueText":"Enabled"}`, `"rateType":{"allowHalf":true,"character":"","count":5}`,
	} {
		if !strings.Contains(doc, part) {
			t.Errorf("the model lacks %s", part)
		}
	}
	sale := decode[map[string]any](t, s.call(http.MethodGet, "build/Sale", ""))
	tab := sale["tabErupts"].(map[string]any)["lines"].(map[string]any)
	if tab["eruptModel"].(map[string]any)["eruptName"] != "SaleLine" || tab["power"].(map[string]any)["add"] != true {
		t.Errorf("tab = %v", tab)
	}
	if w := s.call(http.MethodGet, "build/Customer/gift", ""); !strings.Contains(w.Body.String(), `"eruptName":"Product"`) {
		t.Errorf("model behind a field = %s", w.Body)
	}
	if w := s.call(http.MethodGet, "build/Sale/lines", ""); !strings.Contains(w.Body.String(), `"eruptName":"SaleLine"`) {
		t.Errorf("model behind items = %s", w.Body)
	}
	if w := s.call(http.MethodGet, "build/Customer/name", ""); w.Code != 404 {
		t.Errorf("model behind a text = %d", w.Code)
	}
}

// textSource has text keys, Go's own number types and times, and finds rows one by one.
type textSource struct{ rows map[string]Row }

func (s textSource) Query(_ context.Context, q Query) ([]Row, int, error) {
	var out []Row
	for _, r := range s.rows {
		if q.Matches(r) {
			out = append(out, cloneRow(r))
		}
	}
	slices.SortFunc(out, func(a, b Row) int { return strings.Compare(a.Text("code"), b.Text("code")) })
	total := len(out)
	return q.Arrange(out), total, nil
}

func (s textSource) Find(_ context.Context, id ID) (Row, error) {
	if r, ok := s.rows[id.(string)]; ok {
		return cloneRow(r), nil
	}
	return nil, fmt.Errorf("lookup: %w", ErrNoRow)
}

func (s textSource) Insert(_ context.Context, row Row) (ID, error) {
	id := "K" + row.Text("name")
	row["code"] = id
	s.rows[id] = row
	return id, nil
}

func (s textSource) Update(_ context.Context, row Row) error {
	s.rows[row.Text("code")] = row
	return nil
}

func (s textSource) Delete(_ context.Context, ids []ID) error {
	for _, id := range ids {
		delete(s.rows, id.(string))
	}
	return nil
}

func TestTextKeysAndLooseSources(t *testing.T) {
	source := textSource{map[string]Row{
		"K1": {"code": "K1", "name": "One", "n": 5, "x": int64(3), "at": time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC), "day": time.Date(2026, 7, 2, 0, 0, 0, 0, time.UTC)},
	}}
	a := newAgent(t, (&plane{}).config())
	err := a.Host(
		Page{Name: "Unit", Title: "Units", Source: source, Key: "code", TextKey: true, Fields: []Field{
			Input("name", "Name").Search(), Number("n", "N"), Decimal("x", "X", 1), DateTime("at", "At"), Date("day", "Day")}},
		Page{Name: "Use", Title: "Uses", Source: NewMemSource(Row{"unit": "K1"}, Row{"unit": "gone"}), Fields: []Field{ReferenceTable("unit", "Unit", "Unit").Search()}})
	if err != nil {
		t.Fatal(err)
	}
	s := &shopNode{t: t, agent: a, handler: a.Handler()}
	row, _ := json.Marshal(s.table("Unit", `{"pageIndex":1,"pageSize":9}`).List[0])
	if want := `{"at":"2026-07-01T09:00:00.000","code":"K1","day":"2026-07-02","n":5,"name":"One","x":3}`; string(row) != want {
		t.Errorf("row = %s, want %s", row, want)
	}
	if res := s.result(http.MethodPost, "data/modify/Unit", `{"name":"2"}`); !res.Success || source.rows["K2"] == nil {
		t.Errorf("insert = %+v, rows %v", res, source.rows)
	}
	if w := s.call(http.MethodGet, "data/Unit/K1", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"code":"K1"`) {
		t.Errorf("detail = %d %s", w.Code, w.Body)
	}
	if w := s.call(http.MethodGet, "data/Unit/K9", ""); w.Code != 404 {
		t.Errorf("detail of nothing = %d", w.Code)
	}
	uses := s.table("Use", `{"pageIndex":1,"pageSize":9}`).List
	if uses[0]["unit_name"] != "One" || uses[1]["unit_name"] != nil {
		t.Errorf("references by text = %v", uses)
	}
	found := s.table("Use", `{"pageIndex":1,"pageSize":9,"condition":[{"key":"unit","value":{"code":"K1"},"expression":"EQ"}]}`)
	if found.Total != 1 {
		t.Errorf("search by a text key found %d", found.Total)
	}
	if res := s.result(http.MethodPost, "data/modify/Unit/delete", `["K1"]`); res.Success || !strings.Contains(*res.Message, "Still used by Uses") {
		t.Errorf("delete of a used row = %+v", res)
	}
}

func TestMemSourceKeepsItsRowsToItself(t *testing.T) {
	given := Row{"tags": []string{"a"}, "items": []Row{{"n": int64(1)}}}
	s := NewMemSource(given)
	given["tags"].([]string)[0] = "changed"
	out, _ := s.Find(t.Context(), int64(1))
	out["tags"].([]string)[0] = "changed"
	out.Items("items")[0]["n"] = int64(2)
	again, _ := s.Find(t.Context(), int64(1))
	if again["tags"].([]string)[0] != "a" || again.Items("items")[0].Int("n") != 1 || again.Items("items")[0].Int("id") != 1 {
		t.Errorf("row = %v", again)
	}
}

func TestMemSourceUnderConcurrency(t *testing.T) {
	s := NewMemSource()
	s.Constrain([]string{"code"})
	ctx := t.Context()
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range 60 {
				id, err := s.Insert(ctx, Row{"code": fmt.Sprint(w, "-", i)})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Insert(ctx, Row{"code": fmt.Sprint(w, "-", r.IntN(i+1))}); err == nil && i == 0 {
					t.Error("a taken code was inserted")
				}
				_ = s.Update(ctx, Row{"id": id, "code": fmt.Sprint(w, "-", i), "n": int64(i)})
				_, _, _ = s.Query(ctx, Query{Limit: 3})
				if i%2 == 0 {
					_ = s.Delete(ctx, []ID{id})
				}
			}
		})
	}
	all.Wait()
	rows, total, _ := s.Query(ctx, Query{})
	codes := map[string]bool{}
	for _, row := range rows {
		if codes[row.Text("code")] {
			t.Errorf("code %s is there twice", row.Text("code"))
		}
		codes[row.Text("code")] = true
	}
	if total != len(rows) || s.Len() != total {
		t.Errorf("%d rows, %d in all, Len %d", len(rows), total, s.Len())
	}
}

func TestDeleteIsAllOrNothing(t *testing.T) {
	s := NewMemSource(Row{}, Row{})
	if err := s.Delete(t.Context(), []ID{int64(1), int64(3)}); err == nil || s.Len() != 2 {
		t.Errorf("Delete = %v with %d rows left", err, s.Len())
	}
	if err := s.Update(t.Context(), Row{"id": int64(9)}); err == nil {
		t.Error("update of nothing succeeded")
	}
}

func TestSearchRequired(t *testing.T) {
	a := newAgent(t, (&plane{}).config())
	if err := a.Host(Page{Name: "P", Title: "P", Source: NewMemSource(Row{"no": "1"}), Fields: []Field{Input("no", "Number").SearchRequired()}}); err != nil {
		t.Fatal(err)
	}
	s := &shopNode{t: t, agent: a, handler: a.Handler()}
	res := s.result(http.MethodPost, "data/table/P", `{"pageIndex":1,"pageSize":9}`)
	if res.Status != wire.StatusInfo || !strings.Contains(*res.Message, "Number") {
		t.Errorf("table without its search = %+v, want an INFO (recording 240)", res)
	}
	if got := s.table("P", `{"pageIndex":1,"pageSize":9,"condition":[{"key":"no","value":"1"}]}`); got.Total != 1 {
		t.Errorf("with its search: %+v", got)
	}
}

func TestUpstreamHandlerGetsWhatTheAgentDoesNotServe(t *testing.T) {
	cfg := (&plane{}).config()
	cfg.Erupts = []string{"Legacy"}
	cfg.EruptHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("up " + r.URL.Path)) })
	a := newAgent(t, cfg)
	for path, want := range map[string]string{
		"/erupt-api/data/table/Legacy": "up /erupt-api/data/table/Legacy", "/erupt-api/anything": "up /erupt-api/anything", "/erupt-api/data/table/Other": "",
	} {
		if w := do(a.Handler(), fromServer(http.MethodPost, path, "{}")); w.Body.String() != want {
			t.Errorf("%s = %d %q, want %q", path, w.Code, w.Body, want)
		}
	}
}
