package views_test

import (
	"context"
	"testing"
	"time"

	"eruptcloud/views"
)

var at = time.Date(2026, 12, 1, 6, 32, 5, 0, time.UTC)

// in is a context of a page in a language.
func in(lang string) context.Context {
	return views.WithFrame(context.Background(), views.Frame{Lang: lang, Now: at, Zone: time.UTC, Account: "a", Admin: true})
}

func TestNodesHeadline(t *testing.T) { // U0, U10
	type counts = map[views.StateKind]int
	tests := map[string]struct {
		fleet  views.Fleet
		en, zh string
	}{
		"nothing there": {views.Fleet{},
			"No node has registered yet. Create one, paste the snippet, and it appears here.",
			"还没有节点注册。新建一个，放入配置片段，它就会出现在这里。"},
		"all well":             {views.Fleet{Nodes: 42, Count: counts{"up": 42}}, "All 42 nodes are reachable.", "42个节点全部可达。"},
		"one node, never seen": {views.Fleet{Nodes: 1, Count: counts{"never": 1}}, "The one node is not expected to run: it is disabled or was never seen.", "一个节点都不需要运行：已停用或从未上线。"},
		"one node":             {views.Fleet{Nodes: 1, Count: counts{"up": 1}}, "The one node is reachable.", "一个节点全部可达。"},
		"disabled and never seen alarm nobody": {views.Fleet{Nodes: 5, Count: counts{"up": 3, "disabled": 1, "never": 1}},
			"Three nodes are reachable, one was never seen.", "三个节点可达，一个从未上线。"},
		"most were never seen": {views.Fleet{Nodes: 2040, Count: counts{"up": 40, "never": 2000}},
			"40 nodes are reachable, 2,000 were never seen.", "40个节点可达，2,000个从未上线。"},
		"one of two was never seen": {views.Fleet{Nodes: 2, Count: counts{"up": 1, "never": 1}},
			"One node is reachable, one was never seen.", "一个节点可达，一个从未上线。"},
		"never seen, and some of a node held": {views.Fleet{Nodes: 5, Count: counts{"up": 3, "never": 2}, First: "crm", Partly: []views.PartlyOut{{Node: "crm", Out: 1, Total: 2}}},
			"Three nodes are reachable, two were never seen; 1 of 2 instances of crm is held.", "三个节点可达，两个从未上线；crm 的 2 个实例中有 1 个已挂起。"},
		"some disabled":        {views.Fleet{Nodes: 5, Count: counts{"up": 3, "disabled": 2}}, "All three enabled nodes are reachable.", "已启用的三个节点全部可达。"},
		"the only enabled one": {views.Fleet{Nodes: 2, Count: counts{"up": 1, "disabled": 1}}, "The one enabled node is reachable.", "已启用的一个节点全部可达。"},
		"some of a node held": {views.Fleet{Nodes: 3, Count: counts{"up": 3}, First: "crm", Partly: []views.PartlyOut{{Node: "crm", Out: 1, Total: 2}}},
			"All three nodes are reachable; 1 of 2 instances of crm is held.", "三个节点全部可达；crm 的 2 个实例中有 1 个已挂起。"},
		"some of a node leaves": {views.Fleet{Nodes: 3, Count: counts{"up": 3}, First: "crm", Leaving: []views.PartlyOut{{Node: "crm", Out: 1, Total: 2}}},
			"All three nodes are reachable; 1 of 2 instances of crm is draining.", "三个节点全部可达；crm 的 2 个实例中有 1 个排空中。"},
		"some of a node held, of others leave": {views.Fleet{Nodes: 9, Count: counts{"up": 8, "off": 1}, First: "x", Partly: []views.PartlyOut{{Node: "crm", Out: 2, Total: 3}}, Leaving: []views.PartlyOut{{Node: "a", Out: 1, Total: 2}, {Node: "b", Out: 1, Total: 2}}},
			"One node is offline; 2 of 3 instances of crm are held; some instances of two nodes are draining. Start with x.",
			"一个节点离线；crm 的 3 个实例中有 2 个已挂起；另有两个节点的部分实例排空中。先看 x。"},
		"some of two nodes held": {views.Fleet{Nodes: 3, Count: counts{"up": 3}, Partly: []views.PartlyOut{{Node: "a", Out: 1, Total: 2}, {Node: "b", Out: 2, Total: 3}}},
			"All three nodes are reachable; some instances of two nodes are held.", "三个节点全部可达；另有两个节点的部分实例已挂起。"},
		"one offline, some held": {views.Fleet{Nodes: 3, Count: counts{"up": 2, "off": 1}, First: "x", Partly: []views.PartlyOut{{Node: "crm", Out: 2, Total: 3}}},
			"One node is offline; 2 of 3 instances of crm are held. Start with x.", "一个节点离线；crm 的 3 个实例中有 2 个已挂起。先看 x。"},
		"two offline": {views.Fleet{Nodes: 9, Count: counts{"up": 7, "off": 2}, First: "payment-gateway"},
			"Two nodes are offline. Start with payment-gateway.", "两个节点离线。先看 payment-gateway。"},
		"several states": {views.Fleet{Nodes: 20, Count: counts{"up": 15, "off": 2, "drain": 1, "held": 2}, First: "a"},
			"Two nodes are offline, one is draining, two are held. Start with a.", "两个节点离线，一个排空中，两个已挂起。先看 a。"},
		"measured states come first": {views.Fleet{Nodes: 9, Count: counts{"down": 2, "slow": 3, "probe": 1, "up": 3}, First: "pay"},
			"Two nodes are unreachable, three are slow, one is being probed. Start with pay.", "两个节点不可达，三个变慢，一个探测中。先看 pay。"},
		"more than nine in digits": {views.Fleet{Nodes: 2000, Count: counts{"up": 800, "off": 1200}, First: "x"},
			"1,200 nodes are offline. Start with x.", "1,200个节点离线。先看 x。"},
		"all offline": {views.Fleet{Nodes: 3, Count: counts{"off": 3}, First: "x"},
			"All three nodes are offline. Look at the network between them and this server first.", "三个节点全部离线。先检查它们与本服务器之间的网络。"},
		"all that came are offline": {views.Fleet{Nodes: 2000, Count: counts{"off": 3, "never": 1997}, First: "x"},
			"All three nodes that were ever seen are offline. Look at the network between them and this server first.", "曾上线的三个节点全部离线。先检查它们与本服务器之间的网络。"},
		"nobody expected": {views.Fleet{Nodes: 2, Count: counts{"never": 1, "disabled": 1}},
			"None of two nodes is expected to run: each is disabled or was never seen.", "两个节点都不需要运行：已停用或从未上线。"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for lang, want := range map[string]string{"en": tt.en, "zh": tt.zh} {
				if got := views.PlainText(views.NodesHeadline(in(lang), tt.fleet)); got != want {
					t.Errorf("%s: headline of %+v = %q, want %q", lang, tt.fleet, got, want)
				}
			}
		})
	}
}

