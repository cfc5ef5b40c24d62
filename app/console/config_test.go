package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/fleet"
	"eruptcloud/views"
)

const configPath = "/console/nodes/order-service/config"

func TestSyntaxErrorNamesLineAndColumnAndKeepsTheText(t *testing.T) { // U40
	s := newSite(t, commerce())
	draft := "{\r\n  \"pool\": {\r\n    \"max\": 8,\r\n  }\r\n}"
	doc := parse(t, s.post(configPath+"/review", url.Values{"config": {draft}, "revision": {"2"}, "note": {"why"}}).must(t, 422))
	problem := doc.Find("#config-problem")
	if problem.AttrOr("data-line", "") != "4" || problem.AttrOr("data-column", "") != "3" || !includes(problem.Text(), "line 4, column 3") {
		t.Errorf("problem = %q at %s:%s", problem.Text(), problem.AttrOr("data-line", ""), problem.AttrOr("data-column", ""))
	}
	_, okHidden := doc.Find("[data-json-ok]").Attr("hidden")
	_, badHidden := doc.Find("[data-json-bad]").Attr("hidden")
	_, locked := doc.Find("[data-testid=review]").Attr("disabled")
	if where := text1(doc, "[data-json-where]"); !okHidden || badHidden || !locked || where != "Line 4, column 3" {
		t.Errorf("beside the error: valid hidden %v, bad hidden %v at %q, review locked %v", okHidden, badHidden, where, locked)
	}
	if doc.Find("button.nojs[type=submit]").Length() != 1 {
		t.Error("without scripts a corrected text cannot be sent")
	}
	if got := doc.Find("[data-testid=editor]").Text(); strings.TrimPrefix(got, "\n") != strings.ReplaceAll(draft, "\r\n", "\n") {
		t.Errorf("the text came back as %q", got)
	}
	zh := parse(t, s.post(configPath+"/review", url.Values{"config": {draft}, "revision": {"2"}}, chinese).must(t, 422))
	if got := zh.Find("#config-problem").Text(); !includes(got, "第 4 行") || !includes(got, "多了逗号") {
		t.Errorf("in Chinese the problem is %q", got)
	}
	for _, bad := range []string{`[1]`, `{"a":1,"a":2}`, `{"a":1} x`, `"text"`} {
		s.post(configPath+"/review", url.Values{"config": {bad}, "revision": {"2"}}).must(t, 422)
		s.post(configPath, url.Values{"config": {bad}, "revision": {"2"}, "note": {"x"}}).must(t, 422)
	}
	if s.nodes[2].Revision != 2 {
		t.Error("a broken text was published")
	}
}

func TestReviewShowsWhatChangesForWhom(t *testing.T) { // U41
	s := newSite(t, commerce())
	draft := `{"pool":{"max":40,"password":"hunter2","idle":2}}`
	doc := parse(t, s.post(configPath+"/review", url.Values{"config": {draft}, "revision": {"2"}}).must(t, 200))
	if got := text1(doc, "[data-testid=publish] p.body"); got != "Publishing changes 2 keys on 1 node, 4 instances." {
		t.Errorf("headline = %q", got)
	}
	if got := text1(doc, "[data-testid=publish] .card-head .push"); got != "pool.max, pool.idle" {
		t.Errorf("changed keys = %q", got)
	}
	if del, add := strings.TrimSpace(doc.Find(".diff .del").First().Text()), strings.TrimSpace(doc.Find(".diff .add").First().Text()); del != `"max": 8,` || add != `"max": 40,` {
		t.Errorf("diff = %q | %q", del, add)
	}
	if got := doc.Find("[name=config]").Text(); strings.TrimSpace(got) != draft {
		t.Errorf("the text travels as %q", got)
	}
	if s.nodes[2].Revision != 2 {
		t.Error("a review published")
	}
	if body := s.post(configPath+"/review", url.Values{"config": {s.nodes[2].Config}, "revision": {"2"}}).must(t, 200); includes(body, "publish-now") {
		t.Error("a text that changes nothing can be published")
	}
	back := s.post(configPath+"/edit", url.Values{"config": {draft}, "revision": {"2"}, "note": {"n"}}).must(t, 200)
	if got := parse(t, back).Find("[data-testid=editor]").Text(); strings.TrimSpace(got) != draft {
		t.Errorf("back in the editor the text is %q", got)
	}
}

