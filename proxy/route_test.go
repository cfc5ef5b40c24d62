package proxy

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRefusedBeforeTheNode(t *testing.T) { // erupt-wire 10.1, 10.5, 10.6; S49, S59
	type headers []string
	tests := map[string]struct {
		method, target, erupt string
		headers               headers
		status                int
		code                  Kind
		text                  string
	}{
		"no token":                  {"GET", "/erupt-api/build/shop.Customer", "shop.Customer", headers{"token", ""}, 401, Unauthenticated, "sign in"},
		"wrong token":               {"GET", "/erupt-api/build/shop.Customer", "shop.Customer", headers{"token", "x"}, 401, Unauthenticated, "sign in"},
		"token as parameter":        {"GET", "/erupt-api/build/shop.Customer?_token=" + sessionToken, "shop.Customer", headers{"token", ""}, 401, Unauthenticated, ""},
		"user agent of a server":    {"GET", "/erupt-api/build/shop.Customer", "shop.Customer", headers{"token", "", "User-Agent", "Nacos-Server"}, 401, Unauthenticated, ""},
		"forged user":               {"GET", "/erupt-api/build/shop.Customer", "shop.Customer", headers{"token", "", "user", "eyJ1aWQiOjF9", "Access-Token", accessToken}, 401, Unauthenticated, ""},
		"method override":           {"GET", "/erupt-api/data/table/shop.Customer", "shop.Customer", headers{"X-HTTP-Method-Override", "POST"}, 405, MethodNotAllowed, ""},
		"header and path differ":    {"POST", "/erupt-api/data/table/shop.Customer", "shop.Product", nil, 400, Invalid, "must be the same"},
		"local name in the path":    {"POST", "/erupt-api/data/table/Customer", "shop.Product", nil, 400, Invalid, "must be the same"},
		"local name of its own":     {"POST", "/erupt-api/data/table/Product", "shop.Product", nil, 400, Invalid, "must be the same"},
		"no header":                 {"POST", "/erupt-api/data/table/shop.Product", "", nil, 400, Invalid, "must be the same"},
		"local header":              {"POST", "/erupt-api/data/table/shop.Product", "CloudNode", nil, 400, Invalid, "must be the same"},
		"parameter for a header":    {"POST", "/erupt-api/data/table/shop.Product?_erupt=shop.Product", "", nil, 400, Invalid, "differ"},
		"parameter differs":         {"POST", "/erupt-api/data/table/shop.Product?_erupt=shop.Customer", "shop.Product", nil, 400, Invalid, "differ"},
		"parameter and header":      {"GET", "/erupt-api/tpl/vis-tpl/shop.Job/x?_erupt=shop.Job", "shop.Customer", nil, 400, Invalid, "differ"},
		"parameter repeated":        {"GET", "/erupt-api/tpl/vis-tpl/shop.Job/x?_erupt=shop.Job&_erupt=shop.Customer", "", nil, 400, Invalid, "repeated"},
		"semicolon in parameter":    {"GET", "/erupt-api/tpl/vis-tpl/shop.Job/x?_erupt=shop.Job;_erupt=shop.Customer", "", nil, 400, Invalid, ""},
		"encoded slash":             {"POST", "/erupt-api/data/table%2Fshop.Customer", "shop.Customer", nil, 400, Invalid, "encoded slash"},
		"dot segments":              {"POST", "/erupt-api/data/table/../table/shop.Customer", "shop.Customer", nil, 400, Invalid, "dot segment"},
		"encoded dot segments":      {"POST", "/erupt-api/data/%2e%2e/table/shop.Customer", "shop.Customer", nil, 400, Invalid, "dot segment"},
		"path parameter":            {"POST", "/erupt-api/data/table/shop.Customer;x=1", "shop.Customer", nil, 400, Invalid, "semicolon"},
		"trailing slash":            {"POST", "/erupt-api/data/table/shop.Customer/", "shop.Customer", nil, 400, Invalid, "empty segment"},
		"double slash":              {"POST", "/erupt-api//data/table/shop.Customer", "shop.Customer", nil, 400, Invalid, "empty segment"},
		"upper case path":           {"POST", "/ERUPT-API/data/table/shop.Customer", "shop.Customer", nil, 404, NotFound, ""},
		"unknown path":              {"GET", "/erupt-api/comment/shop.Customer/1", "shop.Customer", nil, 404, NotFound, "no such endpoint"},
		"unknown path by parameter": {"GET", "/erupt-api/actuator/env?_erupt=shop.Customer", "", nil, 404, NotFound, "no such endpoint"},
		"wrong method":              {"DELETE", "/erupt-api/data/table/shop.Customer", "shop.Customer", nil, 405, MethodNotAllowed, "DELETE"},
		"vanished endpoint":         {"POST", "/erupt-api/data/validate-erupt/shop.Customer", "shop.Customer", nil, 405, MethodNotAllowed, ""},
		"unknown node":              {"GET", "/erupt-api/build/ghost.Customer", "ghost.Customer", nil, 503, NodeNotReady, "'ghost' node not ready"},
		"unknown node, packages":    {"GET", "/erupt-api/build/ghost.a.b.Customer", "ghost.a.b.Customer", nil, 503, NodeNotReady, "node not ready"},
		"unknown node, no token":    {"GET", "/erupt-api/build/ghost.Customer", "ghost.Customer", headers{"token", ""}, 401, Unauthenticated, ""},
		"node in another case":      {"GET", "/erupt-api/build/SHOP.Customer", "SHOP.Customer", nil, 503, NodeNotReady, "'SHOP' node not ready"},
		"node without instance":     {"GET", "/erupt-api/build/empty.Customer", "empty.Customer", nil, 503, NodeNotReady, "'empty' has no available instance"},
		"name that is too long":     {"GET", "/erupt-api/build/shop." + strings.Repeat("x", 400), "shop." + strings.Repeat("x", 400), nil, 400, Invalid, "longer than"},
		"name with a blank":         {"GET", "/erupt-api/build/shop.A%20B", "shop.A B", nil, 400, Invalid, "names cannot have"},
		"name beyond ASCII":         {"GET", "/erupt-api/build/shop.%C3%84", "shop.Ä", nil, 400, Invalid, "names cannot have"},
		"name that is a word":       {"GET", "/erupt-api/data/shop.tree/Secret", "shop.tree", nil, 400, Invalid, "cannot be called 'tree'"},
		"name that ends in a dot":   {"GET", "/erupt-api/build/shop.", "shop.", nil, 503, NodeNotReady, ""},
		"field with a blank":        {"GET", "/erupt-api/comp/choice-item/shop.Customer/a%20b", "shop.Customer", nil, 400, Invalid, "field or code"},
		"parent on another node":    {"GET", "/erupt-api/build/shop.Customer", "shop.Customer", headers{"eruptParent", "bank.Account"}, 403, Forbidden, "is not on the node 'shop'"},
		"parent of the server":      {"GET", "/erupt-api/build/shop.Customer", "shop.Customer", headers{"eruptParent", "CloudNode"}, 403, Forbidden, "is not on the node 'shop'"},
		"parent of no node":         {"GET", "/erupt-api/build/shop.Customer", "shop.Customer", headers{"eruptParent", "ghost.X"}, 403, Forbidden, "is not on the node 'shop'"},
		"drill from another node":   {"POST", "/erupt-api/data/table/shop.Customer", "shop.Customer", headers{"drill", "a", "drillSourceErupt", "bank.Account"}, 403, Forbidden, "is not on the node 'shop'"},
		"drill from the server":     {"POST", "/erupt-api/data/table/shop.Customer", "shop.Customer", headers{"drill", "a", "drillSourceErupt", "CloudNode"}, 403, Forbidden, "is not on the node 'shop'"},
		"template of no node":       {"GET", "/erupt-api/tpl/page.html?_node=ghost", "", nil, 503, NodeNotReady, "'ghost' node not ready"},
		"template, dots":            {"GET", "/erupt-api/tpl/../build/x?_node=shop", "", nil, 400, Invalid, "dot segment"},
		"template by token only":    {"GET", "/erupt-api/tpl/page.html?_node=shop", "", headers{"token", ""}, 401, Unauthenticated, ""},
		"template of two nodes":     {"GET", "/erupt-api/tpl/vis-tpl/shop.Job/x?_erupt=shop.Job&_node=bank", "", nil, 400, Invalid, "differ"},
		"field template, two nodes": {"GET", "/erupt-api/tpl/html-field/shop.Job/x?_node=bank", "", nil, 400, Invalid, "differ"},
		"file without a session":    {"GET", "/erupt-attachment/a.png?_node=shop", "", headers{"token", ""}, 401, Unauthenticated, ""},
		"file, encoded dots":        {"GET", "/erupt-attachment/%2e%2e/secret?_node=shop", "", nil, 400, Invalid, "dot segment"},
		"file of a foreign page":    {"GET", "/erupt-attachment/a.png?_node=shop&_erupt=bank.Account", "", nil, 403, Forbidden, "is not on the node 'shop'"},
		"export from another site":  {"POST", "/erupt-api/excel/export/shop.Customer", "shop.Customer", headers{"Origin", "http://evil.example"}, 403, Forbidden, "cross-site"},
		"export from no origin":     {"POST", "/erupt-api/excel/export/shop.Customer", "shop.Customer", headers{"Origin", "null"}, 403, Forbidden, "cross-site"},
		"upload over the limit":     {"POST", "/erupt-api/data/modify/shop.Customer", "shop.Customer", headers{"X-Big", "1"}, 413, TooLarge, "larger than 64 bytes"},
	}
	node := newFakeNode(t, nil)
	rig := newRig(t, func(o *Options) { o.MaxUpload = 64 })
	rig.dir.set("shop", node.URL)
	rig.dir.set("bank", node.URL)
	rig.dir.set("empty")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			body := ""
			if slices.Contains(tt.headers, "X-Big") {
				body = strings.Repeat("x", 65)
			}
			got := rig.do(rig.request(tt.method, tt.target, tt.erupt, strings.NewReader(body), tt.headers...))
			if got.Status != tt.status || !strings.Contains(got.Body, `"code":"`+string(tt.code)+`"`) || !strings.Contains(got.Body, tt.text) {
				t.Errorf("%s %s: %d %s, want %d %s %q", tt.method, tt.target, got.Status, got.Body, tt.status, tt.code, tt.text)
			}
			if tt.status == 405 && got.Header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
		})
	}
	if asked := node.requests(); len(asked) != 0 {
		t.Errorf("the node was asked %d times: %+v", len(asked), asked)
	}
	if local := rig.locals(); len(local) != 0 {
		t.Errorf("the server's own part was asked for %v", local)
	}
}

