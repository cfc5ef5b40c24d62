package views

import (
	"context"
	"net/url"
	"strconv"
	"strings"
)

// EventQuery is the filter of a node's events as it stands in the address bar.
type EventQuery struct {
	Node     string
	Kinds    []string
	Instance string
	Text     string
	Page     int
}

// ParseEventQuery reads the filter; what it does not understand it leaves out.
func ParseEventQuery(node string, v url.Values) EventQuery {
	q := EventQuery{Node: node, Kinds: few(v["kind"]), Instance: v.Get("instance"), Text: strings.TrimSpace(v.Get("q"))}
	q.Page, _ = strconv.Atoi(v.Get("page")) // not a number: the first page
	return q
}

// Path returns the address of the events with this filter, below a tab or a part of it.
func (q EventQuery) Path(sub string) string {
	v := url.Values{"kind": q.Kinds}
	if q.Instance != "" {
		v.Set("instance", q.Instance)
	}
	if q.Text != "" {
		v.Set("q", q.Text)
	}
	if q.Page > 1 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	if enc := v.Encode(); enc != "" {
		return NodePath(q.Node, sub) + "?" + enc
	}
	return NodePath(q.Node, sub)
}

// Toggled returns the filter with one kind switched, on the first page.
func (q EventQuery) Toggled(kind string) EventQuery {
	q.Kinds, q.Page = toggled(q.Kinds, kind), 0
	return q
}

// At returns the same filter at another page.
func (q EventQuery) At(page int) EventQuery {
	q.Page = page
	return q
}

// Active reports whether anything is filtered.
func (q EventQuery) Active() bool { return len(q.Kinds) > 0 || q.Instance != "" || q.Text != "" }

// Newer is the address that says how many events are newer than one.
func (q EventQuery) Newer(than int64) string {
	q.Page = 0
	path, sep := q.Path(TabEvents+"/new"), "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	return path + sep + "after=" + strconv.FormatInt(than, 10)
}

// icon is the symbol of a kind of event.
func (r EventRow) icon() string {
	switch r.Kind {
	case "registered", "enabled":
		return "up"
	case "left", "expired", "removed", "deleted":
		return "off"
	case "unreached", "refused", "conflict":
		return "slow"
	case "held":
		return "held"
	case "drained":
		return "drain"
	case "disabled":
		return "disabled"
	case "rotated", "grace_ended":
		return "key"
	case "published":
		return "conf"
	case "created":
		return "plus"
	}
	return "mark"
}

// class colours what nobody wanted.
func (r EventRow) class() string {
	switch r.Kind {
	case "unreached", "refused", "conflict":
		return "is-slow"
	case "expired":
		return "is-down"
	}
	return ""
}

// why is what a person wrote, or what the server noted, in the viewer's language.
func (r EventRow) why(ctx context.Context) string { return Translate(FrameOf(ctx).Lang, r.Reason) }

// InstancePath is the page of one instance. Ids are chosen by nodes and may hold anything.
func InstancePath(node, id string) string {
	return NodePath(node, "/instance") + "?" + url.Values{"id": {id}}.Encode()
}

// src is where the live parts of a node's page come from.
func (h NodeHead) src() string {
	switch {
	case h.Instance != "" && h.Tab == TabInstances:
		return InstancePath(h.Name, h.Instance)
	case h.Instance != "" && h.switches():
		return h.switchTo(h.Instance)
	}
	return NodePath(h.Name, h.Tab)
}

// switches reports whether one instance can be chosen on the tab. Configuration and settings are those of the node.
func (h NodeHead) switches() bool {
	return (len(h.Instances) > 0 || h.Instance != "") && h.Tab != TabConfig && h.Tab != TabSettings
}

// switchTo is where the switcher leads: to the same tab, as far as it is about one instance.
func (h NodeHead) switchTo(id string) string {
	switch h.Tab {
	case TabLog:
		return LogPath(h.Name, id)
	case TabEvents:
		return EventQuery{Node: h.Name, Instance: id}.Path(TabEvents)
	case TabPages, TabRoute:
		return withQuery(NodePath(h.Name, h.Tab), "instance", id)
	}
	return InstancePath(h.Name, id)
}

// allInstances is where the switcher's first entry leads.
func (h NodeHead) allInstances() string {
	switch h.Tab {
	case TabLog, TabEvents, TabPages, TabRoute:
		return NodePath(h.Name, h.Tab)
	}
	return NodePath(h.Name, TabInstances)
}

// work says what a draining instance still does.
func (d DrainView) work(ctx context.Context) string {
	switch {
	case !d.Measured:
		return T(ctx, "drain.unmeasured")
	case d.Count == 0 && !d.Known:
		return T(ctx, "drain.unknown")
	case d.Count == 0:
		return T(ctx, "drain.none")
	}
	text := T(ctx, "drain.flight", "count", d.Count, "n", Num(d.Count))
	if d.Streams > 0 {
		text += T(ctx, "drain.streams", "count", d.Streams, "n", Num(d.Streams))
	}
	if !d.Oldest.IsZero() {
		text += T(ctx, "drain.oldest", "age", Precise(ctx, d.Oldest))
	}
	return text
}

func (d DrainView) reason(ctx context.Context) string {
	switch {
	case !d.Ordered:
		return T(ctx, "drain.itself")
	case d.Reason == "":
		return T(ctx, "drain.by_bare", "who", d.Account)
	}
	return T(ctx, "drain.by", "who", d.Account, "why", d.Reason)
}
