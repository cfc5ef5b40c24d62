package fleet_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/testbed"
)

// TestParallelEditorsLoseNothing holds S28: of the editors that start from one revision exactly one wins.
func TestParallelEditorsLoseNothing(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		mustNode(t, f, fleet.NewNode{Name: "n"})
		mustGroup(t, f, fleet.NewGroup{Code: "g"})
		const rounds, editors = 4, 16
		for base := range int64(rounds) {
			var won, refused [2]atomic.Int64
			var wg sync.WaitGroup
			for i := range editors {
				e := fleet.ConfigEdit{JSON: fmt.Sprintf(`{"editor":%d}`, i), BaseRevision: base, Editor: fmt.Sprint("e", i), Note: "n"}
				for kind, edit := range []func() error{
					func() error { _, err := f.Nodes.SetConfig(t.Context(), "n", e); return err },
					func() error { _, err := f.Groups.SetConfig(t.Context(), "g", e); return err },
				} {
					wg.Go(func() {
						switch err := edit(); {
						case err == nil:
							won[kind].Add(1)
						case fault.Is(err, fault.Conflict):
							refused[kind].Add(1)
						default:
							t.Error(err)
						}
					})
				}
			}
			wg.Wait()
			for kind := range won {
				if won[kind].Load() != 1 || refused[kind].Load() != editors-1 {
					t.Errorf("base %d: %d won, %d refused; want 1 and %d", base, won[kind].Load(), refused[kind].Load(), editors-1)
				}
			}
		}
		revisions, err := f.Nodes.Revisions(t.Context(), "n", 0)
		if err != nil || len(revisions) != rounds {
			t.Fatalf("%d revisions, %v; want one a round", len(revisions), err)
		}
		n, err := f.Nodes.ByName(t.Context(), "n")
		newest := revisions[0]
		if err != nil || n.Revision != rounds || newest.Number != rounds || n.Config != newest.Config || n.UpdatedBy != newest.Author {
			t.Errorf("the node has %+v, the newest revision is %+v: they must belong together", n, newest)
		}
	})
}

func TestAStaleEditIsExplained(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, c *clock) {
		mustNode(t, f, fleet.NewNode{Name: "n"})
		if _, err := f.Nodes.SetConfig(t.Context(), "n", fleet.ConfigEdit{JSON: `{"a":1}`, Editor: "li", Address: "10.0.0.1", Note: "why"}); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Hour)
		_, err := f.Nodes.SetConfig(t.Context(), "n", fleet.ConfigEdit{JSON: `{"b":1}`, Editor: "wang"})
		wantFault(t, "a stale edit", err, fault.Conflict, "changed by li at 2026-03-01 10:02:00 UTC: revision 1 is the newest, the edit started from 0")
		_, err = f.Nodes.SetConfig(t.Context(), "n", fleet.ConfigEdit{JSON: `{}`, BaseRevision: 7})
		wantFault(t, "a base that never was", err, fault.Conflict, "started from 7")
		cleared, err := f.Nodes.SetConfig(t.Context(), "n", fleet.ConfigEdit{JSON: " \n", BaseRevision: 1, Editor: "wang"})
		if err != nil || cleared.Config != "" || cleared.Revision != 2 {
			t.Errorf("cleared: %+v, %v; want an empty config as revision 2", cleared, err)
		}
		revisions, err := f.Nodes.Revisions(t.Context(), "n", 1)
		if err != nil || len(revisions) != 1 || revisions[0].Number != 2 {
			t.Errorf("Revisions(1) = %+v, %v; want the newest", revisions, err)
		}
		revisions, _ = f.Nodes.Revisions(t.Context(), "n", 0)
		want := fleet.Revision{Number: 1, Config: `{"a":1}`, Author: "li", Address: "10.0.0.1", Note: "why", Created: c.Now().Add(-time.Hour)}
		if len(revisions) != 2 || revisions[1] != want {
			t.Errorf("revisions %+v, want the first %+v", revisions, want)
		}
		_, err = f.Nodes.SetConfig(t.Context(), "nobody", fleet.ConfigEdit{JSON: "{}"})
		wantFault(t, "an unknown node", err, fault.NotFound, "nobody")
		_, err = f.Groups.SetConfig(t.Context(), "nobody", fleet.ConfigEdit{JSON: "{}"})
		wantFault(t, "an unknown group", err, fault.NotFound, "nobody")
	})
}

