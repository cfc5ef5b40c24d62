package restapi_test

import (
	"context"
	"testing"
	"time"

	"eruptcloud/app/dict"
	"eruptcloud/app/fault"
)

var changedAt = time.Date(2026, 12, 1, 6, 32, 5, 0, time.UTC)

// dictRepo has one dictionary with two items.
type dictRepo struct{ w *world }

func (r dictRepo) List(_ context.Context, f dict.Filter) ([]dict.Dict, int, error) {
	if r.w.broken != nil {
		return nil, 0, r.w.broken
	}
	if f.Page > 1 {
		return nil, 1, nil
	}
	return []dict.Dict{{Code: "level", Name: "Levels", Items: 2, Updated: changedAt}}, 1, nil
}

func (r dictRepo) Items(_ context.Context, code, _ string) ([]dict.Item, error) {
	if r.w.broken != nil {
		return nil, r.w.broken
	}
	if code != "level" {
		return nil, fault.New(fault.NotFound, "no dictionary has the code %q", code)
	}
	one := 1
	return []dict.Item{{ID: 1, Code: "gold", Name: "Gold", Value: "3", Sort: &one, Remark: "best"}, {ID: 2, Code: "tin", Name: "Tin"}}, nil
}

func dictExamples() []example {
	const list, items = "/api/v1/dicts", "/api/v1/dicts/{code}/items"
	return []example{
		{"GET " + list, list, "", 200}, {"GET " + list, list + "?page=2", "", 200}, {"GET " + list, list + "?page=0", "", 400},
		{"GET " + items, "/api/v1/dicts/level/items", "", 200}, {"GET " + items, "/api/v1/dicts/level/items?page=2&pageSize=1", "", 200},
		{"GET " + items, "/api/v1/dicts/level/items?page=0", "", 400}, {"GET " + items, "/api/v1/dicts/nosuch/items", "", 404},
	}
}

func TestDictionaries(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]string{
		"/api/v1/dicts":             `{"items":[{"code":"level","name":"Levels","remark":null,"items":2,"updated":"2026-12-01T06:32:05.000Z"}],"total":1}`,
		"/api/v1/dicts/level/items": `{"items":[{"code":"gold","name":"Gold","value":"3","sort":1,"remark":"best"},{"code":"tin","name":"Tin","value":null,"sort":null,"remark":null}],"total":2}`,
	} {
		if res := w.do("GET", path, "", "root"); res.Code != 200 || res.Body.String() != want {
			t.Errorf("%s = %d %s, want %s", path, res.Code, res.Body, want)
		}
	}
}
