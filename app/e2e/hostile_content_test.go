package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"

	"eruptcloud/app/testbed"
)

const (
	// evil breaks out of attributes, elements and scripts, if it can.
	evil = `"><img src=x onerror=alert(1) data-evil>'<script data-evil>alert(2)</script><svg onload=alert(3) data-evil></textarea></title>{{.}}${7*7}`
	// evilLink is harmless as text and a program as a link.
	evilLink = `javascript:alert(document.cookie)//http://`
	ansi     = "\x1b[31mred\x1b[2J\x1b]0;owned\x07\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07\x9b31m"
	bidi     = "\u202egnp.exe\u2066\u202d"
)

// editTypes and viewTypes are all that a build model of any version can name, and one that none does.
var editTypes = strings.Fields(`INPUT NUMBER SLIDER DATE BOOLEAN CHOICE MULTI_CHOICE TAGS AUTO_COMPLETE TEXTAREA HTML_EDITOR CODE_EDITOR MARKDOWN ATTACHMENT MAP
	SIGNATURE DIVIDE REFERENCE_TABLE REFERENCE_TREE CHECKBOX TAB_TREE TAB_TABLE_ADD TAB_TABLE_REFER COMBINE TPL COLOR RATE PASSWORD HIDDEN EMPTY BUTTON TRANSFER
	MULTI_FORM CALLOUT GROUP NOT_KNOWN`)

var viewTypes = strings.Fields(`TEXT SAFE_TEXT NUMBER DATE DATE_TIME BOOLEAN IMAGE IMAGE_BASE64 LINK LINK_DIALOG DOWNLOAD ATTACHMENT ATTACHMENT_DIALOG QR_CODE CODE HTML
	MAP MARKDOWN SWF IFRAME_DIALOG COLOR PROGRESS TAB_VIEW AUTO NOT_KNOWN`)

// evilModel is a page of every kind of field, in which everything that is text is hostile.
func evilModel() string {
	type object = map[string]any
	var fields []any
	for i, edit := range editTypes {
		views := []any{}
		for j, view := range viewTypes {
			if j%len(editTypes) == i%len(viewTypes) || edit == "INPUT" && j%2 == 0 || edit == "NUMBER" && j%2 == 1 {
				views = append(views, object{"title": evil + ansi, "desc": evil + bidi, "type": view, "template": evil, "column": "", "show": true, "sortable": true, "className": evil, "width": evil})
			}
		}
		fields = append(fields, object{
			"fieldName": fmt.Sprintf("f%d", i), "fieldReturnName": "Item" + evil,
			"eruptFieldJson": object{"views": views, "edit": object{
				"title": evil + ansi, "desc": evil + bidi, "type": edit, "placeHolder": evil, "notNull": true, "show": true, "ifExpr": evil, "callHint": evil,
				"search":     object{"value": true, "vague": true, "notNull": false, "operator": evil},
				"dynamic":    object{"dependField": evil, "condition": evil, "match": "SHOW", "noMatch": "HIDE"},
				"inputType":  object{"length": 255, "type": evil, "regex": "(((", "prefix": []any{object{"value": evil, "label": evil}}, "suffix": []any{object{"value": evilLink, "label": evil}}},
				"numberType": object{"min": evil, "max": evil}, "dateType": object{"type": "DATE_TIME", "pickerMode": evil},
				"boolType": object{"trueText": evil, "falseText": evil}, "choiceType": object{"type": "RADIO"},
				"referenceTableType": object{"id": "id", "label": "name", "dependField": evil}, "referenceTreeType": object{"id": "id", "label": "name"},
				"attachmentType": object{"type": "IMAGE", "fileTypes": []any{evil}, "path": evil}, "tagsType": object{"joinSeparator": "|", "allowExtension": true},
				"buttonType": object{"icon": evil, "eval": "alert(1)"}, "calloutType": object{"content": evil, "type": evil}, "codeEditType": object{"language": evil},
			}},
			"componentValue": []any{object{"value": evil, "label": evil + ansi, "desc": evil, "color": `red;background:url(javascript:alert(1))`}, object{"value": evilLink, "label": evilLink, "color": "#ff0000"}},
		})
	}
	fields = append(fields, object{
		"fieldName": "named" + evil, "eruptFieldJson": object{"views": []any{object{"title": "named", "type": "TEXT"}}, "edit": object{"title": "named", "type": "INPUT", "show": true, "search": object{"value": true}}},
	}, object{"fieldName": "id", "eruptFieldJson": object{"views": []any{object{"title": "id", "type": "TEXT"}}, "edit": object{"title": "", "type": "EMPTY"}}})
	power := object{"add": true, "edit": true, "delete": true, "query": true, "viewDetails": true, "export": true, "importable": true}
	model := object{
		"eruptModel": object{"eruptName": "Evil", "eruptFieldModels": fields, "extraRow": true, "eruptJson": object{
			"primaryKeyCol": "id", "desc": evil, "power": power, "tree": object{"id": "id", "label": "name", "pid": ""},
			"layout":       object{"formSize": evil, "pagingType": "BACKEND", "pageSize": 10, "pageSizes": []any{10, evil, -1, 1e9}, "tableWidth": evil},
			"rowOperation": []any{object{"code": evil, "title": evil, "tip": evil, "callHint": evil, "icon": evil, "mode": "SINGLE", "type": "TPL", "ifExpr": evil, "eruptClass": "Item"}},
			"drills":       []any{object{"code": evil, "title": evil, "icon": evil, "link": object{"linkErupt": "Line" + evil}}},
			"vis":          []any{object{"code": evil, "title": evil, "type": evil}}, "extra": object{evil: evil},
		}},
		"tabErupts": object{"f21": object{"eruptModel": object{"eruptName": "Item" + evil, "eruptJson": object{"primaryKeyCol": "id", "desc": evil}, "eruptFieldModels": fields[:1]}}},
		"power":     power, "alert": object{"message": evil, "type": evil},
	}
	raw, err := json.Marshal(model)
	if err != nil {
		panic(err) // made of texts and numbers
	}
	return string(raw)
}