func TestALargeConfigIsStoredExactly(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		mustNode(t, f, fleet.NewNode{Name: "n"})
		text := "{\"\U00020BB7\":\"" + strings.Repeat("🚀", (fleet.MaxConfig-10)/4) + "\"}"
		text += strings.Repeat(" ", fleet.MaxConfig-len(text))
		n, err := f.Nodes.SetConfig(t.Context(), "n", fleet.ConfigEdit{JSON: text})
		if err != nil || n.Config != text {
			t.Fatalf("a config of 10 MiB: %v, %d bytes of %d", err, len(n.Config), len(text))
		}
		_, err = f.Nodes.SetConfig(t.Context(), "n", fleet.ConfigEdit{JSON: text + " ", BaseRevision: 1})
		wantFault(t, "one byte more", err, fault.TooLarge, "10 MiB")
	})
}

func TestConfigErrorsNameThePlace(t *testing.T) {
	f, _ := open(t, testbed.SQLite(t))
	mustNode(t, f, fleet.NewNode{Name: "n"})
	for name, tt := range map[string]struct{ text, want string }{
		"a comma too many":         {"{\n  \"a\": 1,\n}", "line 3, column 1: a comma too many, or a key is missing, before '}'"},
		"columns are characters":   {"{\"订单🚀\": x}", "line 1, column 9: 'x' where a value is expected"},
		"a comment":                {"{\r\n// no\r\n}", "line 2, column 1: '/' where a key in double quotes is expected"},
		"an end too early":         {"{\n  \"a\": [1,", "line 2, column 11: the text ends too early"},
		"only a brace":             {"{", "line 1, column 2: the text ends too early"},
		"something behind it":      {"{}\n{}", "line 2, column 1: '{' after the end of the JSON document"},
		"an array":                 {"\n  [1]", "line 2, column 3: the config must be a JSON object"},
		"a text":                   {`"a"`, "line 1, column 1: the config must be a JSON object"},
		"null":                     {"null", "line 1, column 1: the config must be a JSON object"},
		"a key that stands twice":  {"{\n \"a\": 1,\n \"b\": 2, \"a\": 3}", `line 3, column 10: the key "a" stands twice`},
		"twice in other spelling":  {"{\"a\": 1, \"\\u0061\": 2}", `line 1, column 10: the key "a" stands twice`},
		"twice, with a quote":      {`{"\"x": 1, "\"x": 2}`, `line 1, column 12: the key "\"x" stands twice`},
		"twice below":              {"{\"o\": {\"k\": [{\"z\": 1, \"z\": 2}]}}", `column 23: the key "z" stands twice`},
		"bytes that are no text":   {"{\"a\": \"\xff\"}", "line 1, column 8: these bytes are not UTF-8"},
		"a raw control character":  {"{\"a\": \"\x01\"}", "line 1, column 8: a control character inside a text, which must be written \\u0001"},
		"a number that is none":    {`{"a": 01}`, "line 1, column 8: a number must not begin with 0"},
		"nothing but a wrong word": {"tru", "line 1, column 4: the text ends too early"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.Nodes.SetConfig(t.Context(), "n", fleet.ConfigEdit{JSON: tt.text})
			wantFault(t, fmt.Sprintf("config %q", tt.text), err, fault.Invalid, tt.want)
			if fault.Of(err).Fields["config"] == "" {
				t.Error("no text at the field")
			}
		})
	}
	if n, _ := f.Nodes.Cached("n"); n.Revision != 0 {
		t.Errorf("a refused config was published: %+v", n)
	}
}

