package e2e

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
)

const prefix = "/ops/fleet"

// mounts are the ways to put the server below a prefix (S87).
var mounts = []struct {
	name   string
	args   []string // of the server
	env    []string
	nginx  string // inside of the location; %s is the server's origin
	secure bool
}{
	{"the prefix is passed on", []string{"--base-path", prefix}, nil,
		"proxy_pass %s; proxy_set_header Host $http_host;", false},
	{"the prefix is stripped", []string{"--base-path", prefix}, nil,
		"proxy_pass %s/; proxy_set_header Host $http_host;", false},
	{"the prefix is stripped and told in a header", nil, []string{"EC_SERVER_TRUSTED_PROXIES=127.0.0.1"},
		"proxy_pass %s/; proxy_set_header X-Forwarded-Prefix " + prefix + "; proxy_set_header X-Forwarded-Host $http_host;", false},
	{"TLS ends at the proxy", []string{"--base-path", prefix}, []string{"EC_SERVER_TRUSTED_PROXIES=127.0.0.1"},
		"proxy_pass %s; proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https; proxy_set_header X-Forwarded-For $remote_addr;", true},
}

// mounted is a server behind nginx; URL is the outer address, with the prefix.
type mounted struct {
	*server
	inner  string // origin of the server itself
	roots  *x509.CertPool
	client *http.Client
}

func TestBasePath(t *testing.T) { // S18, S57, S87, F8
	for _, m := range mounts {
		t.Run(m.name, func(t *testing.T) {
			s := serve(t, m.env, m.args...)
			out := &mounted{server: s, inner: originOf(t, s.URL)}
			token := s.node("crm")
			out.roots = nginx(t, s, fmt.Sprintf(m.nginx, out.inner), m.secure)
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			out.client = &http.Client{
				Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: out.roots}},
				CheckRedirect: func(r *http.Request, via []*http.Request) error {
					if got := r.Response.Header.Get("Location"); !strings.HasPrefix(got, prefix+"/") {
						t.Errorf("%s leads to %q, want a path below %s", via[len(via)-1].URL, got, prefix)
					}
					if len(via) > 5 {
						return fmt.Errorf("%d redirects in a row", len(via))
					}
					return nil
				},
			}
			if !m.secure { // the test node knows no certificate of ours
				goNode(t, s, "crm", token, freeAddr(t), "")
				s.awaitInstances("crm", 1, patience)
			}
			out.signIn(t)
			out.crawl(t)
			out.stream(t)
			out.logOut(t)
			if !m.secure {
				out.browse(t)
			}
		})
	}
}

func originOf(t testing.TB, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Scheme + "://" + u.Host
}

func (m *mounted) get(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	return m.send(t, http.MethodGet, path, nil)
}

// post sends a form as a browser does that shows a page of ours.
func (m *mounted) post(t *testing.T, path string, form url.Values) (*http.Response, string) {
	t.Helper()
	return m.send(t, http.MethodPost, path, form)
}

