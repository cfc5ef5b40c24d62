package buildmodel_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"eruptcloud/app/buildmodel"
)

func TestQueryIsWrittenInTheNodesDialect(t *testing.T) {
	tests := []struct {
		name, build, field string
		find               buildmodel.Find
		days               buildmodel.DayForm
		want, problem      string
	}{
		{"1.x text", "classic-build-customer", "name", buildmodel.Find{Text: "上海"}, 0, `{"key":"name","value":"上海"}`, ""},
		{"1.x number range", "classic-build-customer", "score", buildmodel.Find{From: "10", To: "60"}, 0, `{"key":"score","value":[10,60]}`, ""},
		{"1.x open number range", "classic-build-customer", "score", buildmodel.Find{From: "10"}, 0, `{"key":"score","value":[10,1000]}`, ""},
		{"1.x moments", "classic-build-customer", "since", buildmodel.Find{From: "2026-02-27", To: "2026-02-28"}, 0, `{"key":"since","value":["2026-02-27 00:00:00","2026-02-28 23:59:59"]}`, ""},
		{"1.x day", "classic-build-customer", "founded", buildmodel.Find{Text: "1990-02-07"}, 0, `{"key":"founded","value":"1990-02-07"}`, ""},
		{"1.x days of LocalDate", "classic-build-widget", "dayField", buildmodel.Find{From: "2026-01-01", To: "2026-12-31"}, buildmodel.DaysOnly, `{"key":"dayField","value":["2026-01-01","2026-12-31"]}`, ""},
		{"1.x days of Date", "classic-build-widget", "oldDate", buildmodel.Find{From: "2026-01-01", To: "2026-12-31"}, buildmodel.DaysAsTimes, `{"key":"oldDate","value":["2026-01-01 00:00:00","2026-12-31 23:59:59"]}`, ""},
		{"1.x open days", "classic-build-widget", "oldDate", buildmodel.Find{To: "2026-12-31"}, buildmodel.DaysAsTimes, `{"key":"oldDate","value":["1000-01-01 00:00:00","2026-12-31 23:59:59"]}`, ""},
		{"1.x vague choice", "classic-build-customer", "level", buildmodel.Find{Text: "VIP"}, 0, `{"key":"level","value":["VIP"]}`, ""},
		{"1.x choice", "classic-build-customer", "grade", buildmodel.Find{Text: "2"}, 0, `{"key":"grade","value":"2"}`, ""},
		{"1.x boolean", "classic-build-customer", "active", buildmodel.Find{Text: "false"}, 0, `{"key":"active","value":false}`, ""},
		{"1.x reference", "classic-build-customer", "region", buildmodel.Find{Ref: buildmodel.Ref{ID: "3", Label: "Berlin"}}, 0, `{"key":"region","value":{"id":"3","name":"Berlin"}}`, ""},
		{"2.x text", "modern-build-customer", "name", buildmodel.Find{Text: "li"}, 0, `{"key":"name","value":"li","expression":"LIKE"}`, ""},
		{"2.x number range", "modern-build-customer", "age", buildmodel.Find{From: "20", To: "30"}, 0, `{"key":"age","value":[20,30],"expression":"RANGE"}`, ""},
		{"2.x open range", "modern-build-customer", "age", buildmodel.Find{From: "20"}, 0, `{"key":"age","value":20,"expression":"GTE"}`, ""},
		{"2.x moments", "modern-build-customer", "joined", buildmodel.Find{From: "2026-07-01", To: "2026-07-10"}, 0, `{"key":"joined","value":["2026-07-01T00:00:00.000","2026-07-10T23:59:59.999"],"expression":"RANGE"}`, ""},
		{"2.x until", "modern-build-customer", "joined", buildmodel.Find{To: "2026-07-10 12:00"}, 0, `{"key":"joined","value":"2026-07-10T12:00:00.000","expression":"LTE"}`, ""},
		{"2.x LocalDate", "modern-build-customer", "birthday", buildmodel.Find{From: "2001-01-01", To: "2002-12-31"}, 0, `{"key":"birthday","value":["2001-01-01","2002-12-31"],"expression":"RANGE"}`, ""},
		{"2.x date in a text column", "modern-build-customer", "dayText", buildmodel.Find{From: "2001-01-01", To: "2002-12-31"}, 0, `{"key":"dayText","value":["2001-01-01","2002-12-31"],"expression":"RANGE"}`, ""},
		{"2.x several choices", "modern-build-customer", "level", buildmodel.Find{Many: []string{"V", "N"}}, 0, `{"key":"level","value":["V","N"],"expression":"IN"}`, ""},
		{"2.x boolean", "modern-build-customer", "active", buildmodel.Find{Text: "true"}, 0, `{"key":"active","value":true,"expression":"EQ"}`, ""},
		{"2.x rate", "modern-build-customer", "stars", buildmodel.Find{Text: "4.5"}, 0, `{"key":"stars","value":4.5,"expression":"EQ"}`, ""},
		{"nothing entered", "modern-build-customer", "name", buildmodel.Find{}, 0, ``, ""},
		{"text for a number", "modern-build-customer", "age", buildmodel.Find{From: "abc"}, 0, ``, "number"},
		{"text for a date", "modern-build-customer", "joined", buildmodel.Find{From: "soon", To: "2026-07-10"}, 0, ``, "date"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := model(t, tt.build)
			c, ok, problem := m.Condition(m.Field(tt.field), tt.find, tt.days)
			got := ""
			if ok {
				var body struct{ Condition []json.RawMessage }
				if err := json.Unmarshal(m.Write(buildmodel.Query{Conditions: []buildmodel.Condition{c}}), &body); err != nil {
					t.Fatal(err)
				}
				got = string(body.Condition[0])
			}
			if got != tt.want || problem != tt.problem {
				t.Errorf("condition of %+v = %s, problem %q; want %s, %q", tt.find, got, problem, tt.want, tt.problem)
			}
		})
	}
}

