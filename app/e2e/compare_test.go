package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/testbed"
)

const differencesFile = "testdata/differences.txt"

// TestBesideTheOriginal sends what browsers and nodes of erupt 1.12 were seen to send to a real server of 1.12.23 and to ours,
// on equal databases, with an instance of the same real node behind each, and compares the answers field by field.
func TestBesideTheOriginal(t *testing.T) {
	b := besideOriginal(t)
	list := testbed.ReadDifferences(t, differencesFile)
	for _, r := range recorded[recordedRequest](t, "testdata/erupt-1.12.jsonl") {
		t.Run(r.Name, func(t *testing.T) {
			b.theirs.t, b.ours.t = t, t
			b.prepare(r)
			theirs, ours := b.theirs.send(r), b.ours.send(r)
			if strings.Contains(r.Body, `"sort":"score asc"`) { // rows of equal score come in any order
				theirs.body, ours.body = byRow(t, theirs.body), byRow(t, ours.body)
			}
			compare(ours, theirs, func(field, o, th string) { list.Differ(t, "1.12/"+r.Name, field, o, th) })
			b.learn(r)
		})
	}
	list.Finish(t, "1.12/")
	b.originalBugs(t)
}

// byRow puts the rows of a table's answer in the order of their ids.
func byRow(t *testing.T, body []byte) []byte {
	t.Helper()
	var page map[string]any
	if err := json.Unmarshal(body, &page); err != nil {
		t.Fatalf("%v in %.200s", err, body)
	}
	rows, _ := page["list"].([]any)
	slices.SortFunc(rows, func(a, b any) int {
		return cmp.Compare(a.(map[string]any)["id"].(float64), b.(map[string]any)["id"].(float64))
	})
	raw, err := json.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// prepare puts words in place that only exist by now.
func (b *beside) prepare(r recordedRequest) {
	for _, s := range []*side{b.theirs, b.ours} {
		if strings.Contains(r.Do, "{captcha}") {
			v := s.captcha("1764448000123")
			s.words["captcha"] = v
		}
		if strings.Contains(r.Do, "{newest}") {
			s.words["newest"] = fmt.Sprint(s.newestLine())
		}
	}
}

// captcha reads the characters of a picture where the server keeps them; ours puts a secret of its own before the mark.
func (s *side) captcha(mark string) string {
	keys, err := s.store.Keys(s.t.Context(), "*verify-code:*"+mark).Result()
	if err != nil || len(keys) != 1 {
		s.t.Fatalf("captchas of %s in Redis: %v %v", s.URL, keys, err)
	}
	v, err := s.store.Get(s.t.Context(), keys[0]).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Trim(v, `"`)
}

// learn remembers the name of a file that was just stored.
func (b *beside) learn(r recordedRequest) {
	if r.Name != "721-upload-text" {
		return
	}
	for _, s := range []*side{b.theirs, b.ours} {
		var out struct{ Data string }
		if err := json.Unmarshal(s.last, &out); err != nil {
			s.t.Fatalf("the answer to an upload is %s: %v", s.last, err)
		}
		s.words["uploaded"] = out.Data
	}
}

// newestLine is the number of the last line in the node's log.
func (s *side) newestLine() int64 {
	var lines []struct{ Num int64 }
	h := s.raw(recordedRequest{Name: "newest line", Do: "GET /erupt-cloud-api/erupt-cloud-node-log?nodeName=warehouse&size=1000", With: map[string]string{"token": "{admin}"}})
	if err := json.Unmarshal(h.body, &lines); err != nil || len(lines) == 0 {
		s.t.Fatalf("the node's log behind %s: %d %.200s %v", s.URL, h.status, h.body, err)
	}
	return lines[len(lines)-1].Num
}
