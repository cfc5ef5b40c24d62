package nodeagent

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"eruptcloud/nodeagent/wire"
)

// filesIn returns the regular files below dir.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

type filePart struct{ field, name, content string }

func multipartBody(parts ...filePart) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		part, _ := w.CreateFormFile(p.field, p.name)
		_, _ = io.WriteString(part, p.content)
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

func (s *shopNode) upload(path string, parts ...filePart) *httptest.ResponseRecorder {
	s.t.Helper()
	body, contentType := multipartBody(parts...)
	return s.call(http.MethodPost, path, body, "Content-Type", contentType)
}

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

func TestUploads(t *testing.T) { // recordings 270–275, wire 3.7
	tests := map[string]struct {
		field string
		part  filePart
		want  string // suffix of the path, or the message
		ok    bool
	}{
		"a file":                 {"file", filePart{"file", "note ü.txt", "grüezi"}, ".txt", true},
		"in capitals":            {"file", filePart{"file", "NOTE.TXT", "x"}, ".txt", true},
		"an empty file":          {"file", filePart{"file", "a.txt", ""}, ".txt", true},
		"a name with dots":       {"file", filePart{"file", "../../evil.txt", "a"}, ".txt", true},
		"a Windows path":         {"file", filePart{"file", `C:\x\evil.txt`, "a"}, ".txt", true},
		"another extension":      {"file", filePart{"file", "x.exe", "MZ"}, "the file format is not allowed: exe", false},
		"a double extension":     {"file", filePart{"file", "x.txt.exe", "MZ"}, "not allowed: exe", false},
		"an extension of odd":    {"file", filePart{"file", "x.txt/../exe", "MZ"}, "not allowed", false},
		"no extension":           {"file", filePart{"file", "txt", "a"}, "not allowed", false},
		"too large":              {"file", filePart{"file", "b.bin", strings.Repeat("x", 2<<20+1)}, "cannot exceed: 2048KB", false},
		"as large as allowed":    {"file", filePart{"file", "b.bin", strings.Repeat("x", 2<<20)}, ".bin", true},
		"a picture":              {"photo", filePart{"file", "a.PNG", png}, ".png", true},
		"a page called picture":  {"photo", filePart{"file", "a.png", "<html><script>"}, "not a picture", false},
		"a drawing with scripts": {"photo", filePart{"file", "a.svg", "<svg>"}, "not allowed: svg", false},
		"another part":           {"file", filePart{"upload", "a.txt", "x"}, "holds no file", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := shop(t)
			w := s.upload("file/upload/Customer/"+tt.field, tt.part)
			res := decode[wire.Result](t, w)
			files := filesIn(t, filepath.Dir(s.agent.uploads.dir))
			if !tt.ok {
				if res.Success || res.PromptWay != "DIALOG" || !strings.Contains(*res.Message, tt.want) || len(files) != 0 {
					t.Errorf("upload = %d %+v, left %v; want %q and nothing left", w.Code, res, files, tt.want)
				}
				return
			}
			path, _ := res.Data.(string)
			if !res.Success || res.PromptWay != "NONE" || !uploadedPath.MatchString(path) || !strings.HasSuffix(path, tt.want) {
				t.Fatalf("upload = %d %+v", w.Code, res)
			}
			if len(files) != 1 || files[0] != s.agent.uploads.dir+path {
				t.Errorf("stored %v, want one file at %s", files, path)
			}
			got := s.fetch("/erupt-attachment"+path, nil)
			if got.Code != 200 || got.Body.String() != tt.part.content || got.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("read back = %d, %d bytes, %v", got.Code, got.Body.Len(), got.Header())
			}
			download := s.fetch("/erupt-api/file/download-attachment"+path, nil)
			if download.Code != 200 || !strings.HasPrefix(download.Header().Get("Content-Disposition"), "attachment") || download.Header().Get("Content-Type") != "application/octet-stream" {
				t.Errorf("download = %d %v", download.Code, download.Header())
			}
			form := fmt.Sprintf(`{"name":"x","%s":"%s"}`, tt.field, path)
			if res := s.result(http.MethodPost, "data/modify/Customer", form); !res.Success {
				t.Errorf("a form with the file = %s", *res.Message)
			}
		})
	}
}

func (s *shopNode) fetch(path string, header http.Header) *httptest.ResponseRecorder {
	r := fromServer(http.MethodGet, path, "")
	for name, values := range header {
		r.Header[name] = values
	}
	return do(s.handler, r)
}

func TestSeveralUploads(t *testing.T) { // recording 274
	s := shop(t)
	w := s.upload("file/uploads/Customer/file", filePart{"file", "a.txt", "a"}, filePart{"file", "b.exe", "b"}, filePart{"file", "c.bin", "c"}, filePart{"file", "d.txt", "beyond the limit"})
	res := decode[wire.Result](t, w)
	paths, _ := res.Data.([]any)
	if len(paths) != 3 || paths[0] == nil || paths[1] != nil || paths[2] == nil || len(filesIn(t, s.agent.uploads.dir)) != 2 {
		t.Errorf("uploads = %+v", res)
	}
}

