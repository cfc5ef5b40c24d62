package boot

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/uploads"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
)

type listedNodes []fleet.Node

func (n listedNodes) All(context.Context) ([]fleet.Node, error) { return n, nil }

func newFileGate(s access.Session, public ...string) *gate {
	return &gate{
		sessions: oneSession{s}, delegates: plainDelegates{}, chain: noGroups, public: newPublicFiles(public), hints: &fileHints{},
		nodes: listedNodes{{Name: "bank", Enabled: true}, {Name: "off"}, {Name: "shop", Enabled: true}, {Name: "stock", Enabled: true}},
	}
}

func placesOf(t *testing.T, g *gate, w proxy.Wish) ([]string, proxy.Kind) {
	t.Helper()
	places, err := g.Where(t.Context(), w)
	if err != nil {
		return nil, proxy.KindOf(err)
	}
	names := []string{}
	for _, p := range places {
		if p.As.Delegated != "" && p.As.Delegated != p.Node+" for s" || (p.As.Delegated == "") != (p.As.Account == "") {
			t.Errorf("at %s a file is asked for as %+v", p.Node, p.As)
		}
		name := p.Node
		if p.As.Account == "" {
			name += " for nobody"
		}
		names = append(names, name)
	}
	return names, ""
}

func TestWhereAFileMayLie(t *testing.T) { // erupt-wire 3.6, 10.6
	lin := access.Session{Token: "s", Account: "lin", Values: map[string]access.Menu{"shop.order": {}, "off.order": {}, "stock": {}}}
	admin := access.Session{Token: "s", Account: "root", Admin: true}
	tests := map[string]struct {
		session access.Session
		public  []string
		token   string
		want    []string
		kind    proxy.Kind
	}{
		"nodes with a page of his":            {lin, nil, "s", []string{"shop"}, ""},
		"an admin's are all that are enabled": {admin, nil, "s", []string{"bank", "shop", "stock"}, ""},
		"nobody's":                            {lin, nil, "", nil, proxy.Unauthenticated},
		"of a session that is over":           {lin, nil, "x", nil, proxy.Unauthenticated},
		"public ones for anybody":             {lin, []string{"bank", "off"}, "", []string{"bank for nobody"}, ""},
		"public ones after a session":         {lin, []string{"bank"}, "x", []string{"bank for nobody"}, ""},
		"his and the public ones":             {lin, []string{"bank"}, "s", []string{"bank for nobody", "shop"}, ""},
		"all are public":                      {lin, []string{"*"}, "", []string{"bank for nobody", "shop for nobody", "stock for nobody"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, kind := placesOf(t, newFileGate(tt.session, tt.public...), proxy.Wish{Token: tt.token, Attachment: "a.png"})
			if !slices.Equal(got, tt.want) || kind != tt.kind {
				t.Errorf("Where = %q, %q, want %q, %q", got, kind, tt.want, tt.kind)
			}
		})
	}
}

func TestLikelyPlacesComeFirst(t *testing.T) {
	g := newFileGate(access.Session{Token: "s", Account: "root", Admin: true})
	w := proxy.Wish{Token: "s", Attachment: "a.png"}
	g.hints.opened("s", "shop")
	g.hints.opened("s", "stock")
	g.hints.opened("other", "bank")
	if got, _ := placesOf(t, g, w); !slices.Equal(got, []string{"stock", "shop", "bank"}) {
		t.Errorf("after two pages %q, want the last page's node first", got)
	}
	late := newFileGate(access.Session{Token: "s", Account: "root", Admin: true})
	late.Found(proxy.Wish{Token: "s", Node: "stock", Attachment: "a.png"})
	if got, _ := placesOf(t, late, w); !slices.Equal(got, []string{"stock", "bank", "shop"}) {
		t.Errorf("after it was found %q, want its node first", got)
	}
	g.hints.opened("s", "off") // a hint opens nothing
	g.hints.opened("s", "ghost")
	if got, _ := placesOf(t, g, w); len(got) != 3 || slices.Contains(got, "off") {
		t.Errorf("hints lead to %q", got)
	}
	for i := range 2 * maxPageHints {
		g.hints.opened(string(rune(i)), "shop")
		g.hints.found(proxy.Wish{Attachment: string(rune(i)), Node: "shop"})
	}
	if len(g.hints.pages) > maxPageHints || len(g.hints.places) > maxPlaceHints {
		t.Errorf("%d and %d hints are kept", len(g.hints.pages), len(g.hints.places))
	}
}

// erupt-wire 10.6: a node that says it has every file does not answer for the files of another node's page, nor for sessions
// on other pages than the one that asked it.
func TestNoNodeStandsInForAnother(t *testing.T) {
	g := newFileGate(access.Session{Token: "s", Account: "root", Admin: true})
	path := "2026-11-30/report.png"
	g.hints.opened("evil", "stock") // as stock's accomplice, whose page shows another's path
	g.Found(proxy.Wish{Token: "evil", Node: "stock", Attachment: path})
	g.hints.opened("s", "shop")
	w := proxy.Wish{Token: "s", Attachment: path}
	if got, _ := placesOf(t, g, w); !slices.Equal(got, []string{"shop", "bank", "stock"}) {
		t.Errorf("on shop's page the file is looked for at %q", got)
	}
	g.hints.opened("evil", "shop") // and while shop did not have it, or did not answer
	g.Found(proxy.Wish{Token: "evil", Node: "stock", Attachment: path})
	if got, _ := placesOf(t, g, w); !slices.Equal(got, []string{"shop", "stock", "bank"}) {
		t.Errorf("on shop's page the file is looked for at %q, want shop first", got)
	}
}

