package nodeagent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"eruptcloud/nodeagent/wire"
)

// shopNode is a node with pages that use every field type.
type shopNode struct {
	t                                   *testing.T
	agent                               *Agent
	plane                               *plane
	handler                             http.Handler
	regions, customers, products, sales *MemSource
}

func shopPages(s *shopNode) []Page {
	region := Page{
		Name: "Region", Title: "Regions", Source: s.regions, Tree: &Tree{Parent: "parent"},
		Fields: []Field{Input("name", "Name").Required().Search(), ReferenceTree("parent", "Parent", "Region"), Number("sort", "Sort").Sortable()},
	}
	customer := Page{
		Name: "Customer", Title: "客户 Customers", Description: "who buys", Source: s.customers, LinkTree: "region",
		Export: &Export{Name: "客户.csv", ContentType: "text/csv", Write: exportNames(s.customers)},
		Fields: []Field{
			Input("name", "Name").Required().Search().Sortable().Length(20),
			Input("code", "Code").Unique().Search(EQ).ReadOnlyOnEdit().Pattern(regexp.MustCompile(`[A-Z]-\d+`), "a letter, a dash, digits"),
			Password("pwd", "Secret"),
			Number("age", "Age").Between(0, 150).Search(RANGE).Sortable(),
			Decimal("amount", "Amount", 2).Search().Sortable(),
			Slider("score", "Score", 0, 10, 0.5).Search(GTE),
			Rate("stars", "Stars", 5, true),
			Color("color", "Color"),
			Date("birthday", "Birthday").Search(),
			DateTime("joined", "Joined").Search().Sortable(),
			Boolean("active", "Active", "Enabled", "Disabled").Search().Default(true).Sortable(),
			Choice("level", "Level", Option{Value: "V", Label: "VIP", Color: "#2f80ed"}, Option{Value: "N", Label: "Normal"},
				Option{Value: "X", Label: "Gone", Disabled: true}).Search().Sortable().Default("N"),
			MultiChoice("channels", "Channels", Option{Value: "web", Label: "Web"}, Option{Value: "tel"}),
			Tags("tags", "Tags", "red", "green").Search(),
			Textarea("note", "Note").Search().Hint("anything"),
			Code("json", "Json", "json").NoColumn(),
			Attachment("file", "File", Files{Extensions: []string{"txt", "bin"}, MaxKB: 2048, Max: 3}),
			Attachment("photo", "Photo", Files{Images: true}),
			Hidden("trace"),
			Divide("line", "More"),
			ReferenceTree("region", "Region", "Region").Search().Show("name", "Region").Show("sort", "Region no"),
			ReferenceTable("product", "Product", "Product").Search().DependsOn("region", "region"),
			ReferenceTable("gift", "Gift", "Product").Label("code"),
			Input("by", "Changed by").NoForm().HiddenColumn(),
			Input("fixed", "Fixed").ReadOnly().Default("set by the node"),
		},
	}
	product := Page{
		Name: "Product", Title: "Products", Source: s.products,
		Fields: []Field{Input("name", "Name").Required().Search().Sortable(), Input("code", "Code"), Choice("kind", "Kind", Option{Value: "A", Label: "Apparel"}),
			ReferenceTree("region", "Region", "Region")},
	}
	line := Page{Name: "SaleLine", Title: "Lines", Fields: []Field{
		ReferenceTable("product", "Product", "Product").Required(), Number("count", "Count").Required().Between(1, 99),
		Decimal("price", "Price", 2).ReadOnly().Default(1.5),
	}}
	sale := Page{Name: "Sale", Title: "Sales", Source: s.sales, Fields: []Field{
		Input("no", "No").Required().Sortable(), ReferenceTable("customer", "Customer", "Customer").Required().Search(), Items("lines", "Lines", line).Required(),
	}}
	return []Page{region, product, customer, sale}
}

func exportNames(s *MemSource) func(context.Context, Query, io.Writer) error {
	return func(ctx context.Context, q Query, w io.Writer) error {
		rows, _, err := s.Query(ctx, q)
		for _, row := range rows {
			if _, err := fmt.Fprintln(w, row.Text("name")); err != nil {
				return err
			}
		}
		return err
	}
}