// evilRow has a hostile value for each field.
func evilRow(id string) map[string]any {
	row := map[string]any{"id": id, "named" + evil: evil, "name": evil}
	for i := range editTypes {
		row[fmt.Sprintf("f%d", i)] = []any{evil, evilLink, `{"a":"` + `</script>` + `"}`, "data:text/html,<script>alert(1)</script>", bidi + ansi, map[string]any{"id": evil, "name": evil}, []any{evil, map[string]any{"id": evil}}}[i%7]
	}
	return row
}

// corrupt makes a node answer everything with hostile content.
func corrupt(f *testbed.FakeNode) {
	say := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
		}
	}
	f.Handle("/erupt-api/build/Evil", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Set-Cookie", "evil=1")
		_, _ = io.WriteString(w, evilModel())
	})
	rows := []any{evilRow("1"), evilRow(evil), evilRow(evilLink)}
	f.Handle("/erupt-api/data/table/Evil", say(map[string]any{"pageIndex": 1, "pageSize": 10, "total": 3, "totalPage": 1, "list": rows, "alert": map[string]any{"message": evil, "type": evil}}))
	f.Handle("/erupt-api/data/Evil/{id}", say(rows[0]))
	f.Handle("/erupt-api/data/init-value/Evil", say(rows[0]))
	f.Handle("/erupt-api/data/extra-row/Evil", say([]any{map[string]any{"className": evil, "columns": []any{map[string]any{"value": evil, "colspan": 2, "className": evil}}}}))
	options := []any{map[string]any{"id": evil, "label": evil, "value": evil, "children": []any{map[string]any{"id": evilLink, "label": evilLink}}}}
	for _, list := range []string{"data/tree/Evil", "data/depend-tree/Evil", "data/Evil/reference-tree/{f}", "data/tab/tree/Evil/{f}", "data/Evil/checkbox/{f}", "comp/choice-item/Evil/{f}"} {
		f.Handle("/erupt-api/"+list, say(options))
	}
	f.Handle("/erupt-api/data/Evil/reference-table/{f}", say(map[string]any{"pageIndex": 1, "pageSize": 10, "total": 3, "list": rows}))
	f.Handle("/erupt-api/tool/erupt-log", say([]any{
		map[string]any{"num": 1, "content": evil}, map[string]any{"num": 2, "content": ansi + evil}, map[string]any{"num": 3, "content": bidi},
		map[string]any{"num": 4, "content": evilLink + " http://evil.example/\"onmouseover=alert(1) https://a.b/<script>"}, map[string]any{"num": 5, "content": strings.Repeat("\x00\x01\x07\x08\x7f\ufffe", 9) + "control"},
	}))
}

