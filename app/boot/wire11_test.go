package boot

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"eruptcloud/proxy"
)

// The conformance list of erupt-wire 11, as far as no other process is needed: what real nodes asked and answered is played.
// Items 1 to 4 and 8 have their tests of this name in app/nodeapi and app/buildmodel, items 5 and 7 in proxy.

func (th *theatre) logged() string {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.log.String()
}

func (th *theatre) asks() []*http.Request {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.asked
}

func (th *theatre) set(next *said) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.next, th.asked, th.bodies = next, nil, nil
	th.log.Reset()
}

// harmless are attacks that a node may see, since nothing of them is left by then.
var harmless = map[string]string{
	"387-attack-client-headers": "forged headers are replaced",
	"393-attack-case-class":     "the class in another case is the page that the user holds",
}

// TestWire11_11Attacks: header and path that differ, foreign parents and drills, unsafe paths, repeated and forged headers. None
// reaches a node, the reason is in our log, and the answer holds nothing that the node would have said.
func TestWire11_11Attacks(t *testing.T) {
	attacks := map[string][]string{
		"erupt-2.0":  {"380", "381", "382", "383", "384", "385", "386", "387", "388", "389", "390", "391", "392", "393", "394", "395", "396", "402"},
		"erupt-1.12": {"302", "303", "304", "306", "308", "309", "310", "311", "312", "313", "314", "315", "540", "642", "643", "655"},
	}
	for version, numbers := range attacks {
		calls := recordedCalls(t, version)
		th := newTheatre(t, version, calls)
		played := 0
		for _, r := range calls {
			number, _, _ := strings.Cut(r.Name, "-")
			if !strings.Contains(" "+strings.Join(numbers, " ")+" ", " "+number+" ") {
				continue
			}
			played++
			t.Run(version+"/"+r.Name, func(t *testing.T) { th.attack(t, &r) })
		}
		if played != len(numbers) {
			t.Errorf("%s: %d of %d attacks were played", version, played, len(numbers))
		}
	}
}

const stolen = `{"list":[{"id":1,"name":"what-only-the-node-knows"}]}`

func (th *theatre) attack(t *testing.T, r *recordedCall) {
	th.set(&said{Status: 200, Headers: [][2]string{{"Content-Type", "application/json"}}, Body: stolen})
	res, body := th.send(t, &r.Browser)
	asked := th.asks()
	if why, ok := harmless[r.Name]; ok {
		if len(asked) != 1 || asked[0].Header.Get("Access-Token") != "AT-0001" || asked[0].Header.Get("user") == r.Browser.header("user") {
			t.Errorf("%s, but the node was asked %d times: %v", why, len(asked), asked)
		}
		return
	}
	if res.StatusCode < 400 || len(asked) != 0 {
		t.Errorf("answered %d %s, the node was asked %d times", res.StatusCode, body, len(asked))
	}
	th.refused(t, res, body)
}

// refused holds an answer against what a refusal may say, and the log against what it must.
func (th *theatre) refused(t *testing.T, res *http.Response, body string) {
	t.Helper()
	if strings.Contains(body, "what-only-the-node-knows") || strings.Contains(body, "AT-0001") || strings.Contains(body, "127.0.0.1") {
		t.Errorf("the answer says too much: %s", body)
	}
	if kind := res.Header.Get("Content-Type"); strings.Contains(kind, "html") {
		t.Errorf("the answer is %q", kind)
	}
	log := th.logged()
	var said struct{ Code, Message string }
	if json.Unmarshal([]byte(body), &said); res.StatusCode != http.StatusNotFound && (said.Message == "" || !strings.Contains(log, "code="+said.Code) || !strings.Contains(strings.ReplaceAll(log, `\"`, `"`), said.Message)) {
		t.Errorf("refused with %q, of which the log says: %s", said.Message, log)
	}
	if strings.Contains(log, "34OQnY8j5JHEDuZc") || strings.Contains(log, "NaPqdcvzLQstWgkK") {
		t.Errorf("the log holds a session's token: %s", log)
	}
}