func shop(t *testing.T) *shopNode {
	t.Helper()
	s := &shopNode{t: t, plane: &plane{}}
	s.regions = NewMemSource(
		Row{"name": "Europe", "sort": int64(1)}, Row{"name": "Germany", "parent": int64(1), "sort": int64(2)},
		Row{"name": "Berlin", "parent": int64(2), "sort": int64(3)}, Row{"name": "Asia", "sort": int64(4)})
	s.products = NewMemSource(
		Row{"name": "Shirt", "code": "P-1", "kind": "A", "region": int64(2)}, Row{"name": "Novel", "code": "P-2", "region": int64(2)},
		Row{"name": "Sake", "code": "P-3", "region": int64(4)})
	s.customers = NewMemSource(
		Row{"name": "Alice", "code": "A-1", "age": int64(20), "amount": 10.5, "score": 3.0, "birthday": "2001-01-01", "joined": "2026-07-01T00:00:00.000",
			"active": true, "level": "V", "tags": []string{"red"}, "note": "note of Alice", "region": int64(2), "product": int64(1), "pwd": "p", "fixed": "f"},
		Row{"name": "Bob", "code": "B-1", "age": int64(30), "amount": 100.5, "birthday": "2002-02-02", "joined": "2026-07-10T12:00:00.000",
			"active": false, "level": "N", "tags": []string{"red", "green"}, "region": int64(3), "channels": []string{"web", "tel"}},
		Row{"name": "Cara", "age": int64(40), "amount": 0.25, "joined": "2026-07-20T23:59:59.000", "active": true, "level": "X", "note": "of old"},
		Row{"name": "Dan 100%"},
		Row{"id": int64(9007199254740993), "name": "李雷", "age": int64(9007199254740993), "region": int64(99)})
	s.sales = NewMemSource(Row{"no": "S1", "customer": int64(1), "lines": []Row{{"product": int64(1), "count": int64(2), "price": 19.9}}})
	cfg := s.plane.config()
	cfg.UploadDir = t.TempDir() + "/up"
	s.agent = newAgent(t, cfg)
	if err := s.agent.Host(shopPages(s)...); err != nil {
		t.Fatal(err)
	}
	s.handler = s.agent.Handler()
	return s
}

// call sends a request as the server does, for the erupt that the path names.
func (s *shopNode) call(method, path, body string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := fromServer(method, "/erupt-api/"+path, body)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return do(s.handler, r)
}

// asked is a table answer, loosely.
type asked struct {
	PageIndex, PageSize, TotalPage, Total int
	Sort                                  []sorting
	Condition                             []map[string]any
	List                                  []map[string]any
	LinkTreeVal                           []any
}

func (s *shopNode) table(page, body string) asked {
	s.t.Helper()
	w := s.call(http.MethodPost, "data/table/"+page, body)
	if w.Code != http.StatusOK {
		s.t.Fatalf("table %s of %s = %d %s", body, page, w.Code, w.Body)
	}
	return decode[asked](s.t, w)
}

func names(list []map[string]any) []string {
	out := make([]string, len(list))
	for i, row := range list {
		out[i], _ = row["name"].(string)
	}
	return out
}

