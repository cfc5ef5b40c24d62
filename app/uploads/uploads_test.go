package uploads_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/uploads"
	"eruptcloud/app/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type world struct {
	t     *testing.T
	dir   string
	store *uploads.Store
	audit []access.Entry
}

func (w *world) Get(_ context.Context, token string, _ ...string) (access.Session, []bool, error) {
	if token == "ana" {
		return access.Session{Token: token, Account: "ana"}, nil, nil
	}
	if token != "tok" {
		return access.Session{}, nil, fault.New(fault.Unauthenticated, "the session has ended")
	}
	return access.Session{Token: token, Account: "lin", Name: "Lin Yu"}, nil, nil
}

func (w *world) Record(e access.Entry) { w.audit = append(w.audit, e) }

func newWorld(t *testing.T, change ...func(*uploads.Options)) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "uploads")}
	o := uploads.Options{
		Folder: w.dir, MaxFile: 2000, MaxTotal: 10_000, Sessions: w, Audit: w, Query: true,
		Token: func(r *http.Request) string {
			if t := web.HeaderToken(r); t != "" {
				return t
			}
			return r.URL.Query().Get("_token")
		},
		Fail: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.WriteHeader(fault.Of(err).Code.Status())
			_, _ = w.Write([]byte(fault.Of(err).Message()))
		},
		Now: func() time.Time { return time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC) },
	}
	for _, c := range change {
		c(&o)
	}
	w.store = uploads.New(o)
	return w
}

const png = "\x89PNG\r\n\x1a\n rest of a picture"

// form is a body with one file, and its content type.
func form(field, name, content string) (string, string) {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	_ = m.WriteField("other", "x")
	part, _ := m.CreateFormFile(field, name)
	_, _ = part.Write([]byte(content))
	_ = m.Close()
	return b.String(), m.FormDataContentType()
}

type answer struct {
	Uploaded   bool
	URL, State string
	Error      struct{ Message string }
}

func (w *world) upload(target, field, name, content string, headers ...string) (*httptest.ResponseRecorder, answer) {
	w.t.Helper()
	body, kind := form(field, name, content)
	return w.send("POST", target, body, append([]string{"Content-Type", kind}, headers...)...)
}

func (w *world) send(method, target, body string, headers ...string) (*httptest.ResponseRecorder, answer) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.store.ServeHTTP(rec, r)
	var said answer
	_ = json.Unmarshal(rec.Body.Bytes(), &said)
	return rec, said
}

// files are those in the folder.
func (w *world) files() []string {
	var all []string
	_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return nil
	})
	return all
}

const target = "/erupt-api/file/upload-editor"

func TestUploadAndLook(t *testing.T) { // erupt-wire 3.6
	w := newWorld(t)
	rec, said := w.upload(target+"?_token=tok", "upload", "../../evil.html", png)
	if rec.Code != 200 || !said.Uploaded || said.State != "SUCCESS" || !strings.HasPrefix(said.URL, "/erupt-attachment/_server/2026-11-30/") || !strings.HasSuffix(said.URL, ".png") {
		t.Fatalf("answered %d %s", rec.Code, rec.Body)
	}
	if len(w.audit) != 1 || w.audit[0].Account != "lin" || !w.audit[0].OK || strings.Contains(fmt.Sprint(w.audit[0]), "tok") {
		t.Errorf("audit trail %+v", w.audit)
	}
	for name, tt := range map[string]struct {
		method, target string
		headers        []string
		status         int
		body           string
	}{
		"with the token":        {"GET", said.URL, []string{"token", "tok"}, 200, png},
		"as a picture asks":     {"GET", said.URL + "?_token=tok", nil, 200, png},
		"its head":              {"HEAD", said.URL, []string{"token", "tok"}, 200, ""},
		"a part":                {"GET", said.URL, []string{"token", "tok", "Range", "bytes=1-3"}, 206, "PNG"},
		"known already":         {"GET", said.URL, []string{"token", "tok", "If-None-Match", `"` + filepath.Base(said.URL) + `"`}, 304, ""},
		"by nobody":             {"GET", said.URL, nil, 401, ""},
		"by a session long ago": {"GET", said.URL, []string{"token", "old"}, 401, ""},
		"to change it":          {"PUT", said.URL, []string{"token", "tok"}, 405, ""},
		"another name":          {"GET", strings.Replace(said.URL, ".png", ".gif", 1), []string{"token", "tok"}, 404, ""},
		"the folder":            {"GET", "/erupt-attachment/_server/2026-11-30", []string{"token", "tok"}, 404, ""},
	} {
		rec, _ := w.send(tt.method, tt.target, "", tt.headers...)
		if rec.Code != tt.status || tt.body != "" && rec.Body.String() != tt.body {
			t.Errorf("%s: answered %d %q, want %d %q", name, rec.Code, rec.Body, tt.status, tt.body)
		}
		if h := rec.Header(); rec.Code == 200 && (h.Get("Content-Type") != "image/png" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("ETag") == "") {
			t.Errorf("%s: headers %v", name, h)
		}
	}
}

