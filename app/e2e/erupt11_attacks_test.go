package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// attack is a request that a user with one page sends; %s stands for his session token.
type attack struct {
	what, method, target string
	headers              []string
	body                 string
}

const tables = "/erupt-api/data/table/"

// attacks are those of erupt-wire 10.1, 10.5 and 10.6 as lin can try them, who holds the page Customer of the node alone.
func attacks() []attack {
	const query = `{"pageIndex":1,"pageSize":10}`
	one := "erupt: warehouse.Customer"
	return []attack{
		{"the page in the header, another in the path", "POST", tables + "warehouse.Ledger", []string{one}, query},
		{"the same with the node's own name", "POST", tables + "Ledger", []string{one}, query},
		{"a write to another class", "POST", "/erupt-api/data/modify/Ledger/update", []string{one}, `{"id":"9007199254740991","text":"owned"}`},
		{"a detail of another class", "GET", "/erupt-api/data/warehouse.Ledger/9007199254740991", []string{one}, ""},
		{"a page that he holds as the parent", "POST", tables + "warehouse.Ledger", []string{"erupt: warehouse.Ledger", "eruptParent: warehouse.Customer"}, query},
		{"a parent that nobody knows", "POST", tables + "warehouse.Ledger", []string{"erupt: warehouse.Ledger", "eruptParent: warehouse.Nothing"}, query},
		{"a parent of the server's own", "POST", tables + "warehouse.Ledger", []string{"erupt: warehouse.Ledger", "eruptParent: EruptUser"}, query},
		{"a parent on another node", "POST", tables + "warehouse.Ledger", []string{"erupt: warehouse.Ledger", "eruptParent: elsewhere.Customer"}, query},
		{"a drill from a page that leads elsewhere", "POST", tables + "warehouse.Ledger", []string{"erupt: warehouse.Ledger", "drill: purchases", "drillValue: 1", "drillSourceErupt: warehouse.Customer"}, query},
		{"a drill from a page that he does not hold", "POST", tables + "warehouse.Customer", []string{one, "drill: x", "drillValue: 1", "drillSourceErupt: warehouse.Ledger"}, query},
		{"an encoded slash", "POST", tables + "warehouse.Customer%2F..%2FLedger", []string{one}, query},
		{"dot segments", "POST", tables + "warehouse.Customer/../Ledger", []string{one}, query},
		{"encoded dot segments", "POST", tables + "%2e%2e/table/warehouse.Ledger", []string{one}, query},
		{"a path parameter", "POST", tables + "warehouse.Customer;x=1", []string{one}, query},
		{"a backslash", "POST", tables + `warehouse.Customer%5c..%5cLedger`, []string{one}, query},
		{"a null byte", "POST", tables + "warehouse.Customer%00", []string{one}, query},
		{"the name encoded twice", "POST", tables + "warehouse%252ELedger", []string{one}, query},
		{"two names in headers", "POST", tables + "warehouse.Ledger", []string{one, "erupt: warehouse.Ledger"}, query},
		{"two tokens", "POST", tables + "warehouse.Customer", []string{one, "token: another"}, query},
		{"a name that ends in a dot", "POST", tables + "warehouse.", []string{"erupt: warehouse."}, query},
		{"no header at all", "POST", tables + "warehouse.Ledger", nil, query},
		{"the name as a parameter", "POST", tables + "warehouse.Ledger?_erupt=warehouse.Customer", []string{"erupt: warehouse.Ledger"}, query},
		{"an insert without its right", "POST", "/erupt-api/data/modify/warehouse.Customer", []string{one}, `{"name":"owned","level":"VIP"}`},
		{"a deletion without its right", "POST", "/erupt-api/data/modify/warehouse.Customer/delete", []string{one}, "[50]"},
		{"a deletion by the old method", "DELETE", "/erupt-api/data/modify/warehouse.Customer/50", []string{one}, ""},
		{"an export without its right", "POST", "/erupt-api/excel/export/warehouse.Customer", []string{one}, "[]"},
		{"another case of another class", "POST", tables + "warehouse.LEDGER", []string{"erupt: warehouse.lEdGeR"}, query},
		{"a template of the node by its path", "GET", "/erupt-api/tpl/report.html?_node=warehouse", nil, ""},
		{"a door beside the API", "GET", "/erupt-api/../test/rows?table=ledger", []string{one}, ""},
	}
}

