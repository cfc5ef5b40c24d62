package console

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/buildmodel"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// Bounds of what a choice of references shows, and of what is read to search in ourselves.
const (
	maxOptions  = 50
	maxScanned  = 500
	maxRefQuery = 200 // characters
)

// options handles GET /console/pages/:page/options?field=: the rows that a reference may point to.
func (v *nodeViews) options(c *gin.Context) error {
	o, err := v.open(c)
	if err != nil {
		return err
	}
	name := c.Query("field")
	prefix, fieldName, _ := strings.Cut(name, ".")
	if o.model == nil {
		return fault.New(fault.NodeNotReady, "the node gave no page")
	}
	f := o.model.Field(fieldName)
	if f == nil || !isRef(f) || prefix != "f" && prefix != "q" {
		return fault.New(fault.NotFound, "the page has no such reference")
	}
	q := c.Request.URL.Query()
	field := views.PageField{ID: prefix + "-" + f.Name, Name: name, Label: f.Edit.Title, Required: prefix == "f" && f.Edit.Required}
	field.Ref.ID, field.Ref.Label = views.ParseRefValue(q.Get(name))
	query := q.Get("find." + name)
	if query == field.Ref.Label {
		query = "" // the box still shows the chosen one
	}
	v.fillRef(c, o, f, &field, query, dependID(q, prefix+".", f))
	return web.Render(c, views.PageOptions(field), views.PageOptionsFragment)
}

// dependName is the input that holds what a reference depends on; empty: nothing.
func dependName(prefix string, f *buildmodel.Field) string {
	if f.Edit.Ref.DependField == "" {
		return ""
	}
	return prefix + f.Edit.Ref.DependField
}

func dependID(q url.Values, prefix string, f *buildmodel.Field) string {
	id, _ := views.ParseRefValue(q.Get(dependName(prefix, f)))
	return id
}

// fillRef fetches the rows to choose from. What the node answers instead is shown in their place.
func (v *nodeViews) fillRef(c *gin.Context, o *opened, f *buildmodel.Field, field *views.PageField, query, depend string) {
	if r := []rune(strings.TrimSpace(query)); len(r) > maxRefQuery {
		query = string(r[:maxRefQuery])
	} else {
		query = string(r)
	}
	field.Ref.Open, field.Ref.Query = true, query
	fetch := v.refTable
	if f.Edit.Type == "REFERENCE_TREE" {
		fetch = v.refTree
	}
	options, total, problem, err := fetch(c, o, f, query, depend)
	if err != nil {
		problem = spoken(c, err)
	}
	for i := range options {
		options[i].On = options[i].Value != "" && refID(options[i].Value) == field.Ref.ID
	}
	field.Ref.Options, field.Ref.Total, field.Ref.Problem = options, total, problem
}

func refID(value string) string {
	id, _ := views.ParseRefValue(value)
	return id
}

func (v *nodeViews) refTree(c *gin.Context, o *opened, f *buildmodel.Field, query, depend string) ([]views.PageOption, int, string, error) {
	call := proxy.Call{Full: o.Full, Path: "data/{e}/reference-tree/{f}", Params: []string{f.Name}, Query: dependQuery(depend)}
	answer, err := v.call(c, call)
	if err != nil {
		return nil, 0, "", err
	}
	if r, refused := buildmodel.Refused(answer.Status, answer.Body); refused {
		return nil, 0, orElse(r.Message, views.T(c.Request.Context(), "page.no_reason")), nil
	}
	nodes, err := buildmodel.ParseTree(answer.Body)
	if err != nil {
		return nil, 0, views.T(c.Request.Context(), "page.unreadable"), nil
	}
	shown := found(nodes, query)
	var out []views.PageOption
	total := 0
	for i, n := range nodes {
		if !shown[i] {
			continue
		}
		if total++; len(out) < maxOptions {
			out = append(out, views.PageOption{Value: views.RefValue(n.ID, n.Label), Label: n.Label, Depth: n.Level})
		}
	}
	return out, total, "", nil
}

func dependQuery(depend string) url.Values {
	if depend == "" {
		return nil
	}
	return url.Values{"dependValue": {depend}}
}

// refTable asks for rows of the referenced class. Where the node can search the label it does; else the first rows are read and
// searched here.
func (v *nodeViews) refTable(c *gin.Context, o *opened, f *buildmodel.Field, query, depend string) ([]views.PageOption, int, string, error) {
	ask := buildmodel.Query{Page: 1, Size: maxOptions}
	if query != "" {
		if cond, ok := v.labelSearch(c, o, f, query); ok {
			ask.Conditions = []buildmodel.Condition{cond}
		} else {
			ask.Size = maxScanned
		}
	}
	params := url.Values{"tabRef": {"false"}} // left out, it is a null pointer on the node
	if depend != "" {
		params.Set("dependValue", depend)
	}
	answer, err := v.call(c, proxy.Call{
		Full: o.Full, Method: http.MethodPost, Path: "data/{e}/reference-table/{f}", Params: []string{f.Name}, Query: params,
		Body: bytes.NewReader(o.model.Write(ask)),
	})
	if err != nil {
		return nil, 0, "", err
	}
	if r, refused := buildmodel.Refused(answer.Status, answer.Body); refused {
		return nil, 0, orElse(r.Message, views.T(c.Request.Context(), "page.no_reason")), nil
	}
	page, err := buildmodel.ParsePage(answer.Body)
	if err != nil {
		return nil, 0, views.T(c.Request.Context(), "page.unreadable"), nil
	}
	var out []views.PageOption
	total := page.Total
	for _, r := range page.Rows {
		ref := f.RefOfRow(r)
		if len(ask.Conditions) == 0 && !contains(ref.Label, query) {
			total--
			continue
		}
		if ref.ID != "" && len(out) < maxOptions {
			out = append(out, views.PageOption{Value: views.RefValue(ref.ID, ref.Label), Label: ref.Label})
		}
	}
	return out, total, "", nil
}

// labelSearch is the condition for searching the label, if the referenced class lets it be searched for parts.
func (v *nodeViews) labelSearch(c *gin.Context, o *opened, f *buildmodel.Field, query string) (buildmodel.Condition, bool) {
	answer, err := v.call(c, proxy.Call{Full: o.Full, Path: "build/{e}/{f}", Params: []string{f.Name}})
	if err != nil || answer.Status != http.StatusOK {
		return buildmodel.Condition{}, false
	}
	m, err := buildmodel.Parse(answer.Body)
	if err != nil {
		return buildmodel.Condition{}, false
	}
	label := m.Field(f.Edit.Ref.Label)
	if label == nil || !label.Edit.Search.On || m.Classic && !label.Edit.Search.Vague || label.Edit.Search.Locked && label.Edit.Search.Operator != "LIKE" {
		return buildmodel.Condition{}, false
	}
	cond, ok, _ := m.Condition(label, buildmodel.Find{Text: query}, buildmodel.DaysUnknown)
	return cond, ok && label.Edit.Type == "INPUT"
}
