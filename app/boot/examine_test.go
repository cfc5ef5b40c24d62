package boot

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"eruptcloud/proxy"
)

// TestWire11_11Queries: a page that the user may open is no way to the rest of the database. Each query is refused before the
// node hears of it (erupt-wire 4.7, 10.7).
func TestWire11_11Queries(t *testing.T) {
	const one, tables = "shop.Customer", "/erupt-api/data/table/shop.Customer"
	attacks := map[string]struct{ target, body string }{
		"a sort by a sub-select":              {tables, `{"pageIndex":1,"pageSize":20,"sort":[{"field":"(select max(s.word) from Secret s)","direction":"DESC"}]}`},
		"the same as a text of 1.x":           {tables, `{"pageIndex":1,"pageSize":20,"sort":"(select max(s.word) from Secret s) desc"}`},
		"in the totals":                       {"/erupt-api/data/extra-row/shop.Customer", `{"sort":[{"field":"(select 1)"}]}`},
		"in an export":                        {"/erupt-api/excel/export/shop.Product", `{"sort":[{"field":"(select 1)"}]}`},
		"in a list to choose from":            {"/erupt-api/data/shop.Customer/reference-table/gift?tabRef=false", `{"sort":[{"field":"(select 1)"}]}`},
		"behind a field that is there twice":  {tables, `{"sort":[{"field":"name","field":"(select 1)"}]}`},
		"behind a sort that is there twice":   {tables, `{"sort":null,"sort":[{"field":"(select 1)"}]}`},
		"behind the end":                      {tables, `{"sort":null} {"sort":[{"field":"(select 1)"}]}`},
		"as a direction":                      {tables, `{"sort":[{"field":"name","direction":"ASC, (select 1)"}]}`},
		"as a key":                            {tables, `{"condition":[{"key":"name = name or 1","value":1}]}`},
		"a field that the page does not show": {tables, `{"sort":[{"field":"hiddenValue"}]}`},
		"a path through what it refers to":    {tables, `{"sort":[{"field":"region.parent.secret"}]}`},
		"a sort by a password":                {tables, `{"sort":[{"field":"pwd"}]}`},
		"a search for a password":             {tables, `{"condition":[{"key":"pwd","value":"p","expression":"LIKE"}]}`},
		"in another case":                     {tables, `{"condition":[{"key":"PWD","value":"p","expression":"LIKE"}]}`},
		"ids that are a query":                {"/erupt-api/data/modify/shop.Customer/delete", `[{"id":1}]`},
		"an order that is one":                {"/erupt-api/data/modify/shop.Customer/drag-sort", `{"1' or '1'='1":1}`},
		"a page of all rows":                  {tables, `{"pageIndex":1,"pageSize":10000000}`},
	}
	th := newTheatre(t, "erupt-2.0", recordedCalls(t, "erupt-2.0"))
	for what, a := range attacks {
		erupt := one
		if strings.Contains(a.target, "shop.Product") {
			erupt = "shop.Product"
		}
		th.set(&said{Status: 200, Headers: [][2]string{{"Content-Type", "application/json"}}, Body: stolen})
		res, body := th.send(t, &said{Method: "POST", Target: a.target, Body: a.body, Headers: [][2]string{{"token", "ozkYgT8aPZdMYMNt"}, {"erupt", erupt}, {"Content-Type", "application/json"}}})
		if n := len(th.asks()); res.StatusCode != http.StatusBadRequest || n != 0 {
			t.Errorf("%s: answered %d %s, the node was asked %d times", what, res.StatusCode, body, n)
		}
		th.refused(t, res, body)
	}
}

const peopleModel = `{"eruptModel":{"eruptName":"Person","eruptJson":{"primaryKeyCol":"code"},"eruptFieldModels":[
{"fieldName":"name","eruptFieldJson":{"views":[{"title":"Name","sortable":true}],"edit":{"title":"Name"}}},
{"fieldName":"note","eruptFieldJson":{"views":[{"title":"Note","show":false}],"edit":{"title":"Note"}}},
{"fieldName":"org","eruptFieldJson":{"views":[{"title":"Org","column":"parent.name"},{"title":"Key","column":"key","type":"PASSWORD"}],"edit":{"title":"Org","type":"REFERENCE_TREE"}}},
{"fieldName":"pin","eruptFieldJson":{"views":[{"title":"PIN","sortable":true}],"edit":{"title":"PIN","type":"PASSWORD"}}},
{"fieldName":"age","eruptFieldJson":{"edit":{"title":"Age"}}}]},"power":{}}`

