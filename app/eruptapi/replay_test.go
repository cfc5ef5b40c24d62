package eruptapi_test

import (
	"bufio"
	"bytes"
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

// others are the answers that differ from the recorded ones, by recording and field, and why. What an answer says to people is
// not compared: texts differ by language and version. The rest has to be equal.
var others = []struct{ name, field, why string }{
	{"*", "mfaRequired", "since erupt 2.3, and front ends of 2.0 do not know it"},
	{"*", "mfaTicket", "as above"},
	{"*", "account", "as above"},
	{"*", "code", "an error document has a code for programs besides"},
	{"*", "fields", "as above"},
	{"*", "requestId", "as above"},
	{"*", "resetPwdPrompt", "since erupt 2.3"},
	{"*", "mfa", "since erupt 2.3"},
	{"*", "errorIntercept", "1.12 only; no front end reads it"},
	{"1.12/811-limited-logout", "success", "since erupt 2.0; older front ends look at status"},
	{"*", "hash", "of our version"},
	{"*", "version", "ours"},
	{"1.12/*", "avatar", "since erupt 1.13; null is nothing"},
	{"1.12/813-app", "locales", "the order of 2.0"},
	{"1.12/813-app", "waterMarkDate", "since erupt 2.0"},
	{"1.12/813-app", "waterMarkContent", "since erupt 2.0"},
	{"2.0/014-erupt-permission-false", "", "an administrator holds each code, whether a menu has it or not"},
	{"2.0/012-menu", "id */type", "the server's own pages are links into our console"},
	{"2.0/012-menu", "id */value", "as above"},
	{"2.0/012-menu", "id */icon", "nothing is null: no icon of its own"},
	{"2.0/012-menu", "id */name", "menus of the first start have names of our own in English"},
	{"2.0/???-server-*", "status", "the server's own pages are in our console, the API has no models for them (erupt-wire 3.1)"},
	{"2.0/023-server-node-add-duplicate", "*", "as above"},
	{"2.0/4[14][026]-*", "status", "as above: what was sent is a page of the server itself"},
	{"2.0/461-json-entry-node-list", "status", "as above"},
	{"2.0/066-node-permission-false", "", "as above"},
	{"2.0/352-login-null-md5", "status", "a password of which nobody knows the form is a wrong one, not a null pointer (erupt-wire 3.4)"},
	{"2.0/359-login-null-status", "status", "an account without a status is disabled, not a null pointer (erupt-wire 6.3)"},
	{"2.0/361-login-plain-pwd-on-wire", "status", "scripts may send the password as it is"},
	{"2.0/360-login-cidr", "pass", "whitelists hold ranges too (erupt-wire 9.32)"},
	{"2.0/360-login-cidr", "reason", "as above"},
	{"2.0/360-login-cidr", "token", "as above"},
	{"2.0/360-login-cidr", "expire", "as above"},
	{"2.0/360-login-cidr", "resetPwd", "as above"},
	{"2.0/363-login-forwarded-for", "*", "an address in a header is believed of configured proxies alone (erupt-wire 10.8)"},
	{"2.0/443-open-api-bad", "status", "a wrong secret is a 401"},
	{"2.0/443-open-api-bad", "error", "named after the status (erupt-wire 1.8)"},
}

// A33, erupt-wire 3.3, 3.4 and erupt-1.12: what browsers sent to real servers, sent to this one, field by field.
func TestReplay(t *testing.T) {
	used := map[int]bool{}
	for _, dialect := range []string{"2.0", "1.12"} {
		s := newStage(t, dialect)
		for _, r := range recordings(t, dialect) {
			t.Run(r.Name, func(t *testing.T) { s.t = t; s.replay(r, used) })
		}
	}
	for i, o := range others {
		if !used[i] {
			t.Errorf("%s %s differs no more: %s", o.name, o.field, o.why)
		}
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

func (s *stage) replay(r *recorded, used map[int]bool) {
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
		for i, o := range others {
			if fits(o.name, r.Name) && fits(o.field, field) {
				used[i] = true
				return
			}
		}
		s.t.Errorf("%s is %v, recorded %v: %s", field, ours, theirs, w.Body)
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

func fits(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok || pattern == "*"
}

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
