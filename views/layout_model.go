package views

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"eruptcloud/static"
)

// LayoutModel is what a page tells the layout around it; everything that belongs to the request is in the Frame.
type LayoutModel struct {
	Title string // of the page, without the product's name
	Area  string // which entry of the navigation is current: AreaNodes, …; empty: none
	// Side is the list beside the page, usually a SideList; nil: the page has the whole width.
	Side templ.Component
	// Said is what the request before this one did, shown as a toast; empty: nothing.
	Said string
	// Overlay is a drawer that lies over the page from the start; the page below it is inert. Nil: none.
	Overlay templ.Component
	// Failed says that nothing is at the address: the parts that follow changes have nothing to ask there.
	Failed bool
}

// The areas of the navigation.
const (
	AreaNodes  = "nodes"
	AreaConfig = "config"
	AreaPages  = "pages"
	AreaAdmin  = "admin"
)

// SideHeadID and the other ids are those that scripts, htmx and tests rely on.
const (
	NoticeID = "notice" // failures of fragments arrive here
	DrawerID = "drawer" // drawers arrive here
	MainID   = "main"
)

type navEntry struct {
	area, path, key string
	letter          string   // after g it leads there
	codes           []string // any one suffices; none: everybody
}

var navEntries = []navEntry{
	{AreaNodes, "/console/nodes", "layout.nav.nodes", "n", []string{"CloudNode"}},
	{AreaConfig, "/console/groups", "layout.nav.config", "c", []string{"CloudNodeGroup"}},
	{AreaPages, "/console/pages", "layout.nav.pages", "p", nil},
	{AreaAdmin, "/console/users", "layout.nav.admin", "a", []string{"EruptUser"}},
	{AreaAdmin, "/console/roles", "layout.nav.admin", "a", []string{"EruptRole"}},
	{AreaAdmin, "/console/menus", "layout.nav.admin", "a", []string{"EruptMenu"}},
	{AreaAdmin, "/console/orgs", "layout.nav.admin", "a", []string{"EruptOrg"}},
	{AreaAdmin, "/console/posts", "layout.nav.admin", "a", []string{"EruptPost"}},
	{AreaAdmin, "/console/dicts", "layout.nav.admin", "a", []string{"EruptDict"}},
	{AreaAdmin, "/console/open-api", "layout.nav.admin", "a", []string{"EruptOpenApi"}},
	{AreaAdmin, "/console/online", "layout.nav.admin", "a", []string{"EruptOnline"}},
	{AreaAdmin, "/console/audit", "layout.nav.admin", "a", []string{"EruptOperateLog"}},
	{AreaAdmin, "/console/logins", "layout.nav.admin", "a", []string{"EruptLoginLog"}},
	{AreaAdmin, "/console/server-log", "layout.nav.admin", "a", []string{"erupt-log"}},
}

// navOf returns the entries that the viewer may open, the first of each area.
func navOf(ctx context.Context) []navEntry {
	var out []navEntry
	seen := map[string]bool{}
	for _, e := range navEntries {
		if !seen[e.area] && mayAny(ctx, e.codes) {
			seen[e.area] = true
			out = append(out, e)
		}
	}
	return out
}

func mayAny(ctx context.Context, codes []string) bool {
	for _, c := range codes {
		if May(ctx, c) {
			return true
		}
	}
	return len(codes) == 0
}

// htmxConfig is htmx's configuration: nothing that a strict CSP refuses, no page snapshots in the browser's storage
// (S62), history restored by whole pages only (S78), and the answers of design.md 10.
var htmxConfig = func() string {
	type rule struct {
		Code     string `json:"code"`
		Swap     bool   `json:"swap"`
		Error    bool   `json:"error,omitempty"`
		Target   string `json:"target,omitempty"`
		Override string `json:"swapOverride,omitempty"`
	}
	out, err := json.Marshal(map[string]any{
		"allowEval": false, "includeIndicatorStyles": false, "allowScriptTags": false, "selfRequestsOnly": true,
		"historyCacheSize": 0, "refreshOnHistoryMiss": true, "historyRestoreAsHxRequest": false, "timeout": 30000,
		"defaultSettleDelay": 0, "scrollIntoViewOnBoost": false,
		"responseHandling": []rule{
			{Code: "204"}, {Code: "[23]..", Swap: true}, {Code: "422", Swap: true},
			{Code: "[45]..", Swap: true, Error: true, Target: "#" + NoticeID, Override: "innerHTML"},
		},
	})
	if err != nil {
		panic(err) // plain values
	}
	return string(out)
}()

// asset returns the address of a static file for this request.
func asset(ctx context.Context, name string) string { return URL(ctx, static.Path(name)) }

// other returns the language that is not the current one, as the switch offers it.
func other(ctx context.Context) (code, label string) {
	if FrameOf(ctx).Lang == "zh" {
		return "en", "English"
	}
	return "zh", "中文"
}

// langTag is the value of the lang attribute.
func langTag(lang string) string {
	if lang == "zh" {
		return "zh-CN"
	}
	return "en"
}

// titleOf puts the alarm into the page's title: how many nodes should be up and are not (U62).
func titleOf(ctx context.Context, title string) string {
	f := FrameOf(ctx)
	if title != "" {
		title += " · "
	}
	title += T(ctx, "app.name")
	if f.Account != "" && f.Down > 0 {
		title = "(" + Num(f.Down) + ") " + title
	}
	return title
}

// zoneLabel names the clock zone of the page: "UTC", "UTC+8".
func zoneLabel(ctx context.Context) string {
	f := FrameOf(ctx)
	_, offset := f.Now.In(zoneOf(f)).Zone()
	if offset == 0 {
		return "UTC"
	}
	sign, rest := "+", offset
	if offset < 0 {
		sign, rest = "-", -offset
	}
	label := "UTC" + sign + Num(rest/3600)
	if m := rest % 3600 / 60; m != 0 {
		label += ":" + Num(m)
	}
	return label
}

func zoneOf(f *Frame) *time.Location {
	if f.Zone == nil {
		return time.UTC
	}
	return f.Zone
}

// BackPath returns path if it is one of our own pages, else the console's first page: what follows "next" or "back"
// comes from the address bar and must not lead elsewhere.
func BackPath(path string) string {
	const home = "/console/"
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/console/") ||
		strings.ContainsAny(path, "\\\r\n\t") || strings.Contains(u.Path, "//") {
		return home
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." { // a redirect would resolve it, also past the base path
			return home
		}
	}
	return path
}

// nextTheme is what one press on the theme switch leads to: light, dark, system and around.
func nextTheme(theme string) string {
	switch theme {
	case "light":
		return "dark"
	case "dark":
		return "system"
	}
	return "light"
}

func themeKey(theme string) string {
	if theme == "" {
		theme = "system"
	}
	return "layout.theme." + theme
}
