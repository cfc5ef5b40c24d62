package eruptapi_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/testbed"
)

// recorded is one call of a browser to a real server of erupt, and its answer (testdata/recordings.jsonl).
type recorded struct {
	Name   string            `json:"name"` // dialect/number-what
	Do     string            `json:"do"`
	With   map[string]string `json:"with"`
	Body   string            `json:"body"`
	Status int               `json:"status"`
	Type   string            `json:"type"`
	Answer string            `json:"answer"`
}

// A33, erupt-wire 3.3, 3.4 and erupt-1.12: what browsers sent to real servers, sent to this one, field by field.
// What an answer says to people is not compared, as texts differ by language and version. The rest is equal or in the list of
// differences.
func TestReplay(t *testing.T) {
	list := testbed.ReadDifferences(t, "../e2e/testdata/differences.txt")
	for _, dialect := range []string{"2.0", "1.12"} {
		s := newStage(t, dialect)
		for _, r := range recordings(t, dialect) {
			t.Run(r.Name, func(t *testing.T) { s.t = t; s.replay(r, list) })
		}
	}
	if !t.Failed() {
		list.Finish(t, "api/")
	}
}

func recordings(t *testing.T, dialect string) (all []*recorded) {
	t.Helper()
	f, err := os.Open("testdata/recordings.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r := &recorded{}
		if err := json.Unmarshal(lines.Bytes(), r); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(r.Name, dialect+"/") {
			all = append(all, r)
		}
	}
	if len(all) < 10 {
		t.Fatalf("%d recordings of %s", len(all), dialect)
	}
	return all
}