func TestUploadsThatAreNone(t *testing.T) {
	s := shop(t)
	good, contentType := multipartBody(filePart{"file", "a.txt", strings.Repeat("x", 5000)})
	tests := map[string]struct {
		path, body, contentType string
		want                    int
	}{
		"no form":               {"file/upload/Customer/file", "x", "text/plain", 400},
		"no boundary":           {"file/upload/Customer/file", good, "multipart/form-data", 400},
		"cut in the header":     {"file/upload/Customer/file", good[:40], contentType, 200}, // with a refusal: there is no file in it
		"cut in the file":       {"file/upload/Customer/file", good[:3000], contentType, 400},
		"a field without files": {"file/upload/Customer/name", good, contentType, 400},
		"no such field":         {"file/upload/Customer/x", good, contentType, 404},
		"no such page":          {"file/upload/Nothing/file", good, contentType, 404},
		"a header without end":  {"file/upload/Customer/file", good[:2] + strings.Repeat("x", 1<<20), contentType, 400},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if w := s.call(http.MethodPost, tt.path, tt.body, "Content-Type", tt.contentType); w.Code != tt.want {
				t.Errorf("= %d %s, want %d", w.Code, w.Body, tt.want)
			}
			if _, err := os.Stat(s.agent.uploads.dir); err == nil {
				if left := filesIn(t, s.agent.uploads.dir); len(left) != 0 {
					t.Errorf("left %v behind", left)
				}
			}
		})
	}
	s.agent.uploads.dir = ""
	if res := decode[wire.Result](t, s.upload("file/upload/Customer/file", filePart{"file", "a.txt", "x"})); res.Success || !strings.Contains(*res.Message, "keeps no files") {
		t.Errorf("without a directory = %+v", res)
	}
	if w := s.fetch("/erupt-attachment/2026-11-29/abcdefghijklmnopqrst.txt", nil); w.Code != 404 {
		t.Errorf("file without a directory = %d", w.Code)
	}
}

func TestAttachmentsStayInTheirDirectory(t *testing.T) { // wire 10.6
	s := shop(t)
	dir := s.agent.uploads.dir
	if err := os.MkdirAll(dir+"/2026-11-29", 0o750); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Dir(dir) + "/secret.txt"
	if err := os.WriteFile(secret, []byte("classified"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Somebody got a link into the directory: it must not lead out of it.
	if err := os.Symlink(secret, dir+"/2026-11-29/aaaaaaaaaaaaaaaaaaaa.txt"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/2026-11-29/bbbbbbbbbbbbbbbbbbbb", 0o750); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/2026-11-29/aaaaaaaaaaaaaaaaaaaa.txt", "/2026-11-29/bbbbbbbbbbbbbbbbbbbb", "/2026-11-29", "/2026-11-29/short.txt", "/../secret.txt",
		"/2026-11-29/..%2f..%2fsecret.txt", "/2026-11-29/aaaaaaaaaaaaaaaaaaaa.txt/x", "/2026-11-29/aaaaaaaaaaaaaaaaaaaa.part",
	} {
		for _, base := range []string{"/erupt-attachment", "/erupt-api/file/download-attachment"} {
			if w := s.fetch(base+path, nil); w.Code != 404 && w.Code != 400 || strings.Contains(w.Body.String(), "classified") {
				t.Errorf("%s%s = %d %s", base, path, w.Code, w.Body)
			}
		}
	}
	if w := do(s.handler, httptest.NewRequest(http.MethodGet, "/erupt-attachment/2026-11-29/x", nil)); w.Code != 401 {
		t.Errorf("without the access token = %d, want 401", w.Code)
	}
}

func TestAttachmentRangesAndPictures(t *testing.T) {
	s := shop(t)
	res := decode[wire.Result](t, s.upload("file/upload/Customer/photo", filePart{"file", "a.png", png + "0123456789"}))
	path := "/erupt-attachment" + res.Data.(string)
	if w := s.fetch(path, nil); w.Header().Get("Content-Type") != "image/png" || w.Header().Get("Content-Disposition") != "" {
		t.Errorf("picture = %v", w.Header())
	}
	if w := s.fetch(path, http.Header{"Range": {"bytes=-10"}}); w.Code != http.StatusPartialContent || w.Body.String() != "0123456789" {
		t.Errorf("range = %d %q", w.Code, w.Body)
	}
	if w := s.call(http.MethodPost, "file/download-attachment"+res.Data.(string), ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST = %d", w.Code)
	}
}

// TestUploadStreams sends more than a node may hold in memory: what it allocates must not grow with the file.
func TestUploadStreams(t *testing.T) {
	a := newAgent(t, func() Config {
		cfg := (&plane{}).config()
		cfg.UploadDir = t.TempDir()
		return cfg
	}())
	page := Page{Name: "P", Title: "P", Source: NewMemSource(), Fields: []Field{Attachment("file", "File", Files{MaxKB: -1})}}
	if err := a.Host(page); err != nil {
		t.Fatal(err)
	}
	a.uploads.now = func() time.Time { return time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC) }
	const size = 64 << 20
	head := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"big.bin\"\r\n\r\n"
	body := io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, size), strings.NewReader("\r\n--b--\r\n"))
	r := fromServer(http.MethodPost, "/erupt-api/file/upload/P/file", "")
	r.Body = io.NopCloser(body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := do(a.Handler(), r)
	runtime.ReadMemStats(&after)
	if res := decode[wire.Result](t, w); !res.Success || !strings.HasPrefix(res.Data.(string), "/2026-11-29/") {
		t.Errorf("upload = %d %+v", w.Code, res)
	}
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 2<<20 {
		t.Errorf("an upload of %d MiB allocated %d KiB", size>>20, allocated>>10)
	}
	files := filesIn(t, a.uploads.dir)
	if info, err := os.Stat(files[0]); err != nil || info.Size() != size {
		t.Errorf("stored %v", files)
	}
}
