package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/console"
	"eruptcloud/app/fleet"
	"eruptcloud/app/nodeapi"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/memstore"
	"eruptcloud/app/restapi"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
)

// surface is one group of endpoints that refuse in the same way.
type surface string

const (
	onConsole surface = "console"
	onREST    surface = "rest"
	onNodeAPI surface = "node api"
	onLocal   surface = "erupt-api of the server"
	onProxy   surface = "erupt-api of nodes"
	onPublic  surface = "public"
)

// endpoint is one thing that can be asked, with an example that would do something if it were let in.
type endpoint struct {
	surface surface
	method  string
	pattern string
	target  string // path and query of the example
	erupt   string // the header of that name
	proxied proxy.Endpoint
	form    string // example of a form
	json    string // example of a document
}

// examples fill the placeholders of routes.
var examples = map[string]string{
	":node": "orders", "userinfo:node": "userinfoorders", ":nodeName": "orders", ":instanceId": "ABCDEF", ":group": "east", ":account": "clerk", ":role": "clerks", ":menu": "pageAllowed",
	":org": "ghost", ":post": "ghost", ":dict": "ghost", ":item": "1", ":appid": "es00000000000000",
	":page": "orders.Secret", "*file": "css/console.css", ":id": "ABCDEF0123456789", ":entry": "1", "{f}": "field", "{id}": "7", "**": "report/sales.html", "{e}": "orders.Secret",
}

// queries make an example complete.
var queries = map[string]string{
	"/erupt-cloud-api/erupt-power":           "?nodeName=orders&eruptName=Secret",
	"/erupt-cloud-api/remove-instance/:node": "?instance=http://127.0.0.1:1",
	"/erupt-cloud-api/erupt-cloud-node-log":  "?nodeName=orders&size=10",
	"/console/nodes/:node/instance":          "?id=ABCDEF",
	"/console/nodes/:node/log/lines":         "?instance=ABCDEF",
	"/console/nodes/:node/log/text":          "?instance=ABCDEF",
	"/console/nodes/:node/config/compare":    "?rev=1&rev=2",
	"/console/groups/:group/config/compare":  "?rev=1&rev=2",
	"/console/login/picture":                 "?mark=1",
	"/console/pages/:page/record":            "?id=7",
	"/console/pages/:page/options":           "?field=name",
	"/console/palette":                       "?q=west",
	"/console/search":                        "?q=west",
	"/api/v1/nodes/:nodeName/holds":          "?location=http://127.0.0.1:1",
}

