package static_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"eruptcloud/static"
)

func get(path, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", accept)
	rec := httptest.NewRecorder()
	static.Handler().ServeHTTP(rec, r)
	return rec
}

func TestAssetsAreCachedForEverUnderTheirHash(t *testing.T) {
	path := static.Path("css/console.css")
	if !regexp.MustCompile(`^/static/css/console\.[0-9a-f]{12}\.css$`).MatchString(path) {
		t.Fatalf("Path = %q, want a hashed name", path)
	}
	plain := get(path, "")
	if plain.Code != 200 || !strings.Contains(plain.Header().Get("Cache-Control"), "immutable") || plain.Header().Get("Content-Encoding") != "" {
		t.Errorf("GET %s = %d %v, want 200, immutable, not packed", path, plain.Code, plain.Header())
	}
	packed := get(path, "br, gzip")
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(body, plain.Body.Bytes()) {
		t.Errorf("the packed answer differs from the plain one (%v)", err)
	}
}

func TestWhatIsNoAssetIsNotFound(t *testing.T) {
	for _, path := range []string{
		"/static/", "/static/css/console.css", "/static/css/console.000000000000.css", "/static/../static.go", "/static/js/VENDOR.md",
	} {
		if rec := get(path, ""); rec.Code != http.StatusNotFound {
			t.Errorf("GET %s = %d, want 404", path, rec.Code)
		}
	}
}

func TestAcceptEncodingIsUnderstood(t *testing.T) {
	tests := map[string]bool{"gzip": true, "GZIP;q=0.5": true, "*": true, "gzip;q=0": false, "gzip; q=0, *": false, "br": false, "": false, "identity, *;q=0": false}
	for header, want := range tests {
		if got := get(static.Path("js/htmx.min.js"), header).Header().Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("Accept-Encoding %q packed = %v, want %v", header, got, want)
		}
	}
}

func TestVendoredFilesAreThoseRecorded(t *testing.T) {
	doc, err := os.ReadFile("js/VENDOR.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\S+\.js) \|.*\| ([0-9a-f]{64}) \|$`).FindAllSubmatch(doc, -1)
	if len(rows) == 0 {
		t.Fatal("VENDOR.md lists nothing")
	}
	for _, row := range rows {
		body, err := os.ReadFile("js/" + string(row[1]))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != string(row[2]) {
			t.Errorf("%s has the sum %x, VENDOR.md says %s", row[1], sum, row[2])
		}
	}
}

// The pages' CSP allows neither data: in styles nor inline code; a style sheet that needs one would silently look wrong.
func TestStylesKeepTheContentSecurityPolicy(t *testing.T) {
	for _, name := range []string{"css/console.css", "css/controls.css", "css/login.css"} {
		body := get(static.Path(name), "").Body.String()
		if regexp.MustCompile(`(?i)url\(|@import|expression\(`).MatchString(body) {
			t.Errorf("%s loads something", name)
		}
	}
}
