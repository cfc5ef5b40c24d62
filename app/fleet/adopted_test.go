package fleet_test

import (
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/database"
	"eruptcloud/app/fleet"
	"eruptcloud/app/testbed"
)

// adopted is a Fleet on a database of erupt's, as boot makes it.
func adopted(t *testing.T, version string) (*fleet.Fleet, *database.DB) {
	t.Helper()
	db := testbed.Adopted(t, version)
	return fleet.New(fleet.Options{DB: db, ValidateToken: true}), db
}

// cell reads one value as a Java server does.
func cell(t *testing.T, db *database.DB, query string) string {
	t.Helper()
	var v *string
	if err := db.SQL.QueryRow(query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if v == nil {
		return "NULL"
	}
	return *v
}

func TestAdoptedNodesAreRead(t *testing.T) {
	for _, version := range testbed.EruptVersions {
		t.Run(version, func(t *testing.T) {
			f, _ := adopted(t, version)
			shop, err := f.Nodes.ByName(t.Context(), "shop")
			if err != nil || !shop.Enabled || shop.Group != "retail" || !slices.Equal(shop.Duty, []string{"erupt", "lin"}) || shop.UpdatedBy != "Lin Yu" ||
				!strings.Contains(shop.Config, "grün") {
				t.Errorf("shop = %+v, %v", shop, err)
			}
			if _, err := f.Nodes.Authenticate(t.Context(), "shop", "7H2KQ9ZX4M1CVB0P"); err != nil {
				t.Errorf("shop with its own token: %v", err)
			}
			bill, err := f.Nodes.ByName(t.Context(), "bill")
			if err != nil || bill.Enabled || bill.Group != "" || bill.Config != "" { // status is null: Java refuses it too
				t.Errorf("bill = %+v, %v; want a disabled node without anything", bill, err)
			}
			if _, err := f.Nodes.ByName(t.Context(), "old.name"); err != nil {
				t.Errorf("a name that we would not give: %v", err)
			}
		})
	}
}

// TestAdoptedNodesStayErupts: erupt-wire 6.1, 5.8: a Java server goes on with what we write.
func TestAdoptedNodesStayErupts(t *testing.T) {
	for version, duty := range map[string]string{"1.12": "lin|erupt", "2.0": `["lin","erupt"]`} {
		t.Run(version, func(t *testing.T) {
			f, db := adopted(t, version)
			_, token, err := f.Nodes.Create(t.Context(), fleet.NewNode{Name: "pay", Group: "retail", Enabled: true, Duty: []string{"lin", "erupt"}, Config: `{"a":1}`, By: "lin"})
			if err != nil {
				t.Fatal(err)
			}
			row := cell(t, db, "SELECT CONCAT_WS('~', access_token, duty, create_by, update_by, HEX(status), cloud_node_group_id, config) FROM e_cloud_node WHERE node_name = 'pay'")
			if want := strings.Join([]string{token, duty, "Lin Yu", "Lin Yu", "1", "1", `{"a":1}`}, "~"); row != want {
				t.Errorf("the row is %s, want %s", row, want)
			}
			rotated, err := f.Nodes.RotateToken(t.Context(), "shop", "erupt")
			if err != nil {
				t.Fatal(err)
			}
			if got := cell(t, db, "SELECT access_token FROM e_cloud_node WHERE node_name = 'shop'"); got != rotated {
				t.Errorf("the rotated token is stored as %s, want it plain", got)
			}
			display := "Payments"
			if _, err := f.Nodes.Update(t.Context(), "bill", fleet.NodePatch{Display: &display, By: "erupt"}); err != nil {
				t.Fatal(err)
			}
			if got := cell(t, db, "SELECT CONCAT(name, COALESCE(HEX(status), ' null '), COALESCE(config, 'null')) FROM e_cloud_node WHERE node_name = 'bill'"); got != "Payments null null" {
				t.Errorf("bill became %s: only its name was changed", got)
			}
			for _, name := range []string{"pay", "shop", "bill"} {
				if err := f.Nodes.Delete(t.Context(), name, "erupt"); err != nil {
					t.Errorf("delete %s: %v", name, err)
				}
			}
		})
	}
}

func TestAdoptedGroups(t *testing.T) {
	f, db := adopted(t, "1.12")
	if _, err := f.Groups.Create(t.Context(), fleet.NewGroup{Code: "outlet", Parent: "retail", By: "lin"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Groups.Create(t.Context(), fleet.NewGroup{Code: "RETAIL", By: "lin"}); err == nil {
		t.Error("a group that differs in case from another was made; erupt's index compares without case")
	}
	name := "Factory outlet"
	if _, err := f.Groups.Update(t.Context(), "outlet", fleet.GroupPatch{Name: &name, By: "erupt"}); err != nil {
		t.Fatal(err)
	}
	if got := cell(t, db, "SELECT CONCAT_WS('~', code, name, create_by, update_by) FROM e_cloud_node_group WHERE code = 'outlet'"); got != "outlet~Factory outlet~Lin Yu~erupt" {
		t.Errorf("the row is %s", got)
	}
	if err := f.Groups.Delete(t.Context(), "outlet", "lin"); err != nil {
		t.Error(err)
	}
}

// TestConfigsOfJavaServersAreKept: an edit of ours over one of theirs can be undone.
func TestConfigsOfJavaServersAreKept(t *testing.T) {
	f, db := adopted(t, "2.0")
	node, err := f.Nodes.SetConfig(t.Context(), "shop", fleet.ConfigEdit{JSON: `{"ours":1}`, Editor: "lin"})
	if err != nil {
		t.Fatal(err)
	}
	if node.Revision != 2 {
		t.Errorf("revision %d after the first edit, want 2: what was there before is the first", node.Revision)
	}
	if _, err := db.SQL.Exec(`UPDATE e_cloud_node SET config = '{"theirs":1}', update_by = 'Java admin', update_time = NOW(6) WHERE node_name = 'shop'`); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Nodes.SetConfig(t.Context(), "shop", fleet.ConfigEdit{JSON: `{"ours":2}`, BaseRevision: 2, Editor: "lin"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Nodes.SetConfig(t.Context(), "shop", fleet.ConfigEdit{JSON: `{"ours":3}`, BaseRevision: 2, Editor: "lin"}); err == nil {
		t.Error("an edit from an old revision was taken")
	}
	revisions, err := f.Nodes.Revisions(t.Context(), "shop", 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range revisions {
		got = append(got, r.Author)
	}
	if want := []string{"lin", "Java admin", "lin", "Lin Yu"}; !slices.Equal(got, want) {
		t.Errorf("authors of the revisions, newest first: %q, want %q", got, want)
	}
	group, err := f.Groups.SetConfig(t.Context(), "wholesale", fleet.ConfigEdit{JSON: `{"ours":1}`, Editor: "lin"})
	if err != nil || group.Revision != 1 {
		t.Errorf("SetConfig of a group without config = %d, %v; want revision 1", group.Revision, err)
	}
}