func TestPublicFilesNeedNoSession(t *testing.T) { // erupt-wire 10.6
	g := newFileGate(access.Session{Token: "s", Account: "lin"}, "shop")
	if u, err := g.Admit(t.Context(), proxy.Wish{Node: "shop", Attachment: "a.png"}); err != nil || u.Token != "" {
		t.Errorf("a public file: %+v, %v", u, err)
	}
	for _, w := range []proxy.Wish{{Node: "bank", Attachment: "a.png"}, {Node: "shop", Erupt: "Order"}, {Node: "shop", Template: "x"}, {Node: "shop", Log: true}} {
		if _, err := g.Admit(t.Context(), w); proxy.KindOf(err) != proxy.Unauthenticated {
			t.Errorf("%+v: %v, want it refused", w, err)
		}
	}
}

// erupt-wire 10.1.4: a table leaves with the right of the page that is asked for, also under the name of a part.
func TestPartsLeaveWithThePagesRight(t *testing.T) {
	for _, f := range []proxy.Function{proxy.Export, proxy.Importable} {
		wish := proxy.Wish{Token: "s", Node: "n", Erupt: "Item", Parent: "Order", Function: f}
		s := access.Session{Token: "s", Values: map[string]access.Menu{"n.order": {}}}
		g := newFileGate(s)
		g.models = newModelCache(time.Minute, time.Now, func(context.Context, string, string, proxy.User) ([]byte, error) { return []byte(orderModel), nil })
		if _, err := g.Admit(t.Context(), wish); proxy.KindOf(err) != proxy.Forbidden {
			t.Errorf("%s of a part without the page's right: %v, want it refused", f, err)
		}
		s.Values["n.order@"+map[proxy.Function]string{proxy.Export: "export", proxy.Importable: "importable"}[f]] = access.Menu{}
		if _, err := g.Admit(t.Context(), wish); err != nil {
			t.Errorf("%s of a part with the page's right: %v", f, err)
		}
	}
}

// sessionsOf are live sessions by token.
type sessionsOf map[string]bool

func (s sessionsOf) Get(_ context.Context, token string, _ ...string) (access.Session, []bool, error) {
	if !s[token] {
		return access.Session{}, nil, fault.New(fault.Unauthenticated, "the session has ended")
	}
	return access.Session{Token: token}, nil, nil
}

func TestTheCookieForFiles(t *testing.T) { // F725: pictures of the 1.12 front end come without a token
	shell, err := web.New(web.Options{BasePath: "/fleet", Sessions: sessionsOf{}, CookieKeys: [][]byte{make([]byte, 32), make([]byte, 16)}})
	if err != nil {
		t.Fatal(err)
	}
	var given *http.Cookie
	ask := func(cookies ...*http.Cookie) (token string, set []*http.Cookie) {
		r := httptest.NewRequest("GET", "/fleet/erupt-api/build/shop.X", nil)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		shell.Front(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token = shell.FileToken(r)
			shell.WriteFileToken(w, r, "tok")
		})).ServeHTTP(w, r)
		return token, w.Result().Cookies()
	}
	if token, set := ask(); token != "" || len(set) != 1 {
		t.Fatalf("without a cookie: token %q, given %v", token, set)
	} else if given = set[0]; !given.HttpOnly || given.SameSite != http.SameSiteStrictMode || given.Path != "/fleet" || given.MaxAge != 0 {
		t.Errorf("the cookie is %+v", given)
	}
	if token, set := ask(given); token != "tok" || len(set) != 0 {
		t.Errorf("with it: token %q, given again %v", token, set)
	}
	// it is no cookie of the console, nor the console's one of these
	asSession := *given
	asSession.Name = shell.CookieName()
	r := httptest.NewRequest("GET", "/", nil)
	r.AddCookie(&asSession)
	if got := shell.CookieToken(r); got != "" {
		t.Errorf("the cookie for files opens the console as %q", got)
	}
	forged := *given
	forged.Value = "x" + forged.Value
	if token, _ := ask(&forged); token != "" {
		t.Errorf("a forged cookie says %q", token)
	}
}

func TestWhichCookieAsksForAFile(t *testing.T) {
	for name, tt := range map[string]struct {
		own, other, want string
	}{
		"the console's":              {"a", "", "a"},
		"the front end's":            {"", "b", "b"},
		"none":                       {"", "", ""},
		"both live":                  {"a", "b", "a"},
		"the console's is over":      {"dead", "b", "b"},
		"the front end's is over":    {"a", "dead", "a"},
		"one and the same, and over": {"dead", "dead", "dead"},
		"both over":                  {"dead", "gone", "gone"},
	} {
		if got := liveToken(t.Context(), tt.own, tt.other, sessionsOf{"a": true, "b": true}); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestOwnFilesHaveOneName(t *testing.T) { // the proxy leaves to the server what the store gives out
	if uploads.Dir != proxy.OwnFiles {
		t.Errorf("the store calls its files %q, the proxy %q", uploads.Dir, proxy.OwnFiles)
	}
}

// What the proxy leaves to the server finds the store; without a session it says so rather than that nothing is there.
func TestUploadsAreMounted(t *testing.T) {
	source, err := os.ReadFile("server.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), "s.ownFiles(") {
		t.Error("nobody answers uploads of editors")
	}
}
