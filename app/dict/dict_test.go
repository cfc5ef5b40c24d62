package dict_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/dict"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
)

var now = time.Date(2026, 12, 1, 6, 32, 5, 0, time.UTC)

func each(t *testing.T, test func(t *testing.T, d *dict.Dicts, db *database.DB)) {
	t.Helper()
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		test(t, dict.New(dict.Options{DB: db, Now: func() time.Time { return now }}), db)
	})
}

func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func p[T any](v T) *T { return &v }

func codes(t *testing.T, d *dict.Dicts, code, query string) string {
	t.Helper()
	items, err := d.Items(t.Context(), code, query)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range items {
		out = append(out, i.Code)
	}
	return strings.Join(out, " ")
}

func TestDicts(t *testing.T) { // erupt-wire 6.7
	each(t, func(t *testing.T, d *dict.Dicts, db *database.DB) {
		ctx := t.Context()
		for _, code := range []string{"level", "colour"} {
			if _, err := d.Create(ctx, dict.Wish{Code: code, By: "lin"}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := d.ByCode(ctx, "level")
		if err != nil || got.Name != "level" || got.By != "lin" || !got.Updated.Equal(now) || got.Items != 0 {
			t.Errorf("made %+v, %v", got, err)
		}
		_, err = d.Create(ctx, dict.Wish{Code: "LEVEL"})
		wants(t, "a code that differs in case", err, fault.Conflict)
		_, err = d.Create(ctx, dict.Wish{Code: "a/b"})
		wants(t, "a code with a slash", err, fault.Invalid)
		_, err = d.Update(ctx, "level", dict.Wish{Name: "\u202egnp"})
		wants(t, "a name that turns around", err, fault.Invalid)
		_, err = d.Update(ctx, "none", dict.Wish{Name: "x"})
		wants(t, "an unknown one", err, fault.NotFound)
		if got, err = d.Update(ctx, "level", dict.Wish{Name: "Levels", Remark: "of customers", By: "yu"}); err != nil || got.Name != "Levels" || got.By != "yu" {
			t.Errorf("changed to %+v, %v", got, err)
		}
		if _, err := d.AddItem(ctx, "colour", dict.ItemWish{Code: "r", Value: "#f00", By: "lin"}); err != nil {
			t.Fatal(err)
		}
		for q, want := range map[string]string{"": "colour level", "LEV": "level", "customers": "level", "#F0": "colour", "none": ""} {
			found, total, err := d.List(ctx, dict.Filter{Query: q})
			var names []string
			for _, f := range found {
				names = append(names, f.Code)
			}
			if err != nil || strings.Join(names, " ") != want || total != len(found) {
				t.Errorf("List(%q) = %v of %d, %v; want %s", q, names, total, err, want)
			}
		}
		if found, _, err := d.List(ctx, dict.Filter{Order: dict.ByName, PageSize: 1, Page: 2}); err != nil || len(found) != 1 || found[0].Code != "colour" && found[0].Code != "level" {
			t.Errorf("second page = %+v, %v", found, err)
		}
		if n, err := d.Delete(ctx, "colour"); err != nil || n != 1 {
			t.Errorf("Delete = %d, %v; want its one item gone too", n, err)
		}
		_, err = d.Delete(ctx, "colour")
		wants(t, "deleting it again", err, fault.NotFound)
		if n := db.Client.DictItem.Query().CountX(ctx); n != 0 {
			t.Errorf("%d items are left of a dictionary that is gone", n)
		}
	})
}

func TestItems(t *testing.T) {
	each(t, func(t *testing.T, d *dict.Dicts, _ *database.DB) {
		ctx := t.Context()
		for _, code := range []string{"level", "other"} {
			if _, err := d.Create(ctx, dict.Wish{Code: code}); err != nil {
				t.Fatal(err)
			}
		}
		add := func(in, code string, sort *int) dict.Item {
			t.Helper()
			made, err := d.AddItem(ctx, in, dict.ItemWish{Code: code, Value: "v" + code, Sort: sort, By: "lin"})
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		gold, silver := add("level", "gold", p(2)), add("level", "silver", p(1))
		add("level", "金 1", nil)
		elsewhere := add("other", "gold", nil)
		if got := codes(t, d, "level", ""); got != "金 1 silver gold" {
			t.Errorf("items = %s", got)
		}
		if got := codes(t, d, "level", "VSIL"); got != "silver" {
			t.Errorf("found = %s", got)
		}
		_, err := d.AddItem(ctx, "level", dict.ItemWish{Code: "gold"})
		wants(t, "a code twice", err, fault.Conflict)
		_, err = d.UpdateItem(ctx, "level", silver.ID, dict.ItemWish{Code: "gold"})
		wants(t, "the code of another item", err, fault.Conflict)
		_, err = d.AddItem(ctx, "none", dict.ItemWish{Code: "x"})
		wants(t, "an unknown dictionary", err, fault.NotFound)
		_, err = d.UpdateItem(ctx, "level", elsewhere.ID, dict.ItemWish{Code: "x"})
		wants(t, "an item of another dictionary", err, fault.NotFound)
		wants(t, "deleting one of another dictionary", d.DeleteItem(ctx, "level", elsewhere.ID, "lin"), fault.NotFound)
		for name, w := range map[string]dict.ItemWish{"code": {}, "value": {Code: "x", Value: strings.Repeat("v", 256)}, "name": {Code: "x", Name: "\x00"}} {
			if _, err := d.AddItem(ctx, "level", w); !fault.Is(err, fault.Invalid) || fault.Of(err).Fields[name] == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		now, err := d.UpdateItem(ctx, "level", gold.ID, dict.ItemWish{Code: "gold", Name: "Gold", Remark: "r"})
		if err != nil || now.Name != "Gold" || now.Sort != nil || now.Value != "" || now.Remark != "r" {
			t.Errorf("changed to %+v, %v", now, err)
		}
		if err := d.DeleteItem(ctx, "level", silver.ID, "lin"); err != nil {
			t.Fatal(err)
		}
		if one, err := d.ByCode(ctx, "level"); err != nil || one.Items != 2 || one.By != "lin" {
			t.Errorf("level = %+v, %v", one, err)
		}
	})
}

func TestImport(t *testing.T) {
	each(t, func(t *testing.T, d *dict.Dicts, _ *database.DB) {
		ctx := t.Context()
		if _, err := d.Create(ctx, dict.Wish{Code: "level"}); err != nil {
			t.Fatal(err)
		}
		for _, code := range []string{"a", "b", "c"} {
			if _, err := d.AddItem(ctx, "level", dict.ItemWish{Code: code, Name: code, Value: "1"}); err != nil {
				t.Fatal(err)
			}
		}
		wishes := []dict.ItemWish{{Code: "a", Value: "1"}, {Code: "b", Value: "2"}}
		for i := range 450 {
			wishes = append(wishes, dict.ItemWish{Code: fmt.Sprint("n", i), Sort: &i})
		}
		done, err := d.Import(ctx, "level", wishes, "yu")
		if err != nil || done != (dict.Imported{Added: 450, Changed: 1, Same: 1}) {
			t.Errorf("Import = %+v, %v", done, err)
		}
		if one, err := d.ByCode(ctx, "level"); err != nil || one.Items != 453 || one.By != "yu" {
			t.Errorf("level = %+v, %v", one, err)
		}
		for want, bad := range map[string][]dict.ItemWish{
			"row 2: code is needed":                     {{Code: "z"}, {}},
			`rows 1 and 2 have the same code "z"`:       {{Code: "z"}, {Code: "z", Value: "2"}},
			"row 1: value has more than 255 characters": {{Code: "z", Value: strings.Repeat("v", 256)}},
		} {
			if _, err := d.Import(ctx, "level", bad, "yu"); !fault.Is(err, fault.Invalid) || fault.Of(err).Fields["file"] != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if got := codes(t, d, "level", "z"); got != "" {
			t.Errorf("a refused import left %s", got)
		}
		var many []dict.ItemWish
		for i := range dict.MostItems {
			many = append(many, dict.ItemWish{Code: fmt.Sprint("m", i)})
		}
		_, err = d.Import(ctx, "level", many, "yu")
		wants(t, "too many", err, fault.Conflict)
	})
}

// What another program wrote has empty columns.
func TestDictsOfOthers(t *testing.T) {
	each(t, func(t *testing.T, d *dict.Dicts, db *database.DB) {
		for _, sql := range []string{
			"INSERT INTO e_dict (id, code) VALUES (1, 'bare')",
			"INSERT INTO e_dict_item (id, code, erupt_dict_id) VALUES (1, 'x', 1)",
			"INSERT INTO e_dict_item (id, code) VALUES (2, 'lost')",
		} {
			if _, err := db.SQL.ExecContext(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		found, n, err := d.List(t.Context(), dict.Filter{})
		if err != nil || n != 1 || found[0].Name != "bare" || found[0].Items != 1 || !found[0].Updated.IsZero() {
			t.Errorf("List = %+v, %d, %v", found, n, err)
		}
		items, err := d.Items(t.Context(), "bare", "")
		if err != nil || len(items) != 1 || items[0].Name != "x" || items[0].Sort != nil {
			t.Errorf("Items = %+v, %v", items, err)
		}
	})
}
