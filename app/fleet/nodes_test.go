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

func TestCreateKeepsEverything(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, c *clock) {
		mustGroup(t, f, fleet.NewGroup{Code: "shop", Name: "Shop"})
		made, token := mustNode(t, f, fleet.NewNode{
			Name: "orders", Display: "订单 🚀", Group: "shop", Enabled: true, Duty: []string{"li", " wang ", ""}, Remark: "𠮷野家\nsecond line",
			Core: true, Config: `{"a":1}`, By: "li",
		})
		if len(token) != 16 || strings.ToUpper(token) != token || strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
			t.Errorf("token %q, want 16 upper-case letters and digits", token)
		}
		want := fleet.Node{
			ID: made.ID, Name: "orders", Display: "订单 🚀", GroupID: made.GroupID, Group: "shop", Enabled: true, Duty: []string{"li", "wang"},
			Config: `{"a":1}`, Revision: 1, Remark: "𠮷野家\nsecond line", Core: true, Created: c.Now(), Updated: c.Now(), UpdatedBy: "li",
		}
		read, err := f.Nodes.ByName(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		cached, ok := f.Nodes.Cached("orders")
		for what, got := range map[string]fleet.Node{"Create": made, "ByName": read, "Cached": cached} {
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || !ok {
				t.Errorf("%s =\n%+v, want\n%+v", what, got, want)
			}
		}
		revisions, err := f.Nodes.Revisions(t.Context(), "orders", 0)
		if err != nil || len(revisions) != 1 || revisions[0].Config != `{"a":1}` || revisions[0].Author != "li" {
			t.Errorf("Revisions = %+v, %v; want the config's first", revisions, err)
		}
	})
}

// TestNamesByRule holds S29, S36 and S37: one rule for names and codes, and no two that differ only in case.
func TestNamesByRule(t *testing.T) {
	bad := []string{"", " ", "a b", "a.b", "orders ", " orders", "orders\n", "Bestellung-Ä", "订单服务", "ﬁ", "e\u0301", "a%", "a#", "a,b", "a@b",
		"a+b", "a?b", "a&b", "a=b", "a;b", `a\b`, `a"b`, "a'b", "a/b", "..", strings.Repeat("n", 65)}
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		for _, name := range bad {
			_, _, err := f.Nodes.Create(t.Context(), fleet.NewNode{Name: name})
			wantFault(t, fmt.Sprintf("node %q", name), err, fault.Invalid, "1 to 64 letters")
			if fault.Of(err).Fields["name"] == "" {
				t.Errorf("node %q: no text at the field", name)
			}
			_, err = f.Groups.Create(t.Context(), fleet.NewGroup{Code: name})
			wantFault(t, fmt.Sprintf("group %q", name), err, fault.Invalid, "1 to 64 letters")
		}
		long := strings.Repeat("n", 64)
		mustNode(t, f, fleet.NewNode{Name: long})
		mustNode(t, f, fleet.NewNode{Name: "Orders_1-a", Remark: "first"})
		mustGroup(t, f, fleet.NewGroup{Code: "Shop"})
		_, _, err := f.Nodes.Create(t.Context(), fleet.NewNode{Name: "oRDERS_1-A", Remark: "second"})
		wantFault(t, "another spelling", err, fault.Conflict, `"Orders_1-a" exists`)
		_, err = f.Groups.Create(t.Context(), fleet.NewGroup{Code: "shop"})
		wantFault(t, "another spelling", err, fault.Conflict, `"Shop" exists`)
		if n, err := f.Nodes.ByName(t.Context(), "Orders_1-a"); err != nil || n.Remark != "first" {
			t.Errorf("ByName = %+v, %v; want the first one untouched", n, err)
		}
		// MySQL's padding must not let other spellings in.
		for _, other := range []string{"Orders_1-a ", "orders_1-a", "Orders_1-A"} {
			_, err := f.Nodes.ByName(t.Context(), other)
			wantFault(t, "ByName of "+other, err, fault.NotFound, "no node is called")
			_, err = f.Nodes.Authenticate(t.Context(), other, "x")
			wantFault(t, "Authenticate of "+other, err, fault.NotFound, "NodeName: '"+other+"' not found")
			wantFault(t, "Delete of "+other, f.Nodes.Delete(t.Context(), other, "li"), fault.NotFound, "no node")
		}
		_, err = f.Groups.ByCode(t.Context(), "Shop ")
		wantFault(t, "ByCode", err, fault.NotFound, "no group")
	})
}

func TestParallelCreatesOfOneName(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		var made, refused atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				name := []string{"orders", "Orders", "ORDERS", "orderS"}[i%4]
				_, _, err := f.Nodes.Create(t.Context(), fleet.NewNode{Name: name})
				switch {
				case err == nil:
					made.Add(1)
				case fault.Is(err, fault.Conflict):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if made.Load() != 1 || refused.Load() != 7 {
			t.Errorf("%d made, %d refused; want 1 and 7", made.Load(), refused.Load())
		}
	})
}

