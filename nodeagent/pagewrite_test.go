package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"eruptcloud/nodeagent/wire"
)

func (s *shopNode) result(method, path, body string, header ...string) wire.Result {
	s.t.Helper()
	w := s.call(method, path, body, header...)
	if w.Code != http.StatusOK {
		s.t.Fatalf("%s %s = %d %s", path, body, w.Code, w.Body)
	}
	return decode[wire.Result](s.t, w)
}

// stored returns a row as the source has it, as JSON.
func stored(t *testing.T, s *MemSource, id int64) string {
	t.Helper()
	row, err := s.Find(t.Context(), id)
	if err != nil {
		t.Fatalf("row %d: %v", id, err)
	}
	text, _ := json.Marshal(row)
	return string(text)
}

const fullCustomer = `{"name":" Lin Yu ","code":"L-1","pwd":"geheim","age":"41","amount":12.5,"score":7,"stars":3.5,"color":"#FF8800",
"birthday":"1985-03-09T00:00:00.000","joined":"2026-07-01T09:15:00","active":true,"level":"V","channels":["web","tel","web"],
"tags":"[\"red\",\" blue \",\"\"]","note":"first line\nsecond & line <b>","json":"{\"a\":1}","file":"","photo":null,"trace":7,
"line":"x","region":{"id":"3","name":"forged"},"gift":{"id":3},"product":null,"by":"forged","fixed":"forged","unknown":{"a":[1]},"region_name":"x"}`

func TestInsertStoresCheckedValues(t *testing.T) {
	s := shop(t)
	if res := s.result(http.MethodPost, "data/modify/Customer", fullCustomer); !res.Success || res.PromptWay != "MESSAGE" || res.Message != nil || res.Data != nil {
		t.Fatalf("insert = %+v", res)
	}
	want := `{"active":true,"age":41,"amount":12.5,"birthday":"1985-03-09","channels":["web","tel"],"code":"L-1","color":"#ff8800","fixed":"set by the node",` +
		`"gift":3,"id":9007199254740994,"joined":"2026-07-01T09:15:00.000","json":"{\"a\":1}","level":"V","name":"Lin Yu","note":"first line\nsecond \u0026 line \u003cb\u003e",` +
		`"pwd":"geheim","region":3,"score":7,"stars":3.5,"tags":["red","blue"],"trace":"7"}`
	if got := stored(t, s.customers, 9007199254740994); got != want {
		t.Errorf("stored\n got %s\nwant %s", got, want)
	}
}

func TestReadAndSaveUnchangedChangesNothing(t *testing.T) { // wire 11.8
	s := shop(t)
	for _, id := range []int64{1, 2, 3, 4, 9007199254740993} {
		before := stored(t, s.customers, id)
		detail := s.call(http.MethodGet, fmt.Sprint("data/Customer/", id), "").Body.String()
		if res := s.result(http.MethodPost, "data/modify/Customer/update", detail); !res.Success {
			t.Errorf("row %d: %s", id, *res.Message)
		}
		if after := stored(t, s.customers, id); after != before {
			t.Errorf("row %d\nbefore %s\n after %s", id, before, after)
		}
	}
	before := stored(t, s.sales, 1)
	detail := s.call(http.MethodGet, "data/Sale/1", "").Body.String()
	if res := s.result(http.MethodPost, "data/modify/Sale/update", detail); !res.Success || stored(t, s.sales, 1) != before {
		t.Errorf("sale: %+v\nbefore %s\n after %s", res, before, stored(t, s.sales, 1))
	}
}