func TestQueryExpressions(t *testing.T) { // wire 4.7
	const all = "Alice Bob Cara Dan 100% 李雷"
	tests := map[string]struct {
		condition string
		want      string // names in order of insertion, or the status of a refusal
		echo      string // operator in the answer, if not the one sent
	}{
		"text EQ":                      {`{"key":"name","value":"Bob","expression":"EQ"}`, "Bob", ""},
		"text EQ minds the case":       {`{"key":"name","value":"bob","expression":"EQ"}`, "", ""},
		"text NEQ":                     {`{"key":"code","value":"A-1","expression":"NEQ"}`, "Bob", ""}, // not those without
		"text LIKE":                    {`{"key":"name","value":"A","expression":"LIKE"}`, "Alice Cara Dan 100%", ""},
		"text NOT_LIKE":                {`{"key":"note","value":"alice","expression":"NOT_LIKE"}`, "Cara", ""},
		"LIKE takes % as it is":        {`{"key":"name","value":"100%","expression":"LIKE"}`, "Dan 100%", ""},
		"LIKE takes _ as it is":        {`{"key":"name","value":"_","expression":"LIKE"}`, "", ""},
		"LIKE in Chinese":              {`{"key":"name","value":"雷","expression":"LIKE"}`, "李雷", ""},
		"text IN":                      {`{"key":"name","value":["Bob","Alice"],"expression":"IN"}`, "Alice Bob", ""},
		"text NOT_IN":                  {`{"key":"code","value":["A-1"],"expression":"NOT_IN"}`, "Bob", ""},
		"text NULL":                    {`{"key":"code","value":null,"expression":"NULL"}`, "Cara Dan 100% 李雷", ""},
		"text NOT_NULL":                {`{"key":"code","value":null,"expression":"NOT_NULL"}`, "Alice Bob", ""},
		"missing operator":             {`{"key":"name","value":"a"}`, "Alice Cara Dan 100%", "LIKE"},
		"AUTO":                         {`{"key":"name","value":"a","expression":"AUTO"}`, "Alice Cara Dan 100%", "LIKE"},
		"unknown operator":             {`{"key":"name","value":"a","expression":"FOO"}`, "Alice Cara Dan 100%", "LIKE"},
		"empty text is no condition":   {`{"key":"name","value":"","expression":"EQ"}`, all, ""},
		"null is no condition":         {`{"key":"name","value":null,"expression":"EQ"}`, all, ""},
		"empty list is no condition":   {`{"key":"name","value":[],"expression":"IN"}`, all, ""},
		"text GT":                      {`{"key":"name","value":"B","expression":"GT"}`, "400", ""},
		"text as an object":            {`{"key":"name","value":{"a":1},"expression":"EQ"}`, "400", ""},
		"IN with a text":               {`{"key":"name","value":"Bob","expression":"IN"}`, "400", ""},
		"number EQ":                    {`{"key":"age","value":30,"expression":"EQ"}`, "Bob", ""},
		"number EQ as text":            {`{"key":"age","value":"30","expression":"EQ"}`, "Bob", ""},
		"number EQ big":                {`{"key":"age","value":"9007199254740993","expression":"EQ"}`, "李雷", ""},
		"number EQ nearly as big":      {`{"key":"age","value":9007199254740992,"expression":"EQ"}`, "", ""},
		"number NEQ":                   {`{"key":"age","value":30,"expression":"NEQ"}`, "Alice Cara 李雷", ""},
		"number GT":                    {`{"key":"age","value":30,"expression":"GT"}`, "Cara 李雷", ""},
		"number GTE":                   {`{"key":"age","value":30,"expression":"GTE"}`, "Bob Cara 李雷", ""},
		"number LT":                    {`{"key":"age","value":30,"expression":"LT"}`, "Alice", ""},
		"number LTE":                   {`{"key":"age","value":30,"expression":"LTE"}`, "Alice Bob", ""},
		"number RANGE":                 {`{"key":"age","value":[20,30],"expression":"RANGE"}`, "Alice Bob", ""},
		"number RANGE by default":      {`{"key":"age","value":[20,30]}`, "Alice Bob", "RANGE"},
		"RANGE with one end":           {`{"key":"age","value":[30,null],"expression":"RANGE"}`, "", ""},
		"RANGE with the other end":     {`{"key":"age","value":[null,30],"expression":"RANGE"}`, "", ""},
		"RANGE of three":               {`{"key":"age","value":[1,2,3],"expression":"RANGE"}`, "400", ""},
		"RANGE of a scalar":            {`{"key":"age","value":1,"expression":"RANGE"}`, "400", ""},
		"number IN":                    {`{"key":"age","value":[20,"40"],"expression":"IN"}`, "Alice Cara", ""},
		"number NOT_IN":                {`{"key":"age","value":[20,40],"expression":"NOT_IN"}`, "Bob 李雷", ""},
		"number NULL":                  {`{"key":"age","value":null,"expression":"NULL"}`, "Dan 100%", ""},
		"number NOT_NULL":              {`{"key":"age","value":null,"expression":"NOT_NULL"}`, "Alice Bob Cara 李雷", ""},
		"number bad value":             {`{"key":"age","value":"abc","expression":"EQ"}`, "400", ""},
		"number LIKE":                  {`{"key":"age","value":"3","expression":"LIKE"}`, "400", ""},
		"number infinite":              {`{"key":"amount","value":"Inf","expression":"EQ"}`, "400", ""},
		"number with a long exponent":  {`{"key":"amount","value":1e999999999,"expression":"EQ"}`, "400", ""},
		"decimal EQ":                   {`{"key":"amount","value":"10.5","expression":"EQ"}`, "Alice", ""},
		"decimal RANGE":                {`{"key":"amount","value":[1,100.5],"expression":"RANGE"}`, "Alice Bob", ""},
		"slider GTE by default":        {`{"key":"score","value":3}`, "Alice", "GTE"},
		"day RANGE":                    {`{"key":"birthday","value":["2001-01-01","2001-12-31"],"expression":"RANGE"}`, "Alice", ""},
		"day RANGE of instants":        {`{"key":"birthday","value":["2001-01-01T00:00:00.000","2002-02-02T23:59:59.999"],"expression":"RANGE"}`, "Alice Bob", ""},
		"day EQ":                       {`{"key":"birthday","value":"2002-02-02","expression":"EQ"}`, "Bob", ""},
		"moment RANGE by default":      {`{"key":"joined","value":["2026-07-01T00:00:00.000","2026-07-10T23:59:59.999"]}`, "Alice Bob", "RANGE"},
		"moment RANGE with Z":          {`{"key":"joined","value":["2026-07-01T00:00:00.000Z","2026-07-10T23:59:59.999Z"],"expression":"RANGE"}`, "Alice Bob", ""},
		"moment RANGE with one end":    {`{"key":"joined","value":["2026-07-10T00:00:00.000",null],"expression":"RANGE"}`, "", ""},
		"moment EQ":                    {`{"key":"joined","value":"2026-07-10T12:00:00.000","expression":"EQ"}`, "Bob", ""},
		"moment GT":                    {`{"key":"joined","value":"2026-07-10T12:00:00","expression":"GT"}`, "Cara", ""},
		"moment LTE":                   {`{"key":"joined","value":"2026-07-10T12:00:00","expression":"LTE"}`, "Alice Bob", ""},
		"moment NULL":                  {`{"key":"joined","value":null,"expression":"NULL"}`, "Dan 100% 李雷", ""},
		"moment bad":                   {`{"key":"joined","value":"yesterday","expression":"EQ"}`, "400", ""},
		"moment IN":                    {`{"key":"joined","value":["2026-07-10"],"expression":"IN"}`, "400", ""},
		"choice EQ":                    {`{"key":"level","value":"V","expression":"EQ"}`, "Alice", ""},
		"choice EQ label":              {`{"key":"level","value":"VIP","expression":"EQ"}`, "", ""},
		"choice NEQ":                   {`{"key":"level","value":"V","expression":"NEQ"}`, "Bob Cara", ""},
		"choice IN":                    {`{"key":"level","value":["V","N"],"expression":"IN"}`, "Alice Bob", ""},
		"choice NOT_IN":                {`{"key":"level","value":["V"],"expression":"NOT_IN"}`, "Bob Cara", ""},
		"choice NULL":                  {`{"key":"level","value":null,"expression":"NULL"}`, "Dan 100% 李雷", ""},
		"boolean true":                 {`{"key":"active","value":true,"expression":"EQ"}`, "Alice Cara", ""},
		"boolean false by default":     {`{"key":"active","value":false}`, "Bob", "EQ"},
		"boolean as text":              {`{"key":"active","value":"true","expression":"EQ"}`, "Alice Cara", ""},
		"boolean NULL":                 {`{"key":"active","value":null,"expression":"NULL"}`, "Dan 100% 李雷", ""},
		"boolean GT":                   {`{"key":"active","value":true,"expression":"GT"}`, "400", ""},
		"boolean neither":              {`{"key":"active","value":"perhaps","expression":"EQ"}`, "400", ""},
		"reference EQ":                 {`{"key":"region","value":{"id":"2","name":"x"},"expression":"EQ"}`, "Alice", ""},
		"reference EQ number":          {`{"key":"product","value":{"id":1},"expression":"EQ"}`, "Alice", ""},
		"reference EQ bare":            {`{"key":"region","value":"2","expression":"EQ"}`, "400", ""},
		"reference NEQ":                {`{"key":"region","value":{"id":2},"expression":"NEQ"}`, "Bob 李雷", ""},
		"reference IN":                 {`{"key":"region","value":[{"id":2},{"id":"3"}],"expression":"IN"}`, "Alice Bob", ""},
		"reference NOT_IN":             {`{"key":"region","value":[{"id":2},{"id":"3"}],"expression":"NOT_IN"}`, "李雷", ""},
		"reference NULL":               {`{"key":"region","value":null,"expression":"NULL"}`, "Cara Dan 100%", ""},
		"reference NOT_NULL":           {`{"key":"product","value":null,"expression":"NOT_NULL"}`, "Alice", ""},
		"tags as text: has them all":   {`{"key":"tags","value":"[\"red\"]","expression":"EQ"}`, "Alice Bob", ""},
		"tags as a list":               {`{"key":"tags","value":["green","red"],"expression":"EQ"}`, "Bob", ""},
		"tags that are no list":        {`{"key":"tags","value":"red","expression":"EQ"}`, "400", ""},
		"tags NULL":                    {`{"key":"tags","value":null,"expression":"NULL"}`, "Cara Dan 100% 李雷", ""},
		"unknown key is left out":      {`{"key":"nothing","value":"x","expression":"EQ"}`, all, ""},
		"unsearchable key is left out": {`{"key":"stars","value":"x","expression":"EQ"}`, all, ""},
		"the password is no oracle":    {`{"key":"pwd","value":"p","expression":"EQ"}`, all, ""},
		"two conditions":               {`{"key":"age","value":30,"expression":"GTE"},{"key":"level","value":"X","expression":"EQ"}`, "Cara", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := shop(t)
			w := s.call(http.MethodPost, "data/table/Customer", `{"pageIndex":1,"pageSize":20,"sort":null,"condition":[`+tt.condition+`],"linkTreeVal":null,"vis":null}`)
			if w.Code != http.StatusOK {
				if fmt.Sprint(w.Code) != tt.want {
					t.Errorf("%s = %d %s, want %s", tt.condition, w.Code, w.Body, tt.want)
				}
				return
			}
			got := decode[asked](t, w)
			if joined := strings.Join(names(got.List), " "); joined != tt.want || got.Total != len(got.List) {
				t.Errorf("%s found %q of %d, want %q", tt.condition, joined, got.Total, tt.want)
			}
			if tt.echo != "" && got.Condition[0]["expression"] != tt.echo {
				t.Errorf("%s came back as %v, want %s", tt.condition, got.Condition[0], tt.echo)
			}
		})
	}
}