func TestFieldsAreChecked(t *testing.T) {
	tests := map[string]struct {
		in   fleet.NewNode
		code fault.Code
		text string
	}{
		"a long display name":        {fleet.NewNode{Name: "n", Display: strings.Repeat("名", 256)}, fault.Invalid, "256 characters"},
		"a display name of two":      {fleet.NewNode{Name: "n", Display: "a\nb"}, fault.Invalid, "one line"},
		"text that is no text":       {fleet.NewNode{Name: "n", Remark: "a\xffb"}, fault.Invalid, "not valid text"},
		"a NUL":                      {fleet.NewNode{Name: "n", Remark: "a\x00b"}, fault.Invalid, "not valid text"},
		"a long remark":              {fleet.NewNode{Name: "n", Remark: strings.Repeat("x", 2001)}, fault.Invalid, "at most 2000"},
		"too many on duty":           {fleet.NewNode{Name: "n", Duty: []string{strings.Repeat("x", 255)}}, fault.Invalid, "duty has"},
		"an unknown group":           {fleet.NewNode{Name: "n", Group: "nope"}, fault.Invalid, `no group has the code "nope"`},
		"a token with a blank":       {fleet.NewNode{Name: "n", Token: "a-token with-blank"}, fault.Invalid, "without blanks"},
		"a token with a line break":  {fleet.NewNode{Name: "n", Token: "a-token\r\nX: y"}, fault.Invalid, "without blanks"},
		"a token that is too short":  {fleet.NewNode{Name: "n", Token: "1234567"}, fault.Invalid, "must have 8 to 128"},
		"a token that is too long":   {fleet.NewNode{Name: "n", Token: strings.Repeat("x", 129)}, fault.Invalid, "must have 8 to 128"},
		"a token beyond ASCII":       {fleet.NewNode{Name: "n", Token: "clé-d’accès"}, fault.Invalid, "printable ASCII"},
		"a config that is no object": {fleet.NewNode{Name: "n", Config: "[1]"}, fault.Invalid, "line 1, column 1"},
		"a config that is too large": {fleet.NewNode{Name: "n", Config: `{"a":"` + strings.Repeat("x", fleet.MaxConfig) + `"}`}, fault.TooLarge, "10 MiB"},
	}
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		f, _ := open(t, db)
		for name, tt := range tests {
			_, _, err := f.Nodes.Create(t.Context(), tt.in)
			wantFault(t, name, err, tt.code, tt.text)
		}
		if n := db.Client.Node.Query().CountX(t.Context()); n != 0 {
			t.Errorf("%d nodes were made all the same", n)
		}
	})
}

func TestUpdateChangesWhatIsAsked(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, c *clock) {
		mustGroup(t, f, fleet.NewGroup{Code: "shop"})
		before, _ := mustNode(t, f, fleet.NewNode{Name: "n", Display: "d", Group: "shop", Enabled: true, Remark: "r", Duty: []string{"li"}, Config: `{"a":1}`, By: "li"})
		c.Advance(time.Minute)
		got, err := f.Nodes.Update(t.Context(), "n", fleet.NodePatch{Enabled: ptr(false), RawSession: ptr(true), By: "wang"})
		want := before
		want.Enabled, want.RawSession, want.Updated, want.UpdatedBy = false, true, c.Now(), "wang"
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("Update =\n%+v, %v; want\n%+v", got, err, want)
		}
		got, err = f.Nodes.Update(t.Context(), "n", fleet.NodePatch{Group: ptr(""), Display: ptr(" "), Duty: ptr([]string(nil)), Core: ptr(true)})
		if err != nil || got.Group != "" || got.GroupID != 0 || got.Display != "n" || len(got.Duty) != 0 || !got.Core || got.Remark != "r" {
			t.Errorf("Update = %+v, %v; want group and duty cleared, the display name back to the name", got, err)
		}
		_, err = f.Nodes.Update(t.Context(), "n", fleet.NodePatch{Group: ptr("nope")})
		wantFault(t, "an unknown group", err, fault.Invalid, "nope")
		_, err = f.Nodes.Update(t.Context(), "nobody", fleet.NodePatch{})
		wantFault(t, "an unknown node", err, fault.NotFound, "nobody")
		// S72: saving again what is there keeps identity and creation.
		again, err := f.Nodes.Update(t.Context(), "n", fleet.NodePatch{Remark: ptr("r")})
		if err != nil || again.ID != before.ID || !again.Created.Equal(before.Created) {
			t.Errorf("saved again: %+v, %v; want id %d and creation %v", again, err, before.ID, before.Created)
		}
	})
}

