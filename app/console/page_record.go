package console

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/buildmodel"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// draft is a record on its way to the form: the row as the node has it, and what a person typed over it.
type draft struct {
	*opened
	add    bool
	id     string
	row    buildmodel.Row // as read, or the initial values of a new one
	base   buildmodel.Row // what the form started from
	typed  map[string]buildmodel.Entry
	errors map[string]string
	pick   string // field whose choices are shown
	finds  url.Values
	notice views.PageNotice
	dirty  bool
	drawer bool
	back   string
	link   string
}

// record handles GET /console/pages/:page/record?id=: one record, to look at or to change.
func (v *nodeViews) record(c *gin.Context) error {
	o, err := v.open(c)
	if err != nil {
		return err
	}
	d := v.newDraft(c, o, c.Query("back"))
	d.id = c.Query("id")
	if d.id == "" {
		return fault.New(fault.Invalid, "the address names no record")
	}
	if o.problem == nil {
		if d.row, err = v.read(c, d); err != nil {
			return err
		}
	}
	d.base = d.row
	return v.renderRecord(c, d, o.status(c))
}

// newRecord handles GET /console/pages/:page/new.
func (v *nodeViews) newRecord(c *gin.Context) error {
	o, err := v.open(c)
	if err != nil {
		return err
	}
	if err := o.may(c, proxy.Add); err != nil {
		return err
	}
	d := v.newDraft(c, o, c.Query("back"))
	d.add, d.link = true, c.Query("link")
	if o.problem == nil {
		if d.row, err = v.read(c, d); err != nil {
			return err
		}
	}
	d.base = d.row
	if id, label := views.ParseRefValue(c.Query("parent")); id != "" && o.model != nil {
		if f := o.model.ParentField(); f != nil {
			d.typed = map[string]buildmodel.Entry{f.Name: {Ref: buildmodel.Ref{ID: id, Label: label}}}
		}
	}
	return v.renderRecord(c, d, o.status(c))
}

func (v *nodeViews) newDraft(c *gin.Context, o *opened, back string) *draft {
	d := &draft{opened: o, row: buildmodel.Row{}, errors: map[string]string{}, drawer: isFragment(c)}
	if d.back = views.BackPath(back); back == "" {
		d.back = views.PagePath(o.Full)
	}
	return d
}

// read asks for the record, or for the values that a new one starts with. A refusal or an unreachable node becomes the draft's
// problem.
func (v *nodeViews) read(c *gin.Context, d *draft) (buildmodel.Row, error) {
	call := proxy.Call{Full: d.Full, Path: "data/{e}/{id}", Params: []string{d.id}}
	if d.add {
		call = proxy.Call{Full: d.Full, Path: "data/init-value/{e}"}
	}
	answer, err := v.call(c, call)
	if err != nil {
		d.problem, err = v.problem(c, d.opened, err)
		return buildmodel.Row{}, err
	}
	rights := d.Source.Rights
	d.Source = v.source(d.Node, answer)
	d.Source.Rights = rights
	if r, refused := buildmodel.Refused(answer.Status, answer.Body); refused {
		// Nodes say "no permission" for a record that does not exist, too.
		d.problem = &views.PageProblem{
			Code: "refused", State: views.StateSlow, Title: views.Sayf("page.problem.no_record", "node", d.NodeLabel, "id", d.id), Message: r.Message,
		}
		return buildmodel.Row{}, nil
	}
	row, err := buildmodel.ParseRow(answer.Body)
	if err != nil {
		d.problem = &views.PageProblem{Code: "unreadable", State: views.StateDown, Title: views.Sayf("page.problem.unreadable", "node", d.NodeLabel)}
		return buildmodel.Row{}, nil
	}
	return row, nil
}

func (v *nodeViews) renderRecord(c *gin.Context, d *draft, status int) error {
	m, err := v.recordModel(c, d)
	if err != nil {
		return err
	}
	c.Status(status)
	if isFragment(c) && c.Request.Method == http.MethodGet {
		return web.Render(c, views.PageRecordDrawer(m))
	}
	return web.Twin(c, recordDocumentOf(c, m), views.PageRecord(m), views.PageRecordFragment)
}

// recordModel is the form of a draft.
func (v *nodeViews) recordModel(c *gin.Context, d *draft) (views.PageRecordModel, error) {
	m := views.PageRecordModel{
		PageHead: d.PageHead, Problem: d.problem, ID: d.id, Add: d.add, Drawer: d.drawer, Back: d.back, Link: d.link,
		Options: views.PagePath(d.Full, "options"), Notice: d.notice, Dirty: d.dirty, Nonce: rand.Text(),
		Action: views.PagePath(d.Full, "new"),
	}
	if !d.add {
		m.Action = views.PagePath(d.Full, "record") + "?" + url.Values{"id": {d.id}}.Encode()
	}
	if d.problem != nil {
		return m, nil
	}
	power := d.row.Power(v.power(c, d.opened))
	m.CanSave = power.Edit && !d.add || power.Add && d.add
	if power.Delete && !d.add {
		m.DeletePath = views.PagePath(d.Full, "delete")
	}
	m.Label = d.label()
	m.Fields = v.recordFields(c, d, m.CanSave)
	base, err := json.Marshal(d.editable(d.base))
	m.Base = string(base)
	return m, err
}

// label names the record: the value of the column that names rows.
func (d *draft) label() string {
	if d.add {
		return ""
	}
	if d.tree {
		if t := d.row.Text(d.model.Tree.Label); t != "" {
			return t
		}
	}
	cols := d.model.Columns()
	if len(cols) == 0 {
		return ""
	}
	return cols[mainColumn(d.model, cols)].Cell(d.row).Text
}

// editable is the part of a row that the form can change; only that has to travel with the form.
func (d *draft) editable(row buildmodel.Row) buildmodel.Row {
	out := buildmodel.Row{}
	for i := range d.model.Fields {
		f := &d.model.Fields[i]
		if row.Has(f.Name) && isEditable(d.model.Control(f, row[f.Name], d.add)) {
			out[f.Name] = row[f.Name]
		}
	}
	return out
}

func isEditable(control buildmodel.Control) bool {
	switch control {
	case buildmodel.ControlNone, buildmodel.ControlShown, buildmodel.ControlRows:
		return false
	}
	return true
}