func TestPagingAndSorting(t *testing.T) {
	tests := map[string]struct {
		body string
		want string // names, or a status
		page [4]int // pageIndex, pageSize, totalPage, total
	}{
		"first page":                {`{"pageIndex":1,"pageSize":2}`, "Alice Bob", [4]int{1, 2, 3, 5}},
		"last page":                 {`{"pageIndex":3,"pageSize":2}`, "李雷", [4]int{3, 2, 3, 5}},
		"beyond":                    {`{"pageIndex":99,"pageSize":2}`, "", [4]int{99, 2, 3, 5}},
		"far beyond":                {`{"pageIndex":2147483647,"pageSize":5000}`, "", [4]int{2147483647, 5000, 1, 5}},
		"as text":                   {`{"pageIndex":"1","pageSize":"2"}`, "Alice Bob", [4]int{1, 2, 3, 5}},
		"size is capped":            {`{"pageIndex":1,"pageSize":10000000}`, "Alice Bob Cara Dan 100% 李雷", [4]int{1, maxPageSize, 1, 5}},
		"size 0":                    {`{"pageIndex":1,"pageSize":0}`, "400", [4]int{}},
		"size negative":             {`{"pageIndex":1,"pageSize":-1}`, "400", [4]int{}},
		"size missing":              {`{"pageIndex":1}`, "400", [4]int{}},
		"index 0":                   {`{"pageIndex":0,"pageSize":2}`, "400", [4]int{}},
		"index null":                {`{"pageIndex":null,"pageSize":2}`, "400", [4]int{}},
		"index a fraction":          {`{"pageIndex":1.5,"pageSize":2}`, "400", [4]int{}},
		"index enormous":            {`{"pageIndex":99999999999999999999,"pageSize":2}`, "400", [4]int{}},
		"sorted":                    {`{"pageIndex":1,"pageSize":9,"sort":[{"field":"name","direction":"DESC"}]}`, "李雷 Dan 100% Cara Bob Alice", [4]int{1, 9, 1, 5}},
		"numbers, missing first":    {`{"pageIndex":1,"pageSize":9,"sort":[{"field":"age"}]}`, "Dan 100% Alice Bob Cara 李雷", [4]int{1, 9, 1, 5}},
		"by two":                    {`{"pageIndex":1,"pageSize":9,"sort":[{"field":"active","direction":"DESC"},{"field":"name","direction":"desc"}]}`, "Cara Alice Bob 李雷 Dan 100%", [4]int{1, 9, 1, 5}},
		"by the key":                {`{"pageIndex":1,"pageSize":2,"sort":[{"field":"id","direction":"DESC"}]}`, "李雷 Dan 100%", [4]int{1, 2, 3, 5}},
		"not sortable":              {`{"pageIndex":1,"pageSize":9,"sort":[{"field":"note"}]}`, "400", [4]int{}},
		"by a password":             {`{"pageIndex":1,"pageSize":9,"sort":[{"field":"pwd"}]}`, "400", [4]int{}},
		"unknown":                   {`{"pageIndex":1,"pageSize":9,"sort":[{"field":"nosuch"}]}`, "400", [4]int{}},
		"injection":                 {`{"pageIndex":1,"pageSize":9,"sort":[{"field":"(select max(s.word) from Secret s)"}]}`, "400", [4]int{}},
		"direction":                 {`{"pageIndex":1,"pageSize":9,"sort":[{"field":"name","direction":"; drop"}]}`, "400", [4]int{}},
		"1.x sort text":             {`{"pageIndex":1,"pageSize":9,"sort":"name asc"}`, "400", [4]int{}},
		"left tree":                 {`{"pageIndex":1,"pageSize":9,"linkTreeVal":["2",3]}`, "Alice Bob", [4]int{1, 9, 1, 2}},
		"left tree, nobody":         {`{"pageIndex":1,"pageSize":9,"linkTreeVal":["4"]}`, "", [4]int{1, 9, 0, 0}},
		"left tree, no id":          {`{"pageIndex":1,"pageSize":9,"linkTreeVal":[{"a":1}]}`, "400", [4]int{}},
		"left tree, 1.x scalar":     {`{"pageIndex":1,"pageSize":9,"linkTreeVal":"2"}`, "400", [4]int{}},
		"unknown visualisation":     {`{"pageIndex":1,"pageSize":1,"vis":"board"}`, "Alice", [4]int{1, 1, 5, 5}},
		"no JSON":                   {`{"pageIndex":1,`, "400", [4]int{}},
		"something behind the JSON": {`{"pageIndex":1,"pageSize":1} {}`, "400", [4]int{}},
		"an array":                  {`[]`, "400", [4]int{}},
		"nothing":                   {``, "400", [4]int{}},
		"deeply nested":             {strings.Repeat("[", 100_000), "400", [4]int{}},
		"larger than allowed":       {`{"x":"` + strings.Repeat("y", maxQueryBody) + `"}`, "413", [4]int{}},
		"a thousand conditions":     {`{"pageIndex":1,"pageSize":1,"condition":[` + strings.Repeat(`{"key":"x"},`, 1000) + `{}]}`, "400", [4]int{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := shop(t)
			w := s.call(http.MethodPost, "data/table/Customer", tt.body)
			if w.Code != http.StatusOK {
				if fmt.Sprint(w.Code) != tt.want {
					t.Errorf("= %d %s, want %s", w.Code, w.Body, tt.want)
				}
				return
			}
			got := decode[asked](t, w)
			if joined := strings.Join(names(got.List), " "); joined != tt.want {
				t.Errorf("rows = %q, want %q", joined, tt.want)
			}
			if page := [4]int{got.PageIndex, got.PageSize, got.TotalPage, got.Total}; page != tt.page {
				t.Errorf("page = %v, want %v", page, tt.page)
			}
		})
	}
}

