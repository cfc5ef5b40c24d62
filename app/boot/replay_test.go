package boot

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"eruptcloud/app/testbed"
)

// said is one side of a recorded exchange.
type said struct {
	Method, Target string
	Status         int
	Headers        [][2]string
	Body, Body64   string
	Cut            bool
}

func (s *said) bytes() string {
	if s.Body64 == "" {
		return s.Body
	}
	b, _ := base64.StdEncoding.DecodeString(s.Body64)
	return string(b)
}

func (s *said) header(name string) string {
	for _, h := range s.Headers {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

// recordedCall is a browser's request to the original server, its answer, and what it asked a node meanwhile.
type recordedCall struct {
	Name, Shows     string
	Browser, Answer said
	Node, Said      *said
}

// forwarded reports whether the original passed the request on. Of what its own console did, only the answers are on record:
// those of a success came from the node.
func (r *recordedCall) forwarded() bool {
	return r.Node != nil || strings.Contains(r.Name, "table-conditions") ||
		strings.Contains(r.Name, "-ui-") && !strings.Contains(r.Browser.Target, "_node=") && !strings.Contains(r.Browser.Target, "attachment")
}

// atNode is what the node answers in the replay.
func (r *recordedCall) atNode() *said {
	if r.Said != nil {
		return r.Said
	}
	return &r.Answer
}

func recordedCalls(t testing.TB, version string) []recordedCall {
	t.Helper()
	var all []recordedCall
	for _, dir := range []string{"testdata/replay", "../../proxy/testdata"} {
		f, err := os.Open(filepath.Join(dir, version+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			var r recordedCall
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
	}
	return all
}

// TestReplayOfAllRecordings plays each request for a node on record, with the rights that its user had, to our proxy and gate.
// What differs from the original is in the list, with its source.
func TestReplayOfAllRecordings(t *testing.T) { // erupt-wire 11
	list := testbed.ReadDifferences(t, "../e2e/testdata/differences.txt")
	for _, version := range []string{"erupt-1.12", "erupt-2.0"} {
		calls := recordedCalls(t, version)
		th := newTheatre(t, version, calls)
		for _, r := range calls {
			t.Run(version+"/"+r.Name, func(t *testing.T) { th.replay(t, list, "proxy/"+version+"/"+r.Name, &r) })
		}
	}
	if !t.Failed() {
		list.Finish(t, "proxy/")
	}
}

func (th *theatre) replay(t *testing.T, list *testbed.Differences, name string, r *recordedCall) {
	th.mu.Lock()
	th.next, th.asked, th.bodies = r.atNode(), nil, nil
	th.mu.Unlock()
	res, body := th.send(t, &r.Browser)
	differ := func(field, ours, theirs string) {
		if ours != theirs {
			list.Differ(t, name, field, ours, theirs)
		}
	}
	passed := map[bool]string{true: "asked", false: "not asked"}
	differ("node", passed[len(th.asked) > 0], passed[r.forwarded()])
	if len(th.asked) > 0 && r.Node != nil {
		th.compareAtNode(r, differ)
	}
	differ("status", fmt.Sprint(res.StatusCode), fmt.Sprint(r.Answer.Status))
	if !r.Answer.Cut && (r.Said == nil || !r.Said.Cut) {
		if same := sameBody(body, r.Answer.bytes()); !same {
			differ("body", body, r.Answer.bytes())
		}
	}
	if res.StatusCode == 200 && r.Answer.Status == 200 {
		differ("type", mediaType(res.Header.Get("Content-Type")), mediaType(r.Answer.header("Content-Type")))
		differ("disposition", res.Header.Get("Content-Disposition"), r.Answer.header("Content-Disposition"))
	}
}

// compareAtNode holds the request at the node against the original's. Deliberate and everywhere alike, so not in the list: the
// session's token stays out of the query, names in it are local, forms pass byte for byte (erupt-wire 2.5, 10.2).
func (th *theatre) compareAtNode(r *recordedCall, differ func(field, ours, theirs string)) {
	got := th.asked[0]
	differ("node method", got.Method, r.Node.Method)
	differ("node target", got.RequestURI, localTarget(r.Node.Target))
	for _, h := range []string{"erupt", "lang", "link", "drill", "drillValue", "drillSourceErupt", "Content-Type"} {
		if theirs := r.Node.header(h); h != "Content-Type" || !strings.HasPrefix(theirs, "multipart/") {
			differ("node header "+h, got.Header.Get(h), theirs)
		}
	}
	var user map[string]any
	raw, _ := base64.StdEncoding.Strict().DecodeString(got.Header.Get("user"))
	_ = json.Unmarshal(raw, &user)
	delete(user, "tenantId") // of 2.2
	theirs, _ := base64.StdEncoding.DecodeString(r.Node.header("user"))
	var their map[string]any
	_ = json.Unmarshal(theirs, &their)
	if !reflect.DeepEqual(user, their) {
		differ("node user", string(raw), string(theirs))
	}
	if strings.HasPrefix(r.Browser.header("Content-Type"), "multipart/") {
		differ("node body", th.bodies[0], r.Browser.bytes())
		return
	}
	differ("node body", th.bodies[0], r.Node.bytes())
	for _, h := range []string{"Cookie", "Origin", "Authorization", "Accept-Encoding"} {
		differ("node header "+h, got.Header.Get(h), "")
	}
}

// localTarget is a recorded target as ours sends it.
func localTarget(target string) string {
	path, raw, ok := strings.Cut(target, "?")
	if !ok {
		return target
	}
	var kept []string
	for pair := range strings.SplitSeq(raw, "&") {
		switch key, value, _ := strings.Cut(pair, "="); key {
		case "_token":
		case "_erupt":
			kept = append(kept, "_erupt="+value[strings.LastIndexByte(value, '.')+1:])
		default:
			kept = append(kept, pair)
		}
	}
	if len(kept) == 0 {
		return path
	}
	return path + "?" + strings.Join(kept, "&")
}

// sameBody compares JSON by what it says, all else byte for byte.
func sameBody(a, b string) bool {
	if a == b {
		return true
	}
	x, okA := decodeNumbers(a)
	y, okB := decodeNumbers(b)
	return okA && okB && reflect.DeepEqual(x, y)
}

func decodeNumbers(s string) (any, bool) {
	var v any
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil, false
	}
	return plainNumbers(v), true
}

// plainNumbers takes 5 and 5.0 for one number: the original writes models anew with its own classes.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(strings.TrimSuffix(v.String(), ".0"))
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	}
	return v
}

func mediaType(v string) string {
	kind, _, _ := strings.Cut(v, ";")
	return cmp.Or(strings.ToLower(strings.TrimSpace(kind)), "")
}