// forms are what a person at the console would send to change something; documents what a script would.
var forms = map[string]string{
	"/console/nodes":                        "name=intruder&display=Intruder&enabled=1",
	"/console/nodes/:node/drain":            "instance=ABCDEF&reason=mine&last=1",
	"/console/nodes/:node/drain/end":        "instance=ABCDEF",
	"/console/nodes/bulk":                   "node=orders&action=hold&reason-hold=mine",
	"/console/nodes/:node/settings":         "display=Taken+over&group=&duty=&remark=&core=1&raw=1",
	"/console/nodes/:node/enabled":          "enabled=0",
	"/console/nodes/:node/delete":           "confirm=orders",
	"/console/nodes/:node/hold":             "instance=ABCDEF&reason=mine",
	"/console/nodes/:node/hold/lift":        "location=http://127.0.0.1:1",
	"/console/nodes/:node/instances/remove": "instance=ABCDEF",
	"/console/nodes/:node/config":           "config=%7B%22a%22%3A1%7D&revision=0&note=mine",
	"/console/nodes/:node/config/review":    "config=%7B%22a%22%3A1%7D&revision=0",
	"/console/nodes/:node/config/edit":      "config=%7B%22a%22%3A1%7D&revision=0",
	"/console/groups":                       "code=intruders&name=Intruders",
	"/console/groups/:group":                "name=Taken+over&parent=&remark=",
	"/console/groups/:group/config":         "config=%7B%22a%22%3A1%7D&revision=0&note=mine",
	"/console/groups/:group/config/review":  "config=%7B%22a%22%3A1%7D&revision=0",
	"/console/groups/:group/config/edit":    "config=%7B%22a%22%3A1%7D&revision=0",
	"/console/users":                        "account=intruder&name=Intruder&password=plain-horse-78&enabled=1&admin=1",
	"/console/users/:account":               "name=Taken+over&enabled=1&admin=1",
	"/console/menus":                        "code=intruder&name=Intruder&type=table&value=orders.Secret&status=open",
	"/console/menus/:menu":                  "name=Taken+over&type=table&value=orders.Secret&parent=&icon=&status=open&sort=",
	"/console/roles":                        "code=intruders&name=Intruders&enabled=1",
	"/console/roles/:role":                  "name=Taken+over&enabled=1",
	"/console/orgs":                         "code=intruders&name=Intruders&parent=&sort=0",
	"/console/orgs/:org":                    "name=Taken+over&parent=&sort=0",
	"/console/orgs/:org/move":               "to=up",
	"/console/posts":                        "code=intruder&name=Intruder&weight=0",
	"/console/posts/:post":                  "name=Taken+over&weight=0",
	"/console/dicts":                        "code=intruder&name=Intruder&remark=",
	"/console/dicts/:dict":                  "name=Taken+over&remark=",
	"/console/dicts/:dict/import":           "text=code%2Cname%0Aa%2Cb",
	"/console/dicts/:dict/items":            "code=a&name=b&value=c&sort=1&remark=",
	"/console/dicts/:dict/items/:item":      "code=a&name=b&value=c&sort=1&remark=",
	"/console/open-api":                     "name=Intruder&account=erupt&minutes=5&enabled=1",
	"/console/open-api/:appid":              "name=Taken+over&account=erupt&minutes=5&enabled=1",
	"/console/open-api/:appid/secret":       "confirm=1",
	"/console/online/:account/end":          "session=00000000000000000000000000000000",
	"/console/me":                           "name=x",
	"/console/me/logout-one":                "session=00000000000000000000000000000000",
	"/console/menus/:menu/move":             "to=up",
	"/console/users/:account/password":      "confirm=1",
	"/console/users/:account/lock":          "lock=1",
	"/console/me/password":                  "old=plain-horse-77&new=plain-horse-78&again=plain-horse-78",
	"/console/pages/:page/record":           "base=%7B%7D&f.name=x&do=save",
	"/console/pages/:page/new":              "base=%7B%7D&f.name=x&do=save",
	"/console/pages/offer":                  "page=ghosts.Page&as-ghosts.Page=tree",
	"/console/pages/:page/delete":           "id=7",
	"/console/login":                        "account=erupt&password=wrong",
	"/console/login/mfa":                    "ticket=0000000000000000000000&code=123456",
	"/console/me/mfa/confirm":               "code=123456",
	"/console/me/mfa/codes":                 "code=123456",
	"/console/me/mfa/unbind":                "password=plain-horse-77&code=123456",
	"/console/users/:account/mfa":           "confirm=1",
	"/console/look":                         "lang=zh&back=/console/nodes",
	"/erupt-cloud-api/remove-instance-node": "nodeName=orders&accessToken=wrong&instanceId=EVIL{n}",
}

var documents = map[string]string{
	"POST /api/v1/nodes":                                     `{"nodeName":"intruder","name":"Intruder"}`,
	"PATCH /api/v1/nodes/:nodeName":                          `{"enabled":false}`,
	"PUT /api/v1/nodes/:nodeName/instances/:instanceId/hold": `{"reason":"mine"}`,
	"POST /api/v1/menus":                                     `{"code":"intruder","name":"Intruder","type":"table","value":"orders.Secret"}`,
	"PATCH /api/v1/menus/:code":                              `{"name":"Taken over"}`,
	"PUT /api/v1/nodes/:nodeName/config":                     `{"config":{"a":1},"revision":0}`,
	"PUT /api/v1/groups/:code/config":                        `{"config":{"a":1},"revision":0}`,
	"POST /api/v1/groups":                                    `{"code":"intruders","name":"Intruders"}`,
	"PATCH /api/v1/groups/:code":                             `{"name":"Taken over"}`,
	"POST /api/v1/users":                                     `{"account":"intruder","name":"Intruder","password":"plain-horse-78","admin":true}`,
	"PATCH /api/v1/users/:account":                           `{"admin":true}`,
	"POST /api/v1/roles":                                     `{"code":"intruders","name":"Intruders"}`,
	"PATCH /api/v1/roles/:code":                              `{"name":"Taken over"}`,
	"POST /erupt-cloud-api/register-node":                    `{"instanceId":"EVIL{n}","version":"2.0.4","nodeName":"orders","accessToken":"wrong","nodeAddress":["http://127.0.0.1:1"],"eruptModules":[],"erupts":[]}`,
	"POST /erupt-api/login":                                  `{"account":"erupt","pwd":"wrong"}`,
	"POST /erupt-api/login-mfa":                              `{"mfaTicket":"0000000000000000000000","code":"123456"}`,
	"POST /erupt-api/verify-pwd":                             `{"pwd":"plain-horse-77"}`,
	"POST /erupt-api/profile":                                `{"name":"Taken over"}`,
	"POST /erupt-api/mfa/enroll-confirm":                     `{"code":"123456"}`,
	"POST /erupt-api/mfa/recovery-codes":                     `{"code":"123456"}`,
	"POST /erupt-api/mfa/unbind":                             `{"pwd":"plain-horse-77","code":"123456"}`,
	"POST /erupt-api/change-pwd":                             `{"pwd":"plain-horse-77","newPwd":"plain-horse-78","newPwd2":"plain-horse-78"}`,
}