func TestPublishingNeedsANoteAndKeepsWhoAndWhere(t *testing.T) {
	s := newSite(t, commerce())
	draft := `{"pool":{"max":40}}`
	s.post(configPath, url.Values{"config": {draft}, "revision": {"2"}, "note": {"  "}}).must(t, 422)
	a := s.post(configPath, url.Values{"config": {draft}, "revision": {"2"}, "note": {"more"}})
	a.must(t, 303)
	if got := a.Header().Get("Location"); got != configPath+"?said=published" {
		t.Errorf("Location = %q", got)
	}
	r := s.world.revisions["order-service"][0]
	if r.Number != 3 || r.Author != "admin" || r.Address == "" || r.Note != "more" || r.Config != draft {
		t.Errorf("revision = %+v", r)
	}
}

func TestConflictShowsBaseTheirsAndMine(t *testing.T) { // S28
	s := newSite(t, commerce())
	mine := `{"pool":{"max":40,"password":"hunter2"},"extra":"mine <b>"}`
	for _, path := range []string{configPath, configPath + "/review"} {
		doc := parse(t, s.post(path, url.Values{"config": {mine}, "revision": {"1"}, "note": {"my note"}}).must(t, 409))
		for id, want := range map[string]string{
			"base": "{\n  \"pool\": {\n    \"max\": 40,\n    \"password\": \"hunter2\"\n  }\n}", "theirs": "{\n  \"pool\": {\n    \"max\": 8,\n    \"password\": \"hunter2\"\n  }\n}", "mine": prettyOf(mine),
		} {
			if got := doc.Find("[data-testid=three-" + id + "]").Text(); got != want {
				t.Errorf("%s: %s = %q, want %q", path, id, got, want)
			}
		}
		if got := doc.Find("[data-testid=editor]").Text(); !includes(got, `"max": 8`) || !includes(got, `"extra": "mine <b>"`) {
			t.Errorf("%s: joined text = %q", path, got)
		}
		if got := text1(doc, "[data-testid=conflict]"); !includes(got, "zhao.min published r2") || !includes(got, "smaller pool") {
			t.Errorf("%s: notice = %q", path, got)
		}
		if doc.Find(`form [name=revision]`).AttrOr("value", "") != "2" || doc.Find(`form [name=note]`).AttrOr("value", "") != "my note" {
			t.Errorf("%s: the way on does not start from the newest revision with my note", path)
		}
	}
	if s.nodes[2].Revision != 2 {
		t.Error("the later text erased the earlier one")
	}
}

func TestHistoryComparesAndRollsBack(t *testing.T) { // U42
	s := newSite(t, commerce())
	doc := parse(t, s.get(configPath).must(t, 200))
	if n := doc.Find("[data-testid=revision-row]").Length(); n != 2 {
		t.Errorf("%d revisions, want 2", n)
	}
	if got := text1(doc, "[data-testid=effective] tbody"); includes(got, "hunter2") || !includes(got, "Commerce") {
		t.Errorf("effective document = %q, want provenance and no secret", got)
	}
	cmp := parse(t, s.get(configPath+"/compare?rev=2&rev=1").must(t, 200))
	if got := text1(cmp, "#cmp"); got != "r1 against r2" || text1(cmp, ".diff .add") != `"max": 8,` {
		t.Errorf("comparison %q: %q", got, text1(cmp, ".diff .add"))
	}
	back := parse(t, s.get(configPath+"?from=1").must(t, 200))
	if got := back.Find("[data-testid=editor]").Text(); !includes(got, `"max":40`) || back.Find("[name=revision]").AttrOr("value", "") != "2" {
		t.Errorf("rolling back starts from %q on r%s", got, back.Find("[name=revision]").AttrOr("value", ""))
	}
	s.get(configPath+"/compare?rev=2").must(t, 400)
	s.get(configPath+"?from=77").must(t, 404)
	s.login("viewer", false, "CloudNode")
	if body := s.as("viewer", http.MethodGet, configPath+"/compare?rev=2&rev=1", nil).must(t, 200); includes(body, "hunter2") {
		t.Error("a comparison shows a secret to somebody who may only look")
	}
}

func TestGroupConfigConcernsAllNodesBelow(t *testing.T) {
	s := newSite(t, commerce())
	doc := parse(t, s.post("/console/groups/commerce/config/review", url.Values{"config": {`{"a":1}`}, "revision": {"0"}}).must(t, 200))
	if got := text1(doc, "[data-testid=publish] p.body"); got != "Publishing changes 1 key on 5 nodes, 7 instances." {
		t.Errorf("headline = %q", got)
	}
	s.post("/console/groups/commerce/config", url.Values{"config": {`{"a":1}`}, "revision": {"0"}, "note": {"x"}}).must(t, 303)
}

