package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// javaPages are the classes of the node that are pages.
var javaPages = []string{
	"Customer", "Purchase", "Widget", "Product", "StockItem", "Region", "Warehouse", "Category", "Ledger", "Currency", "Bulletin", "Archive",
}

// decode keeps numbers as they are written.
func decode(t testing.TB, what string, raw []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v in %.300s", what, err, raw)
	}
	return v
}

// adminHandle is a token that a node was handed for the admin.
func (f *farm) adminHandle(t *testing.T) string {
	t.Helper()
	f.forgetAll()
	if status, raw := f.one.table(t, "warehouse.Region"); status != http.StatusOK {
		t.Fatalf("table = %d %.300s", status, raw)
	}
	return f.handle(t)
}

// erupt-wire 11, item 5: the build model of each page is the node's own but for the names that erupt-wire 2.8 lists; keys that
// nobody knows stay.
func TestErupt11_05Build(t *testing.T) {
	f := javaFarm(t)
	handle := f.adminHandle(t)
	for _, page := range javaPages {
		resp, raw := f.ask(f.javaTwo, handle, http.MethodGet, "/erupt-api/build/"+page, "", page)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("the node's model of %s = %d %.300s", page, resp.StatusCode, raw)
		}
		want := decode(t, page, raw)
		prefixed(want.(map[string]any))
		for _, s := range f.both() {
			resp, raw := s.call(http.MethodGet, "/erupt-api/build/warehouse."+page, nil, http.Header{"erupt": {"warehouse." + page}, "lang": {"en-US"}})
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("the model of %s = %d %.300s", page, resp.StatusCode, raw)
			}
			if got := decode(t, page, raw); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: the model differs from the node's: %s", page, unlike("", got, want))
			}
		}
	}
}

// prefixed writes the node's name before what the server rewrites.
func prefixed(model map[string]any) {
	name := func(v any, key string) {
		if m, ok := v.(map[string]any); ok && m[key] != nil {
			m[key] = "warehouse." + m[key].(string)
		}
	}
	at := func(v any, keys ...string) any {
		for _, k := range keys {
			m, _ := v.(map[string]any)
			v = m[k]
		}
		return v
	}
	each := func(v any, do func(any)) {
		switch v := v.(type) {
		case map[string]any:
			for _, x := range v {
				do(x)
			}
		case []any:
			for _, x := range v {
				do(x)
			}
		}
	}
	name(model["eruptModel"], "eruptName")
	each(at(model, "eruptModel", "eruptJson", "drills"), func(d any) { name(at(d, "link"), "linkErupt") })
	each(model["operationErupts"], func(m any) { name(m, "eruptName") })
	each(model["combineErupts"], func(m any) { name(m, "eruptName") })
	each(model["tabErupts"], func(m any) { name(at(m, "eruptModel"), "eruptName") })
}

// unlike names the first place where two documents differ.
func unlike(path string, got, want any) string {
	g, ok := got.(map[string]any)
	w, ok2 := want.(map[string]any)
	if ok && ok2 {
		for k := range w {
			if !reflect.DeepEqual(g[k], w[k]) {
				return unlike(path+"."+k, g[k], w[k])
			}
		}
		for k := range g {
			if _, known := w[k]; !known {
				return fmt.Sprintf("%s.%s is new: %.200v", path, k, g[k])
			}
		}
	}
	a, ok := got.([]any)
	b, ok2 := want.([]any)
	if ok && ok2 && len(a) == len(b) {
		for i := range a {
			if !reflect.DeepEqual(a[i], b[i]) {
				return unlike(fmt.Sprintf("%s[%d]", path, i), a[i], b[i])
			}
		}
	}
	return fmt.Sprintf("%s is %.300v, want %.300v", path, got, want)
}

// read is a request to a page, with {e} where its name stands; query is as it is sent.
type read struct{ page, method, path, body string }