func TestRefusedUploads(t *testing.T) {
	tests := map[string]struct {
		field, name, content string
		headers              []string
		status               int
		want                 string
	}{
		"a page":                    {"upload", "a.png", "<html><script>alert(1)</script>", []string{"token", "tok"}, 400, "only pictures"},
		"a drawing that runs":       {"upload", "a.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="x()"/>`, []string{"token", "tok"}, 400, "only pictures"},
		"nothing in it":             {"upload", "a.png", "", []string{"token", "tok"}, 400, ""},
		"another field":             {"avatar", "a.png", png, []string{"token", "tok"}, 400, "no file"},
		"larger than one may be":    {"upload", "a.png", png + strings.Repeat("x", 2000), []string{"token", "tok"}, 413, "larger than 2000"},
		"far larger":                {"upload", "a.png", png + strings.Repeat("x", 100_000), []string{"token", "tok"}, 413, "larger than"},
		"by nobody":                 {"upload", "a.png", png, nil, 401, ""},
		"by a cookie":               {"upload", "a.png", png, []string{"Cookie", "ec=tok"}, 401, ""},
		"by a session that is over": {"upload", "a.png", png, []string{"token", "x"}, 401, ""},
		"no form":                   {"upload", "a.png", png, []string{"token", "tok", "Content-Type", "image/png"}, 400, "a form with a file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			rec, said := w.upload(target, tt.field, tt.name, tt.content, tt.headers...)
			if rec.Code != tt.status || said.Uploaded || !strings.Contains(rec.Body.String(), tt.want) {
				t.Errorf("answered %d %s, want %d with %q", rec.Code, rec.Body, tt.status, tt.want)
			}
			if tt.status != 401 && (said.Error.Message == "" || len(w.audit) != 1 || w.audit[0].OK) {
				t.Errorf("the editor is told %+v, the trail says %+v", said, w.audit)
			}
			if left := w.files(); len(left) != 0 {
				t.Errorf("a refused upload left %v", left)
			}
		})
	}
}

// An editor shows the reason to whoever writes; the trail keeps it in English (erupt-wire 1.1).
func TestRefusedUploadsInChinese(t *testing.T) {
	for _, way := range [][]string{{target, "zh-CN"}, {target + "?_lang=zh-CN", ""}} {
		w := newWorld(t)
		_, said := w.upload(way[0], "avatar", "a.png", png, "token", "tok", "lang", way[1])
		if said.Error.Message != "表单中没有文件" || said.State != said.Error.Message || w.audit[0].Error != "the form has no file" {
			t.Errorf("%v: the editor is told %+v, the trail says %q", way, said, w.audit[0].Error)
		}
	}
}

func TestCutUploadLeavesNothing(t *testing.T) {
	w := newWorld(t)
	body, kind := form("upload", "a.png", png+strings.Repeat("x", 1000))
	rec, _ := w.send("POST", target, body[:len(body)-300], "Content-Type", kind, "token", "tok")
	if rec.Code != 400 || len(w.files()) != 0 {
		t.Errorf("answered %d %s, left %v", rec.Code, rec.Body, w.files())
	}
}

func TestTheFolderHasABound(t *testing.T) {
	w := newWorld(t, func(o *uploads.Options) { o.MaxTotal = 3000 })
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "old"), make([]byte, 1300), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{200, 503} {
		if rec, said := w.upload(target, "upload", "a.png", png+strings.Repeat("x", 1600), "token", "tok"); rec.Code != want {
			t.Errorf("upload %d: %d %+v, want %d", i+1, rec.Code, said, want)
		}
	}
	if rec, _ := w.send("GET", "/erupt-attachment/_server/old", "", "token", "tok"); rec.Code != 404 {
		t.Errorf("a file that did not come this way: %d, want 404", rec.Code)
	}
}

// A folder that is a link is counted as what it leads to.
func TestTheBoundOfALinkedFolder(t *testing.T) {
	real := t.TempDir()
	if err := os.WriteFile(filepath.Join(real, "old"), make([]byte, 3000), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *uploads.Options) { o.MaxTotal = 3000 })
	if err := os.Symlink(real, w.dir); err != nil {
		t.Fatal(err)
	}
	if rec, said := w.upload(target, "upload", "a.png", png, "token", "tok"); rec.Code != 503 {
		t.Errorf("answered %d %+v, want it full", rec.Code, said)
	}
}

