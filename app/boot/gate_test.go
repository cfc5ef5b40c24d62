package boot

import (
	"context"
	"errors"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/proxy"
)

type oneSession struct{ s access.Session }

func (o oneSession) Get(_ context.Context, token string, _ ...string) (access.Session, []bool, error) {
	if token != o.s.Token {
		return access.Session{}, nil, fault.New(fault.Unauthenticated, "sign in first")
	}
	return o.s, nil, nil
}

type plainDelegates struct{}

func (plainDelegates) Issue(session, node string) string { return node + " for " + session }

// orderModel is a page with a part (the class of its items) and a drill to another page.
const orderModel = `{"eruptModel":{"eruptName":"Order","eruptJson":{"drills":[{"code":"d1","title":"x","link":{"linkErupt":"Delivery"}}]},
"eruptFieldModels":[{"fieldName":"items","fieldReturnName":"Item","eruptFieldJson":{"views":[],"edit":{"title":"Items","type":"TAB_TABLE_ADD"}}}]},
"tabErupts":{"items":{"eruptModel":{"eruptName":"Item","eruptJson":{},"eruptFieldModels":[]}}},"power":{}}`

func TestGate(t *testing.T) { // A17, F18, erupt-wire 10.1
	holds := func(codes ...string) access.Session {
		s := access.Session{Token: "s", Account: "lin", Values: map[string]access.Menu{}}
		for _, c := range codes {
			s.Values[c] = access.Menu{}
		}
		return s
	}
	tests := map[string]struct {
		session access.Session
		wish    proxy.Wish
		want    proxy.Kind // empty: admitted
	}{
		"no token":                            {holds(), proxy.Wish{Node: "n", Erupt: "Order"}, proxy.Unauthenticated},
		"unknown token":                       {holds(), proxy.Wish{Token: "x", Node: "n", Erupt: "Order"}, proxy.Unauthenticated},
		"no code":                             {holds(), proxy.Wish{Token: "s", Node: "n", Erupt: "Order"}, proxy.Forbidden},
		"the page's code, any case":           {holds("n.order"), proxy.Wish{Token: "s", Node: "N", Erupt: "ORDER"}, ""},
		"another node's code":                 {holds("m.order"), proxy.Wish{Token: "s", Node: "n", Erupt: "Order"}, proxy.Forbidden},
		"a local menu opens no node's page":   {holds("eruptuser"), proxy.Wish{Token: "s", Node: "n", Erupt: "EruptUser"}, proxy.Forbidden},
		"add without its right":               {holds("n.order"), proxy.Wish{Token: "s", Node: "n", Erupt: "Order", Function: proxy.Add, Write: true}, proxy.Forbidden},
		"add with its right":                  {holds("n.order", "n.order@add"), proxy.Wish{Token: "s", Node: "n", Erupt: "Order", Function: proxy.Add, Write: true}, ""},
		"detail by the right to edit":         {holds("n.order", "n.order@edit"), proxy.Wish{Token: "s", Node: "n", Erupt: "Order", Function: proxy.ViewDetail}, ""},
		"a right without its page":            {holds("n.order@add"), proxy.Wish{Token: "s", Node: "n", Erupt: "Order", Function: proxy.Add}, proxy.Forbidden},
		"an admin needs no menu":              {access.Session{Token: "s", Admin: true}, proxy.Wish{Token: "s", Node: "n", Erupt: "Order", Function: proxy.Delete}, ""},
		"a part through its page":             {holds("n.order"), proxy.Wish{Token: "s", Node: "n", Erupt: "Item", Parent: "Order"}, ""},
		"a class that is no part":             {holds("n.order"), proxy.Wish{Token: "s", Node: "n", Erupt: "Secret", Parent: "Order"}, proxy.Forbidden},
		"an admin's forged parent too":        {access.Session{Token: "s", Admin: true}, proxy.Wish{Token: "s", Node: "n", Erupt: "Secret", Parent: "Order"}, proxy.Forbidden},
		"a part's change by a reader":         {holds("n.order"), proxy.Wish{Token: "s", Node: "n", Erupt: "Item", Parent: "Order", Function: proxy.Add, Write: true}, proxy.Forbidden},
		"a part's change by an editor":        {holds("n.order", "n.order@edit"), proxy.Wish{Token: "s", Node: "n", Erupt: "Item", Parent: "Order", Function: proxy.Add, Write: true}, ""},
		"a drill from a held page":            {holds("n.order", "n.delivery"), proxy.Wish{Token: "s", Node: "n", Erupt: "Delivery", DrillSource: "Order", Drill: "d1"}, ""},
		"a drill from a page that is not his": {holds("n.delivery"), proxy.Wish{Token: "s", Node: "n", Erupt: "Delivery", DrillSource: "Order", Drill: "d1"}, proxy.Forbidden},
		"a drill that the page does not have": {holds("n.order", "n.delivery"), proxy.Wish{Token: "s", Node: "n", Erupt: "Delivery", DrillSource: "Order", Drill: "d2"}, proxy.Forbidden},
		"a template by its path":              {holds("report.html"), proxy.Wish{Token: "s", Node: "n", Template: "report.html"}, ""},
		"a template without":                  {holds("n.order"), proxy.Wish{Token: "s", Node: "n", Template: "report.html"}, proxy.Forbidden},
		"a log without its code":              {holds("n.order"), proxy.Wish{Token: "s", Node: "n", Log: true}, proxy.Forbidden},
		"a file by any page of the node":      {holds("n.order"), proxy.Wish{Token: "s", Node: "n", Attachment: "/a.png"}, ""},
		"a file without one":                  {holds("m.order"), proxy.Wish{Token: "s", Node: "n", Attachment: "/a.png"}, proxy.Forbidden},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := &gate{sessions: oneSession{tt.session}, delegates: plainDelegates{}, chain: noGroups}
			g.models = newModelCache(time.Minute, time.Now, func(context.Context, string, string, proxy.User) ([]byte, error) {
				return []byte(orderModel), nil
			})
			user, err := g.Admit(t.Context(), tt.wish)
			got := proxy.Kind("")
			if err != nil {
				got = proxy.KindOf(err)
			}
			if got != tt.want {
				t.Errorf("Admit = %v, want kind %q", err, tt.want)
			}
			if err == nil && user.Delegated != tt.wish.Node+" for s" {
				t.Errorf("delegated token %q is not one for this node", user.Delegated)
			}
		})
	}
}

