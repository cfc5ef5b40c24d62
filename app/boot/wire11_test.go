package boot

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The conformance list of erupt-wire 11, as far as no other process is needed: what real nodes asked and answered is played.
// Items 1 to 3 and 8 have their tests of this name in app/nodeapi and app/buildmodel, item 7 in proxy.

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