// erupt-wire 11, item 11: with a real node behind, each attack is refused before the node hears of it, the log says why, and
// the answer holds nothing of what was after.
func TestErupt11_11Attacks(t *testing.T) {
	f := javaFarm(t)
	lin := f.lin()
	before, ledger := len(f.javaOne.rows("customer")), f.javaOne.rows("ledger")
	secrets := f.unsaid(lin, ledger)
	f.forgetAll()
	for _, a := range attacks() {
		status, raw := f.fireRaw(t, a, lin)
		if status < 400 || status >= 500 && status != http.StatusServiceUnavailable { // 503: there is no such node
			t.Errorf("%s = %d %.300s, want a refusal", a.what, status, raw)
		}
		for _, secret := range secrets {
			if strings.Contains(raw, secret) {
				t.Errorf("%s: the answer tells %q: %.300s", a.what, secret, raw)
			}
		}
		f.logsWhy(t, a.what, status, raw, lin)
	}
	for _, seen := range f.seenAll() {
		if !strings.HasSuffix(seen, "/erupt-api/build/Customer") { // the server asks which classes the page contains and which drills it has
			t.Errorf("the node was asked %s", seen)
		}
	}
	if after := len(f.javaOne.rows("customer")); after != before {
		t.Errorf("%d customers became %d", before, after)
	}
	for i, row := range f.javaOne.rows("ledger") {
		if diff := changed(ledger[i], row); len(diff) > 0 {
			t.Errorf("columns %v of the ledger changed", diff)
		}
	}
	f.forgedHeaders(t, lin)
	f.hostileContent(t)
	f.hostileCondition(t)
}

// unsaid are what no refusal may tell: the data that the attacks are after, where the instances are, and tokens.
func (f *farm) unsaid(session string, ledger []map[string]*string) []string {
	secrets := []string{"largest safe", "one key beyond", "12345678901234567890", f.token, session}
	for _, n := range []*javaNode{f.javaOne, f.javaTwo} {
		secrets = append(secrets, strings.TrimSuffix(strings.TrimPrefix(n.URL, "http://"), "/shop"))
	}
	for _, row := range ledger {
		for column, v := range row {
			if column != "id" && v != nil && len(*v) > 5 { // the attacks name the keys themselves
				secrets = append(secrets, *v)
			}
		}
	}
	return secrets
}

// logsWhy holds that our log has a line about the refusal of this very request, with its code and its reason and no token. What
// is no request at all is refused by Go's server before we hear of it: 400 with a text of its own.
func (f *farm) logsWhy(t *testing.T, what string, status int, raw, session string) {
	t.Helper()
	if status == http.StatusBadRequest && strings.HasPrefix(raw, "400 Bad Request") {
		return
	}
	var said struct{ Code, Message, RequestID string }
	if err := json.Unmarshal([]byte(raw), &said); err != nil || said.Code == "" || said.Message == "" || said.RequestID == "" {
		t.Errorf("%s = %d %.300s, want a code, a reason and the request's id", what, status, raw)
		return
	}
	var lines string
	eventually(t, patience, func() bool {
		lines = f.one.linesOf(said.RequestID)
		return strings.Contains(lines, `msg="request refused"`) && strings.Contains(lines, " code="+said.Code+" ") && strings.Contains(strings.ReplaceAll(lines, `\"`, `"`), said.Message)
	}, func() string {
		return fmt.Sprintf("%s: of the reason %s %q the log says: %s", what, said.Code, said.Message, lines)
	})
	if strings.Contains(lines, session) || strings.Contains(lines, f.token) {
		t.Errorf("%s: the log holds a token: %s", what, lines)
	}
}

// linesOf are the lines of a replica's log about a request.
func (p *process) linesOf(requestID string) string {
	var own []string
	for line := range strings.Lines(p.output()) {
		if strings.Contains(line, "request_id="+requestID+" ") {
			own = append(own, line)
		}
	}
	return strings.Join(own, "")
}