func TestTableRowsHaveRawValuesForEachColumn(t *testing.T) {
	s := shop(t)
	got := s.table("Customer", `{"pageIndex":1,"pageSize":20}`)
	row, _ := json.Marshal(got.List[0])
	want := `{"active":true,"age":20,"amount":10.5,"birthday":"2001-01-01","by":null,"channels":null,"code":"A-1","color":null,"file":null,` +
		`"fixed":"f","gift_code":null,"id":1,"joined":"2026-07-01T00:00:00.000","level":"V","name":"Alice","note":"note of Alice","photo":null,` +
		`"product_name":"Shirt","pwd":"••••••","region_name":"Germany","region_sort":2,"score":3,"stars":null,"tags":"[\"red\"]"}`
	if string(row) != want {
		t.Errorf("row\n got %s\nwant %s", row, want)
	}
	if last := got.List[4]; last["id"] != "9007199254740993" || last["age"] != "9007199254740993" || last["region_name"] != nil {
		t.Errorf("row with big numbers and a lost reference = %v (S85)", last)
	}
	if bob := got.List[1]; fmt.Sprint(bob["channels"]) != "[web tel]" {
		t.Errorf("channels = %v", bob["channels"])
	}
}

func TestDetailHasWhatTheFormNeeds(t *testing.T) {
	s := shop(t)
	w := s.call(http.MethodGet, "data/Customer/1", "")
	got, _ := json.Marshal(decode[map[string]any](t, w))
	want := `{"active":true,"age":20,"amount":10.5,"birthday":"2001-01-01","code":"A-1","fixed":"f","id":1,"joined":"2026-07-01T00:00:00.000","level":"V",` +
		`"name":"Alice","note":"note of Alice","product":{"id":"1","name":"Shirt"},"product_name":"Shirt","pwd":"••••••",` +
		`"region":{"id":"2","name":"Germany","sort":2},"region_name":"Germany","region_sort":2,"score":3,"tags":"[\"red\"]"}`
	if string(got) != want {
		t.Errorf("detail\n got %s\nwant %s", got, want)
	}
	sale, _ := json.Marshal(decode[map[string]any](t, s.call(http.MethodGet, "data/Sale/1", "")))
	want = `{"customer":{"id":"1","name":"Alice"},"customer_name":"Alice","id":1,"lines":[{"count":2,"id":1,"price":19.9,"product":{"id":"1","name":"Shirt"},` +
		`"product_name":"Shirt"}],"no":"S1"}`
	if string(sale) != want {
		t.Errorf("detail with items\n got %s\nwant %s", sale, want)
	}
	for path, status := range map[string]int{"data/Customer/999": 404, "data/Customer/x": 404, "data/Customer/-1": 404, "data/Customer/9007199254740993": 200,
		"data/Customer/99999999999999999999": 404, "data/SaleLine/1": 404} {
		if w := s.call(http.MethodGet, path, ""); w.Code != status {
			t.Errorf("%s = %d, want %d", path, w.Code, status)
		}
	}
}