// reads are those of erupt-wire 3.5 and 4.9 as the front end of 1.12 sends them.
func reads() []read {
	const table = `{"pageIndex":1,"pageSize":20,"sort":%s,"condition":[%s]}`
	query := func(sort, conditions string) string { return fmt.Sprintf(table, sort, conditions) }
	all := []read{
		{"Customer", "POST", "data/table/{e}", query("null", `{"key":"active"},{"key":"score","value":[0,1000]}`)},
		{"Customer", "POST", "data/table/{e}", query(`"code asc"`, `{"key":"active","value":null}`)},
		{"Customer", "POST", "data/table/{e}", query("null", `{"key":"name","value":"上海"},{"key":"level","value":["VIP","STD"]}`)},
		{"Customer", "POST", "data/table/{e}", query("null", `{"key":"name","value":"100%_+ \"'<b>"}`)},
		{"Customer", "POST", "data/table/{e}", query("null", `{"key":"since","value":["2026-02-26 00:00:00","2026-02-28 23:59:59"]}`)},
		{"Customer", "POST", "data/table/{e}", query("null", `{"key":"region","value":{"id":"3","name":"Berlin"}}`)},
		{"Customer", "POST", "data/table/{e}", `{"pageIndex":99,"pageSize":20,"sort":null,"condition":[]}`},
		{"Customer", "POST", "data/extra-row/{e}", `{"condition":[]}`},
		{"Customer", "GET", "data/{e}/1", ""}, {"Customer", "GET", "data/{e}/5", ""}, {"Customer", "GET", "data/init-value/{e}", ""},
		{"Customer", "GET", "data/{e}/4711", ""}, {"Ledger", "GET", "data/{e}/9007199254740993", ""}, {"Ledger", "GET", "data/{e}/9223372036854775807", ""},
		{"Currency", "GET", "data/{e}/CNY", ""}, {"Category", "GET", "data/{e}/TOOLS-SAW", ""},
		{"Region", "GET", "data/tree/{e}", ""}, {"Category", "GET", "data/tree/{e}", ""}, {"Warehouse", "GET", "data/tree/{e}", ""},
		{"Product", "GET", "data/depend-tree/{e}", ""}, {"StockItem", "GET", "data/depend-tree/{e}", ""},
		{"Product", "POST", "data/table/{e}", `{"pageIndex":1,"pageSize":10,"sort":null,"condition":[],"linkTreeVal":"TOOLS"}`},
		{"StockItem", "POST", "data/table/{e}", `{"pageIndex":1,"pageSize":10,"sort":null,"condition":[]}`},
		{"Currency", "POST", "data/table/{e}", query("null", `{"key":"code","value":"CNY"}`)}, {"Currency", "POST", "data/table/{e}", query("null", "")},
		{"Purchase", "GET", "data/tab/tree/{e}/areas", ""}, {"Purchase", "GET", "data/{e}/checkbox/carriers", ""},
		{"Purchase", "POST", "data/{e}/reference-table/customer?tabRef=false", query("null", "")},
		{"Purchase", "POST", "data/{e}/reference-table/gift?tabRef=false", query("null", "")},
		{"Purchase", "POST", "data/{e}/reference-table/gift?tabRef=false&dependValue=1", query("null", "")},
		{"Purchase", "POST", "data/{e}/reference-table/related?tabRef=true", query("null", "")},
		{"Purchase", "GET", "data/{e}/reference-tree/region", ""}, {"Purchase", "GET", "data/{e}/reference-tree/warehouse?dependValue=2", ""},
		{"Purchase", "GET", "build/{e}/customer", ""},
		{"Purchase", "POST", "data/modify/tab-add/{e}/items", `{"quantity":3,"product":{"id":"1","name":"Hammer"},"price":12.5}`},
		{"Customer", "POST", "comp/auto-complete/{e}/city?val=Be", "{}"}, {"Customer", "POST", "comp/auto-complete/{e}/city?val=" + url.QueryEscape("上海"), "{}"},
		{"Customer", "POST", "comp/auto-complete/{e}/city?val=a%2Bb+c%25&x=%C3%A4", "{}"}, {"Customer", "POST", "comp/auto-complete/{e}/city?val=B", "{}"},
		{"Customer", "GET", "comp/choice-item/{e}/grade", ""}, {"Customer", "POST", "comp/choice-item-filter/{e}/grade", `{"level":"VIP"}`},
		{"Customer", "GET", "comp/choice-trigger/{e}/level?val=VIP", ""}, {"Widget", "GET", "comp/tags-item/{e}/labels", ""},
		{"Customer", "POST", "data/{e}/operator/discount/form-value?ids=7,8", ""}, {"Customer", "POST", "data/{e}/operator/tip", `{"ids":[],"param":null}`},
		{"Customer", "POST", "data/{e}/operator/label", `{"ids":[7,"8"],"param":null}`}, {"Customer", "POST", "data/{e}/operator/nosuch", `{"ids":[],"param":null}`},
		{"Customer", "POST", "data/modify/{e}", `{"name":"","level":"VIP"}`}, {"Customer", "POST", "data/modify/{e}", `{"name":"Forbidden","level":"VIP"}`},
		{"Customer", "POST", "data/modify/{e}/delete", "[1]"},
	}
	for _, page := range javaPages {
		all = append(all, read{page, "POST", "data/table/{e}", query("null", "")})
	}
	return all
}

