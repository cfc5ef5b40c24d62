package views

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// menuHeadline says how much there is to open and what is wrong.
func (m PageMenuModel) menuHeadline(ctx context.Context) string {
	switch {
	case m.Pages == 0 && m.Admin:
		return T(ctx, "page.menu.none_admin")
	case m.Pages == 0:
		return T(ctx, "page.menu.none")
	}
	pages := T(ctx, "page.menu.pages", "count", m.Pages)
	nodes := T(ctx, "page.menu.nodes", "count", m.NodeCount)
	if m.Down > 0 {
		return T(ctx, "page.menu.headline_down", "pages", pages, "nodes", nodes, "down", T(ctx, "page.menu.down", "count", m.Down, "node", m.DownNode))
	}
	return T(ctx, "page.menu.headline", "pages", pages, "nodes", nodes)
}

// countLine says how many records the table has.
func (m PageTableModel) countLine(ctx context.Context) string {
	if m.Filtered {
		return T(ctx, "page.table.found", "count", m.Total, "n", Num(m.Total))
	}
	return T(ctx, "page.table.count", "count", m.Total, "n", Num(m.Total))
}

func (s PageSource) rightsLine(ctx context.Context) string {
	if len(s.Rights) == 0 {
		return T(ctx, "page.rights.none")
	}
	words := make([]string, len(s.Rights))
	for i, r := range s.Rights {
		words[i] = T(ctx, "page.right."+r)
	}
	return T(ctx, "page.rights", "rights", strings.Join(words, T(ctx, "page.comma")))
}

// rest is what follows the address.
func (s PageSource) rest(ctx context.Context) string {
	version := s.Version
	if version != "" {
		if !strings.HasPrefix(version, "go-") { // Go agents say that they are no erupt
			version = "erupt " + version
		}
		version += " · "
	}
	return "· " + version + s.millis() + " · " + s.rightsLine(ctx)
}

// millis writes how long an answer took.
func (s PageSource) millis() string {
	return strconv.FormatInt(max(s.Took.Milliseconds(), 1), 10) + " ms"
}

func (s PageSource) host() string {
	_, host, found := strings.Cut(s.Address, "://")
	if !found {
		return s.Address
	}
	return host
}

// recordTitle names a record: its own label, else its id.
func (m PageRecordModel) recordTitle(ctx context.Context) string {
	switch {
	case m.Add:
		return T(ctx, "page.record.new", "page", m.Title)
	case m.Label != "":
		return m.Label
	}
	return m.ID
}

func (f PageField) describedBy() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID+"-h")
	}
	if f.Error != "" {
		ids = append(ids, f.ID+"-e")
	}
	return strings.Join(ids, " ")
}

// depth classes stand in for inline styles, which the CSP forbids.
func treeClass(depth int) string { return "lv-" + strconv.Itoa(min(depth, 12)) }

// nbsp indents an option; a select has no other way.
func (o PageOption) indented() string {
	return strings.Repeat("\u00a0\u00a0\u00a0", min(o.Depth, 12)) + o.Label
}

// match cuts s around the first occurrence of query, ignoring case, for marking it.
func match(s, query string) (before, hit, after string) {
	if query == "" {
		return s, "", ""
	}
	i := strings.Index(strings.ToLower(s), strings.ToLower(query))
	// Lowering can change lengths for a few letters; then nothing is marked.
	if i < 0 || i+len(query) > len(s) || !strings.EqualFold(s[i:i+len(query)], query) {
		return s, "", ""
	}
	return s[:i], s[i : i+len(query)], s[i+len(query):]
}

// marked writes s with the part that was searched for marked. It is no template: those put spaces between their parts.
func marked(s, query string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		before, hit, after := match(s, query)
		out := templ.EscapeString(before)
		if hit != "" {
			out += "<mark>" + templ.EscapeString(hit) + "</mark>"
		}
		_, err := io.WriteString(w, out+templ.EscapeString(after))
		return err
	})
}

// inputType is the browser's input for a date kind; an unreadable stored value needs the plain one.
func (f PageField) dateInput() (kind, value string) {
	switch f.Date {
	case "DATE":
		return "date", f.Value
	case "DATE_TIME":
		return "datetime-local", strings.Replace(f.Value, " ", "T", 1)
	case "TIME":
		return "time", f.Value
	case "MONTH":
		return "month", f.Value
	case "WEEK":
		return "week", strings.Replace(f.Value, "-", "-W", 1)
	}
	return "text", f.Value
}

func searchDate(kind string) string {
	if kind == "DATE_TIME" {
		return "datetime-local"
	}
	return "date"
}

// target is the id of the box; table and record each have their own.
func (m PageConfirm) target() string {
	if m.Record {
		return "record-confirm"
	}
	return "page-confirm"
}

// question names what would be deleted: one record by its label, several by number with the first few labels.
func (m PageConfirm) question(ctx context.Context) string {
	const named = 3
	if len(m.Labels) == 0 {
		return T(ctx, "page.delete_sure", "count", len(m.IDs), "names", strings.Join(m.IDs[:min(len(m.IDs), named)], ", "))
	}
	names := strings.Join(m.Labels[:min(len(m.Labels), named)], T(ctx, "page.comma"))
	if len(m.Labels) > named {
		names += " …"
	}
	return T(ctx, "page.delete_sure", "count", len(m.IDs), "names", names)
}

// grouped fields consist of several inputs under one label.
func (f PageField) grouped() bool {
	switch f.Control {
	case "bool", "multi", "tags", "rows", "shown":
		return true
	case "choice":
		return f.Radio
	}
	return false
}

func (f PageField) attrs() templ.Attributes {
	a := templ.Attributes{}
	if by := f.describedBy(); by != "" {
		a["aria-describedby"] = by
	}
	if f.Error != "" {
		a["aria-invalid"] = "true"
	}
	if f.Max > 0 {
		a["maxlength"] = strconv.Itoa(f.Max)
	}
	return a
}

func (o PageOption) described() string {
	if o.Desc == "" {
		return o.Label
	}
	return o.Label + " (" + o.Desc + ")"
}

// shown is what the search box of a reference holds: what was typed while its choices are open, else the chosen one.
func (r PageRef) shown() string {
	if r.Open {
		return r.Query
	}
	return r.Label
}

// listed reports whether the chosen one is among the options.
func (r PageRef) listed() bool {
	for _, o := range r.Options {
		if o.On {
			return true
		}
	}
	return false
}

// include names the inputs that go along when choices are fetched: the present choice, and the field it depends on.
func (r PageRef) include(name string) string {
	sel := "[name=" + strconv.Quote(name) + "]"
	if r.Depends != "" {
		sel += ",[name=" + strconv.Quote(r.Depends) + "]"
	}
	return sel
}

func refVals(name string) string {
	b, _ := json.Marshal(map[string]string{"field": name}) // a map of strings cannot fail
	return string(b)
}

func ariaBool(b bool) string { return strconv.FormatBool(b) }

// colorOr is the value of the browser's colour chooser, which cannot be empty.
func colorOr(c string) string {
	if len(c) == 7 && c[0] == '#' {
		return c
	}
	return "#000000"
}

func noticeIcon(kind string) string {
	if kind == "down" || kind == "up" || kind == "slow" {
		return kind
	}
	return "info"
}