func TestEveryNumberOfTheHeadlineIsALink(t *testing.T) { // U0
	fleet := views.Fleet{Nodes: 9, Count: map[views.StateKind]int{"off": 2, "held": 1, "up": 6}, First: "a b/c"}
	links := map[string]string{}
	for _, p := range views.NodesHeadline(in("en"), fleet) {
		if p.Path != "" {
			links[p.Text] = p.Path
		}
	}
	for text, want := range map[string]string{"Two": "/console/nodes?state=off", "one": "/console/nodes?state=held", "a b/c": "/console/nodes/a%20b%2Fc"} {
		if links[text] != want {
			t.Errorf("%q leads to %q, want %q (all: %v)", text, links[text], want, links)
		}
	}
}

func TestNeverSeenNodesInTheHeadlineAreALink(t *testing.T) { // U0
	parts := views.NodesHeadline(in("en"), views.Fleet{Nodes: 42, Count: map[views.StateKind]int{"up": 40, "never": 2}})
	for _, p := range parts {
		if p.Text == "two" && p.Path == "/console/nodes?state=never" {
			return
		}
	}
	t.Errorf("no link to those that were never seen: %+v", parts)
}

func TestNodeHeadline(t *testing.T) {
	row := func(s views.StateKind, up, total int) views.NodeHead {
		return views.NodeHead{NodeRow: views.NodeRow{Name: "n", State: s, Up: up, Total: total, Enabled: true}}
	}
	held := row(views.StateUp, 2, 4)
	held.Holds = []views.HoldView{{Account: "chen.jie", Reason: "bad disk"}}
	left := row(views.StateOffline, 0, 0)
	left.Left = views.Sayf("verdict.left.patrol", "ago", views.Since{Time: at.Add(-2 * time.Minute)})
	tests := map[string]struct {
		head   views.NodeHead
		en, zh string
	}{
		"one":               {row(views.StateUp, 1, 1), "Its only instance is reachable.", "唯一的实例可达。"},
		"all":               {row(views.StateUp, 4, 4), "All four instances are reachable.", "四个实例全部可达。"},
		"held":              {held, "Two of four instances are out of routing: held by chen.jie, bad disk.", "四个实例中有两个不参与路由：由 chen.jie 挂起，bad disk。"},
		"draining":          {row(views.StateUp, 1, 2), "One of two instances is draining.", "两个实例中有一个排空中。"},
		"all held":          {row(views.StateHeld, 0, 1), "Its only instance is held: nothing is routed to it.", "一个实例全部已挂起，不再路由请求。"},
		"held and draining": {func() views.NodeHead { h := row(views.StateHeld, 0, 2); h.Leaving = 1; return h }(), "All two instances are leaving or held: nothing new is routed to it.", "两个实例全部在退出或已挂起，不再路由新请求。"},
		"never":             {row(views.StateNever, 0, 0), "Nothing has registered yet. Paste the snippet into the application and start it.", "尚无实例注册。把配置片段放进应用并启动它。"},
		"disabled":          {row(views.StateDisabled, 0, 0), "Disabled: registrations are refused and nothing is routed to it.", "已停用：拒绝注册，不再路由请求。"},
		"left":              {left, "The last instance failed the survival check 2 min ago. Nothing is registered now.", "最后一个实例于2 分钟前未通过存活检查，目前没有已注册的实例。"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for lang, want := range map[string]string{"en": tt.en, "zh": tt.zh} {
				if got := views.PlainText(views.NodeHeadline(in(lang), tt.head)); got != want {
					t.Errorf("%s: headline = %q, want %q", lang, got, want)
				}
			}
		})
	}
}

// Names that hold the marks of links must not forge one.
func TestDataCannotForgeALinkInAHeadline(t *testing.T) {
	head := views.NodeHead{NodeRow: views.NodeRow{Name: "n", State: views.StateUp, Up: 1, Total: 2}}
	head.Holds = []views.HoldView{{Account: "x\x01click\x02/console/logout\x03", Reason: "r\x01\x02\x03"}}
	for _, p := range views.NodeHeadline(in("en"), head) {
		if p.Path != "" && p.Path != "/console/nodes/n/instances" {
			t.Errorf("a forged link: %+v", p)
		}
	}
}
