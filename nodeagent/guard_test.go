package nodeagent

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"eruptcloud/nodeagent/wire"
)

// guarded is an agent with one page and a handler behind Guard that tells what it sees.
func guarded(t *testing.T) (*Agent, http.Handler) {
	t.Helper()
	cfg := (&plane{}).config()
	cfg.Erupts = []string{"Legacy"}
	a := newAgent(t, cfg)
	if err := a.Host(Page{Name: "Customer", Title: "Customers", Fields: []Field{Input("name", "Name")}, Source: NewMemSource()}); err != nil {
		t.Fatal(err)
	}
	return a, a.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, ok := UserFrom(r.Context())
		if !ok {
			user.Account = "-"
		}
		_, _ = io.WriteString(w, user.Account+"|"+TokenFrom(r.Context())+"|"+EruptFrom(r.Context()))
	}))
}

func TestGuard(t *testing.T) { // A23
	user := func(json string) string { return base64.StdEncoding.EncodeToString([]byte(json)) }
	tests := map[string]struct {
		change func(h http.Header)
		status int
		body   string // exact, unless it starts with ~: a part
	}{
		"the server":                  {func(http.Header) {}, 200, "lin|d1_handle|"},
		"for a hosted erupt":          {func(h http.Header) { h.Set("erupt", "Customer") }, 200, "lin|d1_handle|Customer"},
		"in another case":             {func(h http.Header) { h.Set("erupt", "CUSTOMER") }, 200, "lin|d1_handle|CUSTOMER"},
		"for an erupt of the program": {func(h http.Header) { h.Set("erupt", "legacy") }, 200, "lin|d1_handle|legacy"},
		"for an erupt not hosted":     {func(h http.Header) { h.Set("erupt", "Secret") }, 404, ""},
		"for a full name":             {func(h http.Header) { h.Set("erupt", "orders.Customer") }, 404, ""},
		"with an Origin":              {func(h http.Header) { h.Set("Origin", "https://evil.example") }, 403, ""},
		"with an empty Origin":        {func(h http.Header) { h["Origin"] = []string{""} }, 403, ""},
		"Origin before token":         {func(h http.Header) { h.Set("Origin", "x"); h.Del("Access-Token") }, 403, ""},
		"no access token":             {func(h http.Header) { h.Del("Access-Token") }, 401, "~AccessToken incorrect"},
		"wrong access token":          {func(h http.Header) { h.Set("Access-Token", testToken+"x") }, 401, "~AccessToken incorrect"},
		"access token in lower case":  {func(h http.Header) { h.Set("Access-Token", strings.ToLower(testToken)) }, 401, "~AccessToken incorrect"},
		"two access tokens":           {func(h http.Header) { h.Add("Access-Token", testToken) }, 401, "~AccessToken incorrect"},
		"no user, no session":         {func(h http.Header) { h.Del("user"); h.Del("token") }, 200, "-||"},
		"two users":                   {func(h http.Header) { h.Add("user", user(`{"account":"root"}`)) }, 400, "~user is repeated"},
		"two sessions":                {func(h http.Header) { h.Add("token", "x") }, 400, "~token is repeated"},
		"two erupts":                  {func(h http.Header) { h.Add("erupt", "Customer"); h.Add("erupt", "Secret") }, 400, "~erupt is repeated"},
		"two parents":                 {func(h http.Header) { h.Add("eruptParent", "A"); h.Add("eruptParent", "B") }, 400, "~eruptParent is repeated"},
		"user is no base64":           {func(h http.Header) { h.Set("user", "{}") }, 400, "~not standard base64"},
		"user is URL-safe base64":     {func(h http.Header) { h.Set("user", base64.URLEncoding.EncodeToString([]byte(`{"name":"??>>~"}`))) }, 400, "~base64"},
		"user is no JSON":             {func(h http.Header) { h.Set("user", user(`[1]`)) }, 400, "~not a user"},
		"user with a big id":          {func(h http.Header) { h.Set("user", user(`{"uid":9007199254740993,"account":"big","x":1}`)) }, 200, "big|d1_handle|"},
		"user id as text":             {func(h http.Header) { h.Set("user", user(`{"uid":"1"}`)) }, 400, "~not a user"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, h := guarded(t)
			r := fromServer(http.MethodGet, "/erupt-api/x", "")
			tt.change(r.Header)
			w := do(h, r)
			body := w.Body.String()
			part, isPart := strings.CutPrefix(tt.body, "~")
			if w.Code != tt.status || isPart && !strings.Contains(body, part) || !isPart && body != tt.body {
				t.Errorf("answer = %d %q, want %d %q", w.Code, body, tt.status, tt.body)
			}
		})
	}
}

