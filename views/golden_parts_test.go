package views_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/a-h/templ"

	"eruptcloud/views"
)

// mainOf is a page without what is around it: the frame, which has tests of its own, names files by their content.
func mainOf(page templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var b bytes.Buffer
		if err := page.Render(ctx, &b); err != nil {
			return err
		}
		_, rest, found := bytes.Cut(b.Bytes(), []byte(`<main `))
		inside, _, ended := bytes.Cut(rest, []byte(`</main>`))
		if !found || !ended {
			return fmt.Errorf("the page has no main part: %s", b.Bytes())
		}
		_, err := fmt.Fprintf(w, "<main %s</main>", inside)
		return err
	})
}

func goldenIn(t *testing.T, name string, c templ.Component) {
	t.Helper()
	for _, lang := range views.Langs {
		golden(t, name+"_"+lang, in(lang), c)
	}
}

func ago(d time.Duration) time.Time { return at.Add(-d) }

const nasty = `<b>"Müller" & 'Söhne'</b>`

func exampleHold() views.HoldView {
	return views.HoldView{Location: "http://10.0.0.2:8080", Reason: nasty, Account: "lin", Since: ago(3 * time.Hour)}
}

func exampleHead() views.NodeHead {
	return views.NodeHead{
		NodeRow: views.NodeRow{
			Name: "order-service", Display: nasty, Group: "shop", GroupName: "Shop <EU>", State: views.StateUp, Up: 2, Total: 3, Enabled: true, HasLog: true,
			Versions: views.CountVersions([]string{"2.3.0", "2.3.0", "2.2.0"}), Beat: ago(4 * time.Second),
		},
		Tab: views.TabInstances, Pages: 1204, Rev: 7, Holds: []views.HoldView{exampleHold()}, Server: "https://fleet.example/ops",
		Side: views.NodeSideModel{Group: "shop", GroupName: "Shop <EU>", Current: "order-service", Nodes: []views.NodeLink{{Name: "order-service", State: views.StateUp}}},
	}
}

func TestGoldenNodeTable(t *testing.T) { // U10
	goldenIn(t, "node_table", views.NodesTable(views.NodeList{
		Fleet: views.Fleet{Nodes: 4, Count: map[views.StateKind]int{views.StateOffline: 1, views.StateUp: 1, views.StateDisabled: 1, views.StateNever: 1}, First: "billing"},
		Groups: []views.NodeGroup{
			{Code: "shop", Name: "Shop <EU>", Nodes: 3, Count: map[views.StateKind]int{views.StateOffline: 1, views.StateUp: 1, views.StateDisabled: 1}, Rows: []views.NodeRow{
				{Name: "billing", Display: "Billing", Group: "shop", GroupName: "Shop <EU>", State: views.StateOffline, Enabled: true, Beat: ago(2 * time.Minute),
					Verdict: views.Sayf("headline.node.off")},
				exampleHead().NodeRow,
				{Name: "old", Group: "shop", GroupName: "Shop <EU>", State: views.StateDisabled},
			}},
			{Nodes: 1, Count: map[views.StateKind]int{views.StateNever: 1}, Rows: []views.NodeRow{{Name: "new", Display: "新节点", State: views.StateNever, Enabled: true}}},
		},
		Matches: 1204, Pager: views.Paged(2, 25, 1204, func(page, size int) string { return fmt.Sprintf("/console/nodes?page=%d&size=%d", page, size) }),
	}))
}

func TestGoldenNodeHeader(t *testing.T) { // U20
	goldenIn(t, "node_header", views.NodeHeader(exampleHead()))
}

func TestGoldenInstances(t *testing.T) { // U21
	goldenIn(t, "instances", views.InstanceSection(views.NodeInstances{
		NodeHead: exampleHead(),
		Instances: []views.InstanceRow{
			{ID: "i-1", State: views.StateUp, Locations: []string{"http://10.0.0.1:8080"}, Version: "2.3.0", Peer: "10.0.0.1", Beat: ago(4 * time.Second), Registered: ago(50 * time.Hour)},
			{ID: nasty, State: views.StateHeld, Locations: []string{"http://10.0.0.2:8080", "https://b.example"}, Version: "2.2.0", Peer: "10.0.0.2", Beat: ago(9 * time.Second),
				Registered: ago(time.Hour), Holds: []views.HoldView{exampleHold()}, Conflict: true},
			{ID: "i-3", State: views.StateDraining, Locations: []string{"http://10.0.0.3:8080"}, Beat: ago(time.Second), Registered: ago(time.Minute), DrainUntil: at.Add(20 * time.Second)},
		},
		Absent: []views.HoldView{{Location: "http://10.0.0.9:1", Account: "wang", Since: ago(72 * time.Hour)}},
		Pager: views.Paged(1, 25, 3, func(page, size int) string {
			return fmt.Sprintf("/console/nodes/order-service/instances?page=%d&size=%d", page, size)
		}),
	}))
}