func TestRepeatedIdentityHeaders(t *testing.T) { // erupt-wire 10.5; the original takes the first
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	for _, name := range []string{"erupt", "token", "eruptParent", "drill", "drillValue", "drillSourceErupt"} {
		req := rig.request("GET", "/erupt-api/build/shop.Customer", "shop.Customer", nil)
		req.Header.Add(name, "shop.Customer")
		req.Header.Add(name, "shop.Product")
		if got := rig.do(req); got.Status != 400 || !strings.Contains(got.Body, "repeated") {
			t.Errorf("two headers %q: %d %s, want 400", name, got.Status, got.Body)
		}
	}
	// Two spellings are one name.
	got := rig.raw("GET /erupt-api/build/shop.Customer HTTP/1.1\r\nHost: x\r\nToken: " + sessionToken +
		"\r\nerupt: shop.Customer\r\nERUPT: shop.Product\r\nConnection: close\r\n\r\n")
	if got.Status != 400 {
		t.Errorf("two spellings of erupt: %d %s, want 400", got.Status, got.Body)
	}
	if n := len(node.requests()); n != 0 {
		t.Errorf("the node was asked %d times", n)
	}
}

func TestLocal(t *testing.T) { // A16, A18
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	tests := []struct{ method, target, erupt string }{
		{"GET", "/erupt-api/version", ""},
		{"GET", "/erupt-api/menu", "shop.Customer"}, // a client that sends the header with everything
		{"POST", "/erupt-api/login", ""},
		{"GET", "/erupt-api/erupt-permission/shop.Customer@EDIT", ""},
		{"GET", "/erupt-api/build/CloudNode", "CloudNode"},
		{"POST", "/erupt-api/data/table/EruptUser", "EruptUser"},
		{"GET", "/erupt-api/something/new", ""},
		{"PATCH", "/erupt-api/data/table/EruptUser", "EruptUser"},
		{"GET", "/erupt-api/tpl/report.html", ""},
		{"GET", "/erupt-attachment/2026/a.png", ""},
		{"GET", "/erupt-api/file/download-attachment/a.png", ""},
		{"POST", "/erupt-api/file/upload-editor", "shop.Customer"},
		{"GET", "/erupt-api/tool/erupt-log?size=5", ""},
	}
	for _, tt := range tests {
		got := rig.do(rig.request(tt.method, tt.target, tt.erupt, nil))
		if got.Status != http.StatusTeapot {
			t.Errorf("%s %s: %d %s, want the server's own answer", tt.method, tt.target, got.Status, got.Body)
		}
	}
	if n := len(node.requests()); n != 0 {
		t.Errorf("the node was asked %d times", n)
	}
}