var (
	session = regexp.MustCompile(`^[A-Za-z0-9]{16,26}$`)
	moment  = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{3})?(\+00:00|Z)?$`)
)

func (s *stage) replay(r *recorded, list *testbed.Differences) {
	s.prepare(r)
	w := s.handler(r)
	var got, want any
	if strings.HasPrefix(r.Type, "image/") {
		if w.Code != 200 || w.Header().Get("Content-Type") != r.Type || !bytes.HasPrefix(w.Body.Bytes(), []byte("\x89PNG")) || w.Header().Get("Pragma") != "no-cache" {
			s.t.Errorf("answered %d %s %q", w.Code, w.Header(), w.Body.Bytes()[:8])
		}
		return
	}
	if strings.HasSuffix(r.Name, "-version") {
		if w.Code != 200 || w.Body.String() != "1.2.3" || w.Header().Get("Content-Type") != r.Type {
			s.t.Errorf("answered %d %s as %s", w.Code, w.Body, w.Header().Get("Content-Type"))
		}
		return
	}
	if r.Type == "text/html;charset=UTF-8" { // a page for people; ours never is one
		if w.Code != r.Status || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			s.t.Errorf("answered %d %s, want %d as JSON", w.Code, w.Header().Get("Content-Type"), r.Status)
		}
		return
	}
	if err := json.Unmarshal([]byte(r.Answer), &want); err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		s.t.Fatalf("answered %d %s", w.Code, w.Body)
	}
	differ := func(field string, ours, theirs any) {
		list.Differ(s.t, "api/"+r.Name, cmp.Or(field, "body"), plain(ours), plain(theirs))
	}
	if w.Code != r.Status {
		differ("status", w.Code, r.Status)
		if w.Code == 200 || r.Status == 200 {
			return // another kind of answer
		}
	}
	if strings.HasSuffix(r.Name, "-menu") {
		got, want = byID(got, want)
	}
	s.learn(r, got, want)
	compare("", got, want, differ)
}

// byID makes maps of two lists of menus, with the order of those that both have.
func byID(lists ...any) (ours, theirs any) {
	var maps [2]map[string]any
	var ids [2][]string
	for i, list := range lists {
		maps[i] = map[string]any{}
		for _, item := range list.([]any) {
			id := fmt.Sprint("id ", item.(map[string]any)["id"])
			maps[i][id], ids[i] = item, append(ids[i], id)
		}
	}
	var orders [2]string
	for i := range ids {
		orders[i] = strings.Join(slices.DeleteFunc(ids[i], func(id string) bool { return maps[1-i][id] == nil }), ", ")
	}
	maps[0]["order"], maps[1]["order"] = orders[0], orders[1]
	return maps[0], maps[1]
}

// plain is a value as the list of differences shows it: as JSON writes it.
func plain(v any) string {
	if v == absent {
		return "(absent)"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was JSON
	}
	return string(raw)
}

// absent stands for a value that is not there, as null is one.
var absent any = struct{}{}

// compare tells of each field that differs. Texts for people and what is new each time are only looked at for their form.
func compare(field string, got, want any, differ func(field string, ours, theirs any)) {
	ours, ok := got.(map[string]any)
	theirs, too := want.(map[string]any)
	if !ok || !too {
		name := path.Base(field)
		a, b := fmt.Sprint(got), fmt.Sprint(want)
		switch {
		case reflect.DeepEqual(got, want):
		case name == "token" && session.MatchString(a) && session.MatchString(b):
		case (name == "expire" || name == "expireTime" || name == "timestamp") && moment.MatchString(a) && moment.MatchString(b) && (name == "timestamp" || len(a) == len(b)):
		case (name == "reason" || name == "message") && got != nil && want != nil:
		case name == "message" && want == nil && got != nil: // an error document says what to do
		default:
			differ(strings.TrimPrefix(field, "/data/"), got, want)
		}
		return
	}
	all := map[string]bool{}
	for k := range ours {
		all[k] = true
	}
	for k := range theirs {
		all[k] = true
	}
	for k := range all {
		a, has := ours[k]
		b, had := theirs[k]
		inner := strings.TrimPrefix(field+"/"+k, "/")
		switch {
		case has && had:
			compare(inner, a, b, differ)
		case !had && k == "message": // Spring's own documents have none
		default:
			if !has {
				a = absent
			}
			if !had {
				b = absent
			}
			differ(k, a, b)
		}
	}
}

// prepare puts in what is another one each time: sessions, the captcha, the app of a program.
func (s *stage) prepare(r *recorded) {
	if token := r.With["token"]; s.tokens[token] != "" {
		r.With["token"] = s.tokens[token]
	}
	switch r.Name {
	case "2.0/009-login":
		s.handler(&recorded{Do: "GET /erupt-api/code-img?mark=5&height=38"})
		r.Body = strings.Replace(r.Body, `"gnr6"`, `"`+strings.ToLower(s.vault.captcha)+`"`, 1)
	case "1.12/805-login-right":
		s.handler(&recorded{Do: "GET /erupt-api/code-img?mark=1764448000123"})
		r.Do = strings.Replace(r.Do, "rg2J", s.vault.captcha, 1)
	case "2.0/357-login-sha512-upper-hash", "2.0/362-login-missing-account": // recorded at the second try
		s.handler(r)
	case "2.0/350-login-md5":
		s.sells()
	case "2.0/430-change-pwd-mismatch":
		in := s.login("shanosalt", "s3cret")
		s.tokens["bIaIU6ARlR8HF7du"], r.With["token"] = in, in
	case "2.0/441-open-api-token":
		app, secret, err := s.access.OpenAPIs.Create(s.t.Context(), access.NewOpenAPI{Name: "c1", Account: "lin", Minutes: 30, Enabled: true, By: access.System})
		if err != nil {
			s.t.Fatal(err)
		}
		s.tokens["appid"] = app.AppID
		r.Do = "GET /erupt-api/open-api/create-token?appid=" + app.AppID + "&secret=" + secret
	case "2.0/442-open-api-appid":
		r.Do = "GET /erupt-api/open-api/get-appid?token=" + s.tokens["ERNGIFFKTZV9MIVSIAGMPCCYDB"]
		r.Answer = strings.Replace(r.Answer, "esfe158cb5ab396b", s.tokens["appid"], 1)
	case "2.0/443-open-api-bad":
		r.Do = strings.Replace(r.Do, "esfe158cb5ab396b", s.tokens["appid"], 1)
	}
	if strings.Contains(r.Name, "lin-userinfo") {
		r.Answer = strings.Replace(r.Answer, `["sales","off"]`, `["off","sales"]`, 1) // roles are a set
	}
}

// learn remembers which session of ours stands for a recorded one.
func (s *stage) learn(r *recorded, got, want any) {
	ours, theirs := tokenOf(got), tokenOf(want)
	if ours != "" && theirs != "" {
		s.tokens[theirs] = ours
	}
}

func tokenOf(v any) string {
	m, _ := v.(map[string]any)
	if inner, ok := m["data"].(map[string]any); ok {
		m = inner
	}
	token, _ := m["token"].(string)
	return token
}

func (s *stage) login(account, password string) string {
	in, err := s.access.Login.Attempt(s.t.Context(), access.Attempt{Account: account, Password: password, Address: "127.0.0.1"})
	if err != nil {
		s.t.Fatalf("log in as %s: %v", account, err)
	}
	return in.Token
}