func TestGoldenGroupTree(t *testing.T) { // U40
	goldenIn(t, "group_tree", mainOf(views.GroupTreePage(views.GroupTree{Rows: []views.GroupRow{
		{Code: "eu", Name: "Europe", Nodes: 0, Below: 1204, Revision: 3}, {Code: "shop", Name: nasty, Remark: nasty, Depth: 1, Nodes: 1204, Below: 1204}, {Code: "x", Name: "空", Depth: 0},
	}})))
}

func TestGoldenToken(t *testing.T) { // U23
	m := views.SnippetModel{Node: "order-service", Server: "https://fleet.example/ops"}
	goldenIn(t, "token_masked", views.TokenView(m))
	m.Token = `q'u"o$te`
	goldenIn(t, "token_shown", views.TokenView(m))
}

func TestGoldenLogDrawer(t *testing.T) { // U32
	goldenIn(t, "log_drawer", views.LogDrawer(views.LogPanelModel{
		Node: "order-service", Instance: nasty, Drawer: true,
		Instances: []views.LogInstance{{ID: nasty, Location: "http://10.0.0.1:8080", State: views.StateUp}, {ID: "i-2", Location: "http://10.0.0.2:8080", State: views.StateHeld}},
		Chunk: views.LogChunk{
			Node: "order-service", Lines: []views.LogLine{views.ParseLogLine(11, "INFO ready"), views.ParseLogLine(12, "ERROR \x1b[31m"+nasty)},
			Sources: []views.LogSource{{LogInstance: views.LogInstance{ID: nasty, Short: nasty, Class: "c1"}, First: 11, Last: 12, Oldest: 3}}, Order: views.LogByArrival,
		},
	}))
}

func TestGoldenConfigEditor(t *testing.T) { // U41
	goldenIn(t, "config_editor", mainOf(views.ConfigEditorPage(views.ConfigEditor{
		ConfigTarget: views.ConfigTarget{Path: "/console/groups/shop/config", Title: "Shop <EU>", Group: "shop", Edit: true},
		Text:         "{\n  \"a\": \"</textarea>\"\n}", Revision: 7, Problem: views.Problem{Line: 2, Column: 8, Message: nasty}, Note: nasty,
		History: []views.RevisionRow{
			{Number: 7, Author: "lin", Address: "10.0.0.1", Note: nasty, Created: ago(time.Hour), Size: 5222, Current: true},
			{Number: 6, Author: "wang", Created: ago(80 * 24 * time.Hour), Size: 2},
		},
		Effective: []views.EffectiveRow{{Key: "a", Value: nasty, Origin: "Europe"}, {Key: "secret", Masked: true}},
		Based:     views.Sayf("headline.node.off"),
	})))
}

func examplePage() views.PageHead {
	return views.PageHead{
		Full: "crm.Customer", Title: nasty, Desc: "who buys", Node: "crm", NodeLabel: "CRM", Pages: 2, NodeCount: 1,
		Source: views.PageSource{Instance: "i-1", Address: "http://10.0.0.1:8080", Version: "2.3.0", Took: 23 * time.Millisecond, Rights: []string{"query", "add", "edit", "delete", "view"}},
	}
}