func noGroups(string) []int64 { return nil }

// D21: a code that is held for some groups opens the nodes of their trees, and one that is held for looking changes nothing.
func TestGateByGroup(t *testing.T) {
	s := access.Session{
		Token: "s", Account: "lin", Values: map[string]access.Menu{
			"n.order": {}, "n.order@edit": {}, "m.order": {}, "m.order@edit": {}, "n.delivery": {}, "report.html": {}, access.CodeNodeLog: {}, "n.looked": {},
		},
		Scopes: map[string][]int64{
			"n.order": {1}, "n.order@edit": {1}, "m.order": {1}, "m.order@edit": {1}, "report.html": {1}, access.CodeNodeLog: {1}, "n.delivery": {2},
		},
		Writes: map[string][]int64{"n.looked": {}},
	}
	groups := map[string][]int64{"n": {7, 1}, "m": {2}, "lonely": nil}
	tests := map[string]struct {
		wish     proxy.Wish
		required string // empty: admitted
	}{
		"a page of his group":                     {proxy.Wish{Node: "n", Erupt: "Order"}, ""},
		"a page of another group":                 {proxy.Wish{Node: "m", Erupt: "Order"}, "m.Order"},
		"a function of another group":             {proxy.Wish{Node: "m", Erupt: "Order", Function: proxy.Edit, Write: true}, "m.Order"},
		"a function that he lacks":                {proxy.Wish{Node: "n", Erupt: "Order", Function: proxy.Delete, Write: true}, "n.Order@DELETE"},
		"an operation in his group":               {proxy.Wish{Node: "n", Erupt: "Order", Write: true}, ""},
		"an operation on a page to look at":       {proxy.Wish{Node: "n", Erupt: "Looked", Write: true}, "n.Looked"},
		"a page to look at":                       {proxy.Wish{Node: "n", Erupt: "Looked"}, ""},
		"an operation on a part of such a page":   {proxy.Wish{Node: "n", Erupt: "Item", Parent: "Looked", Write: true}, "n.Looked"},
		"a drill from a page of another group":    {proxy.Wish{Node: "n", Erupt: "Order", DrillSource: "Delivery", Drill: "d1"}, "n.Delivery"},
		"a template of his group":                 {proxy.Wish{Node: "n", Template: "report.html"}, ""},
		"a template of another group":             {proxy.Wish{Node: "m", Template: "report.html"}, "report.html"},
		"a template of a node without group":      {proxy.Wish{Node: "lonely", Template: "report.html"}, "report.html"},
		"the log in his group":                    {proxy.Wish{Node: "n", Log: true}, ""},
		"the log in another group":                {proxy.Wish{Node: "m", Log: true}, access.CodeNodeLog},
		"the log of a node that does not exist":   {proxy.Wish{Node: "ghost", Log: true}, access.CodeNodeLog},
		"a file in his group":                     {proxy.Wish{Node: "n", Attachment: "/a.png"}, ""},
		"a file in another group":                 {proxy.Wish{Node: "m", Attachment: "/a.png"}, "-"},
		"whether there is a session at all":       {proxy.Wish{Node: "m"}, ""},
		"a page of no node, in no group, refused": {proxy.Wish{Node: "ghost", Erupt: "Order"}, "ghost.Order"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := &gate{sessions: oneSession{s}, delegates: plainDelegates{}, chain: func(node string) []int64 { return groups[node] }}
			g.models = newModelCache(time.Minute, time.Now, func(context.Context, string, string, proxy.User) ([]byte, error) { return []byte(orderModel), nil })
			tt.wish.Token = "s"
			user, err := g.Admit(t.Context(), tt.wish)
			var f *proxy.Failure
			got := ""
			if errors.As(err, &f) {
				if got = f.Required; got == "" {
					got = "-"
				}
			}
			if got != tt.required || tt.required != "" && proxy.KindOf(err) != proxy.Forbidden {
				t.Errorf("Admit = %v for want of %q, want %q", err, got, tt.required)
			}
			if user.Account != "lin" {
				t.Errorf("the answer says that %q asked", user.Account)
			}
		})
	}
}

