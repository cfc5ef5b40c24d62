package console

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
)

// An unreadable form once counted as one without fields, in which every box is unticked: a broken upload switched nodes off.
func TestUnreadableFormsChangeNothing(t *testing.T) {
	const parts = "--x\r\nContent-Disposition: form-data; name=\"display\"\r\n\r\nTaken over\r\n"
	bodies := map[string]struct {
		kind, body string
		status     int
	}{
		"nothing":                {"application/x-www-form-urlencoded", "", 400},
		"no kind":                {"", "enabled=0&display=x&name=x", 400},
		"JSON":                   {"application/json", `{"enabled":"0","display":"x","name":"x"}`, 400},
		"JSON said to be a form": {"application/x-www-form-urlencoded", `{"enabled":"0"}`, 400},
		"plain text":             {"text/plain", "enabled=0&display=x&name=x", 400},
		"bad encoding":           {"application/x-www-form-urlencoded", "enabled=0&display=x&name=x&x=%zz", 400},
		"no UTF-8":               {"application/x-www-form-urlencoded", "enabled=0&display=%ff&name=%ff", 400},
		"NUL":                    {"application/x-www-form-urlencoded", "enabled=0&display=%00&name=%00", 400},
		"parts without end":      {"multipart/form-data; boundary=x", parts, 400},
		"parts without boundary": {"multipart/form-data", parts + "--x--\r\n", 400},
		"too large":              {"application/x-www-form-urlencoded", "enabled=0&display=x&name=x&x=" + strings.Repeat("x", usualForm), 413},
	}
	for _, path := range []string{"/console/nodes/ledger/enabled", "/console/nodes/ledger/settings", "/console/groups/promo"} {
		for name, tt := range bodies {
			s := newSite(t, commerce())
			nodes, groups := slices.Clone(s.nodes), slices.Clone(s.groups)
			a := s.as("admin", http.MethodPut, path, nil, func(r *http.Request) {
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(tt.body)), int64(len(tt.body))
				if tt.kind != "" {
					r.Header.Set("Content-Type", tt.kind)
				}
			})
			if a.Code != tt.status || !includes(a.body, `data-testid="failure"`) {
				t.Errorf("%s of %s: %d, want %d and an error page: %.200s", path, name, a.Code, tt.status, a.body)
			}
			if diff := cmp.Diff(nodes, s.nodes) + cmp.Diff(groups, s.groups); diff != "" {
				t.Errorf("%s of %s changed\n%s", path, name, diff)
			}
		}
	}
}

func TestMissingAssetsAreSaidLikeEverythingElse(t *testing.T) {
	s := newSite(t, commerce())
	a := s.as("", http.MethodGet, "/static/css/console.0000.css", nil)
	if a.Code != 404 || !includes(a.body, `data-testid="failure"`) || !includes(a.Header().Get("Content-Type"), "text/html") {
		t.Errorf("= %d %s %.200s, want an error page", a.Code, a.Header().Get("Content-Type"), a.body)
	}
}

func TestLogoutOfAnUnknownUserSaysSo(t *testing.T) {
	s := newSite(t, commerce())
	s.as("admin", http.MethodPost, "/console/users/ghost/logout", nil).must(t, 404)
}

func TestARecordFormWithoutItsFieldsIsNotSent(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	for _, path := range []string{customer1, "/console/pages/warehouse.Customer/new"} {
		for _, form := range []url.Values{{}, {"do": {"save"}, "f.name": {"x"}}} {
			s.post(path, form).must(t, 400)
		}
	}
	if sent := append(f.sent("data/modify/{e}"), f.sent("data/modify/{e}/update")...); len(sent) != 0 {
		t.Errorf("the node was sent %q", sent)
	}
}

func TestManyLoginsFromOneAddressAreSlowedDown(t *testing.T) { // whichever account they try
	s := newSite(t, commerce())
	slowed := 0
	for i := range 40 {
		a := s.as("", http.MethodPost, "/console/login", url.Values{"account": {"a" + strconv.Itoa(i)}, "password": {"x"}})
		if a.Code == 429 {
			slowed++
			if a.Header().Get("Retry-After") == "" && !includes(a.body, "login-error") {
				t.Fatalf("refused without a word: %s", a.body)
			}
		}
	}
	if slowed != 10 {
		t.Errorf("%d of 40 were refused, want those above 30", slowed)
	}
}

func TestOnlyAdminsHandSessionsToNodes(t *testing.T) { // else an editor has the sessions of admins sent to a node of his own
	w := commerce()
	w.login("editor", false, access.CodeNodes, access.CodeNodes+"@EDIT")
	s := newSite(t, w)
	raw := func() bool {
		return s.nodes[slices.IndexFunc(s.nodes, func(n fleet.Node) bool { return n.Name == "ledger" })].RawSession
	}
	form := url.Values{"display": {"Ledger"}, "group": {"payments"}, "raw": {"1"}}
	if a := s.as("editor", http.MethodPost, "/console/nodes/ledger/settings", form); a.Code != 403 || raw() || !includes(a.body, "only an administrator") {
		t.Errorf("an editor hands sessions over: %d, %v: %.200s", a.Code, raw(), a.body)
	}
	if doc := parse(t, s.as("editor", http.MethodGet, "/console/nodes/ledger/settings", nil).must(t, 200)); doc.Find("[name=raw]").Length() != 0 || doc.Find("[name=core]").Length() != 1 {
		t.Error("an editor is offered what he may not do, or not what he may")
	}
	s.post("/console/nodes/ledger/settings", form).must(t, 303)
	if !raw() {
		t.Error("an admin cannot hand sessions over")
	}
	form.Del("raw")
	if s.as("editor", http.MethodPost, "/console/nodes/ledger/settings", form).must(t, 303); !raw() {
		t.Error("an editor took away what he does not see")
	}
}