// erupt-wire 11, item 6: every endpoint of 3.5 that a node of 1.12 has, through both replicas, answers what the node answers:
// queries as they are written, big keys, nothing found, refusals of the node. Unknown classes are 404, pages without a menu 403.
func TestErupt11_06Endpoints(t *testing.T) {
	f := javaFarm(t)
	handle := f.adminHandle(t)
	for i, r := range reads() {
		direct, want := f.ask(f.javaTwo, handle, r.method, "/erupt-api/"+strings.Replace(r.path, "{e}", r.page, 1), r.body, r.page)
		header := http.Header{"erupt": {"warehouse." + r.page}, "lang": {"en-US"}, "eruptParent": {""}}
		var body any
		if r.body != "" {
			body = json.RawMessage(r.body)
		}
		resp, got := f.both()[i%2].call(r.method, "/erupt-api/"+strings.Replace(r.path, "{e}", "warehouse."+r.page, 1), body, header)
		what := fmt.Sprintf("%s %s %s", r.method, strings.Replace(r.path, "{e}", r.page, 1), r.body)
		if resp.StatusCode != direct.StatusCode {
			t.Errorf("%s = %d %.300s, want %d %.300s of the node", what, resp.StatusCode, got, direct.StatusCode, want)
			continue
		}
		if len(got) == 0 && len(want) == 0 {
			continue
		}
		a, b := decode(t, what, got), decode(t, what, want)
		for _, v := range []any{a, b} {
			if m, ok := v.(map[string]any); ok {
				delete(m, "timestamp")
			}
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s answers other than the node: %s", what, unlike("", a, b))
		}
	}
	if resp, raw := f.one.call(http.MethodGet, "/erupt-api/build/warehouse.Nothing", nil, http.Header{"erupt": {"warehouse.Nothing"}}); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown class = %d %s, want 404", resp.StatusCode, raw)
	}
	lin := f.lin()
	f.forgetAll()
	for _, r := range reads() {
		if r.page == "Customer" {
			continue
		}
		var body any
		if r.body != "" {
			body = json.RawMessage(r.body)
		}
		resp, raw := f.two.call(r.method, "/erupt-api/"+strings.Replace(r.path, "{e}", "warehouse."+r.page, 1), body, http.Header{"erupt": {"warehouse." + r.page}, "token": {lin}})
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s without its menu = %d %.200s, want 403", r.method, r.path, resp.StatusCode, raw)
		}
	}
	if seen := f.seenAll(); len(seen) != 0 {
		t.Errorf("the node was asked %v", seen)
	}
}