// TestWire11_06Endpoints asks each endpoint of the table with each of its methods: with values that need care, as somebody who may
// and somebody who may not, and for a class that the node does not know.
func TestWire11_06Endpoints(t *testing.T) {
	th := newTheatre(t, "erupt-2.0", recordedCalls(t, "erupt-2.0"))
	const query = "x=%E5%BA%97+a%2Bb&id=9007199254740993&y=100%25&z=a;b&empty=&ids=1&ids=2"
	fill := strings.NewReplacer("{e}", "shop.Customer", "{f}", "name", "{id}", "9007199254740993", "**", "page.html")
	local := strings.NewReplacer("{e}", "Customer", "{f}", "name", "{id}", "9007199254740993", "**", "page.html")
	tried := 0
	for _, e := range proxy.Endpoints() {
		if e.Local() {
			continue
		}
		for _, method := range e.Methods {
			ask := said{Method: method, Target: "/" + fill.Replace(e.Pattern) + "?" + query, Headers: [][2]string{{"token", "ozkYgT8aPZdMYMNt"}, {"Content-Type", "application/json"}}}
			switch {
			case !strings.Contains(e.Pattern, "{e}"):
				ask.Target += "&_node=shop"
			case e.Verify == proxy.ByParam:
				ask.Target += "&_erupt=shop.Customer"
			default:
				ask.Headers = append(ask.Headers, [2]string{"erupt", "shop.Customer"})
			}
			tried++
			th.endpoint(t, e.Pattern, &ask, "/"+local.Replace(e.Pattern)+"?"+query)
		}
	}
	if tried < 50 {
		t.Errorf("only %d endpoints were tried", tried)
	}
}

func (th *theatre) endpoint(t *testing.T, pattern string, ask *said, want string) {
	t.Helper()
	isBuild := pattern == "erupt-api/build/{e}"
	for _, answer := range []said{
		{Status: 200, Headers: [][2]string{{"Content-Type", "application/json"}}, Body: `{"eruptModel":{"eruptName":"Customer"},"id":9007199254740993,"d":1.10,"list":[]}`},
		{Status: 200, Headers: [][2]string{{"Content-Type", "application/json"}}, Body: ``},
		{Status: 404},
	} {
		th.set(&answer)
		res, body := th.send(t, ask)
		if isBuild && answer.Body == "" && answer.Status == 200 {
			continue // no model is no answer
		}
		wanted := answer.Body
		if isBuild {
			wanted = strings.Replace(wanted, `"Customer"`, `"shop.Customer"`, 1)
		}
		if res.StatusCode != answer.Status || !sameBody(body, wanted) {
			t.Errorf("%s %s: answered %d %q, want %d %q", ask.Method, pattern, res.StatusCode, body, answer.Status, wanted)
		}
		asked := th.asks()
		if len(asked) != 1 || asked[0].Method != ask.Method || !strings.HasPrefix(asked[0].RequestURI, want) {
			t.Errorf("%s %s: the node was asked %d times, want once for %s", ask.Method, pattern, len(asked), want)
			continue
		}
		if h := asked[0].Header; strings.Contains(pattern, "{e}") != (h.Get("erupt") == "Customer") || h.Get("user") == "" || h.Get("token") != "shop for ozkYgT8aPZdMYMNt" {
			t.Errorf("%s %s: headers at the node %v", ask.Method, pattern, h)
		}
	}
	// who holds another page of the node, and nobody
	for token, status := range map[string]int{"NaPqdcvzLQstWgkK": 403, "": 401, "gone": 401} {
		th.set(&said{Status: 200})
		other := *ask
		other.Headers = append([][2]string{{"token", token}}, ask.Headers[1:]...)
		if token == "" {
			other.Headers = ask.Headers[1:]
		}
		res, _ := th.send(t, &other)
		if strings.Contains(pattern, "attachment") && status == 403 {
			status = 200 // a file belongs to whoever may open a page of the node
		}
		if res.StatusCode != status || (len(th.asks()) != 0) != (status == 200) {
			t.Errorf("%s %s with token %q: %d, asked %d times, want %d", ask.Method, pattern, token, res.StatusCode, len(th.asks()), status)
		}
	}
}