func TestRefusalHasTheShapeOfErupt(t *testing.T) {
	_, h := guarded(t)
	r := fromServer(http.MethodGet, "/erupt-api/build/Customer", "")
	r.Header.Del(wire.HeaderAccessToken)
	got := decode[wire.ErrorBody](t, do(h, r))
	if got.Status != 401 || got.Path != "/erupt-api/build/Customer" || got.Error != "erupt exception" || len(got.Timestamp) != 23 {
		t.Errorf("body = %+v", got)
	}
}

func TestNodeWithoutATokenRefusesEverybody(t *testing.T) {
	cfg := (&plane{}).config()
	cfg.EnableRegister, cfg.AccessToken = new(false), ""
	a := newAgent(t, cfg)
	r := fromServer(http.MethodGet, wire.LogPath, "")
	r.Header.Set(wire.HeaderAccessToken, "")
	if w := do(a.Handler(), r); w.Code != http.StatusUnauthorized {
		t.Errorf("status = %d, want 401", w.Code)
	}
}

func TestProbes(t *testing.T) { // A5, B9
	cfg := (&plane{}).config()
	cfg.ContextPath, cfg.NodeName, cfg.Version = "/shop", "orders", "4.2"
	a := newAgent(t, cfg)
	for _, path := range []string{"/shop/node-health", "/shop/node-probe"} {
		r := fromServer(http.MethodGet, path, "")
		r.Header = http.Header{} // a probe shows nothing
		w := do(a.Handler(), r)
		if w.Code != 200 || w.Body.String() != "orders" {
			t.Errorf("%s = %d %q, want the name and nothing else", path, w.Code, w.Body)
		}
		if h := w.Header(); h.Get(wire.HeaderNode) != "orders" || h.Get(wire.HeaderInstance) != "kQzTbW" || h.Get(wire.HeaderAgentVersion) != "go-4.2" {
			t.Errorf("%s: headers %v", path, h)
		}
		if w := do(a.Handler(), fromServer(http.MethodPost, path, "")); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s = %d, want 405", path, w.Code)
		}
	}
	for _, path := range []string{"/node-health", "/shop/node-health/", "/shop/node-health/x", "/shopnode-health", "/shop//node-health"} {
		if w := do(a.Handler(), fromServer(http.MethodGet, path, "")); w.Code != http.StatusNotFound {
			t.Errorf("%s = %d, want 404", path, w.Code)
		}
	}
}

func TestProbeCanFailAndIsNotCounted(t *testing.T) {
	cfg := (&plane{}).config()
	var a *Agent
	inFlight := -1
	cfg.Healthy = func(*http.Request) error {
		inFlight = a.Status().InFlight
		return errors.New("upstream\nis away")
	}
	cfg.NodeName = "订单"
	a = newAgent(t, cfg)
	w := do(a.Handler(), fromServer(http.MethodGet, wire.ProbePath, ""))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "upstream is away") || inFlight != 0 {
		t.Errorf("probe = %d %s with %d in flight", w.Code, w.Body, inFlight)
	}
	cfg.Healthy = nil
	if got := do(newAgent(t, cfg).Handler(), fromServer(http.MethodGet, wire.HealthPath, "")); got.Body.String() != "订单" || got.Header().Get(wire.HeaderNode) != "%E8%AE%A2%E5%8D%95" {
		t.Errorf("probe of a Chinese name = %q, header %q", got.Body, got.Header().Get(wire.HeaderNode))
	}
}