func TestEffectiveConfig(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		mustGroup(t, f, fleet.NewGroup{Code: "root", Config: `{"a":1,"b":{"x":1,"y":2},"big":12345678901234567890.10,"gone":null,"list":[1,null]}`})
		mustGroup(t, f, fleet.NewGroup{Code: "leaf", Parent: "root", Config: `{"b":{"y":null,"z":{"deep":null,"k":1}},"c":"<&>\u00e9","d":1}`})
		mustNode(t, f, fleet.NewNode{Name: "n", Group: "leaf", Config: "\ufeff" + ` {"a": {"obj": true}, "d": null, "e" : 9007199254740993 }`})
		want := fleet.Effective{
			JSON: `{"a":{"obj":true},"b":{"x":1,"z":{"k":1}},"big":12345678901234567890.10,"c":"<&>\u00e9","e":9007199254740993,"list":[1,null]}`,
			Origin: map[string]string{"a": "node", "b": "group:leaf", "big": "group:root", "c": "group:leaf", "e": "node",
				"list": "group:root"},
		}
		got, err := f.Nodes.Effective(t.Context(), "n")
		if err != nil || got.JSON != want.JSON || fmt.Sprint(got.Origin) != fmt.Sprint(want.Origin) || len(got.Revision) != 64 {
			t.Errorf("Effective =\n%s\n%v, %v; want\n%s\n%v", got.JSON, got.Origin, err, want.JSON, want.Origin)
		}
		// Blanks and the order of keys do not change the tag, a change in a group at the root does.
		if _, err := f.Groups.SetConfig(t.Context(), "leaf", fleet.ConfigEdit{
			JSON: "{ \"d\":1,\n\"c\":\"<&>\\u00e9\", \"b\":{\"z\":{\"k\":1},\"y\":null}}", BaseRevision: 1}); err != nil {
			t.Fatal(err)
		}
		if same, _ := f.Nodes.Effective(t.Context(), "n"); same.Revision != got.Revision {
			t.Error("the tag changed with the layout")
		}
		if _, err := f.Groups.SetConfig(t.Context(), "root", fleet.ConfigEdit{JSON: `{"new":true}`, BaseRevision: 1}); err != nil {
			t.Fatal(err)
		}
		if changed, _ := f.Nodes.Effective(t.Context(), "n"); changed.Revision == got.Revision || !strings.Contains(changed.JSON, `"new":true`) {
			t.Errorf("a change at the root of the tree did not arrive: %s", changed.JSON)
		}
		if _, err := f.Groups.Update(t.Context(), "leaf", fleet.GroupPatch{Parent: ptr("")}); err != nil {
			t.Fatal(err)
		}
		if moved, _ := f.Nodes.Effective(t.Context(), "n"); strings.Contains(moved.JSON, "new") {
			t.Errorf("a group that moved still inherits: %s", moved.JSON)
		}
		mustNode(t, f, fleet.NewNode{Name: "bare"})
		if bare, err := f.Nodes.Effective(t.Context(), "bare"); err != nil || bare.JSON != "{}" || len(bare.Origin) != 0 {
			t.Errorf("Effective of a node without config = %+v, %v; want an empty object", bare, err)
		}
		_, err = f.Nodes.Effective(t.Context(), "nobody")
		wantFault(t, "an unknown node", err, fault.NotFound, "nobody")
	})
}

// TestForeignConfig: another program wrote something that is no JSON object into the column.
func TestForeignConfig(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		db.Client.Node.Create().SetNodeName("yaml").SetConfig("a: 1").ExecX(t.Context())
		db.Client.Node.Create().SetNodeName("old style").SetDuty("li|wang").ExecX(t.Context())
		f, _ := open(t, db)
		_, err := f.Nodes.Effective(t.Context(), "yaml")
		wantFault(t, "Effective", err, fault.Invalid, "the config of node yaml is not a JSON object")
		if n, err := f.Nodes.ByName(t.Context(), "yaml"); err != nil || n.Config != "a: 1" {
			t.Errorf("ByName = %+v, %v; want the text as it is", n, err)
		}
		if n, err := f.Nodes.ByName(t.Context(), "old style"); err != nil || fmt.Sprint(n.Duty) != "[li wang]" {
			t.Errorf("ByName = %+v, %v; want the duty of an old version", n, err)
		}
		// Rows without our side tables can be edited all the same.
		if n, err := f.Nodes.SetConfig(t.Context(), "yaml", fleet.ConfigEdit{JSON: `{"a":1}`, Editor: "li"}); err != nil || n.Revision != 1 {
			t.Errorf("SetConfig = %+v, %v", n, err)
		}
	})
}
