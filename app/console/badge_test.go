package console

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"eruptcloud/app/fleet"
)

func TestBadgeAndStatus(t *testing.T) { // U81
	w := commerce()
	s := newSite(t, w)
	token := "?token=" + readToken(testBadgeKey, "order-service", secretToken)
	a := s.as("", http.MethodGet, "/badge/order-service.svg"+token, nil)
	if a.Code != 200 || !strings.HasPrefix(a.Header().Get("Content-Type"), "image/svg+xml") || a.Header().Get("Cache-Control") != "public, max-age=30" || !strings.Contains(a.body, ">Reachable<") {
		t.Errorf("badge answered %d %v %s", a.Code, a.Header(), a.body)
	}
	if zh := s.as("", http.MethodGet, "/badge/order-service.svg"+token+"&lang=zh", nil); !strings.Contains(zh.body, "可达") {
		t.Errorf("in Chinese: %s", zh.body)
	}
	a = s.as("", http.MethodGet, "/status/order-service.json"+token, nil)
	var got nodeStatus
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || got.Node != "order-service" || got.State != "up" || got.Up != 4 || got.Instances != 4 || got.States["up"] != 4 || !got.At.Equal(now) {
		t.Errorf("status is %+v, %v", got, err)
	}
	if head := s.as("", http.MethodHead, "/status/order-service.json"+token, nil); head.Code != 200 {
		t.Errorf("HEAD answered %d", head.Code)
	}
}

func TestNothingIsToldWithoutTheReadToken(t *testing.T) { // U81
	w := commerce()
	w.node(fleet.Node{Name: "empty", Enabled: true})
	s := newSite(t, w)
	refused := s.as("", http.MethodGet, "/status/missing.json?token=x", nil)
	shape := func(body string) string {
		var e struct{ Message, Code, Error string }
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return e.Message + e.Code + e.Error
	}
	good := readToken(testBadgeKey, "order-service", secretToken)
	for name, path := range map[string]string{
		"no token":                     "/status/order-service.json",
		"an empty one":                 "/status/order-service.json?token=",
		"another node's":               "/status/ledger.json?token=" + good,
		"the access token itself":      "/status/order-service.json?token=" + secretToken,
		"cut short":                    "/status/order-service.json?token=" + good[:10],
		"another key's":                "/status/order-service.json?token=" + readToken([]byte("other"), "order-service", secretToken),
		"an older access token's":      "/status/order-service.json?token=" + readToken(testBadgeKey, "order-service", "OLDTOKEN"),
		"a node without a token":       "/status/empty.json?token=" + readToken(testBadgeKey, "empty", ""),
		"another extension":            "/badge/order-service.json?token=" + good,
		"a badge without a token":      "/badge/order-service.svg",
		"a name that is no node's":     "/badge/" + url.PathEscape("../etc") + ".svg?token=" + good,
		"the console's login helps no": "/status/order-service.json",
	} {
		a := s.as("", http.MethodGet, path, nil)
		if a.Code != 404 || shape(a.body) != shape(refused.body) || strings.Contains(a.body, "Orders") {
			t.Errorf("%s: answered %d %s", name, a.Code, a.body)
		}
	}
}

func TestBadgeHoldsTextOnly(t *testing.T) { // S60
	s := newSite(t, commerce())
	token := readToken(testBadgeKey, "order-service", secretToken)
	for _, label := range []string{`"><script>alert(1)</script>`, "a\x00b\x1bc", strings.Repeat("长", 500), "]]>&<"} {
		a := s.as("", http.MethodGet, "/badge/order-service.svg?"+url.Values{"token": {token}, "label": {label}}.Encode(), nil)
		if csp := a.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
			t.Errorf("CSP is %q", csp)
		}
		dec := xml.NewDecoder(strings.NewReader(a.body))
		for {
			tok, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("label %q makes no picture: %v\n%s", label, err, a.body)
			}
			if e, ok := tok.(xml.StartElement); ok && !strings.Contains(" svg title rect path g text ", " "+e.Name.Local+" ") {
				t.Errorf("label %q puts <%s> into the picture", label, e.Name.Local)
			}
		}
	}
}

func TestBadgePageIsForHoldersOfTheToken(t *testing.T) { // U81
	w := commerce()
	w.login("viewer", false, "CloudNode")
	w.login("holder", false, "CloudNode", "cloud_access_token_permission")
	s := newSite(t, w)
	if a := s.as("viewer", http.MethodGet, "/console/nodes/order-service/badge", nil); a.Code != 403 || strings.Contains(a.body, "?token=") {
		t.Errorf("a viewer was answered %d", a.Code)
	}
	a := s.as("holder", http.MethodGet, "/console/nodes/order-service/badge", nil)
	link := parse(t, a.body).Find("#badge-status").Text()
	u, err := url.Parse(link)
	if err != nil || u.Host != "example.com" {
		t.Fatalf("the link is %q, %v", link, err)
	}
	if got := s.as("", http.MethodGet, u.RequestURI(), nil); got.Code != 200 {
		t.Errorf("the link of the page answered %d", got.Code)
	}
	if e := s.audit[len(s.audit)-1]; e.Action != "badge.show" || e.Subject != "order-service" {
		t.Errorf("the trail ends with %+v", e)
	}
}