// One account cannot fill the folder for all, also after a restart; another has its own share.
func TestAnAccountHasAShare(t *testing.T) {
	w := newWorld(t, func(o *uploads.Options) { o.MaxAccount = 3000 })
	picture := png + strings.Repeat("x", 1500)
	put := func(when, token string, want int) {
		t.Helper()
		rec, said := w.upload(target, "upload", "a.png", picture, "token", token, "lang", "zh-CN")
		if rec.Code != want || want == 413 && !strings.Contains(said.State, "份额已满") {
			t.Errorf("%s: %d %+v, want %d", when, rec.Code, said, want)
		}
	}
	put("the first", "tok", 200)
	put("beyond the share", "tok", 413)
	again := newWorld(t, func(o *uploads.Options) { o.MaxAccount, o.Folder = 3000, w.dir })
	w.store = again.store
	put("after a restart", "tok", 413)
	put("another's", "ana", 200)
	if got := len(w.files()); got != 2 {
		t.Errorf("%d files are kept, want 2", got)
	}
}

// Uploads at the same time share the room: each is counted as it comes. What fails gives its room back.
func TestUploadsAtOnceShareTheRoom(t *testing.T) {
	w := newWorld(t, func(o *uploads.Options) { o.MaxTotal, o.MaxAccount = 2500, 2500 })
	picture := png + strings.Repeat("x", 1500)
	body, kind := form("upload", "a.png", picture)
	in, out := io.Pipe()
	r := httptest.NewRequest("POST", target, in)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("token", "tok")
	done := make(chan int)
	go func() {
		rec := httptest.NewRecorder()
		w.store.ServeHTTP(rec, r)
		done <- rec.Code
	}()
	cut := len(body) - 100                                           // most of the first is there
	for _, part := range []string{body[:cut-1], body[cut-1 : cut]} { // the second is taken when the first was counted
		if _, err := out.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if rec, said := w.upload(target, "upload", "a.png", picture+"yyyyy", "token", "ana"); rec.Code != 503 {
		t.Errorf("the second, while the first comes: %d %+v", rec.Code, said)
	}
	_ = out.CloseWithError(io.ErrUnexpectedEOF)
	if code := <-done; code == 200 {
		t.Error("a cut upload was kept")
	}
	if rec, said := w.upload(target, "upload", "a.png", picture, "token", "ana"); rec.Code != 200 {
		t.Errorf("after the first was cut: %d %+v", rec.Code, said)
	}
}

func TestUploadsAreLimitedByAccount(t *testing.T) {
	w := newWorld(t)
	for i := range 21 {
		rec, _ := w.upload(target, "upload", "a.png", png, "token", "tok")
		if limited := rec.Code == 429; limited != (i == 20) {
			t.Fatalf("upload %d: %d", i+1, rec.Code)
		}
	}
}

func TestWithoutASharedFolder(t *testing.T) {
	w := newWorld(t, func(o *uploads.Options) { o.Folder = "" })
	if rec, said := w.upload(target, "upload", "a.png", png, "token", "tok"); rec.Code != 503 || !strings.Contains(said.Error.Message, "uploads.dir") {
		t.Errorf("answered %d %+v, want the reason", rec.Code, said)
	}
	if rec, _ := w.send("GET", "/erupt-attachment/_server/2026-11-30/AAAAAAAAAAAAAAAAAAAAAA.png", "", "token", "tok"); rec.Code != 404 {
		t.Errorf("answered %d, want 404", rec.Code)
	}
}

func TestLinksOutOfTheFolder(t *testing.T) { // erupt-wire 10.6
	w := newWorld(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	day := filepath.Join(w.dir, "2026-11-30")
	if err := os.MkdirAll(day, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(day, "AAAAAAAAAAAAAAAAAAAAAA.png")); err != nil {
		t.Fatal(err)
	}
	if rec, _ := w.send("GET", "/erupt-attachment/_server/2026-11-30/AAAAAAAAAAAAAAAAAAAAAA.png", "", "token", "tok"); rec.Code != 404 {
		t.Errorf("a link out of the folder answered %d %s", rec.Code, rec.Body)
	}
}

func TestOwns(t *testing.T) {
	for path, want := range map[string]bool{
		"/erupt-api/file/upload-editor": true, "/erupt-api/file/upload-html-editor": true, "/erupt-attachment/_server/a": true,
		"/erupt-attachment/a.png": false, "/erupt-api/file/upload/x": false, "/erupt-attachment/_server": false, "/erupt-api/login": false,
	} {
		if uploads.Owns(path) != want {
			t.Errorf("Owns(%s) = %t", path, !want)
		}
	}
	w := newWorld(t)
	if rec, _ := w.send("GET", target, "", "token", "tok"); rec.Code != 405 || rec.Header().Get("Allow") != "POST" {
		t.Errorf("GET answered %d", rec.Code)
	}
}