func TestRefusedForms(t *testing.T) {
	tests := map[string]struct{ form, field, message string }{
		"required is missing":       {`{}`, "name", "Name is required"},
		"required is blank":         {`{"name":"  "}`, "name", "Name is required"},
		"required is null":          {`{"name":null}`, "name", "Name is required"},
		"too long":                  {`{"name":"` + strings.Repeat("ü", 21) + `"}`, "name", "Name is longer than 20 characters"},
		"text as an object":         {`{"name":{"a":1}}`, "name", "must be text"},
		"text as a list":            {`{"name":["a"]}`, "name", "must be text"},
		"a line break":              {`{"name":"a\nb"}`, "name", "one line"},
		"a zero byte":               {`{"name":"a\u0000b"}`, "name", "no text"},
		"an escape":                 {`{"name":"x","note":"\u001b[31m"}`, "note", "no text"},
		"pattern":                   {`{"name":"x","code":"AA-1"}`, "code", "a letter, a dash, digits"},
		"pattern inside":            {`{"name":"x","code":"xA-1"}`, "code", "a letter, a dash, digits"},
		"taken":                     {`{"name":"x","code":"A-1"}`, "code", "Code is already taken"},
		"number as text":            {`{"name":"x","age":"abc"}`, "age", "Age must be a number"},
		"number as a list":          {`{"name":"x","age":[1]}`, "age", "Age must be a number"},
		"number true":               {`{"name":"x","age":true}`, "age", "Age must be a number"},
		"number with a fraction":    {`{"name":"x","age":1.5}`, "age", "Age must be a whole number"},
		"number hexadecimal":        {`{"name":"x","age":"0x10"}`, "age", "Age must be a number"},
		"number beyond 64 bits":     {`{"name":"x","age":99999999999999999999}`, "age", "Age must be a whole number"},
		"number NaN":                {`{"name":"x","amount":"NaN"}`, "amount", "must be a number"},
		"number with a huge power":  {`{"name":"x","amount":1e999999999}`, "amount", "must be a number"},
		"below":                     {`{"name":"x","age":-1}`, "age", "Age must be at least 0"},
		"above":                     {`{"name":"x","age":151}`, "age", "Age must be at most 150"},
		"decimal places":            {`{"name":"x","amount":1.234}`, "amount", "more than 2 decimal places"},
		"too many digits":           {`{"name":"x","amount":12345678901234567.5}`, "amount", "too many digits"},
		"step":                      {`{"name":"x","score":3.3}`, "score", "in steps of 0.5"},
		"half a star more":          {`{"name":"x","stars":5.5}`, "stars", "at most 5"},
		"colour":                    {`{"name":"x","color":"red;x:expression()"}`, "color", "colour"},
		"day":                       {`{"name":"x","birthday":"2026-02-30"}`, "birthday", "must be a day"},
		"day as a number":           {`{"name":"x","birthday":20260101}`, "birthday", "must be a day"},
		"day before all time":       {`{"name":"x","birthday":"0001-01-01"}`, "birthday", "must be a day"},
		"moment":                    {`{"name":"x","joined":"soon"}`, "joined", "must be a moment"},
		"boolean":                   {`{"name":"x","active":"perhaps"}`, "active", "yes or no"},
		"no such choice":            {`{"name":"x","level":"Z"}`, "level", `"Z" is not one of the options`},
		"a disabled choice":         {`{"name":"x","level":"X"}`, "level", "not one of the options"},
		"choice as a list":          {`{"name":"x","level":["V"]}`, "level", "must be text"},
		"one wrong of many":         {`{"name":"x","channels":["web","fax"]}`, "channels", `"fax" is not one`},
		"many as text":              {`{"name":"x","channels":"web"}`, "channels", "must be a list"},
		"too many":                  {`{"name":"x","channels":[` + strings.Repeat(`"a",`, 600) + `"b"]}`, "channels", "more than 500"},
		"tags as words":             {`{"name":"x","tags":"red,green"}`, "tags", "must be a list"},
		"tags within tags":          {`{"name":"x","tags":[["a"]]}`, "tags", "must be text"},
		"a reference to nothing":    {`{"name":"x","region":{"id":77}}`, "region", "no such row"},
		"a reference without an id": {`{"name":"x","region":{"name":"Berlin","x":1}}`, "region", ""},
		"a reference as a list":     {`{"name":"x","region":[2]}`, "region", "a row of the list"},
		"a reference as text":       {`{"name":"x","gift":{"id":"1; drop"}}`, "gift", "a row of the list"},
		"against its dependence":    {`{"name":"x","region":{"id":4},"product":{"id":1}}`, "product", "a row of the list"},
		"file path out of the dir":  {`{"name":"x","file":"/../../etc/passwd"}`, "file", "not a file of this node"},
		"file path elsewhere":       {`{"name":"x","file":"https://evil.example/x.txt"}`, "file", "not a file of this node"},
		"file of another kind":      {`{"name":"x","file":"/2026-11-29/abcdefghijklmnopqrst.exe"}`, "file", "not a file of this node"},
		"more files than allowed":   {`{"name":"x","file":"/2026-11-29/abcdefghijklmnopqrst.txt|a|b|c"}`, "file", "more than 3"},
		"photo that is none":        {`{"name":"x","photo":"/2026-11-29/abcdefghijklmnopqrst.svg"}`, "photo", "not a file of this node"},
		"hidden too long":           {`{"name":"x","trace":"` + strings.Repeat("x", 256) + `"}`, "trace", "longer than 255"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := shop(t)
			before := s.customers.Len()
			res := s.result(http.MethodPost, "data/modify/Customer", tt.form)
			if tt.message == "" { // a reference object without any id is no reference
				if !res.Success {
					t.Errorf("insert of %s = %+v", tt.form, *res.Message)
				}
				return
			}
			if res.Success || res.Status != "ERROR" || !strings.Contains(res.Fields[tt.field], tt.message) || res.Message == nil || s.customers.Len() != before {
				t.Errorf("insert of %s = %+v %v, want %q at %s and nothing stored", tt.form, res, res.Fields, tt.message, tt.field)
			}
		})
	}
}