func TestInitValues(t *testing.T) {
	s := shop(t)
	got, _ := json.Marshal(decode[map[string]any](t, s.call(http.MethodGet, "data/init-value/Customer", "")))
	if want := `{"active":true,"fixed":"set by the node","level":"N"}`; string(got) != want {
		t.Errorf("init-value = %s, want %s", got, want)
	}
}

func TestTrees(t *testing.T) { // wire 4.9
	s := shop(t)
	want := `[{"id":"1","label":"Europe","pid":null,"level":1,"root":true,"children":[{"id":"2","label":"Germany","pid":"1","level":2,"root":false,` +
		`"children":[{"id":"3","label":"Berlin","pid":"2","level":3,"root":false,"children":null}]}]},` +
		`{"id":"4","label":"Asia","pid":null,"level":1,"root":true,"children":null}]`
	for _, path := range []string{"data/tree/Region", "data/Customer/reference-tree/region", "data/depend-tree/Customer"} {
		if w := s.call(http.MethodGet, path, ""); strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s = %d\n got %s\nwant %s", path, w.Code, w.Body, want)
		}
	}
	if w := s.call(http.MethodGet, "data/depend-tree/Sale", ""); strings.TrimSpace(w.Body.String()) != "[]" {
		t.Errorf("page without a left tree = %s", w.Body)
	}
}