// endpoints lists everything that the server offers, from the routers' own tables.
func endpoints(t testing.TB) []endpoint {
	t.Helper()
	var all []endpoint
	for _, r := range routes(t) {
		e := endpoint{method: r[0], pattern: r[1], target: fill(t, r[1]) + queries[r[1]]}
		switch {
		case strings.HasPrefix(r[1], "/console"):
			e.surface = onConsole
		case strings.HasPrefix(r[1], "/api/v1/") && r[1] != "/api/v1/openapi.json":
			e.surface = onREST
		case strings.HasPrefix(r[1], "/erupt-cloud-api/"):
			e.surface = onNodeAPI
		default:
			e.surface = onPublic
		}
		all = append(all, e)
	}
	for _, p := range proxy.Endpoints() {
		all = append(all, eruptEndpoints(t, p)...)
	}
	for i := range all {
		e := &all[i]
		if e.method != http.MethodGet && e.method != http.MethodHead {
			e.form, e.json = forms[e.pattern], documents[e.method+" "+e.pattern]
		}
	}
	return all
}

// eruptEndpoints are the examples for one row of the proxy's table.
func eruptEndpoints(t testing.TB, p proxy.Endpoint) []endpoint {
	e := endpoint{surface: onProxy, pattern: "/" + p.Pattern, target: fill(t, "/"+p.Pattern), proxied: p, json: `{"pageIndex":1,"pageSize":10}`}
	methods := p.Methods
	switch {
	case p.Local():
		e.surface, e.json = onLocal, "" // what has one is in documents
		methods = []string{http.MethodGet, http.MethodPost}
	case strings.Contains(p.Pattern, "{e}"):
		e.erupt = "orders.Secret"
	default:
		e.target += "?_node=orders"
	}
	var all []endpoint
	for _, m := range methods {
		e.method = m
		all = append(all, e)
	}
	return all
}

// fill puts examples in the place of placeholders.
func fill(t testing.TB, pattern string) string {
	t.Helper()
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if part == ":code" {
			part = map[string]string{"groups": ":group", "roles": ":role", "menus": ":menu"}[parts[i-1]]
		}
		if !strings.ContainsAny(part, ":*{") {
			continue
		}
		example, ok := examples[part]
		if !ok {
			t.Fatalf("the route %s has the placeholder %s, for which there is no example", pattern, part)
		}
		parts[i] = example
	}
	return strings.Join(parts, "/")
}

// routes are method and pattern of all that is mounted beside the proxy. Mounting calls nothing of what it is given but
// the registry, so the rest may be empty.
func routes(t testing.TB) [][2]string {
	t.Helper()
	shell, err := web.New(web.Options{
		Sessions: (*access.Sessions)(nil), CookieKeys: [][]byte{bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)},
	})
	if err != nil {
		t.Fatal(err)
	}
	shell.MountHealth(nil)
	if _, err := nodeapi.Mount(shell, nodeapi.Options{}); err != nil {
		t.Fatal(err)
	}
	restapi.Mount(shell, restapi.Options{})
	if err := console.Mount(shell, console.Options{
		Nodes: (*fleet.Nodes)(nil), Groups: (*fleet.Groups)(nil), Holds: (*fleet.Holds)(nil),
		Registry: registry.New(registry.Options{Store: memstore.New(nil)}), Caller: (*proxy.Caller)(nil), Pages: (*proxy.Caller)(nil),
		Users: (*access.Users)(nil), Roles: (*access.Roles)(nil), Menus: (*access.Menus)(nil), Login: (*access.Login)(nil),
		Sessions: (*access.Sessions)(nil), Audit: (*access.Audit)(nil), Captcha: (*access.Captcha)(nil), MFA: (*access.MFA)(nil),
	}); err != nil {
		t.Fatal(err)
	}
	var all [][2]string
	for _, r := range shell.Engine().Routes() {
		all = append(all, [2]string{r.Method, r.Path})
	}
	slices.SortFunc(all, func(a, b [2]string) int { return strings.Compare(a[1]+a[0], b[1]+b[0]) })
	return all
}