func TestWishes(t *testing.T) {
	type headers []string
	node := newFakeNode(t, nil)
	rig := newRig(t, func(o *Options) {
		o.CookieToken = func(r *http.Request) string {
			if c, err := r.Cookie("ec_session"); err == nil {
				return c.Value
			}
			return ""
		}
	})
	rig.dir.set("shop", node.URL)
	tests := map[string]struct {
		method, target, erupt string
		headers               headers
		want                  Wish
		atNode                string
	}{
		"table": {"POST", "/erupt-api/data/table/shop.Customer", "shop.Customer", nil,
			Wish{Node: "shop", Erupt: "Customer"}, "/erupt-api/data/table/Customer"},
		"class name with packages": {"GET", "/erupt-api/build/shop.xyz.erupt.sample.model.Customer", "shop.xyz.erupt.sample.model.Customer", nil,
			Wish{Node: "shop", Erupt: "Customer"}, "/erupt-api/build/Customer"},
		"class in another case": {"POST", "/erupt-api/data/table/shop.pRODUCT", "shop.Product", nil,
			Wish{Node: "shop", Erupt: "Product"}, "/erupt-api/data/table/Product"},
		"insert": {"POST", "/erupt-api/data/modify/shop.Customer", "shop.Customer", nil,
			Wish{Node: "shop", Erupt: "Customer", Function: Add, Write: true}, "/erupt-api/data/modify/Customer"},
		"detail, id with specials": {"GET", "/erupt-api/data/shop.Customer/a%252Fb%20%C3%A9@", "shop.Customer", nil,
			Wish{Node: "shop", Erupt: "Customer", Function: ViewDetail}, "/erupt-api/data/Customer/a%252Fb%20%C3%A9@"},
		"parent": {"GET", "/erupt-api/build/shop.Contact", "shop.Contact", headers{"eruptParent", "shop.Customer"},
			Wish{Node: "shop", Erupt: "Contact", Parent: "Customer"}, "/erupt-api/build/Contact"},
		"empty parent": {"GET", "/erupt-api/build/shop.Contact", "shop.Contact", headers{"eruptParent", ""},
			Wish{Node: "shop", Erupt: "Contact"}, "/erupt-api/build/Contact"},
		"itself as parent": {"GET", "/erupt-api/build/shop.Contact", "shop.Contact", headers{"eruptParent", "shop.contact"},
			Wish{Node: "shop", Erupt: "Contact"}, "/erupt-api/build/Contact"},
		"drill": {"POST", "/erupt-api/data/table/shop.Purchase", "shop.Purchase", headers{"drill", "buys", "drillValue", "1", "drillSourceErupt", "shop.Customer"},
			Wish{Node: "shop", Erupt: "Purchase", Drill: "buys", DrillSource: "Customer"}, "/erupt-api/data/table/Purchase"},
		"template of an operation": {"GET", "/erupt-api/tpl/operation-tpl/shop.Customer/card?ids=6,7&_token=" + sessionToken + "&_erupt=shop.Customer&_lang=en", "", headers{"token", ""},
			Wish{Node: "shop", Erupt: "Customer"}, "/erupt-api/tpl/operation-tpl/Customer/card?ids=6,7&_erupt=Customer&_lang=en"},
		"template parent": {"GET", "/erupt-api/tpl/vis-tpl/shop.Job/x?_erupt=shop.Job&_eruptParent=shop.Board", "", nil,
			Wish{Node: "shop", Erupt: "Job", Parent: "Board"}, "/erupt-api/tpl/vis-tpl/Job/x?_erupt=Job&_eruptParent=Board"},
		"template by header": {"GET", "/erupt-api/tpl/operation-tpl/shop.Customer/guide", "shop.Customer", nil,
			Wish{Node: "shop", Erupt: "Customer"}, "/erupt-api/tpl/operation-tpl/Customer/guide"},
		"field template by its path": {"GET", "/erupt-api/tpl/html-field/shop.Customer/tplValue?_token=" + sessionToken, "", headers{"token", ""},
			Wish{Node: "shop", Erupt: "Customer"}, "/erupt-api/tpl/html-field/Customer/tplValue"},
		"field template by _node": {"GET", "/erupt-api/tpl/html-field/Customer/tplValue?_node=shop", "", nil,
			Wish{Node: "shop", Erupt: "Customer"}, "/erupt-api/tpl/html-field/Customer/tplValue?_node=shop"},
		"template page": {"GET", "/erupt-api/tpl/Sales/Report%201.html?_node=shop&a=b;c", "", nil,
			Wish{Node: "shop", Template: "Sales/Report 1.html"}, "/erupt-api/tpl/Sales/Report%201.html?_node=shop&a=b;c"},
		"attachment": {"GET", "/erupt-attachment/2026-11-29/a.png?_node=shop&_token=" + sessionToken, "", headers{"token", ""},
			Wish{Node: "shop", Attachment: "2026-11-29/a.png"}, "/erupt-attachment/2026-11-29/a.png?_node=shop"},
		"attachment of a page": {"GET", "/erupt-attachment/a.png?_node=shop&_erupt=shop.Customer", "", nil,
			Wish{Node: "shop", Erupt: "Customer", Attachment: "a.png"}, "/erupt-attachment/a.png?_node=shop&_erupt=Customer"},
		"download": {"GET", "/erupt-api/file/download-attachment/2026/a.pdf?_node=shop", "", nil,
			Wish{Node: "shop", Attachment: "2026/a.pdf"}, "/erupt-api/file/download-attachment/2026/a.pdf?_node=shop"},
		"session by cookie": {"POST", "/erupt-api/data/table/shop.Customer", "shop.Customer", headers{"token", "", "Cookie", "ec_session=" + sessionToken},
			Wish{Node: "shop", Erupt: "Customer"}, "/erupt-api/data/table/Customer"},
		"delete of 1.x": {"DELETE", "/erupt-api/data/modify/shop.Customer/103", "shop.Customer", nil,
			Wish{Node: "shop", Erupt: "Customer", Function: Delete, Write: true}, "/erupt-api/data/modify/Customer/103"},
		"query byte for byte": {"GET", "/erupt-api/comp/choice-trigger/shop.Customer/level?q=a;b=1&c=%3B&val=V%2BP+x", "shop.Customer", nil,
			Wish{Node: "shop", Erupt: "Customer"}, "/erupt-api/comp/choice-trigger/Customer/level?q=a;b=1&c=%3B&val=V%2BP+x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := len(node.requests())
			got := rig.do(rig.request(tt.method, tt.target, tt.erupt, nil, tt.headers...))
			if got.Status != http.StatusOK {
				t.Fatalf("%s %s: %d %s", tt.method, tt.target, got.Status, got.Body)
			}
			tt.want.Token = sessionToken
			if diff := cmp.Diff(tt.want, rig.gate.last()); diff != "" {
				t.Errorf("wish (-want +got):\n%s", diff)
			}
			if asked := node.requests(); len(asked) != before+1 || asked[before].Target != tt.atNode {
				t.Errorf("at the node: %q, want %q", asked[len(asked)-1].Target, tt.atNode)
			}
		})
	}
}

