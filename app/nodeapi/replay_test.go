package nodeapi_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/probe"
	"eruptcloud/app/testbed"
)

// recording is one step that a real erupt node, or a script with its headers, took against a real erupt server.
type recording struct {
	Exchanges []struct {
		From, To, Channel string
		Request           struct {
			Method, Target, Line string
			Headers              [][2]string
			Body                 string
			BodyB64              string `json:"body_b64"`
		}
		Response struct {
			Status int
			Line   string
		}
	}
}

// bytes returns the requests to the node API as they were on the wire, and the statuses that the original answered.
func (r recording) bytes(t *testing.T) (all [][]byte, statuses []int) {
	t.Helper()
	for _, e := range r.Exchanges {
		line := e.Request.Line
		if line == "" {
			line = e.Request.Method + " " + e.Request.Target + " HTTP/1.1"
		}
		if e.To != "server" && !strings.HasSuffix(e.Channel, "->server") || !strings.Contains(line, "/erupt-cloud-api/") {
			continue
		}
		body := []byte(e.Request.Body)
		if e.Request.BodyB64 != "" {
			var err error
			if body, err = base64.StdEncoding.DecodeString(e.Request.BodyB64); err != nil {
				t.Fatal(err)
			}
		}
		b := []byte(line + "\r\n")
		for _, h := range e.Request.Headers {
			b = append(b, h[0]+": "+h[1]+"\r\n"...)
		}
		all = append(all, append(append(b, "\r\n"...), body...))
		status := e.Response.Status
		if status == 0 {
			if _, err := fmt.Sscanf(e.Response.Line, "HTTP/1.1 %d", &status); err != nil {
				t.Fatalf("answer %q: %v", e.Response.Line, err)
			}
		}
		statuses = append(statuses, status)
	}
	return all, statuses
}

// recorded is the fleet of the recordings: names and tokens of the test installations.
func recorded(t *testing.T, version string) *world {
	w := newWorld(t)
	raw := func(name, token, config, group string, enabled bool) {
		w.nodes[name] = fleet.Node{Name: name, Enabled: enabled, Config: config, Group: group, RawSession: true}
		w.tokens[name] = token
	}
	w.sessions = map[string]access.Session{
		"34OQnY8j5JHEDuZc": {Token: "34OQnY8j5JHEDuZc", UserID: 1, Account: "erupt", Name: "erupt", Admin: true},
		"ozkYgT8aPZdMYMNt": {Token: "ozkYgT8aPZdMYMNt", UserID: 1, Account: "erupt", Name: "erupt", Admin: true},
		"Pomj1WyynfbmArpx": {Token: "Pomj1WyynfbmArpx", UserID: 2, Account: "lin", Name: "Lin Yu", Roles: []string{"clerk"}},
	}
	w.sessions["NaPqdcvzLQstWgkK"] = access.Session{Token: "NaPqdcvzLQstWgkK", UserID: 10, Account: "lin", Name: "Lin Yu", Org: "D-01", Post: "ENG", Roles: []string{"sales", "off"}}
	for _, dead := range []string{"http://127.0.0.1:18999", "http://127.0.0.1:19999"} {
		w.results[dead] = probe.Result{Layer: probe.Connect, Err: errors.New("connection refused")}
	}
	if version == "erupt-1.12" {
		raw("warehouse", "UOZVLUDSBAHAUEMV", "{\"a\": 1, \"text\": \"配置 é <b>\"}\nline two", "g", true)
		raw("shop", "OHK8ODN2DX0DEPPT", "", "", true)
		raw("off", "9E7ADF9BNHLBVYJ5", "", "", false)
		w.groups["g"] = fleet.Group{Config: `{"group": "组"}`}
		return w
	}
	raw("shop", "RAY5QRRPV94GOGJQ", `{"limit": 5, "text": "grün €"}`, "g", true)
	raw("stock", "65IUBJVP6JEOGAUK", "", "", true)
	w.groups["g"] = fleet.Group{Config: `{"region":"eu","text":"grün"}`}
	return w
}

