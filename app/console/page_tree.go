package console

import (
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/buildmodel"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// fillTree fills the page with indented lines.
func (v *nodeViews) fillTree(c *gin.Context, o *opened, m *views.PageTableModel, q url.Values, power buildmodel.Power) error {
	m.Reset = views.PagePath(o.Full)
	m.Find = strings.TrimSpace(q.Get("find"))
	answer, err := v.call(c, proxy.Call{Full: o.Full, Path: "data/tree/{e}"})
	if err != nil {
		o.problem, err = v.problem(c, o, err)
		m.Problem = o.problem
		return err
	}
	o.Source.Took = answer.Took
	if r, refused := buildmodel.Refused(answer.Status, answer.Body); refused {
		m.Refused = orElse(r.Message, views.T(c.Request.Context(), "page.no_reason"))
		return nil
	}
	nodes, err := buildmodel.ParseTree(answer.Body)
	if err != nil {
		m.Refused = views.T(c.Request.Context(), "page.unreadable")
		return nil
	}
	m.Total = len(nodes)
	shown := found(nodes, m.Find)
	m.Filtered = m.Find != ""
	if m.Filtered {
		m.Total = 0
	}
	for i, n := range nodes {
		if !shown[i] {
			continue
		}
		if m.Filtered && contains(n.Label, m.Find) {
			m.Total++
		}
		row := views.PageRow{ID: n.ID, Label: n.Label, Depth: n.Level, Children: n.Children, CanDelete: power.Delete, Editable: power.Edit}
		if power.View || power.Edit {
			row.Open = views.RecordPath(o.Full, n.ID, m.Self)
		}
		if power.Add && o.model.ParentField() != nil {
			row.AddBelow = views.PagePath(o.Full, "new") + "?" + url.Values{"back": {m.Self}, "parent": {views.RefValue(n.ID, n.Label)}}.Encode()
		}
		m.Rows = append(m.Rows, row)
	}
	return nil
}

func contains(s, query string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(query))
}

// found marks the lines that match and the lines above them, so that each keeps its place.
func found(nodes []buildmodel.TreeNode, query string) []bool {
	shown := make([]bool, len(nodes))
	var above []int // the line of each level on the way to this one
	for i, n := range nodes {
		above = append(above[:min(n.Level, len(above))], i)
		if contains(n.Label, query) {
			for j := len(above) - 1; j >= 0 && !shown[above[j]]; j-- {
				shown[above[j]] = true
			}
		}
	}
	return shown
}
