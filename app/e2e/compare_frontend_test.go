package e2e

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"eruptcloud/app/testbed"
)

// front is the official front end of erupt 1.12.23, unmodified, with our server behind it.
type front struct {
	*httptest.Server
	mu      sync.Mutex
	refused []string // calls of the API that ended in an error
}

// trouble returns the calls that failed since it was asked last.
func (f *front) trouble() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.refused
	f.refused = nil
	return all
}

// frontEnd serves the files and passes what they ask of their server on to ours, as an nginx in front of both would.
func frontEnd(t *testing.T, s *server) *front {
	t.Helper()
	out := &front{}
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}, ModifyResponse: func(r *http.Response) error {
		if strings.HasPrefix(r.Request.URL.Path, "/erupt-api/") && r.StatusCode >= 400 {
			out.mu.Lock()
			defer out.mu.Unlock()
			out.refused = append(out.refused, r.Status+" "+r.Request.Method+" "+r.Request.URL.Path)
		}
		return nil
	}}
	mux := http.NewServeMux()
	for _, path := range []string{"/erupt-api/", "/erupt-attachment/", "/erupt-cloud-api/", "/console/", "/static/"} {
		mux.Handle(path, proxy)
	}
	mux.Handle("/", http.FileServerFS(frontEndFiles(t)))
	out.Server = httptest.NewServer(mux)
	t.Cleanup(out.Close)
	return out
}

// frontEndFiles are the static files in the jar that the original serves them from.
func frontEndFiles(t *testing.T) fs.FS {
	t.Helper()
	testbed.Require(t, "mvn")
	dir, err := filepath.Abs("interop/erupt-server")
	if err != nil {
		t.Fatal(err)
	}
	build := javaBuildDir(t, dir)
	cmd := exec.Command(filepath.Join(dir, "run.sh"), "0")
	cmd.Env = append(cmd.Environ(), "BUILD_DIR="+build, "JAVA=true", "WORK_DIR="+t.TempDir()) // it builds, and "true" runs in place of Java
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the original: %v\n%s", err, out)
	}
	outer, err := zip.OpenReader(filepath.Join(build, "erupt-server.jar"))
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()
	for _, f := range outer.File {
		if !strings.HasPrefix(f.Name, "BOOT-INF/lib/erupt-web-") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		inner, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		files, err := fs.Sub(inner, "public")
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	t.Fatal("the jar has no erupt-web in it")
	return nil
}