func TestDeleteTakesEverythingAlong(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		f, _ := open(t, db)
		mustNode(t, f, fleet.NewNode{Name: "n", Config: `{"a":1}`})
		if _, err := f.Holds.Set(t.Context(), fleet.Hold{Node: "n", Location: "http://a", Account: "li"}); err != nil {
			t.Fatal(err)
		}
		if err := f.Nodes.Delete(t.Context(), "n", "li"); err != nil {
			t.Fatal(err)
		}
		wantFault(t, "deleted again", f.Nodes.Delete(t.Context(), "n", "li"), fault.NotFound, "no node")
		ctx := t.Context()
		if n := db.Client.Node.Query().CountX(ctx) + db.Client.NodeExtra.Query().CountX(ctx) + db.Client.NodeHold.Query().CountX(ctx) +
			db.Client.ConfigRevision.Query().CountX(ctx); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		if _, ok := f.Nodes.Cached("n"); ok {
			t.Error("the memory still knows the node")
		}
		if _, ok := f.Holds.Held("n", "http://a"); ok {
			t.Error("the memory still knows the hold")
		}
		// A namesake starts afresh.
		again, _ := mustNode(t, f, fleet.NewNode{Name: "n"})
		if again.Revision != 0 || again.Config != "" {
			t.Errorf("a new node has %+v, want no config", again)
		}
	})
}

func TestList(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		mustGroup(t, f, fleet.NewGroup{Code: "eu", Name: "Europa"})
		mustGroup(t, f, fleet.NewGroup{Code: "de", Name: "Deutschland", Parent: "eu"})
		for i := range 25 {
			mustNode(t, f, fleet.NewNode{Name: fmt.Sprintf("node-%02d", i), Enabled: i%2 == 0})
		}
		mustNode(t, f, fleet.NewNode{Name: "Alpha", Display: "BESTELLUNG-Ä 100%_x", Group: "de", Duty: []string{"Wang"}, Enabled: true})
		mustNode(t, f, fleet.NewNode{Name: "beta", Group: "eu", Remark: "订单服务 ﬁn"})
		tests := map[string]struct {
			filter fleet.NodeFilter
			total  int
			first  string
			count  int
		}{
			"all, in order":              {fleet.NodeFilter{}, 27, "Alpha", 20},
			"the second page":            {fleet.NodeFilter{Page: 2}, 27, "node-18", 7},
			"past the end":               {fleet.NodeFilter{Page: 99, PageSize: 10}, 27, "node-18", 7},
			"before the start":           {fleet.NodeFilter{Page: -1, PageSize: 1}, 27, "Alpha", 1},
			"by name, other case":        {fleet.NodeFilter{Query: "ALPHA"}, 1, "Alpha", 1},
			"by display name, composed":  {fleet.NodeFilter{Query: "bestellung-a\u0308"}, 1, "Alpha", 1},
			"percent is no wildcard":     {fleet.NodeFilter{Query: "0%_"}, 1, "Alpha", 1},
			"by duty":                    {fleet.NodeFilter{Query: "wang"}, 1, "Alpha", 1},
			"by name of the group":       {fleet.NodeFilter{Query: "deutsch"}, 1, "Alpha", 1},
			"by remark, with a ligature": {fleet.NodeFilter{Query: "服务 FIN"}, 1, "beta", 1},
			"by group and those below":   {fleet.NodeFilter{Group: "eu"}, 2, "Alpha", 2},
			"by enabled":                 {fleet.NodeFilter{Enabled: ptr(true), Query: "node"}, 13, "node-00", 13},
			"nothing":                    {fleet.NodeFilter{Query: "nothing", Page: 3}, 0, "", 0},
		}
		for name, tt := range tests {
			got, total, err := f.Nodes.List(t.Context(), tt.filter)
			if err != nil || total != tt.total || len(got) != tt.count || (tt.count > 0 && got[0].Name != tt.first) {
				t.Errorf("%s: %d of %d, %v, %v; want %d of %d from %q", name, len(got), total, err, namesOf(got), tt.count, tt.total, tt.first)
			}
		}
		all, err := f.Nodes.All(t.Context())
		if err != nil || len(all) != 27 || all[0].Name != "Alpha" || all[1].Name != "beta" {
			t.Errorf("All = %v, %v; want all 27 in order", namesOf(all), err)
		}
	})
}

func namesOf(nodes []fleet.Node) (names []string) {
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}

func TestMarkSeenOnce(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, c *clock) {
		mustNode(t, f, fleet.NewNode{Name: "n"})
		at := c.Now()
		for range 3 {
			if err := f.Nodes.MarkSeen(t.Context(), "n"); err != nil {
				t.Fatal(err)
			}
			c.Advance(time.Hour)
		}
		if n, _ := f.Nodes.Cached("n"); !n.FirstSeen.Equal(at) {
			t.Errorf("FirstSeen %v, want the first moment %v", n.FirstSeen, at)
		}
		wantFault(t, "an unknown node", f.Nodes.MarkSeen(t.Context(), "x"), fault.NotFound, "x")
	})
}