func (m *mounted) send(t *testing.T, method, path string, form url.Values) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, m.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,*/*")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", originOf(t, m.URL))
	}
	resp, err := m.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func (m *mounted) signIn(t *testing.T) {
	t.Helper()
	resp, body := m.get(t, "/console/nodes")
	if resp.Request.URL.Path != prefix+"/console/login" {
		t.Fatalf("without a login we are at %s", resp.Request.URL)
	}
	page, err := goquery.NewDocumentFromReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	action, next := page.Find("[data-testid=login-form]").AttrOr("action", ""), page.Find("[name=next]").AttrOr("value", "")
	if action != prefix+"/console/login" {
		t.Fatalf("the form goes to %q", action)
	}
	if resp, body = m.post(t, "/console/login", url.Values{"account": {"erupt"}, "password": {adminPassword}, "next": {next}}); resp.Request.URL.Path != prefix+"/console/nodes" {
		t.Fatalf("after the login we are at %s: %d %.300s", resp.Request.URL, resp.StatusCode, body)
	}
	u, err := url.Parse(m.URL + "/console/nodes")
	if err != nil {
		t.Fatal(err)
	}
	if len(m.client.Jar.Cookies(u)) == 0 {
		t.Error("no cookie")
	}
	u.Path = "/elsewhere"
	if got := m.client.Jar.Cookies(u); len(got) > 0 {
		t.Errorf("the cookie also goes to %s, to whatever else lives on this host", u.Path)
	}
	// The cookie came with one of the redirects that led here.
	var cookies []*http.Cookie
	for r := resp; r != nil; r = r.Request.Response {
		cookies = append(cookies, r.Cookies()...)
	}
	for _, c := range cookies {
		if c.Secure != (u.Scheme == "https") || c.Path != prefix {
			t.Errorf("cookie %s: Secure %t, Path %s", c.Name, c.Secure, c.Path)
		}
	}
	if len(cookies) == 0 {
		t.Error("no redirect brought a cookie")
	}
}

// crawl follows whatever the pages name: links, forms, assets, what scripts ask for. All of it lives below the prefix and exists.
func (m *mounted) crawl(t *testing.T) {
	t.Helper()
	const most = 120
	queue, seen := []string{"/console/nodes", "/console/pages", "/console/groups", "/console/users", "/console/roles", "/console/audit", "/console/me", "/console/search?q=crm", "/console/nodes/crm/badge"}, map[string]bool{}
	for i := 0; i < len(queue) && i < most; i++ {
		resp, body := m.get(t, queue[i])
		if resp.StatusCode >= 400 {
			t.Errorf("%s answers %d: %.200s", queue[i], resp.StatusCode, body)
		}
		if strings.Contains(body, strings.TrimPrefix(m.inner, "http://")) {
			t.Errorf("%s names the inner address %s", queue[i], m.inner)
		}
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			continue
		}
		page, err := goquery.NewDocumentFromReader(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, attr := range []string{"href", "src", "action", "formaction", "hx-get", "hx-post", "data-src", "data-stream", "data-worker", "data-log", "data-alarm"} {
			page.Find("[" + attr + "]").Each(func(_ int, e *goquery.Selection) {
				target := e.AttrOr(attr, "")
				if strings.HasPrefix(target, "#") || strings.HasPrefix(target, "?") || e.AttrOr("target", "") == "_blank" { // a line of a log may hold any link
					return
				}
				path, ok := strings.CutPrefix(target, prefix)
				if !ok || !strings.HasPrefix(path, "/") {
					t.Errorf("%s: %s of <%s> is %q, want it below %s", queue[i], attr, goquery.NodeName(e), target, prefix)
					return
				}
				path, _, _ = strings.Cut(path, "#")
				post := strings.Contains(attr, "action") && !strings.EqualFold(e.AttrOr("method", "get"), "get") || attr == "formaction" || attr == "hx-post"
				hosted := !strings.HasPrefix(path, "/console/pages/crm.Stream") // a name without a page
				if !post && hosted && attr != "data-stream" && !seen[path] {
					seen[path] = true
					queue = append(queue, path)
				}
			})
		}
	}
	if !slices.ContainsFunc(queue, func(p string) bool { return strings.HasPrefix(p, "/static/") }) || len(queue) < 40 {
		t.Errorf("only %d addresses found: %v", len(queue), queue)
	}
}

// stream hears of a change while the proxy buffers answers, as it does by default.
func (m *mounted) stream(t *testing.T) {
	t.Helper()
	resp, err := m.client.Get(m.URL + "/console/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := make(chan string)
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(resp.Body); scan.Scan(); {
			select {
			case lines <- scan.Text():
			case <-done:
				return
			}
		}
	}()
	await := func(what string) {
		t.Helper()
		limit := time.After(patience)
		for {
			select {
			case line, open := <-lines:
				if !open {
					t.Fatalf("the stream ended before %q", what)
				}
				if strings.Contains(line, what) {
					return
				}
			case <-limit:
				t.Fatalf("the stream does not say %q", what)
			}
		}
	}
	await("event: change")
	if resp, body := m.post(t, "/console/nodes", url.Values{"name": {"made-behind-the-proxy"}, "enabled": {"1"}}); resp.StatusCode != http.StatusOK || !strings.Contains(body, m.URL) {
		t.Fatalf("creating a node = %d; want its page with our outer address in the snippet", resp.StatusCode)
	}
	await("node:made-behind-the-proxy")
}

func (m *mounted) logOut(t *testing.T) {
	t.Helper()
	if resp, body := m.post(t, "/console/logout", url.Values{}); resp.Request.URL.Path != prefix+"/console/login" {
		t.Errorf("the logout leads to %s: %d %.200s", resp.Request.URL, resp.StatusCode, body)
	}
	if resp, _ := m.get(t, "/console/nodes"); resp.Request.URL.Path != prefix+"/console/login" {
		t.Errorf("after the logout %s is still open", resp.Request.URL)
	}
}

// browse does with a browser what only scripts do: the live stream, a drawer, a call to a node, a search in place.
func (m *mounted) browse(t *testing.T) {
	t.Helper()
	// Nodes and scripts come through the proxy too.
	resp, raw := m.call(http.MethodPost, "/erupt-api/data/table/crm.Customer", tableQuery(), http.Header{"erupt": {"crm.Customer"}, "Content-Type": {"application/json"}})
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(raw), `"total":30`) {
		t.Errorf("a call to a node = %d %.200s", resp.StatusCode, raw)
	}
	b := browse(t, m.server)
	b.login("erupt", adminPassword)
	b.at("/console/nodes")
	b.until("the page is not live", `document.querySelector("#live").classList.contains("is-up")`)
	b.click("[data-node=crm] [data-testid=open-log]")
	b.shows("[data-testid=log-lines] li[data-num]")
	b.click("header [data-do=close-drawer]")
	b.fill("#node-q", "made-behind")
	b.until("the search does not narrow the list", `!document.querySelector("[data-node=crm]") && document.querySelector("[data-node=made-behind-the-proxy]")`)
	b.until("the address does not follow", `location.pathname === "`+prefix+`/console/nodes" && location.search.includes("made-behind")`)
	s := m.server
	s.must(http.MethodDelete, "/api/v1/nodes/made-behind-the-proxy", nil, http.StatusNoContent, nil)
	b.until("the list did not follow", `!document.querySelector("[data-node=made-behind-the-proxy]")`)
	b.open("/console/pages/crm.Customer")
	b.click(`[data-testid=view-row][data-id="1"] a`)
	b.fill(`#record-form [name="f.name"]`, "saved behind a proxy")
	b.click("[data-testid=record-save]")
	b.until("the drawer stays open", `!document.querySelector("#record")`)
	b.says(`[data-testid=view-row][data-id="1"]`, "saved behind a proxy")
	b.click("header details.drop-menu summary")
	b.click("[data-testid=logout]")
	b.at("/console/login")
}