// contaminated is an arena in which everything that can be named from outside is named hostilely.
func contaminated(t *testing.T) *arena {
	a := newArena(t)
	corrupt(a.orders)
	a.must(http.MethodPatch, "/api/v1/nodes/orders", map[string]any{"name": evil, "group": "east"}, http.StatusOK, nil)
	a.must(http.MethodPatch, "/api/v1/groups/east", map[string]any{"name": evil}, http.StatusOK, nil)
	a.must(http.MethodPatch, "/api/v1/roles/clerks", map[string]any{"name": evil}, http.StatusOK, nil)
	a.must(http.MethodPatch, "/api/v1/users/clerk", map[string]any{"name": evil, "remark": evil + "\n" + evilLink}, http.StatusOK, nil)
	r := registration("orders", a.access["orders"], a.orders.URL()+"/"+url.PathEscape(`<b>"'`))
	a.orders.Handle("GET /{x}/node-health", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "orders") })
	r["version"], r["instanceId"] = evil, "I"+evil
	r["eruptModules"] = []string{evil, evilLink}
	r["erupts"] = []string{"Evil", "Allowed", "Secret", evil, evilLink}
	r["resources"] = map[string][]string{evil: {evil, evilLink}}
	r["unknown"] = map[string]any{evil: evil}
	if status, body := a.register(r); status != http.StatusOK {
		t.Fatalf("registration = %d %s", status, body)
	}
	status, body := a.register(registration("orders", a.access["orders"], a.orders.URL()))
	if status != http.StatusOK {
		t.Fatalf("registration = %d %s", status, body)
	}
	post := func(target string, form url.Values) {
		t.Helper()
		g := a.fire(shot{method: http.MethodPost, target: target, form: form, who: admin, by: byCookie, header: with(browser(), http.Header{"User-Agent": {evil}})})
		if g.status != http.StatusSeeOther {
			t.Fatalf("%s = %d %s", target, g.status, digest(g.body))
		}
	}
	post("/console/nodes/orders/hold", url.Values{"instance": {"I" + evil}, "reason": {evil}})
	post("/console/nodes/orders/drain", url.Values{"instance": {"I" + evil}, "reason": {evil}, "last": {"1"}})
	post("/console/nodes/orders/config", url.Values{"revision": {"0"}, "note": {evil}, "config": {`{"k` + strings.ReplaceAll(evil, `"`, `\"`) + `":"` + evilLink + `"}`}})
	post("/console/nodes/orders/config", url.Values{"revision": {"1"}, "note": {evil}, "config": {`{"a":"</textarea><script>alert(1)</script>"}`}})
	post("/console/groups/east/config", url.Values{"revision": {"0"}, "note": {evil}, "config": {`{"a":"</textarea>"}`}})
	post("/console/groups/east/config", url.Values{"revision": {"1"}, "note": {evil}, "config": {`{"b":"</textarea>"}`}})
	a.fire(shot{method: http.MethodPost, target: "/console/login", header: with(browser(), http.Header{"User-Agent": {evil}}), form: url.Values{"account": {"clerk"}, "password": {staffPassword}}})
	a.fire(shot{method: http.MethodGet, target: "/api/v1/nodes/" + url.PathEscape(evil), who: admin, header: http.Header{"User-Agent": {evil}, "X-Request-Id": {evil}}})
	a.fire(shot{method: http.MethodDelete, target: "/api/v1/nodes/" + url.PathEscape(evil) + "?" + url.QueryEscape(evil), who: admin})
	return a
}