func TestExamine(t *testing.T) { // erupt-wire 4.7, 10.7
	var asked []string
	var broken error
	now := time.Unix(0, 0)
	g := &gate{models: newModelCache(time.Minute, func() time.Time { return now }, nil)}
	g.models.describe = func(_ context.Context, w proxy.Wish, field string, _ proxy.User) ([]byte, error) {
		asked = append(asked, w.Erupt+" "+field+" for "+w.Parent)
		return []byte(peopleModel), broken
	}
	wish := proxy.Wish{Node: "n", Erupt: "Person", Parent: "Firm"}
	ask := func(n proxy.Names) bool {
		err := g.Examine(t.Context(), wish, proxy.User{}, n)
		if err != nil && proxy.KindOf(err) != proxy.Invalid {
			t.Errorf("%v: %v", n, err)
		}
		return err == nil
	}
	for name, may := range map[string]bool{
		"name": true, "note": true, "code": true, "org.parent.name": true,
		"org": false, "org.parent": false, "org.name": false, "org.key": false, "pin": false, "age": false, "id": false, "Name": false, "name.length": false,
	} {
		if got := ask(proxy.Names{Sort: []string{name}}); got != may {
			t.Errorf("sorted by %s: %v, want %v", name, got, may)
		}
	}
	for name, may := range map[string]bool{"name": true, "age": true, "nothing": true, "pin": false, "PIN": false, "p\u0131n": true} {
		if got := ask(proxy.Names{Keys: []string{"name", name}}); got != may {
			t.Errorf("searched by %s: %v, want %v", name, got, may)
		}
	}

	asked = nil
	for range 3 {
		ask(proxy.Names{Sort: []string{"name"}, Keys: []string{"age"}})
	}
	if len(asked) != 0 {
		t.Errorf("the node was asked for a model that is known: %v", asked)
	}
	ask(proxy.Names{Field: "boss", Sort: []string{"name"}})
	if len(asked) != 1 || asked[0] != "Person boss for Firm" {
		t.Errorf("for the class behind a field the node was asked %v", asked)
	}

	// a node that does not say any more keeps what it said, and is left alone for a while
	broken, asked, now = errors.New("gone"), nil, now.Add(2*time.Minute)
	for range 3 {
		if ask(proxy.Names{Sort: []string{"age"}}) || !ask(proxy.Names{Sort: []string{"name"}}) {
			t.Error("an old model is none")
		}
	}
	if len(asked) != 1 {
		t.Errorf("the node was asked %v", asked)
	}
	wish.Erupt = "Unknown"
	if !ask(proxy.Names{Sort: []string{"anything"}, Keys: []string{"pin"}}) {
		t.Error("a page without a model does not work")
	}
	now, broken = now.Add(missedFor), nil
	if ask(proxy.Names{Keys: []string{"pin"}}) {
		t.Error("a model that came later does not count")
	}
	broken = errors.New("gone")
	wish.Erupt = "Third"
	ask(proxy.Names{Keys: []string{"pin"}})
	broken = nil
	if g.models.forget("n"); ask(proxy.Names{Keys: []string{"pin"}}) {
		t.Error("a node that came back is not asked")
	}
}

// Who asks first may leave: the others that wait for the same model still get it, and are held to it.
func TestExamineOutlivesTheFirst(t *testing.T) {
	g := &gate{models: newModelCache(time.Minute, time.Now, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	g.models.describe = func(ctx context.Context, _ proxy.Wish, _ string, _ proxy.User) ([]byte, error) {
		cancel()
		return []byte(peopleModel), ctx.Err()
	}
	if err := g.Examine(ctx, proxy.Wish{Node: "n", Erupt: "Person"}, proxy.User{}, proxy.Names{Keys: []string{"pin"}}); proxy.KindOf(err) != proxy.Invalid {
		t.Errorf("%v, want a refusal", err)
	}
}