func TestSortIsWrittenInTheNodesDialectAndChecked(t *testing.T) {
	classic, modern := model(t, "classic-build-customer"), model(t, "modern-build-customer")
	tests := []struct {
		m    *buildmodel.Model
		sort string
		desc bool
		want string
	}{
		{classic, "score", true, `{"pageIndex":1,"pageSize":1,"sort":"score desc","condition":[]}`},
		{classic, "city", false, `{"pageIndex":1,"pageSize":1,"sort":null,"condition":[]}`}, // not sortable
		{modern, "name", false, `{"pageIndex":1,"pageSize":1,"sort":[{"direction":"ASC","field":"name"}],"condition":[]}`},
		{modern, "(select max(s.word) from Secret s)", true, `{"pageIndex":1,"pageSize":1,"sort":null,"condition":[]}`},
		{modern, "", false, `{"pageIndex":1,"pageSize":1,"sort":null,"condition":[]}`},
	}
	for _, tt := range tests {
		if got := string(tt.m.Write(buildmodel.Query{Sort: tt.sort, Desc: tt.desc})); got != tt.want {
			t.Errorf("sort by %q = %s, want %s", tt.sort, got, tt.want)
		}
	}
	if got := string(classic.Write(buildmodel.Query{Page: 3, Size: 10000, Link: []string{"2", "5"}})); got != `{"pageIndex":3,"pageSize":500,"sort":null,"condition":[],"linkTreeVal":"2"}` {
		t.Errorf("1.x takes one node of the left tree and a clamped size, got %s", got)
	}
}