// F18, S60: whatever nodes, people and addresses say is text on every page, in both languages, as page and as fragment.
func TestHostileContent(t *testing.T) {
	t.Parallel()
	a := contaminated(t)
	seen := 0
	all, own := a.pagesToLookAt(t)
	for i, target := range all {
		ways := []http.Header{browser()}
		if i < own {
			ways = append(ways, fragment())
		}
		if i < own && i%4 == 0 { // the words of another language make no other page
			ways = append(ways, with(browser(), http.Header{"Cookie": {a.cookies[admin] + "; ec_lang=zh; ec_theme=" + url.QueryEscape(evil)}}))
		}
		for _, h := range ways {
			g := a.fire(shot{method: http.MethodGet, target: target, who: admin, by: byCookie, header: h})
			if g.status >= http.StatusInternalServerError && g.status != http.StatusBadGateway || g.status == http.StatusUnauthorized {
				t.Errorf("%s = %d %s", target, g.status, digest(g.body))
			}
			seen += strings.Count(string(g.body), "&lt;img src=x onerror=alert(1) data-evil&gt;")
			a.inert(target, g)
		}
	}
	if seen < 500 { // else the test looks at pages that show nothing of it
		t.Errorf("the hostile text was shown %d times only", seen)
	}
	t.Logf("the hostile text was shown %d times on %d pages", seen, len(all))
}

// pagesToLookAt are all that the console has, own in number, and behind them what these link to.
func (a *arena) pagesToLookAt(t *testing.T) (all []string, own int) {
	q := url.QueryEscape(evil)
	all = []string{
		"/console/nodes?q=" + q + "&group=" + q + "&state=" + q + "&version=" + q + "&order=" + q + "&said=" + q, "/console/users?q=" + q, "/console/audit?q=" + q + "&account=" + q + "&subject=" + q,
		"/console/nodes/new?group=" + q, "/console/groups/new?parent=" + q, "/console/nodes/" + url.PathEscape(evil), "/console/groups/" + url.PathEscape(evil), "/console/users/" + url.PathEscape(evil),
		"/console/roles/" + url.PathEscape(evil), "/console/pages/" + url.PathEscape("orders."+evil), "/console/pages?q=" + q, "/console/" + url.PathEscape(evil), "/" + url.PathEscape(evil) + "?" + q,
		"/console/login?next=" + q, "/console/nodes/orders/log?instance=" + url.QueryEscape("I"+evil), "/console/nodes/orders/log?instance=" + q, "/console/nodes/orders/log/lines?offset=0&instance=ABCDEF",
		"/console/nodes/orders/log/lines?instance=" + url.QueryEscape("I"+evil), "/console/nodes/orders/config?from=1", "/console/nodes/orders/config/compare?rev=1&rev=2", "/console/groups/east/config/compare?rev=1&rev=2",
		"/console/nodes/orders/config?from=" + q, "/console/pages/orders.Evil?s.f0=" + q + "&sort=" + q + "&page=" + q + "&size=" + q + "&find=" + q, "/console/pages/orders.Evil/record?id=" + q, "/console/pages/orders.Evil/record?id=1",
		"/console/pages/orders.Evil/new", "/console/pages/orders.Evil/new?link=" + q + "&back=" + url.QueryEscape(evilLink), "/console/pages/orders.Evil?back=" + url.QueryEscape(evilLink),
	}
	for i := 0; i < len(editTypes); i += 3 {
		all = append(all, fmt.Sprintf("/console/pages/orders.Evil/options?field=f%d&find=%s", i, q))
	}
	for _, e := range endpoints(t) {
		if e.surface == onConsole && e.method == http.MethodGet && e.pattern != "/console/events" {
			all = append(all, strings.Replace(e.target, "orders.Secret", "orders.Evil", 1))
		}
	}
	known := map[string]int{}
	for _, target := range all {
		path, _, _ := strings.Cut(target, "?")
		known[path], known[target] = known[path]+1, 9
	}
	own = len(all)
	for i := 0; i < own; i += 2 {
		for _, link := range a.linksOn(t, all[i]) {
			path, _, _ := strings.Cut(link, "?")
			if known[link] == 0 && known[path] < 3 { // the same page in other orders looks the same
				known[path], known[link] = known[path]+1, 9
				all = append(all, link)
			}
		}
	}
	return all, own
}

