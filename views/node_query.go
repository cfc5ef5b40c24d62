package views

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// NodeQuery is the filter of the node list as it stands in the address bar.
type NodeQuery struct {
	Text     string
	States   []string
	Groups   []string // codes; "-" means none
	Versions []string
	Enabled  string // "1", "0" or empty
	Order    string // OrderWorst, OrderGroup or empty: as the viewer is used to
	Page     int
	Size     int
}

// The orders of the node list.
const (
	OrderWorst = "worst" // over all groups
	OrderGroup = "group" // by group, the worst first in each, and the group of the worst first
)

// ParseNodeQuery reads the filter; what it does not understand it leaves out.
func ParseNodeQuery(v url.Values) NodeQuery {
	q := NodeQuery{
		Text: strings.TrimSpace(v.Get("q")), States: few(v["state"]), Groups: few(v["group"]), Versions: few(v["version"]),
	}
	if o := v.Get("order"); o == OrderWorst || o == OrderGroup {
		q.Order = o
	}
	if e := v.Get("enabled"); e == "1" || e == "0" {
		q.Enabled = e
	}
	q.Page, _ = strconv.Atoi(v.Get("page")) // not a number: the first page
	q.Size, _ = strconv.Atoi(v.Get("size"))
	return q
}

// few keeps a filter from growing without bound.
func few(values []string) []string {
	var out []string
	for _, v := range values {
		if v != "" && len(v) <= 255 && len(out) < 50 && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// Path returns the address of the list with this filter; page and size only where they differ from the default.
func (q NodeQuery) Path() string {
	v := url.Values{}
	set := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	set("q", q.Text)
	set("enabled", q.Enabled)
	v["state"], v["group"], v["version"] = q.States, q.Groups, q.Versions
	set("order", q.Order)
	if q.Page > 1 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	if q.Size > 0 {
		v.Set("size", strconv.Itoa(q.Size))
	}
	if enc := v.Encode(); enc != "" {
		return "/console/nodes?" + enc
	}
	return "/console/nodes"
}

// Active reports whether anything is filtered.
func (q NodeQuery) Active() bool {
	return q.Text != "" || q.Enabled != "" || len(q.States)+len(q.Groups)+len(q.Versions) > 0
}

// Toggled returns the filter with one value of a kind switched, on the first page.
func (q NodeQuery) Toggled(kind, value string) NodeQuery {
	q.Page = 0
	switch kind {
	case "state":
		q.States = toggled(q.States, value)
	case "group":
		q.Groups = toggled(q.Groups, value)
	case "version":
		q.Versions = toggled(q.Versions, value)
	case "enabled":
		if q.Enabled == value {
			value = ""
		}
		q.Enabled = value
	}
	return q
}

func toggled(list []string, value string) []string {
	if slices.Contains(list, value) {
		return slices.DeleteFunc(slices.Clone(list), func(v string) bool { return v == value })
	}
	return append(slices.Clone(list), value)
}

// Has reports whether a value of a kind is filtered for.
func (q NodeQuery) Has(kind, value string) bool {
	switch kind {
	case "state":
		return slices.Contains(q.States, value)
	case "group":
		return slices.Contains(q.Groups, value)
	case "version":
		return slices.Contains(q.Versions, value)
	}
	return kind == "enabled" && q.Enabled == value
}

// Reset returns the list without any filter, in the same order.
func (q NodeQuery) Reset() NodeQuery { return NodeQuery{Order: q.Order, Size: q.Size} }

// At returns the same list at another page; size 0 keeps it.
func (q NodeQuery) At(page, size int) NodeQuery {
	q.Page = page
	if size > 0 {
		q.Size = size
	}
	return q
}

// In returns the list in another order.
func (q NodeQuery) In(order string) NodeQuery {
	q.Order, q.Page = order, 0
	return q
}

// Without returns the list without the text that was searched for.
func (q NodeQuery) Without() NodeQuery {
	q.Text, q.Page = "", 0
	return q
}

// With returns the path of the list with one more parameter, which is remembered and no part of the filter.
func (q NodeQuery) With(key, value string) string {
	path, sep := q.Path(), "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	return path + sep + url.Values{key: {value}}.Encode()
}

// File is the path of the list as a file.
func (q NodeQuery) File() string {
	q.Page, q.Size = 0, 0
	return "/console/nodes.csv" + strings.TrimPrefix(q.Path(), "/console/nodes")
}