func TestHostileSortableFieldIsNotSortable(t *testing.T) {
	m, err := buildmodel.Parse([]byte(`{"eruptModel":{"eruptName":"n.X","eruptFieldModels":[{"fieldName":"a, (select 1)","eruptFieldJson":{"views":[{"title":"A","sortable":true}]}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Columns(); len(c) != 1 || c[0].Sort != "" {
		t.Errorf("columns = %+v, want one that cannot be sorted by", c)
	}
}

func TestSearchStartsWithTheClassesValues(t *testing.T) {
	m := model(t, "classic-build-customer")
	if got := m.StartFind(m.Field("score")); got.From != "0" || got.To != "1000" {
		t.Errorf("score starts with %+v, want 0 to 1000", got)
	}
	if got := m.StartFind(m.Field("name")); !reflect.DeepEqual(got, buildmodel.Find{}) {
		t.Errorf("name starts with %+v, want nothing", got)
	}
	m = model(t, "modern-build-customer")
	if got := m.StartFind(m.Field("level")); got.Text != "V" {
		t.Errorf("level starts with %+v, want V", got)
	}
}

func TestPasswordsAreNotSearchable(t *testing.T) {
	for _, f := range model(t, "modern-build-customer").Searchable() {
		if f.Edit.Type == "PASSWORD" {
			t.Errorf("field %q lets people guess stored passwords", f.Name)
		}
	}
}

func TestLearnDaysTellsJavaTypesApart(t *testing.T) {
	m := model(t, "classic-build-widget")
	page, err := buildmodel.ParsePage(file(t, "classic-table-widget"))
	if err != nil {
		t.Fatal(err)
	}
	days := map[string]buildmodel.DayForm{}
	m.LearnDays(page.Rows, days)
	if len(days) != 2 || days["dayField"] != buildmodel.DaysOnly || days["oldDate"] != buildmodel.DaysAsTimes {
		t.Errorf("learned %v, want LocalDate for dayField and Date for oldDate", days)
	}
}

func TestParsePage(t *testing.T) {
	p, err := buildmodel.ParsePage(file(t, "classic-table-customer"))
	if err != nil || p.Total != 120 || p.Pages != 12 || p.Index != 1 || p.Size != 10 || len(p.Rows) != 10 {
		t.Fatalf("page = %d of %d, %d rows, %v", p.Index, p.Pages, len(p.Rows), err)
	}
	if p.Alert != "0 conditions, <b>no</b> debts" || p.AlertType != "warning" {
		t.Errorf("alert = %q %q, want the text as it is", p.Alert, p.AlertType)
	}
	if p, err = buildmodel.ParsePage(file(t, "classic-table-stock-none")); err != nil || len(p.Rows) != 0 {
		t.Errorf("list null = %+v, %v; want no rows", p, err)
	}
	p, err = buildmodel.ParsePage(file(t, "classic-table-ledger"))
	if err != nil || p.Rows[0].Text("id") != "9007199254740991" || p.Rows[1].Text("id") != "9007199254740993" || p.Rows[1].Text("amount") != "0.1000" {
		t.Errorf("ids %q %q amount %q, %v", p.Rows[0].Text("id"), p.Rows[1].Text("id"), p.Rows[1].Text("amount"), err)
	}
	for _, bad := range []string{"", "[]", `{"list":5}`, `{"list":[[1]]}`} {
		if _, err := buildmodel.ParsePage([]byte(bad)); err == nil {
			t.Errorf("ParsePage(%q) gave no error", bad)
		}
	}
}

func TestParseTree(t *testing.T) {
	nodes, err := buildmodel.ParseTree(file(t, "classic-tree-region"))
	want := []buildmodel.TreeNode{
		{ID: "1", Label: "Europe", Level: 0, Children: 1}, {ID: "2", Label: "Germany", Level: 1, Children: 1}, {ID: "3", Label: "Berlin", Level: 2},
		{ID: "4", Label: "亚洲", Level: 0, Children: 1}, {ID: "5", Label: "中国", Level: 1},
	}
	if err != nil || len(nodes) != len(want) {
		t.Fatalf("tree = %+v, %v", nodes, err)
	}
	for i := range want {
		if nodes[i] != want[i] {
			t.Errorf("line %d = %+v, want %+v", i, nodes[i], want[i])
		}
	}
	deep := ""
	for range 200 {
		deep = `[{"id":1,"label":"x","children":` + orEmpty(deep) + `}]`
	}
	if _, err := buildmodel.ParseTree([]byte(deep)); err == nil {
		t.Error("a tree of 200 levels was accepted")
	}
	boxes, err := buildmodel.ParseBoxes(file(t, "classic-checkbox"))
	if err != nil || len(boxes) != 3 || boxes[0] != (buildmodel.Box{ID: "1", Label: "Rail", Remark: "3 days"}) {
		t.Errorf("boxes = %+v, %v", boxes, err)
	}
}

func orEmpty(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

func TestReadResult(t *testing.T) {
	tests := map[string]struct {
		status  int
		ok      bool
		message string
		crashed bool
	}{
		"classic-saved":             {200, true, "", false},
		"modern-saved":              {200, true, "", false},
		"classic-tab-add":           {200, true, "", false}, // older envelope, no "success"
		"classic-refused-required":  {200, false, "Name required", false},
		"classic-refused-tip":       {200, false, "This name is not allowed", false}, // older envelope
		"modern-refused-info":       {200, false, "for your information", false},
		"modern-refused-duplicate":  {500, false, "Data duplication", false},
		"classic-refused-delete":    {500, false, "The deletion failed because associated data may exist", false},
		"modern-refused-crash":      {500, false, "crash <b>asked</b> for", true},
		"classic-refused-power":     {500, false, "权限不足，该操作将被记录!", true},
		"modern-refused-origin":     {200, false, "Illegal cross-site request!", true},
		"classic-detail-customer-1": {200, false, "", true}, // data where a result was due
	}
	for name, want := range tests {
		got := buildmodel.ReadResult(want.status, file(t, name))
		if name == "classic-detail-customer-1" {
			got.Message = ""
		}
		if got.OK != want.ok || got.Message != want.message || got.Crashed != want.crashed {
			t.Errorf("ReadResult(%d, %s) = %+v, want %+v", want.status, name, got, want)
		}
	}
	own := buildmodel.ReadResult(200, []byte(`{"success":false,"status":"ERROR","promptWay":"MESSAGE","message":"Name required","fields":{"name":"required","x":5,"y":null}}`))
	if !reflect.DeepEqual(own.Fields, map[string]string{"name": "required", "x": "5"}) {
		t.Errorf("fields of an agent's refusal = %v", own.Fields)
	}
	if r := buildmodel.ReadResult(500, []byte(`{"status":"SUCCESS","promptWay":"MESSAGE"}`)); r.OK {
		t.Error("a 500 counts as success")
	}
	if r := buildmodel.ReadResult(502, []byte("<html>Bad gateway</html>")); r.OK || r.Message != "" {
		t.Errorf("markup of something in between is shown: %+v", r)
	}
}

func TestRefusedTellsDataFromRefusals(t *testing.T) {
	for name, status := range map[string]int{"classic-table-currency-info": 200, "classic-refused-depend": 500} {
		if r, refused := buildmodel.Refused(status, file(t, name)); !refused || r.Message == "" {
			t.Errorf("%s is taken for data", name)
		}
	}
	rows := []string{`{"status":"ERROR","id":1}`, `{"status":"SUCCESS","message":"hi"}`, `[]`, `{}`, `{"status":500,"error":"x"}`}
	for _, data := range rows {
		if r, refused := buildmodel.Refused(200, []byte(data)); refused {
			t.Errorf("row %s is taken for a refusal: %+v", data, r)
		}
	}
}

func TestBlamesNamesTheField(t *testing.T) {
	m := model(t, "modern-build-customer")
	for message, want := range map[string]string{
		"Name required": "name", "Age Must be numeric": "age", "Code Incorrect format": "code", "Day text required": "dayText",
		"no customer may be called nope": "", "Data duplication": "", "Ageless": "", "": "",
	} {
		got := ""
		if f := m.Blames(message); f != nil {
			got = f.Name
		}
		if got != want {
			t.Errorf("Blames(%q) = %q, want %q", message, got, want)
		}
	}
}

func FuzzResult(f *testing.F) {
	for _, n := range []string{"classic-saved", "classic-refused-power", "modern-refused-crash", "modern-refused-origin", "classic-table-customer", "classic-tree-region"} {
		f.Add(200, file(f, n))
		f.Add(500, file(f, n))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		r := buildmodel.ReadResult(status, body)
		if r.OK && (status < 200 || status > 299) {
			t.Fatalf("status %d counts as success", status)
		}
		if refused, is := buildmodel.Refused(status, body); is && refused.OK && (status < 200 || status > 299) {
			t.Fatalf("status %d is no refusal", status)
		}
		_, _ = buildmodel.ParsePage(body)
		_, _ = buildmodel.ParseTree(body)
		_, _ = buildmodel.ParseBoxes(body)
	})
}
