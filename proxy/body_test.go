package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const tableOf = "/erupt-api/data/table/shop.Customer"

func TestBodiesThatPass(t *testing.T) { // erupt-wire 4.7
	tests := map[string]struct {
		kind bodyKind
		body string
		want Names
	}{
		"a query":              {bodyQuery, `{"pageIndex":1,"pageSize":10,"sort":[{"field":"name","direction":"ASC"},{"field":"org.name"}],"condition":[{"key":"name","value":"li","expression":"LIKE"},{"key":"org","value":{"id":"3"}}],"linkTreeVal":["3",4],"vis":null}`, Names{Sort: []string{"name", "org.name"}, Keys: []string{"name", "org"}}},
		"a sort of 1.x":        {bodyQuery, `{"sort":"score desc, name","linkTreeVal":"TOOLS"}`, Names{Sort: []string{"score", "name"}}},
		"nothing chosen":       {bodyQuery, `{"sort":null,"condition":null,"linkTreeVal":null,"pageSize":null}`, Names{}},
		"an empty sort":        {bodyQuery, `{"sort":"","pageSize":"5"}`, Names{}},
		"an empty object":      {bodyQuery, " {} \n", Names{}},
		"letters of Java":      {bodyQuery, `{"sort":[{"field":"\u540d\u79f0.größe_1","direction":"desc"}]}`, Names{Sort: []string{"名称.größe_1"}}},
		"an export":            {bodyExport, `{"condition":[{"key":"name","value":["a"]}]}`, Names{Keys: []string{"name"}}},
		"an export of 1.x":     {bodyExport, `[{"key":"active","value":null}]`, Names{Keys: []string{"active"}}},
		"nine keys":            {bodyQuery, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":[]}`, Names{}},
		"ids":                  {bodyIDs, `[1,"9007199254740993"]`, Names{}},
		"an order":             {bodyOrder, `{"1":30,"TOOLS-SAW 2":"10"}`, Names{}},
		"an operation":         {bodyAction, `{"ids":["1",2],"param":{"region":{"id":3},"list":[[]]}}`, Names{}},
		"an operation of none": {bodyAction, `{"ids":null,"param":null}`, Names{}},
		"a cell":               {bodyCell, `{"id":"7","field":"status","value":true}`, Names{}},
		"a move on a board":    {bodyVis, `{"visCode":"board","pk":"1","groupValue":false}`, Names{}},
	}
	for name, tt := range tests {
		got, err := checkBody(tt.kind, []byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestBodiesThatAreRefused(t *testing.T) { // erupt-wire 10.7
	many := func(n int, entry string) string { return strings.TrimSuffix(strings.Repeat(entry+",", n), ",") }
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := map[string]struct {
		kind       bodyKind
		body, says string
	}{
		"a sub-select":           {bodyQuery, `{"sort":[{"field":"(select max(s.word) from Secret s)","direction":"DESC"}]}`, "'sort[0].field'"},
		"the same as text":       {bodyQuery, `{"sort":"(select max(s.word) from Secret s) desc"}`, "'sort'"},
		"a second order":         {bodyQuery, `{"sort":"name asc, (select 1)"}`, "'sort'"},
		"more than a direction":  {bodyQuery, `{"sort":"name asc nulls last"}`, "ASC or DESC"},
		"a direction":            {bodyQuery, `{"sort":[{"field":"name","direction":"ASC, (select 1)"}]}`, "'sort[0].direction'"},
		"a direction as a list":  {bodyQuery, `{"sort":[{"field":"name","direction":["ASC"]}]}`, "'sort[0].direction'"},
		"an escaped field":       {bodyQuery, `{"\u0073ort":[{"\u0066ield":"na\u006de)"}]}`, `not "name)"`},
		"keys in another case":   {bodyQuery, `{"SORT":[{"Field":"a b"}]}`, "'sort[0].field'"},
		"a field twice":          {bodyQuery, `{"sort":[{"field":"name","field":"(select 1)"}]}`, `"field" twice`},
		"sort twice":             {bodyQuery, `{"sort":null,"s\u006frt":[]}`, `"sort" twice`},
		"a tenth key again":      {bodyQuery, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":0,"j":0}`, `"j" twice`},
		"a value's key twice":    {bodyQuery, `{"condition":[{"key":"a","value":{"id":1,"id":2}}]}`, `"id" twice`},
		"no field":               {bodyQuery, `{"sort":[{"direction":"ASC"}]}`, "'sort[0].field'"},
		"a field that is none":   {bodyQuery, `{"sort":[{"field":{"a":1}}]}`, "'sort[0].field'"},
		"a sort that is none":    {bodyQuery, `{"sort":{"field":"a"}}`, "'sort'"},
		"an element that is no":  {bodyQuery, `{"sort":["name"]}`, "'sort[0]'"},
		"an empty field":         {bodyQuery, `{"sort":[{"field":""}]}`, "'sort[0].field'"},
		"a dot too many":         {bodyQuery, `{"sort":[{"field":"a..b"}]}`, "'sort[0].field'"},
		"a dot at the end":       {bodyQuery, `{"sort":[{"field":"a."}]}`, "'sort[0].field'"},
		"half a character":       {bodyQuery, `{"sort":[{"field":"a\ud800"}]}`, "'sort[0].field'"},
		"a digit first":          {bodyQuery, `{"sort":[{"field":"1"}]}`, "'sort[0].field'"},
		"a wide bracket":         {bodyQuery, `{"sort":[{"field":"a（b）"}]}`, "'sort[0].field'"},
		"a long field":           {bodyQuery, `{"sort":[{"field":"` + strings.Repeat("a", 256) + `"}]}`, "'sort[0].field'"},
		"a key":                  {bodyQuery, `{"condition":[{"key":"a"},{"key":"1=1 or name","value":"x"}]}`, "'condition[1].key'"},
		"no key":                 {bodyQuery, `{"condition":[{"value":"x"}]}`, "'condition[0].key'"},
		"a bare key of 1.x":      {bodyExport, `[{"key":"a'"}]`, "'condition[0].key'"},
		"too many sorts":         {bodyQuery, `{"sort":[` + many(11, `{"field":"a"}`) + `]}`, "more than 10"},
		"too many in a text":     {bodyQuery, `{"sort":"` + many(11, `a`) + `"}`, "more than 10"},
		"too many conditions":    {bodyQuery, `{"condition":[` + many(101, `{"key":"a"}`) + `]}`, "more than 100"},
		"a tree's value":         {bodyQuery, `{"linkTreeVal":{"id":1}}`, "'linkTreeVal'"},
		"a tree's values":        {bodyQuery, `{"linkTreeVal":[[1]]}`, "'linkTreeVal'"},
		"a page too large":       {bodyQuery, `{"pageSize":50001}`, "'pageSize'"},
		"larger than it looks":   {bodyQuery, `{"pageSize":"1e9"}`, "'pageSize'"},
		"Java's own number":      {bodyQuery, `{"pageSize":"0x1p30"}`, "'pageSize'"},
		"beyond all numbers":     {bodyQuery, `{"pageSize":1e999}`, "'pageSize'"},
		"a page that is none":    {bodyQuery, `{"pageSize":[10]}`, "'pageSize'"},
		"a list for a query":     {bodyQuery, `[]`, "must be an object"},
		"nothing for a query":    {bodyQuery, `null`, "must be an object"},
		"two values":             {bodyQuery, `{}{}`, "no JSON"},
		"a comment":              {bodyQuery, `{}//x`, "no JSON"},
		"half a body":            {bodyQuery, `{"pageIndex":`, "no JSON"},
		"single quotes":          {bodyQuery, `{'sort':null}`, "no JSON"},
		"spaces only":            {bodyQuery, `  `, "no JSON"},
		"another encoding":       {bodyQuery, "{\"a\":\"\xc0\"}", "UTF-8"},
		"a mark of its order":    {bodyQuery, "\ufeff{}", "no JSON"},
		"too deep":               {bodyQuery, `{"condition":[{"key":"a","value":` + deep(70) + `}]}`, "inside each other"},
		"ids that are none":      {bodyIDs, `[{"id":1}]`, "'ids'"},
		"an id that is nothing":  {bodyIDs, `[null]`, "'ids'"},
		"one id":                 {bodyIDs, `1`, "'ids'"},
		"ids of an operation":    {bodyAction, `{"ids":[[1]]}`, "'ids'"},
		"ids as a text":          {bodyAction, `{"ids":"1) or (1=1"}`, "'ids'"},
		"an id in an order":      {bodyOrder, `{"1' or '1'='1":1}`, "no row can have"},
		"an order by text":       {bodyOrder, `{"1":"x"}`, "'1'"},
		"an order by an object":  {bodyOrder, `{"1":{}}`, "'1'"},
		"a cell's field":         {bodyCell, `{"id":1,"field":"a=1, b","value":1}`, "'field'"},
		"a cell's id":            {bodyCell, `{"id":[1],"field":"a","value":1}`, "'id'"},
		"a group that is a list": {bodyVis, `{"visCode":"b","pk":1,"groupValue":[1]}`, "'groupValue'"},
		"a key that is no text":  {bodyVis, `{"visCode":"b","pk":true}`, "'pk'"},
	}
	for name, tt := range tests {
		_, err := checkBody(tt.kind, []byte(tt.body))
		if KindOf(err) != Invalid || err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want a refusal that says %q", name, err, tt.says)
		}
	}
}

// A body that is refused never reaches the node, and one that passes does byte for byte.
func TestBodiesAtTheNode(t *testing.T) {
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	if got := rig.post(tableOf, "shop.Customer", `{"sort":"(select 1)"}`); got.Status != 400 || !strings.Contains(got.Body, "'sort'") {
		t.Errorf("%d %s, want 400", got.Status, got.Body)
	}
	if got := rig.post(tableOf, "shop.Customer", `{}`, "Content-Type", "application/json;charset=IBM037"); got.Status != 400 || !strings.Contains(got.Body, "UTF-8") {
		t.Errorf("%d %s, want 400", got.Status, got.Body)
	}
	if n := len(node.requests()); n != 0 {
		t.Fatalf("the node was asked %d times", n)
	}
	const odd = " {\"sort\" : \"na\\u006de asc\",\r\n\t\"later\":[1.0,-0,1e400]}\n"
	if got := rig.post(tableOf, "shop.Customer", odd, "Content-Type", "application/json; charset=UTF-8"); got.Status != 200 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if got := node.only(t); string(got.Body) != odd {
		t.Errorf("the node got %q, want %q", got.Body, odd)
	}
}

// A checked body goes to the next location from its beginning, even if a part of it was taken.
func TestCheckedBodyFailsOver(t *testing.T) {
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.proxy.transport = eager{rig.proxy.transport}
	rig.dir.set("shop", "http://dead:1", node.URL)
	if got := rig.post(tableOf, "shop.Customer", `{"pageIndex":1}`); got.Status != 200 || string(node.only(t).Body) != `{"pageIndex":1}` {
		t.Errorf("%d %s, the node got %q", got.Status, got.Body, node.only(t).Body)
	}
}

func TestBodyLimits(t *testing.T) { // erupt-wire 10.4
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	const form = "/erupt-api/data/modify/shop.Customer"
	for _, known := range []bool{true, false} {
		for target, limit := range map[string]int{tableOf: maxChecked, form: maxBody} {
			body := `{"a":"` + strings.Repeat("x", limit) + `"}`
			req := rig.request("POST", target, "shop.Customer", strings.NewReader(body), "Content-Type", "application/json")
			if !known {
				req.ContentLength = -1
			}
			if got := rig.do(req); got.Status != 413 || !strings.Contains(got.Body, fmt.Sprintf("the request body is larger than %d bytes", limit)) {
				t.Errorf("%s, known length %v: %d %s, want 413", target, known, got.Status, got.Body)
			}
			body = body[:7] + body[7+8:]
			req = rig.request("POST", target, "shop.Customer", strings.NewReader(body), "Content-Type", "application/json")
			if !known {
				req.ContentLength = -1
			}
			if got := rig.do(req); got.Status != 200 {
				t.Errorf("%s, known length %v: %d %s, want it to pass", target, known, got.Status, got.Body)
			}
		}
	}
}

// examined is a gate that notes what it is asked to examine.
type examined struct {
	*fakeGate
	got []string
	err error
}

func (g *examined) Examine(_ context.Context, w Wish, as User, n Names) error {
	g.got = append(g.got, fmt.Sprint(w.Erupt, n, as.Account))
	return g.err
}

func TestNamesAreExamined(t *testing.T) {
	node := newFakeNode(t, nil)
	gate := &examined{err: Fail(Invalid, "not that")}
	rig := newRig(t, func(o *Options) {
		gate.fakeGate = o.Gate.(*fakeGate)
		o.Gate = gate
	})
	rig.dir.set("shop", node.URL)
	if got := rig.post(tableOf, "shop.Customer", `{"sort":"a desc","condition":[{"key":"b"}]}`); got.Status != 400 || !strings.Contains(got.Body, "not that") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	rig.post("/erupt-api/data/shop.Customer/reference-table/gift?tabRef=false", "shop.Customer", `{"sort":"a desc"}`)
	rig.post(tableOf, "shop.Customer", `{"pageSize":5}`) // names nothing
	if diff := cmp.Diff([]string{"Customer{ [a] [b]}lin", "Customer{gift [a] []}lin"}, gate.got); diff != "" {
		t.Errorf("examined (-want +got):\n%s", diff)
	}
	if n := len(node.requests()); n != 1 {
		t.Errorf("the node was asked %d times", n)
	}
	if _, err := rig.proxy.Caller().TableQuery(t.Context(), sessionToken, "shop.Customer", []byte(`{"sort":"(select 1)"}`)); KindOf(err) != Invalid {
		t.Errorf("a call in the process: %v", err)
	}
}

// FuzzCheckBody: whatever passes is one JSON value whose names have the form of names, in the eyes of another reader, too.
func FuzzCheckBody(f *testing.F) {
	for _, body := range []string{
		`{"pageSize":10,"sort":[{"field":"name","direction":"ASC"}],"condition":[{"key":"a.b","value":[1,{"x":"\n"}]}],"linkTreeVal":["1",2]}`,
		`{"sort":"a asc,b"}`, `[{"key":"x"}]`, `{"ids":[1],"param":{}}`, `{"1":2}`, "{\"\\u0073ort\":\"\\ud83d\"}", `{"sort":[{"field":"a","field":"b"}]}`,
	} {
		for kind := range bodyVis + 1 {
			f.Add(byte(kind), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		k := bodyQuery + bodyKind(kind)%bodyVis
		n, err := checkBody(k, body)
		if err != nil {
			if KindOf(err) != Invalid {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		for _, name := range slices.Concat(n.Sort, n.Keys) {
			if !isFieldName(name) || strings.ContainsAny(name, " ()'\";,") {
				t.Errorf("%q asks for %q", body, name)
			}
		}
		var whole any
		if err := json.Unmarshal(body, &whole); err != nil {
			t.Fatalf("%q passes: %v", body, err)
		}
		asked, ok := whole.(map[string]any)
		if !ok || k != bodyQuery {
			return
		}
		if list, ok := asked["sort"].([]any); ok {
			for i, entry := range list {
				if field := entry.(map[string]any)["field"]; field != nil && !slices.Contains(n.Sort, field.(string)) {
					t.Errorf("%q: sort %d is %v, found were %v", body, i, field, n.Sort)
				}
			}
		}
	})
}