func TestGoldenPageTable(t *testing.T) { // U50
	yes := true
	goldenIn(t, "page_table", views.PageTableBody(views.PageTableModel{
		PageHead: examplePage(), Self: "/console/pages/crm.Customer?page=2", Total: 1204, First: 26, Last: 27, Page: 2, Pages: 49, Size: 25, Sizes: []int{25, 50},
		Prev: "/console/pages/crm.Customer?page=1", Next: "/console/pages/crm.Customer?page=3", NewPath: "/console/pages/crm.Customer/new", DeletePath: "/console/pages/crm.Customer/delete",
		Columns: []views.PageColumn{
			{Title: "Name", Desc: nasty, SortPath: "/console/pages/crm.Customer?sort=name", Sorted: "ascending"}, {Title: "Active"}, {Title: "Tags"}, {Title: "Colour"}, {Title: "Site"}, {Title: "Sum", End: true},
		},
		Rows: []views.PageRow{
			{ID: "1", Open: views.RecordPath("crm.Customer", "1", ""), Label: "Lin", CanDelete: true, Editable: true, Cells: []views.PageCell{
				{Kind: "text", Text: nasty, Main: true}, {Kind: "bool", Text: "Yes", Yes: &yes}, {Kind: "tags", Items: []string{"red", nasty}}, {Kind: "color", Text: "#ff8800", Color: "#ff8800"},
				{Kind: "link", Text: "https://a.example/?a=1&b=2", URL: "https://a.example/?a=1&b=2"}, {Kind: "number", Text: "1,204.50", Exact: "1204.5", End: true},
			}},
			{ID: nasty, Label: "Wang", Cells: []views.PageCell{{Text: "Wang", Main: true}, {}, {}, {}, {}, {End: true}}},
		},
	}))
}

func TestGoldenRecordForm(t *testing.T) { // U52
	goldenIn(t, "record_form", views.PageRecordDrawer(views.PageRecordModel{
		PageHead: examplePage(), ID: "1", Label: nasty, Drawer: true, Action: views.PagePath("crm.Customer", "save"), Options: views.PagePath("crm.Customer", "options"),
		Back: "/console/pages/crm.Customer?page=2", Nonce: "n1", Base: `{"name":"</script>"}`, CanSave: true, Dirty: true, DeletePath: views.PagePath("crm.Customer", "delete"),
		Notice: views.PageNotice{Kind: "down", Message: nasty, Field: "name", FieldLabel: "Name"},
		Fields: []views.PageField{
			{ID: "f-name", Name: "name", Label: nasty, Hint: nasty, Control: "text", Value: nasty, Required: true, Max: 20, Error: nasty},
			{ID: "f-note", Name: "note", Label: "Note", Control: "area", Value: "</textarea>", Wide: true},
			{ID: "f-age", Name: "age", Label: "Age", Control: "number", Value: "41", Min: "0", Highest: "150", Step: "1", Suffix: []views.PageOption{{Value: "y", Label: "years", On: true}}},
			{ID: "f-day", Name: "day", Label: "Day", Control: "date", Date: "DATE", Value: "2026-07-01"},
			{ID: "f-on", Name: "on", Label: "On", Control: "bool", Value: "true", Options: []views.PageOption{{Value: "true", Label: "Yes", On: true}, {Value: "false", Label: "No"}}},
			{ID: "f-level", Name: "level", Label: "Level", Control: "choice", Options: []views.PageOption{{Value: "V", Label: "VIP", Desc: nasty, On: true}, {Value: "N", Label: "Normal", Disabled: true}}},
			{ID: "f-via", Name: "via", Label: "Via", Control: "multi", Options: []views.PageOption{{Value: "w", Label: "Web", On: true}, {Value: "t", Label: "Phone"}}},
			{ID: "f-tags", Name: "tags", Label: "Tags", Control: "tags", Free: true, Options: []views.PageOption{{Value: "red", Label: "red", On: true}, {Value: nasty, Label: nasty}}},
			{ID: "f-pwd", Name: "pwd", Label: "Secret", Control: "password", Stored: true},
			{ID: "f-colour", Name: "colour", Label: "Colour", Control: "color", Value: "#ff8800"},
			{ID: "f-region", Name: "region", Label: "Region", Control: "ref", Ref: views.PageRef{ID: "3", Label: nasty, Open: true, Query: "Be", Total: 2,
				Options: []views.PageOption{{Value: views.RefValue("3", "Berlin"), Label: "Berlin", On: true, Depth: 2}, {Value: views.RefValue("4", "Bern"), Label: "Bern"}}}},
			{ID: "f-lines", Name: "lines", Label: "Lines", Control: "rows", Columns: []views.PageColumn{{Title: "Product"}}, Rows: [][]views.PageCell{{{Text: nasty}}}},
			{ID: "f-by", Name: "by", Label: "Changed by", Control: "shown", Cell: views.PageCell{Kind: "text", Text: nasty}},
		},
	}))
}