func TestTreeWithALostParentAndACircleEnds(t *testing.T) {
	s := shop(t)
	for _, row := range []Row{{"id": int64(10), "name": "lost", "parent": int64(77)}, {"id": int64(11), "name": "a", "parent": int64(12)}, {"id": int64(12), "name": "b", "parent": int64(11)}} {
		s.regions.put(row)
	}
	nameless := s.agent.pages.page("Region").growTree([]Row{{"name": "no id"}, {"id": int64(1), "name": "root"}})
	if len(nameless) != 1 {
		t.Errorf("tree with a row without an id has %d roots, want 1", len(nameless))
	}
	w := s.call(http.MethodGet, "data/tree/Region", "")
	if w.Code != 200 || strings.Contains(w.Body.String(), "lost") || !strings.Contains(w.Body.String(), "Berlin") {
		t.Errorf("tree = %d %s", w.Code, w.Body)
	}
}

func TestReferences(t *testing.T) {
	s := shop(t)
	page := `{"pageIndex":1,"pageSize":10,"condition":[{"key":"name","value":"a","expression":"LIKE"}]}`
	got := decode[asked](t, s.call(http.MethodPost, "data/Customer/reference-table/gift?tabRef=false", page))
	if !slices.Equal(names(got.List), []string{"Sake"}) {
		t.Errorf("picker of gift = %v, want the products with an a", got.List)
	}
	got = decode[asked](t, s.call(http.MethodPost, "data/Customer/reference-table/product?dependValue=2", `{"pageIndex":1,"pageSize":10}`))
	if !slices.Equal(names(got.List), []string{"Shirt", "Novel"}) {
		t.Errorf("picker of product in region 2 = %v", got.List)
	}
	w := s.call(http.MethodPost, "data/Customer/reference-table/product", `{"pageIndex":1,"pageSize":10}`)
	if res := decode[wire.Result](t, w); res.Success || !strings.Contains(*res.Message, "Please select first Region") {
		t.Errorf("picker without its region = %+v", res)
	}
	for path, want := range map[string]int{
		"data/Customer/reference-table/region": 400, "data/Customer/reference-table/nothing": 404, "data/Customer/reference-table/product?dependValue=x": 400,
	} {
		if w := s.call(http.MethodPost, path, `{"pageIndex":1,"pageSize":10}`); w.Code != want {
			t.Errorf("%s = %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
	if w := s.call(http.MethodGet, "data/Customer/reference-tree/product", ""); w.Code != 400 {
		t.Errorf("tree of a table reference = %d", w.Code)
	}
}

func TestChoicesAndTags(t *testing.T) {
	s := shop(t)
	got := decode[[]map[string]any](t, s.call(http.MethodGet, "comp/choice-item/Customer/level", ""))
	if len(got) != 3 || got[0]["value"] != "V" || got[0]["label"] != "VIP" || got[0]["color"] != "#2f80ed" || got[2]["disable"] != true {
		t.Errorf("choices = %v", got)
	}
	tags := decode[[]string](t, s.call(http.MethodPost, "comp/tags-item/Customer/tags", `{"name":"abc"}`))
	if !slices.Equal(tags, []string{"red", "green"}) {
		t.Errorf("tags = %v", tags)
	}
}

func TestOptionsFromCode(t *testing.T) {
	p := &plane{}
	a := newAgent(t, p.config())
	source := NewMemSource()
	grade := Choice("grade", "Grade").OptionsFrom(func(_ context.Context, form Row) ([]Option, error) {
		if form.Text("level") == "V" {
			return []Option{{Value: "1", Label: "First"}}, nil
		}
		return []Option{{Value: "1", Label: "First"}, {Value: "2", Label: "Second"}}, nil
	})
	if err := a.Host(Page{Name: "P", Title: "P", Source: source, Fields: []Field{Input("level", "Level"), grade}}); err != nil {
		t.Fatal(err)
	}
	w := do(a.Handler(), fromServer(http.MethodPost, "/erupt-api/comp/choice-item-filter/P/grade", `{"level":"V","grade":{"bad":1}}`))
	if got := decode[[]map[string]any](t, w); len(got) != 1 {
		t.Errorf("options for V = %v", got)
	}
	w = do(a.Handler(), fromServer(http.MethodPost, "/erupt-api/data/modify/P", `{"level":"V","grade":"2"}`))
	if res := decode[wire.Result](t, w); res.Success || res.Fields["grade"] == "" {
		t.Errorf("a grade that V does not offer was stored: %+v", res)
	}
}

func TestExport(t *testing.T) {
	s := shop(t)
	w := s.call(http.MethodPost, "excel/export/Customer", `{"pageIndex":1,"pageSize":1,"condition":[{"key":"age","value":20,"expression":"GTE"}]}`)
	if w.Code != 200 || w.Body.String() != "Alice\nBob\nCara\n李雷\n" {
		t.Errorf("export = %d %q, want all matching rows, not one page", w.Code, w.Body)
	}
	if h := w.Header(); h.Get("Content-Type") != "text/csv" || h.Get("Content-Disposition") != `attachment; filename=__.csv; filename*=UTF-8''%E5%AE%A2%E6%88%B7.csv` {
		t.Errorf("headers = %v (S99)", h)
	}
	if w := s.call(http.MethodPost, "excel/export/Customer?ids=2&ids=3,1", ""); w.Body.String() != "Alice\nBob\nCara\n" {
		t.Errorf("export of ticked rows = %q", w.Body)
	}
	for path, want := range map[string]int{"excel/export/Customer?ids=x": 400, "excel/export/Product": 403} {
		if w := s.call(http.MethodPost, path, ""); w.Code != want {
			t.Errorf("%s = %d, want %d", path, w.Code, want)
		}
	}
}

func TestBrokenExportLooksBroken(t *testing.T) {
	for name, tt := range map[string]struct {
		before string
		abort  bool
	}{"before the first byte": {"", false}, "in the middle": {"half", true}} {
		t.Run(name, func(t *testing.T) {
			p := &plane{}
			a := newAgent(t, p.config())
			export := &Export{Write: func(_ context.Context, _ Query, w io.Writer) error {
				_, _ = io.WriteString(w, tt.before)
				return io.ErrUnexpectedEOF
			}}
			if err := a.Host(Page{Name: "P", Title: "P", Source: NewMemSource(), Export: export}); err != nil {
				t.Fatal(err)
			}
			var w *httptest.ResponseRecorder
			aborted := func() (aborted bool) {
				defer func() { aborted = recover() == http.ErrAbortHandler }()
				w = do(a.Handler(), fromServer(http.MethodPost, "/erupt-api/excel/export/P", ""))
				return false
			}()
			if aborted != tt.abort || !tt.abort && w.Code != http.StatusInternalServerError {
				t.Errorf("aborted = %v, want %v", aborted, tt.abort)
			}
		})
	}
}

func FuzzTableQuery(f *testing.F) {
	for _, seed := range []string{
		`{"pageIndex":1,"pageSize":10,"sort":[{"field":"name","direction":"ASC"}],"condition":[{"key":"name","value":"li","expression":"LIKE"}],"linkTreeVal":["3"]}`,
		`{"pageIndex":"2","pageSize":1e1}`, `{"pageIndex":1,"pageSize":1,"condition":[{"key":"tags","value":"[[[","expression":"EQ"}]}`,
		`{"pageIndex":1,"pageSize":1,"condition":[{"key":"age","value":[1e400,null],"expression":"RANGE"}]}`, `null`, `{"condition":{}}`,
		`{"pageIndex":1,"pageSize":1,"condition":[{"key":"joined","value":["0000-00-00","9999-12-31T99:99"],"expression":"RANGE"}]}`,
	} {
		f.Add(seed)
	}
	s := &shopNode{regions: NewMemSource(), customers: NewMemSource(Row{"name": "A", "age": int64(1)}), products: NewMemSource(), sales: NewMemSource()}
	a, err := New((&plane{}).config())
	if err != nil {
		f.Fatal(err)
	}
	if err := a.Host(shopPages(s)...); err != nil {
		f.Fatal(err)
	}
	page := a.pages.page("Customer")
	f.Fuzz(func(t *testing.T, body string) {
		_, q, err := page.decodeTable([]byte(body))
		if err != nil {
			return
		}
		if q.Limit < 1 || q.Limit > maxPageSize || q.Offset < 0 {
			t.Fatalf("limit %d, offset %d of %s", q.Limit, q.Offset, body)
		}
		for _, o := range q.Sort {
			if !page.canSort(o.Field) {
				t.Fatalf("sort by %q of %s", o.Field, body)
			}
		}
		if _, _, err := page.query(t.Context(), q); err != nil {
			t.Fatalf("query of %s: %v", body, err)
		}
	})
}