const (
	allPower  = `{"add":true,"edit":true,"delete":true,"query":true,"viewDetails":true,"export":true,"importable":true,"print":true,"copy":true,"cellEdit":true,"ai":true,"comment":false,"revision":true}`
	noPower   = `{"add":false,"edit":false,"delete":false,"query":false,"viewDetails":false,"export":false,"importable":false,"print":false,"copy":false,"cellEdit":false,"ai":false,"comment":false,"revision":false}`
	adminInfo = `{"id":1,"account":"erupt","username":"erupt","org":null,"post":null,"superAdmin":true,"roles":[],"tenantId":null}`
	linInfo   = `{"id":2,"account":"lin","username":"Lin Yu","org":null,"post":null,"superAdmin":false,"roles":["clerk"],"tenantId":null}`
)

// answers says what ours answers to each recording, by its number: status and body, "~" before a part of it. Why a status is
// another than the original's stands in the list of differences.
var answers = map[string]map[string][]string{
	"erupt-1.12": {
		"101": {"200 "}, "102": {"200 "},
		"103": {"404 ~NodeName: 'nosuchnode' not found"},
		"104": {"401 ~warehouse Access token invalid"},
		"105": {"500 ~off prohibiting the registration"},
		"106": {"502 ~Unable to establish a connection with http://127.0.0.1:18999"},
		"107": {"404 ~NodeName: 'nosuchnode' not found"}, // the original does not know the path with two slashes
		"108": {"400 ~not JSON"}, "109": {"400 ~instanceId is missing"},
		"110": {"400 ~is missing", "200 "}, "111": {"400 ~nodeName is missing"}, "112": {"405 ~method_not_allowed"},
		"113": {"200 ", "200 ", "200 "}, "114": {"200 "}, "115": {"500 ~warehouse prohibiting the registration"},
		"116": {"200 "}, "117": {"200 "}, "118": {"401 ~warehouse Access token invalid"}, "119": {"401 ~warehouse Access token invalid"},
		"120": {"404 ~NodeName: 'nosuch' not found"}, "121": {"404 ~NodeName: 'nosuchnode' not found"},
		"123": {"200 "}, "124": {"200 "}, "125": {"200 "}, "126": {"200 "},
		"201": {"200 "}, "202": {"200 "}, "203": {"200 "}, "204": {"200 "},
		"205": {`200 {"group": "组"}`}, "206": {"200 "}, "207": {"200 "}, "208": {`200 {"group": "组"}`},
		"209": {"200 " + allPower},
		"210": {"200 " + allPower}, // a super admin may open each page of each node, menu or not
		"211": {"200 " + noPower}, "212": {"200 " + noPower}, "213": {"200 " + noPower},
		"214": {"200 " + noPower},
		"215": {"200 " + adminInfo}, "216": {"200 "}, "217": {"200 "}, "218": {"200 "}, "219": {"200 "},
		"223": {"404 ~not_found"}, "224": {"404 ~not_found"},
		"225": {"200 " + adminInfo, "200 {\"a\": 1, \"text\": \"配置 é <b>\"}\nline two", `200 {"group": "组"}`},
		"226": {"200 " + linInfo, "200 {\"a\": 1, \"text\": \"配置 é <b>\"}\nline two", `200 {"group": "组"}`},
		"324": {"200 "}, "325": {"200 "}, "326": {"401 ~unauthenticated"},
		"335": {`200 [{"content":"started","num":1}]`}, "336": {`200 [{"content":"started","num":1}]`}, "337": {`200 [{"content":"started","num":1}]`},
		"338": {`200 [{"content":"started","num":1}]`}, "339": {"400 ~size must be"}, "341": {"401 ~unauthenticated"},
	},
	"erupt-2.0": {
		"050": {"200 "}, "051": {"200 "}, "052": {"200 ", "200 ", "200 "},
		"060": {`200 {"limit": 5, "text": "grün €"}`}, "061": {`200 {"region":"eu","text":"grün"}`},
		"062": {"200 " + adminInfo}, "063": {"200 "}, "064": {"200 "},
		"070": {"200 "}, "071": {"200 "}, "072": {"200 "}, "073": {"200 "}, "074": {"200 "}, "075": {`200 {"region":"eu","text":"grün"}`},
		"076": {"200 " + allPower}, "077": {"200 " + allPower}, "078": {"200 " + allPower},
		"079": {"200 " + noPower}, "080": {"200 " + noPower}, "081": {"200 " + noPower},
		"082": {"200 "}, "083": {"200 "}, "084": {"200 "},
		"090": {"404 ~NodeName: 'nobody' not found"}, "091": {"401 ~shop Access token invalid"}, "092": {"401 ~shop Access token invalid"},
		"093": {"502 ~Unable to establish a connection with http://127.0.0.1:19999"}, "094": {"400 ~not JSON"},
		"095": {"200 "},
		"096": {"400 ~nodeAddress names no address"},
		"097": {"400 ~nodeAddress names no address"},
		"098": {"405 ~method_not_allowed"}, "099": {"404 ~not_found"},
		"100": {"401 ~shop Access token invalid"}, "101": {"401 ~shop Access token invalid"}, "102": {"404 ~NodeName: 'nobody' not found"},
		"140": {"200 "},
		"310": {`200 [{"content":"started","num":1}]`}, "311": {`200 [{"content":"started","num":1}]`}, "312": {`200 [{"content":"started","num":1}]`},
		"313": {`200 [{"content":"started","num":1}]`}, "314": {"400 ~size must be"}, "315": {"503 ~'stock' has no available instance"},
		"316": {"401 ~unauthenticated"},
		"317": {"401 ~unauthenticated"},
		"335": {"200 "}, "336": {"200 "}, "337": {"200 "}, "338": {"401 ~unauthenticated"}, "339": {"200 "},
		"367": {`200 {"id":10,"account":"lin","username":"Lin Yu","org":"D-01","post":"ENG","superAdmin":false,"roles":["sales","off"],"tenantId":null}`},
		"411": {"200 "}, "414": {"500 ~shop prohibiting the registration"}, "415": {`200 {"limit": 5, "text": "grün €"}`},
		"418": {"401 ~shop Access token invalid"}, "421": {"200 ", "200 ", "200 "},
		"462": {"200 "},
		"463": {"403 ~a page of another"},
	},
}

