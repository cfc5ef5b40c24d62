package views

import (
	"context"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Since is a point in time that a sentence tells as "3 min ago".
type Since struct{ time.Time }

// Age is the beginning of something that lasts; a sentence tells its length as "4.1 s".
type Age struct{ time.Time }

// Fleet is what the headline over the node list is made from.
type Fleet struct {
	Nodes int
	Count map[StateKind]int
	// First is the node to look at first: the worst that should be up and is not. Empty: nothing is wrong.
	First string
	// Partly are the nodes that are up although some of their instances are held, Leaving those of which some drain.
	Partly, Leaving []PartlyOut
}

// PartlyOut is a node with some but not all of its instances out of routing because somebody wants it so.
type PartlyOut struct {
	Node       string
	Out, Total int
}

// alarms are the states that a headline names, worst first.
var alarms = []StateKind{StateDown, StateOffline, StateSlow, StateProbing, StateDraining, StateHeld}

// NodesHeadline says what is wrong with the fleet, or that nothing is; every number in it is a link to the nodes that it
// counts. Disabled nodes and those that were never seen are nobody's alarm, but "all" never stands for fewer nodes than there
// are: the never seen are named, and beside disabled nodes it is the enabled ones that are all well.
func NodesHeadline(ctx context.Context, f Fleet) []Part {
	if f.Nodes == 0 {
		return partsOf(T(ctx, "headline.none"))
	}
	expected := f.Nodes - f.Count[StateDisabled] - f.Count[StateNever]
	if expected == 0 {
		return partsOf(T(ctx, "headline.nothing_expected", "count", f.Nodes, "n", stateLink(ctx, f.Nodes, "")))
	}
	if f.Count[StateOffline] == expected {
		key := "headline.all_off"
		if f.Count[StateNever] > 0 {
			key = "headline.all_seen_off"
		}
		return partsOf(T(ctx, key, "count", expected, "n", stateLink(ctx, expected, StateOffline)))
	}
	var clauses []string
	for _, s := range alarms {
		if n := f.Count[s]; n > 0 {
			key := "headline." + string(s)
			if len(clauses) > 0 {
				key += ".then" // "three are slow": the noun was said
			}
			clauses = append(clauses, T(ctx, key, "count", n, "n", stateLink(ctx, n, s)))
		}
	}
	if len(clauses) == 0 {
		return partsOf(f.partly(ctx, upper(f.well(ctx, expected))))
	}
	text := f.partly(ctx, upper(strings.Join(clauses, T(ctx, "headline.comma")))+T(ctx, "headline.stop"))
	if f.First != "" {
		text += T(ctx, "headline.start", "node", linked(f.First, NodePath(f.First, "")))
	}
	return partsOf(text)
}

// well says that what should run does: n nodes.
func (f Fleet) well(ctx context.Context, n int) string {
	up := stateLink(ctx, n, StateUp)
	if never := f.Count[StateNever]; never > 0 {
		return T(ctx, "headline.up", "count", n, "n", up) + T(ctx, "headline.comma") +
			T(ctx, "headline.never.then", "count", never, "n", stateLink(ctx, never, StateNever)) + T(ctx, "headline.stop")
	}
	if f.Count[StateDisabled] > 0 {
		return T(ctx, "headline.all_enabled_up", "count", n, "n", up)
	}
	return T(ctx, "headline.all_up", "count", n, "n", up)
}

// partly adds to a sentence what is held, and what drains, inside nodes that are up: of one node it says how much, of several how
// many they are.
func (f Fleet) partly(ctx context.Context, text string) string {
	up := "/console/nodes?state=" + string(StateUp)
	add := func(more string) { text = strings.TrimSuffix(text, T(ctx, "headline.stop")) + more }
	if n := len(f.Partly); n > 1 {
		add(T(ctx, "headline.partly_many", "n", linked(Word(ctx, n), up)))
	} else if n == 1 {
		p := f.Partly[0]
		add(T(ctx, "headline.partly", "count", p.Out, "n", Num(p.Out), "total", Num(p.Total), "node", linked(p.Node, NodePath(p.Node, TabInstances))))
	}
	if n := len(f.Leaving); n > 1 {
		add(T(ctx, "headline.leaving_many", "n", linked(Word(ctx, n), up)))
	} else if n == 1 {
		p := f.Leaving[0]
		add(T(ctx, "headline.leaving", "count", p.Out, "n", Num(p.Out), "total", Num(p.Total), "node", linked(p.Node, NodePath(p.Node, TabInstances))))
	}
	return text
}

// stateLink is a number that leads to the nodes that it counts.
func stateLink(ctx context.Context, n int, s StateKind) string {
	path := "/console/nodes"
	if s != "" {
		path += "?state=" + string(s)
	}
	return linked(Word(ctx, n), path)
}

// Word writes a number as a word up to nine, as running text does, and in digits from ten on.
func Word(ctx context.Context, n int) string {
	if n < 1 || n > 9 {
		return Num(n)
	}
	return T(ctx, "number."+Num(n))
}

// upper makes the first letter of a sentence a capital one, also inside a link.
func upper(s string) string {
	start := 0
	if strings.HasPrefix(s, linkStart) {
		start = len(linkStart)
	}
	r, size := utf8.DecodeRuneInString(s[start:])
	return s[:start] + string(unicode.ToUpper(r)) + s[start+size:]
}

// NodePath returns the path of a node's page below the base path; sub is "" or "/config" and the like.
func NodePath(name, sub string) string { return "/console/nodes/" + url.PathEscape(name) + sub }

// GroupPath is NodePath for groups.
func GroupPath(code, sub string) string { return "/console/groups/" + url.PathEscape(code) + sub }