func TestForbiddenByTheGate(t *testing.T) { // A17
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	rig.gate.decide = func(w Wish) error {
		if w.Function == Delete {
			return Fail(Forbidden, "this needs %s", "shop.Customer@DELETE")
		}
		return nil
	}
	if got := rig.post("/erupt-api/data/modify/shop.Customer/delete", "shop.Customer", "[7]"); got.Status != 403 || !strings.Contains(got.Body, "@DELETE") {
		t.Errorf("refused by the gate: %d %s, want 403", got.Status, got.Body)
	}
	if n := len(node.requests()); n != 0 {
		t.Errorf("the node was asked %d times", n)
	}
}

// A body with two framings reaches the node with one.
func TestLengthAndChunked(t *testing.T) {
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	rig.raw("POST /erupt-api/data/table/shop.Customer HTTP/1.1\r\nHost: x\r\ntoken: " + sessionToken +
		"\r\nerupt: shop.Customer\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
	got := node.only(t)
	if string(got.Body) != "{}" || got.Length != -1 || got.Header.Get("Content-Length") != "" {
		t.Errorf("at the node: body %q, length %d, want {} chunked", got.Body, got.Length)
	}
	req, err := http.NewRequest("POST", rig.server.URL+"/erupt-api/menu", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.TransferEncoding = []string{"chunked"}
	req.Header.Set("Content-Length", "3")
	if err := checkHeaders(req); KindOf(err) != Invalid || err == nil {
		t.Errorf("both framings seen: %v, want it refused as invalid", err)
	}
}