// states are what the installation was like in a recording.
var states = map[string]func(*world){
	"erupt-1.12 115": func(w *world) { w.nodes["warehouse"] = fleet.Node{Name: "warehouse"} },
	"erupt-2.0 414":  func(w *world) { w.nodes["shop"] = fleet.Node{Name: "shop"} },
	"erupt-2.0 415": func(w *world) {
		n := w.nodes["shop"]
		n.Enabled = false
		w.nodes["shop"] = n
	},
	"erupt-2.0 418": func(w *world) { w.tokens["shop"] = "another by now" },
}

// TestRecordedRequestsOfRealNodes: erupt-wire 11, items 1 to 4, replayed byte by byte.
func TestRecordedRequestsOfRealNodes(t *testing.T) {
	list := testbed.ReadDifferences(t, "../e2e/testdata/differences.txt")
	for version, wanted := range answers {
		files, err := filepath.Glob(filepath.Join("testdata", version, "*.json"))
		if err != nil || len(files) != len(wanted) {
			t.Fatalf("%s: %d recordings (%v), %d answers: each recording needs one", version, len(files), err, len(wanted))
		}
		for _, file := range files {
			name := version + "/" + strings.TrimSuffix(filepath.Base(file), ".json")
			t.Run(name, func(t *testing.T) {
				number := filepath.Base(file)[:3]
				w := recorded(t, version)
				if set := states[version+" "+number]; set != nil {
					set(w)
				}
				statuses := replay(t, w, file, wanted[number])
				for _, s := range statuses {
					if s[0] != s[1] {
						list.Differ(t, "node/"+name, "status", strconv.Itoa(s[0]), strconv.Itoa(s[1]))
					}
				}
			})
		}
	}
	if !t.Failed() {
		list.Finish(t, "node/")
	}
}