func TestMerge(t *testing.T) {
	tests := map[string]struct {
		base, theirs, mine, want string
		clashes                  []string
	}{
		"both added":              {`{}`, `{"a":1}`, `{"b":2}`, `{"b":2,"a":1}`, nil},
		"they changed, I did not": {`{"a":1,"b":1}`, `{"a":2,"b":1}`, `{"a":1,"b":1}`, `{"a":2,"b":1}`, nil},
		"both changed alike":      {`{"a":1}`, `{"a":2}`, `{"a":2}`, `{"a":2}`, nil},
		"both changed":            {`{"a":1}`, `{"a":2}`, `{"a":3}`, `{"a":3}`, []string{"a"}},
		"they removed":            {`{"a":1,"b":1}`, `{"b":1}`, `{"a":1,"b":1}`, `{"b":1}`, nil},
		"I removed":               {`{"a":1,"b":1}`, `{"a":1,"b":1}`, `{"b":1}`, `{"b":1}`, nil},
		"they removed, I changed": {`{"a":1}`, `{}`, `{"a":2}`, `{"a":2}`, []string{"a"}},
		"I removed, they changed": {`{"a":1}`, `{"a":2}`, `{}`, `{}`, []string{"a"}},
		"inside an object":        {`{"o":{"x":1,"y":1}}`, `{"o":{"x":2,"y":1}}`, `{"o":{"x":1,"y":2}}`, `{"o":{"x":2,"y":2}}`, nil},
		"long numbers stay":       {`{}`, `{"n":12345678901234567890}`, `{"m":1.10}`, `{"m":1.10,"n":12345678901234567890}`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			base, _ := parseTree(tt.base)
			theirs, _ := parseTree(tt.theirs)
			mine, _ := parseTree(tt.mine)
			got, clashes := merge(base, theirs, mine, "")
			if got.compact() != tt.want || !slices.Equal(clashes, tt.clashes) {
				t.Errorf("merge = %s with clashes %v, want %s with %v", got.compact(), clashes, tt.want, tt.clashes)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	var old, new []string
	for i := range 40 {
		line := strings.Repeat("x", i+1)
		old = append(old, line)
		if i == 20 {
			line = "changed"
		}
		new = append(new, line)
	}
	new = append(new, "added")
	rows := diff(strings.Join(old, "\n"), strings.Join(new, "\n"))
	var changed []views.DiffRow
	skipped := 0
	for _, r := range rows {
		skipped += r.Skipped
		if r.Changed {
			changed = append(changed, r)
		}
	}
	want := []views.DiffRow{{OldNum: 21, NewNum: 21, Old: strings.Repeat("x", 21), New: "changed", Changed: true}, {NewNum: 41, New: "added", Changed: true}}
	if !slices.Equal(changed, want) || skipped != 40-1-3-3-3 {
		t.Errorf("diff has changes %+v and skips %d lines, want %+v and 30", changed, skipped, want)
	}
	if rows := diff("a\nb", "a\nb"); len(rows) != 1 || rows[0].Skipped != 2 {
		t.Errorf("equal texts give %+v", rows)
	}
}

func TestMaskedHidesWholeSecrets(t *testing.T) {
	got := prettyOf(shownTo(`{"dbPassword":"a","auth":{"token":{"x":"b"},"user":"c"},"apiKey":["d"],"monkey":"e","list":[{"secret":"f"}]}`, false))
	for _, secret := range []string{`"a"`, `"b"`, `"d"`, `"f"`} {
		if includes(got, secret) {
			t.Errorf("%s shows %s", got, secret)
		}
	}
	if !includes(got, `"user": "c"`) || !includes(got, `"monkey": "e"`) {
		t.Errorf("%s hides what is no secret", got)
	}
}

func TestConfigOfANodeWithoutOneIsEmpty(t *testing.T) {
	w := newWorld()
	w.node(fleet.Node{Name: "n", Enabled: true})
	doc := parse(t, newSite(t, w).get("/console/nodes/n/config").must(t, 200))
	if got := strings.TrimSpace(doc.Find("[data-testid=editor]").Text()); got != "" || !includes(text1(doc, "#ed"), "Nothing published yet") {
		t.Errorf("editor = %q under %q", got, text1(doc, "#ed"))
	}
}
