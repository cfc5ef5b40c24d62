package nodeagent

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// FuzzRecord: whatever arrives as a record is stored, or refused with words for a person. What was stored can be read, and
// sent back as it was read without a change.
func FuzzRecord(f *testing.F) {
	for _, seed := range []string{
		fullCustomer, `{"name":"A"}`, `{"name":""}`, `{"name":["A"],"age":"20","amount":"1e2","score":0.5}`, `{"name":"A","age":9007199254740993}`,
		`{"name":"A","age":1e400}`, `{"name":"A","birthday":"2024-02-30","joined":"2026-07-01 12:00:00"}`, `{"name":"A","joined":"9999-12-31T23:59:59.999"}`,
		`{"name":"A","active":"是","level":"V","tags":"red|green","channels":["web",1,null]}`, `{"name":"A","region":{"id":"2"},"product":{"id":1,"name":"x"}}`,
		`{"name":"A","region":{"id":{"id":1}}}`, `{"name":"A","code":"A-1","id":1}`, `{"name":"\u0000\ud800","note":"<script>"}`, `null`, `[]`, ``, `{"name":"A"}{}`,
		`{"name":"A","pwd":"` + "********" + `"}`, `{"name":"A","tags":["a|b",""],"amount":-0.0}`, `{"name":"A","amount":1e308,"score":9.99}`,
	} {
		f.Add(seed)
	}
	s := &shopNode{plane: &plane{}}
	s.regions = NewMemSource(Row{"name": "Europe"}, Row{"name": "Germany", "parent": int64(1)})
	s.products = NewMemSource(Row{"name": "Shirt", "region": int64(2)}, Row{"name": "Sake"})
	s.customers, s.sales = NewMemSource(), NewMemSource()
	a, err := New(s.plane.config())
	if err != nil {
		f.Fatal(err)
	}
	if err := a.Host(shopPages(s)...); err != nil {
		f.Fatal(err)
	}
	handler := a.Handler()
	f.Fuzz(func(t *testing.T, body string) {
		w := do(handler, fromServer(http.MethodPost, "/erupt-api/data/modify/Customer", body))
		rows, _, err := s.customers.Query(t.Context(), Query{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if !stands(t, body, w.Code, w.Body.Bytes()) {
			if len(rows) != 0 {
				t.Fatalf("%q is refused and stored: %v", body, rows)
			}
			return
		}
		if len(rows) != 1 {
			t.Fatalf("%q: success, and %d rows are stored", body, len(rows))
		}
		id := rows[0]["id"].(int64)
		defer func() {
			if err := s.customers.Delete(t.Context(), []ID{id}); err != nil {
				t.Fatal(err)
			}
		}()
		path := "/erupt-api/data/Customer/" + idText(id)
		read := do(handler, fromServer(http.MethodGet, path, ""))
		if read.Code != http.StatusOK {
			t.Fatalf("%q is stored as %v and cannot be read: %d %s", body, rows[0], read.Code, read.Body)
		}
		sent := read.Body.String()
		back := do(handler, fromServer(http.MethodPost, "/erupt-api/data/modify/Customer/update", sent))
		if !stands(t, sent, back.Code, back.Body.Bytes()) {
			t.Fatalf("%q is read as %s and refused when it comes back: %s", body, sent, back.Body)
		}
		after, err := s.customers.Find(t.Context(), id)
		if err != nil || !reflect.DeepEqual(after, rows[0]) {
			t.Fatalf("%q is stored as %v, and as %v after it came back unchanged (%v)", body, rows[0], after, err)
		}
	})
}

// stands reports whether a record was taken; an answer that is neither success nor a refusal with a reason is a failure.
func stands(t *testing.T, body string, code int, answer []byte) bool {
	t.Helper()
	var r struct {
		Success bool
		Message string
	}
	switch err := json.Unmarshal(answer, &r); {
	case err != nil:
		t.Fatalf("%q is answered with %d and no JSON: %s", body, code, answer)
	case code == http.StatusOK && r.Success:
		return true
	case code == http.StatusOK && r.Message == "", code != http.StatusOK && code != http.StatusBadRequest:
		t.Fatalf("%q is answered with %d %s, want success or a reason", body, code, answer)
	}
	return false
}

// FuzzTabRow: items are only checked here; they are stored with their record.
func FuzzTabRow(f *testing.F) {
	for _, seed := range []string{`{"product":{"id":1},"count":2}`, `{"count":"x"}`, `{"product":{"id":99},"count":1}`, `[]`, `{"product":1,"count":1,"price":7}`, strings.Repeat("[", 100)} {
		f.Add(seed)
	}
	s := &shopNode{plane: &plane{}, regions: NewMemSource(), customers: NewMemSource(), products: NewMemSource(Row{"name": "Shirt"}), sales: NewMemSource()}
	a, err := New(s.plane.config())
	if err != nil {
		f.Fatal(err)
	}
	if err := a.Host(shopPages(s)...); err != nil {
		f.Fatal(err)
	}
	handler := a.Handler()
	f.Fuzz(func(t *testing.T, body string) {
		for _, action := range []string{"tab-add", "tab-update", "tab-delete"} {
			w := do(handler, fromServer(http.MethodPost, "/erupt-api/data/modify/"+action+"/Sale/lines", body))
			stands(t, body, w.Code, w.Body.Bytes())
		}
		if s.sales.Len() != 0 {
			t.Fatalf("%q stored a sale", body)
		}
	})
}