func TestGateNamesItsRule(t *testing.T) { // D11
	for want, w := range map[string]proxy.Wish{
		"":                 {Node: "n"},
		"n.Order":          {Node: "n", Erupt: "Order", Write: true},
		"n.Order@DELETE":   {Node: "n", Erupt: "Order", Function: proxy.Delete},
		"n.Order@ADD":      {Node: "n", Erupt: "Item", Parent: "Order", Function: proxy.Delete, Write: true},
		"report.html":      {Node: "n", Template: "report.html"},
		access.CodeNodeLog: {Node: "n", Log: true},
		"n.O2@VIEW_DETAIL": {Node: "n", Erupt: "O2", Function: proxy.ViewDetail},
	} {
		if got := new(gate).Required(w); got != want {
			t.Errorf("Required(%+v) = %q, want %q", w, got, want)
		}
	}
}

func TestModelCacheAsksAgainOnAMiss(t *testing.T) {
	now, asked := time.Now(), 0
	answers := []string{`{"eruptModel":{"eruptName":"Order","eruptJson":{},"eruptFieldModels":[]}}`, orderModel}
	c := newModelCache(time.Minute, func() time.Time { return now }, func(context.Context, string, string, proxy.User) ([]byte, error) {
		asked++
		return []byte(answers[min(asked, len(answers))-1]), nil
	})
	g := &gate{sessions: oneSession{access.Session{Token: "s", Admin: true}}, delegates: plainDelegates{}, models: c, chain: noGroups}
	wish := proxy.Wish{Token: "s", Node: "n", Erupt: "Item", Parent: "Order"}
	if _, err := g.Admit(t.Context(), wish); proxy.KindOf(err) != proxy.Forbidden || asked != 1 {
		t.Fatalf("first: %v after %d questions", err, asked)
	}
	// the node was upgraded and now has the part: a kept model that says no is not believed
	if _, err := g.Admit(t.Context(), wish); err != nil || asked != 2 {
		t.Errorf("after the upgrade: %v after %d questions, want admitted after 2", err, asked)
	}
	if _, err := g.Admit(t.Context(), wish); err != nil || asked != 2 {
		t.Errorf("a kept model was not used: %v, %d questions", err, asked)
	}
	now = now.Add(2 * time.Minute)
	if _, err := g.Admit(t.Context(), wish); err != nil || asked != 3 {
		t.Errorf("an old model was used: %v, %d questions", err, asked)
	}
}