// fireRaw writes a request byte by byte, so that nothing on our side tidies it.
func (f *farm) fireRaw(t *testing.T, a attack, token string) (int, string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", f.listen[0], 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	lines := append([]string{a.method + " " + a.target + " HTTP/1.1", "Host: " + f.listen[0], "token: " + token, "Connection: close"}, a.headers...)
	if a.body != "" {
		lines = append(lines, "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(a.body)))
	}
	if _, err := io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n"+a.body); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: a.method})
	if err != nil {
		t.Fatalf("%s: %v", a.what, err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw)
}

// forgedHeaders: what a client says of itself is replaced by what the server knows.
func (f *farm) forgedHeaders(t *testing.T, lin string) {
	f.forgetAll()
	_, raw := f.one.call(http.MethodPost, "/erupt-api/data/warehouse.Customer/operator/whoami", map[string]any{"ids": []int{}, "param": nil}, http.Header{
		"erupt": {"warehouse.Customer"}, "token": {lin}, "User": {"eyJ1aWQiOjEsImFjY291bnQiOiJlcnVwdCIsIm5hbWUiOiJlcnVwdCJ9"}, "Access-Token": {"forged"},
		"Cookie": {"ec=1"}, "Authorization": {"Bearer x"}, "Origin": {f.one.URL}, "X-Forwarded-For": {"6.6.6.6"},
	})
	if !strings.Contains(string(raw), `\"account\":\"lin\"`) || strings.Contains(string(raw), `\"superAdmin\":true`) {
		t.Errorf("with a forged user the application hears %.500s", raw)
	}
	var all []struct {
		URI     string
		Headers map[string][]string
	}
	asked := 0
	for _, n := range []*javaNode{f.javaOne, f.javaTwo} {
		n.get("/test/requests", &all)
		for _, r := range all {
			if !strings.HasSuffix(r.URI, "/operator/whoami") {
				continue
			}
			asked++
			for _, name := range []string{"cookie", "authorization", "origin"} {
				if v := r.Headers[name]; v != nil {
					t.Errorf("the node got %s: %v", name, v)
				}
			}
			if got := r.Headers["access-token"]; len(got) != 1 || got[0] != f.token {
				t.Errorf("the node got the access tokens %v", got)
			}
			if strings.Contains(strings.Join(r.Headers["x-forwarded-for"], ","), "6.6.6.6") {
				t.Errorf("the node got the client's own %v", r.Headers["x-forwarded-for"])
			}
		}
	}
	if asked != 1 {
		t.Errorf("the node was asked %d times", asked)
	}
}

// hostileContent opens pages whose rows are made to run script: the tab fails the test on any of it, and on any violation of
// the policy.
func (f *farm) hostileContent(t *testing.T) {
	b := browse(t, f.two)
	b.login("erupt", adminPassword)
	for path, text := range map[string]string{
		"/console/pages/warehouse.Customer": "<script>alert('x')</script>",
		"/console/pages/warehouse.Widget":   "javascript:alert(1)",
	} {
		b.open(path)
		b.until("the text is not there as text", "document.body.innerText.includes("+quote(text)+")")
		if got := b.eval(`document.querySelectorAll("main a[href^='javascript:'], main table script, main img[onerror]").length`); got != "0" {
			t.Errorf("%s holds %s elements that run", path, got)
		}
	}
}

// hostileCondition: a row operation whose ifExpr is a script (erupt-wire 10.7, item 2). The model passes as the node made it, the
// console runs nothing of it, and whether the operation may run is the node's to say.
func (f *farm) hostileCondition(t *testing.T) {
	header := http.Header{"erupt": {"warehouse.Widget"}, "Content-Type": {"application/json"}}
	if _, raw := f.two.call(http.MethodGet, "/erupt-api/build/warehouse.Widget", nil, header); !strings.Contains(string(raw), `"lure"`) || !strings.Contains(string(raw), "window.lured") {
		t.Fatalf("the node's model has no hostile condition: %.300s", raw)
	}
	b := browse(t, f.two)
	b.login("erupt", adminPassword)
	for _, path := range []string{"/console/pages/warehouse.Widget", "/console/pages/warehouse.Widget/record?id=1", "/console/pages/warehouse.Widget/new"} {
		b.open(path)
		b.until("the page is not there", `document.querySelector("[data-testid=view-row], #record-form") && document.readyState === "complete"`)
		if got := b.eval(`[typeof window.lured, document.body.dataset.lured ?? "unmarked", performance.getEntriesByType("resource").filter((e) => e.name.includes("/console/users")).length].join(" ")`); got != "undefined unmarked 0" {
			t.Errorf("%s ran the node's condition: %s", path, got)
		}
		if got := b.eval(`[...document.querySelectorAll("*")].filter((e) => [...e.attributes].some((a) => a.value.includes("window.lured"))).length + document.querySelector("main").textContent.includes("window.lured")`); got != "0" {
			t.Errorf("%s holds the text of the condition: %s", path, got)
		}
	}
	resp, raw := f.two.call(http.MethodPost, "/erupt-api/data/warehouse.Widget/operator/lure", map[string]any{"ids": []int{1}, "param": nil}, header)
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(raw), "1 lured") {
		t.Errorf("the operation at the node = %d %.300s, want it done", resp.StatusCode, raw)
	}
}