// linksOn returns the addresses of the console that a page leads to, or loads parts of itself from.
func (a *arena) linksOn(t *testing.T, target string) []string {
	t.Helper()
	g := a.fire(shot{method: http.MethodGet, target: target, who: admin, by: byCookie, header: browser()})
	page, err := goquery.NewDocumentFromReader(bytes.NewReader(g.body))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	page.Find("[href], [hx-get], [data-src]").Each(func(_ int, e *goquery.Selection) {
		for _, name := range []string{"href", "hx-get", "data-src"} {
			if to := e.AttrOr(name, ""); strings.HasPrefix(to, "/console/") && !strings.HasPrefix(to, "/console/events") {
				to, _, _ = strings.Cut(to, "#")
				all = append(all, to)
			}
		}
	})
	return all
}

var (
	forbiddenElements = "script:not([src]), script[src^='http'], script[src^='//'], img, image, iframe:not([sandbox]), object, embed, applet, style, base, math, foreignObject, marquee, link[href^='http'], meta[http-equiv], [data-evil], [srcdoc]"
	control           = regexp.MustCompile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u0080-\u009f\u202a-\u202e\u2066-\u2069]")
	safeAddress       = regexp.MustCompile(`^(/([^/\\]|$)|#|\?|https?://|$)`)
	addresses         = []string{"href", "src", "action", "formaction", "xlink:href", "poster", "data", "data-src", "hx-get", "hx-post", "hx-put", "hx-delete", "hx-patch", "ping", "cite", "background"}
)

// ownBadge is the one picture that the console shows: the badge of a node, from this server.
var ownBadge = regexp.MustCompile(`^<img src="/badge/[A-Za-z0-9_-]+\.svg\?token=[A-Za-z0-9_-]+&amp;lang=en" height="20" alt="[^"<>]*"/>$`)

// inert fails if an answer holds anything that a browser would do something with, beside what the console itself put there.
func (a *arena) inert(target string, g got) {
	a.t.Helper()
	if strings.HasPrefix(g.header.Get("Content-Type"), "image/") {
		return
	}
	if !utf8.Valid(g.body) {
		a.t.Errorf("%.200s: the answer is no UTF-8", target)
	}
	if !strings.HasPrefix(g.header.Get("Content-Type"), "text/html") {
		return
	}
	if csp := g.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'self'") || strings.Contains(csp, "unsafe") {
		a.t.Errorf("%.200s: Content-Security-Policy: %s", target, csp)
	}
	page, err := goquery.NewDocumentFromReader(bytes.NewReader(g.body))
	if err != nil {
		a.t.Fatal(err)
	}
	page.Find(forbiddenElements).Each(func(_ int, e *goquery.Selection) {
		html, _ := goquery.OuterHtml(e)
		if ownBadge.MatchString(html) {
			return
		}
		a.t.Errorf("%.200s holds %.300s", target, html)
	})
	page.Find("textarea, option").Remove() // what is typed there goes back to the node as it came
	if text := page.Text(); control.MatchString(text) {
		at := control.FindStringIndex(text)
		a.t.Errorf("%.200s shows control characters: …%q…", target, text[max(0, at[0]-60):min(len(text), at[1]+40)])
	}
	page.Find("*").Each(func(_ int, e *goquery.Selection) {
		for _, attr := range e.Nodes[0].Attr {
			name, value := strings.ToLower(attr.Key), strings.TrimSpace(attr.Val)
			switch {
			case name != "value" && name != "data-was" && control.MatchString(value):
				a.t.Errorf("%.200s: <%s %s=%.200q>", target, e.Nodes[0].Data, attr.Key, attr.Val)
			case strings.HasPrefix(name, "on"), strings.HasPrefix(name, "hx-on"), name == "style", name == "hx-vals" && strings.HasPrefix(value, "js:"), name == "hx-headers" && strings.HasPrefix(value, "js:"):
				a.t.Errorf("%.200s: <%s %s=%.200q>", target, e.Nodes[0].Data, attr.Key, attr.Val)
			}
			for _, address := range addresses {
				if name == address && !safeAddress.MatchString(value) {
					a.t.Errorf("%.200s: <%s %s=%.200q>", target, e.Nodes[0].Data, attr.Key, attr.Val)
				}
			}
			if strings.ContainsAny(attr.Key, `"'<>=`) {
				a.t.Errorf("%.200s: <%s> has an attribute called %q", target, e.Nodes[0].Data, attr.Key)
			}
		}
	})
}