// shot is the example as it would be sent by who, in the way that the surface asks for.
func (e endpoint) shot(who string) shot {
	s := shot{method: e.method, target: e.target, who: who, header: http.Header{}}
	switch {
	case e.form != "":
		s.body, s.kind = []byte(e.form), "application/x-www-form-urlencoded"
	case e.json != "" && e.method != http.MethodGet:
		s.body, s.kind = []byte(e.json), "application/json"
	}
	if e.surface == onConsole {
		s.by = byCookie
		s.header = browser()
	}
	if e.erupt != "" && e.proxied.Verify == proxy.ByHeader {
		s.header.Set("erupt", e.erupt)
	} else if e.erupt != "" {
		s.target += "?_erupt=" + e.erupt
	}
	return s
}

// openLocal is what erupt's front end asks the server before anybody has logged in.
var openLocal = []string{"/erupt-api/version", "/erupt-api/erupt-app", "/erupt-api/login", "/erupt-api/login-mfa", "/erupt-api/code-img"}

// ownLocal is what it asks for whoever has logged in, about himself.
var ownLocal = []string{
	"/erupt-api/userinfo", "/erupt-api/menu", "/erupt-api/logout", "/erupt-api/change-pwd", "/erupt-api/erupt-permission/**",
	"/erupt-api/verify-pwd", "/erupt-api/profile", "/erupt-api/profile/avatar", "/erupt-api/mfa/status", "/erupt-api/mfa/enroll",
	"/erupt-api/mfa/enroll-confirm", "/erupt-api/mfa/recovery-codes", "/erupt-api/mfa/unbind",
	"/erupt-api/file/upload-editor", "/erupt-api/file/upload-html-editor",
}

// refusals are the statuses by which an endpoint refuses who: nil where it is open to him.
func (e endpoint) refusals(who string) []int {
	switch e.surface {
	case onConsole:
		says, ok := stated()[e.method+" "+e.pattern]
		switch {
		case says.open:
			return nil
		case who == nobody:
			return []int{http.StatusSeeOther}
		case ok && len(says.codes) == 0:
			return nil
		}
		return []int{http.StatusForbidden}
	case onREST:
		if who == nobody {
			return []int{http.StatusUnauthorized}
		}
		return []int{http.StatusForbidden}
	case onNodeAPI:
		return nodeRefusals(e.pattern, who)
	case onLocal:
		return e.localRefusals(who)
	case onProxy:
		if who == nobody {
			return []int{http.StatusUnauthorized}
		}
		if who == clerk && e.pattern == "/erupt-attachment/**" || e.pattern == "/erupt-api/file/download-attachment/**" && who == clerk {
			return nil // files belong to whoever may open a page of the node
		}
		return []int{http.StatusForbidden}
	}
	return nil
}

func (e endpoint) localRefusals(who string) []int {
	switch {
	case slices.Contains(openLocal, e.pattern):
		return nil
	case strings.HasPrefix(e.pattern, "/erupt-api/open-api/"): // no session, but a secret, and not as often as one likes
		return []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusTooManyRequests}
	case who == nobody:
		return []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed}
	case slices.Contains(ownLocal, e.pattern):
		return nil
	}
	return []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed}
}

// silent are the endpoints that refuse with an answer that old nodes cannot mistake for a grant: 200, and nothing in it.
func silent(pattern string) bool {
	for _, p := range []string{"node-config/", "node-group-config/", "userinfo", "erupt-power"} {
		if strings.HasPrefix(pattern, "/erupt-cloud-api/"+p) {
			return true
		}
	}
	return false
}

func nodeRefusals(pattern, who string) []int {
	switch {
	case silent(pattern):
		return []int{http.StatusOK}
	case strings.HasPrefix(pattern, "/erupt-cloud-api/remove-instance/"), strings.HasSuffix(pattern, "erupt-cloud-node-log"):
		if who != nobody {
			return []int{http.StatusForbidden}
		}
	}
	return []int{http.StatusUnauthorized}
}

// grantsNothing fails unless a silent endpoint's answer is empty, or false in every word that a node looks at.
func (a *arena) grantsNothing(s shot, g got) {
	a.t.Helper()
	if len(g.body) == 0 {
		return
	}
	var power map[string]bool
	if err := json.Unmarshal(g.body, &power); err != nil {
		a.t.Errorf("%s %s = %s, want nothing", s.method, s.target, digest(g.body))
		return
	}
	for flag, granted := range power {
		if granted {
			a.t.Errorf("%s %s grants %s: %s", s.method, s.target, flag, g.body)
		}
	}
	for _, flag := range []string{"add", "edit", "delete", "query", "export", "importable", "viewDetails"} {
		if _, ok := power[flag]; !ok {
			a.t.Errorf("%s %s leaves out %s, which a node takes for true: %s", s.method, s.target, flag, g.body)
		}
	}
}