func TestAllProblemsAreToldAtOnceInTheUsersLanguage(t *testing.T) {
	s := shop(t)
	res := s.result(http.MethodPost, "data/modify/Customer", `{"age":151,"level":"Z"}`, "lang", "zh-CN")
	if len(res.Fields) != 3 || res.Fields["name"] != "Name为必填项" || res.Fields["age"] != "Age不能大于150" || *res.Message != "Name为必填项" {
		t.Errorf("refusal = %s %v", *res.Message, res.Fields)
	}
}

func TestBodiesThatAreNoForm(t *testing.T) {
	s := shop(t)
	for body, want := range map[string]int{
		`[]`: 400, `"x"`: 400, `{"name":"x"} x`: 400, `{"name":`: 400, `null`: 200, ``: 200, strings.Repeat(`{"a":`, 20_000): 400,
		`{"name":"` + strings.Repeat("x", maxFormBody) + `"}`: 413,
	} {
		w := s.call(http.MethodPost, "data/modify/Customer", body)
		if w.Code != want || want == 200 && decode[wire.Result](t, w).Success {
			t.Errorf("insert of %.30q = %d, want %d and no success", body, w.Code, want)
		}
	}
}

func TestUpdate(t *testing.T) {
	tests := map[string]struct{ form, want string }{ // want: the row, or a message, or a status
		"missing keys are cleared":     {`{"id":"1","name":"New"}`, `{"code":"A-1","fixed":"f","id":1,"name":"New"}`},
		"the dots keep the password":   {`{"id":1,"name":"New","pwd":"••••••"}`, `{"code":"A-1","fixed":"f","id":1,"name":"New","pwd":"p"}`},
		"another text replaces it":     {`{"id":1,"name":"New","pwd":"q"}`, `{"code":"A-1","fixed":"f","id":1,"name":"New","pwd":"q"}`},
		"its own unique value is fine": {`{"id":1,"name":"A","code":"Z-9"}`, `{"code":"A-1","fixed":"f","id":1,"name":"A"}`}, // read only on edit
		"a stored disabled choice":     {`{"id":3,"name":"Cara","level":"X"}`, `{"id":3,"level":"X","name":"Cara"}`},
		"required":                     {`{"id":1}`, "Name is required"},
		"no id":                        {`{"name":"x"}`, "400"},
		"id null":                      {`{"id":null,"name":"x"}`, "400"},
		"id as an object":              {`{"id":{},"name":"x"}`, "400"},
		"unknown id":                   {`{"id":999,"name":"x"}`, "404"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := shop(t)
			w := s.call(http.MethodPost, "data/modify/Customer/update", tt.form)
			if w.Code != 200 {
				if fmt.Sprint(w.Code) != tt.want {
					t.Errorf("update = %d %s, want %s", w.Code, w.Body, tt.want)
				}
				return
			}
			if res := decode[wire.Result](t, w); !res.Success {
				if *res.Message != tt.want {
					t.Errorf("update = %s, want %s", *res.Message, tt.want)
				}
				return
			}
			var form struct{ ID json.Number }
			_ = json.Unmarshal([]byte(strings.Replace(tt.form, `"1"`, "1", 1)), &form)
			id, _ := form.ID.Int64()
			if got := stored(t, s.customers, id); got != tt.want {
				t.Errorf("stored %s, want %s", got, tt.want)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	tests := map[string]struct {
		path, body string
		want       string // status, message, or "ok"
		left       int
	}{
		"one":                   {"Customer", `[2]`, "ok", 4},
		"as text, twice":        {"Customer", `["2",2,3]`, "ok", 3},
		"a big id":              {"Customer", `["9007199254740993"]`, "ok", 4},
		"one of them unknown":   {"Customer", `[2,999]`, "404", 5},
		"none":                  {"Customer", `[]`, "400", 5},
		"no list":               {"Customer", `{"id":2}`, "400", 5},
		"no id":                 {"Customer", `[{"id":2}]`, "400", 5},
		"null":                  {"Customer", `[null]`, "400", 5},
		"still used":            {"Customer", `[1]`, "Still used by Sales", 5},
		"a parent":              {"Region", `[1]`, "Still used by Regions", 4},
		"parent and child":      {"Region", `[2,3]`, "Still used by 客户 Customers", 4},
		"a lonely root, unused": {"Region", `[4]`, "Still used by Products", 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := shop(t)
			w := s.call(http.MethodPost, "data/modify/"+tt.path+"/delete", tt.body)
			got := fmt.Sprint(w.Code)
			if w.Code == 200 {
				res := decode[wire.Result](t, w)
				if got = "ok"; !res.Success {
					got = *res.Message
				}
			}
			source := map[string]*MemSource{"Customer": s.customers, "Region": s.regions}[tt.path]
			if !strings.HasPrefix(got, tt.want) || source.Len() != tt.left {
				t.Errorf("delete %s = %s with %d rows left, want %s and %d", tt.body, got, source.Len(), tt.want, tt.left)
			}
		})
	}
}

func TestATreeRowCannotLieBelowItself(t *testing.T) {
	for form, ok := range map[string]bool{
		`{"id":1,"name":"Europe","parent":{"id":3}}`: false, `{"id":1,"name":"Europe","parent":{"id":1}}`: false,
		`{"id":3,"name":"Berlin","parent":{"id":4}}`: true, `{"id":3,"name":"Berlin","parent":null}`: true,
	} {
		s := shop(t)
		if res := s.result(http.MethodPost, "data/modify/Region/update", form); res.Success != ok {
			t.Errorf("update %s = %+v", form, res)
		}
	}
}

func TestItems(t *testing.T) {
	tests := map[string]struct {
		form string
		want string // lines as stored, or the problem
	}{
		"kept and new": {`{"id":1,"no":"S1","customer":{"id":1},"lines":[{"id":1,"product":{"id":2},"count":3},{"id":-5,"product":{"id":1},"count":1,"price":0.01}]}`,
			`[{"count":3,"id":1,"price":19.9,"product":2},{"count":1,"id":2,"price":1.5,"product":1}]`},
		"an id of another row is a new line": {`{"id":1,"no":"S1","customer":{"id":1},"lines":[{"id":77,"product":{"id":2},"count":3}]}`, `[{"count":3,"id":2,"price":1.5,"product":2}]`},
		"one id twice":                       {`{"id":1,"no":"S1","customer":{"id":1},"lines":[{"id":1,"product":{"id":2},"count":3},{"id":1,"product":{"id":2},"count":4}]}`, `[{"count":3,"id":1,"price":19.9,"product":2},{"count":4,"id":2,"price":1.5,"product":2}]`},
		"not sent: kept":                     {`{"id":1,"no":"S1","customer":{"id":1}}`, `[{"count":2,"id":1,"price":19.9,"product":1}]`},
		"empty":                              {`{"id":1,"no":"S1","customer":{"id":1},"lines":[]}`, "lines: Lines is required"},
		"null":                               {`{"id":1,"no":"S1","customer":{"id":1},"lines":null}`, "lines: Lines is required"},
		"a wrong line": {`{"id":1,"no":"S1","customer":{"id":1},"lines":[{"product":{"id":1},"count":1},{"product":{"id":77},"count":100}]}`,
			"lines: Lines: item 2: Product: there is no such row; lines[1].count: Count must be at most 99; lines[1].product: Product: there is no such row"},
		"no list":      {`{"id":1,"no":"S1","customer":{"id":1},"lines":{"id":1}}`, "lines: Lines must be a list"},
		"no object":    {`{"id":1,"no":"S1","customer":{"id":1},"lines":[7]}`, "lines: Lines must be a list"},
		"far too many": {`{"id":1,"no":"S1","customer":{"id":1},"lines":[` + strings.Repeat(`{},`, 500) + `{}]}`, "lines: Lines has more than 500 entries"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := shop(t)
			res := s.result(http.MethodPost, "data/modify/Sale/update", tt.form)
			var got string
			if res.Success {
				row, _ := s.sales.Find(t.Context(), int64(1))
				text, _ := json.Marshal(row.Items("lines"))
				got = string(text)
			} else {
				var parts []string
				for field, message := range res.Fields {
					parts = append(parts, field+": "+message)
				}
				slices.Sort(parts)
				got = strings.Join(parts, "; ")
			}
			if got != tt.want {
				t.Errorf("lines\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTabCalls(t *testing.T) { // wire 4.9, recordings 186–190
	s := shop(t)
	res := s.result(http.MethodPost, "data/modify/tab-add/Sale/lines", `{"product":{"id":2},"count":"4","id":-1}`)
	data, _ := json.Marshal(res.Data)
	if want := `{"count":4,"id":-1,"price":1.5,"product":{"id":"2","name":"Novel"},"product_name":"Novel"}`; !res.Success || string(data) != want {
		t.Errorf("tab-add = %+v\n got %s\nwant %s", res, data, want)
	}
	res = s.result(http.MethodPost, "data/modify/tab-update/Sale/lines", `{"count":0}`)
	if data, _ := json.Marshal(res.Data); res.Success || res.Fields["product"] == "" || res.Fields["count"] == "" || string(data) != `{"count":0,"id":null,"price":1.5,"product":null}` {
		t.Errorf("tab-update of a wrong row = %+v %s, want an error and the row", res, data)
	}
	if res := s.result(http.MethodPost, "data/modify/tab-delete/Sale/lines", `{"id":1}`); !res.Success || res.Data != nil {
		t.Errorf("tab-delete = %+v", res)
	}
	if w := s.call(http.MethodPost, "data/modify/tab-add/Sale/customer", `{}`); w.Code != 400 {
		t.Errorf("tab call of a field without items = %d", w.Code)
	}
}

// hooked is a page whose hooks write down what they see.
func hooked(t *testing.T, hooks Hooks, rows ...Row) (*Agent, *MemSource) {
	t.Helper()
	a := newAgent(t, (&plane{}).config())
	source := NewMemSource(rows...)
	if err := a.Host(Page{Name: "P", Title: "P", Source: source, Hooks: hooks, Fields: []Field{Input("name", "Name").Search(), Input("by", "By").NoForm()}}); err != nil {
		t.Fatal(err)
	}
	return a, source
}

func TestHooks(t *testing.T) {
	by := func(ctx context.Context) string { u, _ := UserFrom(ctx); return u.Account }
	a, source := hooked(t, Hooks{
		Init: func(_ context.Context, row Row) error { row["name"] = "new"; return nil },
		BeforeAdd: func(ctx context.Context, row Row) error {
			row["by"] = by(ctx)
			switch row.Text("name") {
			case "nope":
				return Refuse("nobody may be called %s", "nope")
			case "field":
				return RefuseField("name", "not this one")
			case "info":
				return &Refusal{Message: "for your information", Info: true}
			case "crash":
				panic("asked for")
			case "broken":
				return errors.New("password=hunter2 in dial error")
			}
			return nil
		},
		BeforeUpdate: func(_ context.Context, old, row Row) error { row["by"] = old.Text("name"); return nil },
		BeforeDelete: func(_ context.Context, rows []Row) error { return Refuse("%d rows stay", len(rows)) },
		AfterQuery: func(_ context.Context, rows []Row) error {
			for _, r := range rows {
				r["name"] = "<" + r.Text("name") + ">"
			}
			return nil
		},
	}, Row{"name": "old"})
	s := &shopNode{t: t, agent: a, handler: a.Handler()}

	if w := s.call(http.MethodGet, "data/init-value/P", ""); !strings.Contains(w.Body.String(), `"name":"new"`) {
		t.Errorf("init = %s", w.Body)
	}
	if res := s.result(http.MethodPost, "data/modify/P", `{"name":"x"}`); !res.Success || stored(t, source, 2) != `{"by":"lin","id":2,"name":"x"}` {
		t.Errorf("add = %+v", res)
	}
	for name, want := range map[string]string{"nope": "ERROR DIALOG nobody may be called nope", "field": "ERROR DIALOG not this one", "info": "INFO NOTIFY for your information"} {
		res := s.result(http.MethodPost, "data/modify/P", `{"name":"`+name+`"}`)
		if got := res.Status + " " + res.PromptWay + " " + *res.Message; got != want || res.Success {
			t.Errorf("refusal %s = %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"crash", "broken"} {
		w := s.call(http.MethodPost, "data/modify/P", `{"name":"`+name+`"}`)
		if w.Code != 500 || strings.Contains(w.Body.String(), "hunter2") || !strings.Contains(w.Body.String(), `"message":"internal error"`) {
			t.Errorf("%s = %d %s, want 500 without the cause", name, w.Code, w.Body)
		}
	}
	s.result(http.MethodPost, "data/modify/P/update", `{"id":1,"name":"y"}`)
	if got := stored(t, source, 1); got != `{"by":"old","id":1,"name":"y"}` {
		t.Errorf("update stored %s", got)
	}
	if res := s.result(http.MethodPost, "data/modify/P/delete", `[1,2]`); *res.Message != "2 rows stay" || source.Len() != 2 {
		t.Errorf("delete = %+v", res)
	}
	if got := names(s.table("P", `{"pageIndex":1,"pageSize":9}`).List); !slices.Equal(got, []string{"<y>", "<x>"}) {
		t.Errorf("table = %v", got)
	}
	if w := s.call(http.MethodGet, "data/P/1", ""); !strings.Contains(w.Body.String(), `\u003cy\u003e`) {
		t.Errorf("detail = %s", w.Body)
	}
}

func TestBeforeQueryHidesRowsEverywhere(t *testing.T) {
	a, source := hooked(t, Hooks{BeforeQuery: func(_ context.Context, q *Query) error {
		q.Conditions = append(q.Conditions, Condition{Field: "name", Operator: NEQ, Value: "secret"})
		return nil
	}}, Row{"name": "open"}, Row{"name": "secret"})
	s := &shopNode{t: t, agent: a, handler: a.Handler()}
	if got := s.table("P", `{"pageIndex":1,"pageSize":9}`); got.Total != 1 {
		t.Errorf("table shows %v", got.List)
	}
	for path, body := range map[string]string{"data/P/2": "", "data/modify/P/update": `{"id":2,"name":"x"}`, "data/modify/P/delete": `[1,2]`} {
		method := http.MethodPost
		if body == "" {
			method = http.MethodGet
		}
		if w := s.call(method, path, body); w.Code != 404 {
			t.Errorf("%s = %d %s, want 404", path, w.Code, w.Body)
		}
	}
	if source.Len() != 2 {
		t.Error("a hidden row was deleted")
	}
}

func TestRights(t *testing.T) { // A23, A29: the server's word and the page's offer, both
	calls := map[string]struct{ method, path, body string }{
		"build":  {http.MethodGet, "build/Customer", ""},
		"table":  {http.MethodPost, "data/table/Customer", `{"pageIndex":1,"pageSize":9}`},
		"tree":   {http.MethodGet, "data/tree/Region", ""},
		"init":   {http.MethodGet, "data/init-value/Customer", ""},
		"detail": {http.MethodGet, "data/Customer/1", ""},
		"add":    {http.MethodPost, "data/modify/Customer", `{"name":"x"}`},
		"update": {http.MethodPost, "data/modify/Customer/update", `{"id":3,"name":"x"}`},
		"delete": {http.MethodPost, "data/modify/Customer/delete", `[3]`},
		"export": {http.MethodPost, "excel/export/Customer", ``},
		"upload": {http.MethodPost, "file/upload/Customer/file", `x`},
		"picker": {http.MethodPost, "data/Customer/reference-table/gift", `{"pageIndex":1,"pageSize":9}`},
		"choice": {http.MethodGet, "comp/choice-item/Customer/level", ""},
		"tab":    {http.MethodPost, "data/modify/tab-add/Sale/lines", `{}`},
	}
	reading := []string{"build", "table", "tree", "init", "picker", "choice"}
	tests := map[string]struct {
		power   wire.Power
		allowed []string
	}{
		"nothing":        {wire.Power{}, nil},
		"only writing":   {wire.Power{Add: true, Edit: true, Delete: true, Export: true, ViewDetails: true}, nil},
		"only looking":   {wire.Power{Query: true}, reading},
		"details":        {wire.Power{Query: true, ViewDetails: true}, append([]string{"detail"}, reading...)},
		"adding":         {wire.Power{Query: true, Add: true}, append([]string{"add", "upload", "tab"}, reading...)},
		"editing":        {wire.Power{Query: true, Edit: true}, append([]string{"update", "detail", "upload", "tab"}, reading...)},
		"deleting":       {wire.Power{Query: true, Delete: true}, append([]string{"delete"}, reading...)},
		"exporting":      {wire.Power{Query: true, Export: true}, append([]string{"export"}, reading...)},
		"not looking up": {wire.Power{Add: true}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for call, c := range calls {
				s := shop(t)
				s.plane.on(func(w http.ResponseWriter, _ *http.Request) bool { writeJSON(w, 200, tt.power); return true })
				before := stored(t, s.customers, 3)
				w := s.call(c.method, c.path, c.body)
				forbidden := w.Code == http.StatusForbidden
				if forbidden == slices.Contains(tt.allowed, call) {
					t.Errorf("%s = %d %s", call, w.Code, w.Body)
				}
				if forbidden && (s.customers.Len() != 5 || stored(t, s.customers, 3) != before) {
					t.Errorf("%s was refused and yet changed something", call)
				}
			}
		})
	}
}

func TestWithoutTheServerNothingIsAllowed(t *testing.T) {
	s := shop(t)
	s.agent.cfg.ServerAddresses = []string{"http://down"}
	if w := s.call(http.MethodPost, "data/table/Customer", `{"pageIndex":1,"pageSize":9}`); w.Code != http.StatusForbidden {
		t.Errorf("table = %d, want 403", w.Code)
	}
	s = shop(t)
	if w := s.call(http.MethodPost, "data/table/Customer", `{"pageIndex":1,"pageSize":9}`, "token", ""); w.Code != http.StatusForbidden {
		t.Errorf("table without a session = %d, want 403", w.Code)
	}
}

func TestPagePowerLimits(t *testing.T) {
	a := newAgent(t, (&plane{}).config())
	source := NewMemSource(Row{"name": "x"})
	if err := a.Host(Page{Name: "P", Title: "P", Source: source, Power: ReadOnlyPower(), Fields: []Field{Input("name", "Name")}}); err != nil {
		t.Fatal(err)
	}
	s := &shopNode{t: t, agent: a, handler: a.Handler()}
	for path, want := range map[string]int{"data/modify/P": 403, "data/modify/P/update": 403, "data/modify/P/delete": 403, "data/table/P": 200} {
		if w := s.call(http.MethodPost, path, `{"pageIndex":1,"pageSize":1,"name":"y","id":1}`); w.Code != want {
			t.Errorf("%s = %d, want %d", path, w.Code, want)
		}
	}
	power := decode[struct{ Power wire.Power }](t, s.call(http.MethodGet, "build/P", "")).Power
	if want := (wire.Power{Query: true, ViewDetails: true, Print: true}); power != want {
		t.Errorf("power in the model = %+v, want %+v", power, want)
	}
}

func TestHeaderAndPathAgree(t *testing.T) { // wire 10.1
	tests := map[string]struct {
		method, path, erupt, parent string
		want                        int
		asked                       string // erupt whose rights were asked for
	}{
		"the same":                         {"GET", "build/Customer", "Customer", "", 200, "Customer"},
		"in another case":                  {"GET", "build/customer", "CUSTOMER", "", 200, "Customer"},
		"header of another":                {"GET", "build/Customer", "Region", "", 404, ""},
		"data of another":                  {"GET", "data/Customer/1", "Region", "", 404, ""},
		"no header":                        {"GET", "build/Customer", "", "", 200, "Customer"},
		"items through their page":         {"GET", "build/SaleLine", "SaleLine", "Sale", 200, "Sale"},
		"items through their full page":    {"GET", "build/SaleLine", "SaleLine", "orders.Sale", 200, "Sale"},
		"items without a parent":           {"GET", "build/SaleLine", "SaleLine", "", 200, "Sale"},
		"picker of an item":                {"GET", "comp/choice-item/SaleLine/product", "SaleLine", "Sale", 200, "Sale"},
		"items through a foreign page":     {"GET", "build/SaleLine", "SaleLine", "Customer", 404, ""},
		"a referenced page: its model":     {"GET", "build/Customer", "Customer", "Sale", 200, "Sale"},
		"a referenced page: its left tree": {"GET", "data/depend-tree/Customer", "Customer", "Sale", 200, "Sale"},
		"a referenced page: its rows":      {"GET", "data/Customer/1", "Customer", "Sale", 404, ""},
		"a page not referred to":           {"GET", "build/Sale", "Sale", "Customer", 404, ""},
		"a parent not hosted":              {"GET", "build/Customer", "Customer", "EruptUser", 404, ""},
		"itself as parent":                 {"GET", "build/Customer", "Customer", "Customer", 200, "Customer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := shop(t)
			w := s.call(tt.method, tt.path, "", "erupt", tt.erupt, "eruptParent", tt.parent)
			var asked string
			if got := s.plane.to(wire.PowerPath); len(got) > 0 {
				asked = got[0].query.Get("eruptName")
			}
			if w.Code != tt.want || asked != tt.asked {
				t.Errorf("= %d, rights of %q; want %d, %q", w.Code, asked, tt.want, tt.asked)
			}
		})
	}
	s := shop(t)
	for _, path := range []string{"data/modify/Customer", "data/modify/Customer/delete", "data/table/Customer", "excel/export/Customer", "file/upload/Customer/file"} {
		if w := s.call(http.MethodPost, path, `{}`, "erupt", "Customer", "eruptParent", "Sale"); w.Code != 404 {
			t.Errorf("%s through a page that only refers to it = %d, want 404", path, w.Code)
		}
	}
}

func TestMethods(t *testing.T) {
	s := shop(t)
	for _, e := range endpoints {
		path := strings.NewReplacer("{e}", "Sale", "{f}", "lines", "{id}", "1").Replace(e.pattern)
		for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"} {
			if w := s.call(method, path, ""); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") == "" {
				t.Errorf("%s %s = %d, want 405", method, path, w.Code)
			}
		}
	}
	if before := stored(t, s.sales, 1); !strings.Contains(before, "S1") {
		t.Error("a row was lost")
	}
}

func TestUniqueUnderConcurrency(t *testing.T) {
	s := shop(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	stored := 0
	for i := range 20 {
		all.Go(func() {
			w := s.call(http.MethodPost, "data/modify/Customer", fmt.Sprintf(`{"name":"n%d","code":"U-1"}`, i))
			mu.Lock()
			defer mu.Unlock()
			if decode[wire.Result](t, w).Success {
				stored++
			}
		})
	}
	all.Wait()
	if stored != 1 {
		t.Errorf("%d rows with one code were stored", stored)
	}
}