func TestMountPassesTheRestOn(t *testing.T) {
	a := newAgent(t, (&plane{}).config())
	counted := 0
	h := a.Mount(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		counted = a.Status().InFlight
		w.WriteHeader(http.StatusTeapot)
	}))
	r := fromServer(http.MethodGet, "/own", "")
	r.Header = http.Header{"Origin": {"https://shop.example"}} // the program's own pages are not the server's business
	if w := do(h, r); w.Code != http.StatusTeapot || counted != 1 {
		t.Errorf("own path = %d with %d in flight, want the program's answer, counted", w.Code, counted)
	}
	if w := do(a.Handler(), r); w.Code != http.StatusNotFound {
		t.Errorf("own path without a program = %d, want 404", w.Code)
	}
}

func TestPathTricks(t *testing.T) { // F18, S49
	a := shop(t).agent
	tests := map[string]int{
		"/erupt-api":                              400,
		"/erupt-api/":                             400,
		"/erupt-api//build/Customer":              400,
		"/erupt-api/build/Customer/":              400,
		"/erupt-api/./build/Customer":             400,
		"/erupt-api/x/../build/Customer":          400,
		"/erupt-api/%2e%2e/build/Customer":        400,
		"/erupt-api/build/Customer%2Fname":        400,
		"/erupt-api/build/Customer;x=1":           400,
		"/erupt-api/build/Customer%00":            400,
		"/erupt-api/build/Customer%5c":            400,
		"/erupt-api/build/%ff":                    400,
		"/erupt-api/build/Secret":                 404,
		"/erupt-api/build/orders.Customer":        404,
		"/erupt-api/nothing/here":                 404,
		"/erupt-api/build/Customer/nothing":       404,
		"/erupt-api/tool/erupt-log/x":             404,
		"/erupt-api/data/Customer/1%2f..%2f2":     400,
		"/erupt-attachment/../x":                  400,
		"/erupt-attachment/%2e%2e%2fx":            400,
		"/erupt-attachment/etc/passwd":            404,
		"/erupt-api/file/download-attachment/a/b": 404,
	}
	for path, want := range tests {
		r := fromServer(http.MethodGet, "/", "")
		r.URL.Path, r.URL.RawPath = path, ""
		if strings.Contains(path, "%") {
			u, err := r.URL.Parse("http://x" + path)
			if err != nil {
				t.Fatal(err)
			}
			r.URL = u
		}
		r.URL.Host = ""
		if w := do(a.Handler(), r); w.Code != want {
			t.Errorf("%s = %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}

// TestHostileInputEverywhere throws the same rubbish at every endpoint: each answers with a refusal of its own and changes nothing.
func TestHostileInputEverywhere(t *testing.T) { // F18
	bodies := []string{
		"", "null", "[]", "{}", `"x"`, "-1", "{", strings.Repeat("[", 50_000), "\x00\xff\xfe", `{"id":{"$ne":null}}`, `{"id":"1 or 1=1","name":{"a":[]}}`,
		`[[1],[2]]`, `[1e999]`, `[99999999999999999999999]`, `{"pageIndex":-1,"pageSize":1e10,"condition":[[]],"sort":{}}`,
		`{"pageIndex":1,"pageSize":1,"condition":[{"key":"__proto__","value":{},"expression":{}}]}`, "--b\r\n\r\n--b--",
		`{"pageIndex":1,"pageSize":1,"linkTreeVal":[[[]],null,true]}`, `{"name":"<script>alert(1)</script>","lines":[null]}`,
	}
	queries := []string{"", "?dependValue=%00&tabRef=x", "?ids=1&ids=%27&_erupt=Secret", "?size=-1&offset=x", "?%zz;&&=&a"}
	s := shop(t)
	before := stored(t, s.customers, 1) + stored(t, s.sales, 1)
	for _, e := range endpoints {
		for _, page := range []string{"Customer", "Sale", "SaleLine", "Region"} {
			for i, body := range bodies {
				path := strings.NewReplacer("{e}", page, "{f}", "lines", "{id}", "'--").Replace(e.pattern)
				r := fromServer(e.method, "/erupt-api/"+path, body)
				r.URL.RawQuery = strings.TrimPrefix(queries[i%len(queries)], "?")
				r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
				if w := do(s.handler, r); w.Code >= 500 {
					t.Errorf("%s %s with %.40q = %d %s", e.method, path, body, w.Code, w.Body)
				}
			}
		}
	}
	if after := stored(t, s.customers, 1) + stored(t, s.sales, 1); after != before {
		t.Errorf("something was changed\nbefore %s\n after %s", before, after)
	}
}