// replay returns for each request the status that ours answered and that of the original.
func replay(t *testing.T, w *world, file string, wanted []string) (statuses [][2]int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	requests, theirs := r.bytes(t)
	if len(requests) != len(wanted) {
		t.Fatalf("recording has %d requests for us, the table %d answers", len(requests), len(wanted))
	}
	server := httptest.NewServer(w.handler)
	defer server.Close()
	for i, request := range requests {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("request %d got no answer: %v", i+1, err)
		}
		body := read(res.Body)
		_ = conn.Close()
		statuses = append(statuses, [2]int{res.StatusCode, theirs[i]})
		got := fmt.Sprintf("%d %s", res.StatusCode, body)
		status, part, isPart := strings.Cut(wanted[i], "~")
		if isPart && (!strings.HasPrefix(got, status) || !strings.Contains(unquote(got), part)) || !isPart && got != wanted[i] {
			t.Errorf("request %d was answered %q, want %q", i+1, got, wanted[i])
		}
		if kind := res.Header.Get("Content-Type"); strings.Contains(kind, "html") || res.Header.Get("Location") != "" {
			t.Errorf("request %d was answered with %q and Location %q: a node takes both for data", i+1, kind, res.Header.Get("Location"))
		}
	}
	return statuses
}

// unquote undoes the escapes that encoding/json uses for characters of HTML.
func unquote(s string) string {
	return strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">", `\u0027`, "'").Replace(s)
}

// TestRecordedPowerQuestions: what real nodes asked while they worked on requests of browsers. For whoever holds what the user on
// record held, the six flags that nodes look at, and query, are the original's (erupt-wire 1.5).
func TestRecordedPowerQuestions(t *testing.T) {
	full := func(pages ...string) map[string]access.Menu {
		all := map[string]access.Menu{}
		for _, p := range pages {
			all[p] = access.Menu{}
			for _, f := range []string{"add", "edit", "delete", "export", "importable", "view_detail"} {
				all[p+"@"+f] = access.Menu{}
			}
		}
		return all
	}
	some := func(page string) map[string]access.Menu {
		return map[string]access.Menu{page: {}, page + "@edit": {}, page + "@view_detail": {}}
	}
	var pages []string
	for _, p := range strings.Fields("customer purchase product stockitem region warehouse category ledger currency bulletin widget delivery") {
		pages = append(pages, "warehouse."+p, "shop."+p)
	}
	admin := full(append(pages, "shop.skill", "shop.regionnote", "shop.job")...)
	admin["shop.settingsform"] = access.Menu{}
	form := full("shop.settingsform")
	for _, f := range []string{"delete", "export", "importable"} {
		delete(form, "shop.settingsform@"+f)
	}
	held := map[string]map[string]access.Menu{
		"34OQnY8j5JHEDuZc": admin, "ozkYgT8aPZdMYMNt": admin, "Pomj1WyynfbmArpx": some("warehouse.customer"),
		"NaPqdcvzLQstWgkK": some("shop.product"), "42wxBJtBaaEb3gBp": some("shop.product"), "ERNGIFFKTZV9MIVSIAGMPCCYDB": some("shop.product"),
	}
	text, err := os.ReadFile(filepath.Join("testdata", "powers.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var r struct {
			Recording, Target, Token string
			Said                     map[string]bool
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		version, _, _ := strings.Cut(r.Recording, "/")
		w := recorded(t, version)
		w.sessions = map[string]access.Session{}
		for token, values := range held {
			w.sessions[token] = access.Session{Token: token, Values: values}
		}
		if strings.Contains(r.Recording, "231-form-view") { // the buttons were added by hand before
			w.sessions["ozkYgT8aPZdMYMNt"] = access.Session{Token: "ozkYgT8aPZdMYMNt", Values: form}
		}
		res := w.do("GET", r.Target, "", "token", r.Token)
		var got map[string]bool
		if err := json.Unmarshal(res.Body.Bytes(), &got); err != nil || res.Code != 200 {
			t.Fatalf("%s: answered %d %s", r.Recording, res.Code, res.Body)
		}
		for _, flag := range []string{"query", "add", "edit", "delete", "export", "importable", "viewDetails"} {
			if theirs, ok := r.Said[flag]; ok && got[flag] != theirs {
				t.Errorf("%s %s: %s is %t, the original says %t", r.Recording, r.Target, flag, got[flag], theirs)
			}
		}
	}
}
