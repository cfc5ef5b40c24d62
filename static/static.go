// Package static serves the embedded assets of the console under names that contain a hash of their content, so that a
// browser may keep them for ever and never uses an old one.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed css img js/*.js
var files embed.FS

// Prefix is where Handler expects to be mounted, below the base path.
const Prefix = "/static/"

type asset struct {
	name   string // "css/console.css"
	hashed string // "css/console.1f2e3d4c5b6a.css"
	kind   string // content type
	body   []byte
	packed func() []byte // gzip of body, made at first use; nil where it would not pay
}

type catalogue struct {
	byName, byHashed map[string]*asset
}

var all = sync.OnceValue(load)

func load() catalogue {
	c := catalogue{byName: map[string]*asset{}, byHashed: map[string]*asset{}}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		a := newAsset(name, body)
		c.byName[a.name], c.byHashed[a.hashed] = a, a
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("static: %v", err)) // embedded: cannot fail in a binary that passed its tests
	}
	return c
}

var kinds = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

func newAsset(name string, body []byte) *asset {
	sum := sha256.Sum256(body)
	ext := path.Ext(name)
	a := &asset{
		name: name, hashed: strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext,
		kind: kinds[ext], body: body,
	}
	a.packed = sync.OnceValue(func() []byte { return pack(body) })
	return a
}

// pack compresses body, or returns nil if that saves nothing worth the work.
func pack(body []byte) []byte {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is a constant of the package
	}
	_, _ = w.Write(body) // a buffer never fails
	_ = w.Close()
	if buf.Len() > len(body)*9/10 {
		return nil
	}
	return buf.Bytes()
}

// Path returns the address of an asset below the base path: Path("css/console.css") is
// "/static/css/console.HASH.css". An unknown name panics: names are constants, and a test renders every page.
func Path(name string) string {
	a, ok := all().byName[name]
	if !ok {
		panic("static: there is no asset " + name)
	}
	return Prefix + a.hashed
}

// Icons returns the sprite of icons, to be put at the top of each page's body.
func Icons() string { return string(all().byName["img/icons.svg"].body) }

// Has reports whether Handler has an asset at a path below the base path.
func Has(path string) bool {
	_, ok := all().byHashed[strings.TrimPrefix(path, Prefix)]
	return ok
}

// Handler serves the assets below Prefix. Only hashed names exist: a page of an older release that asks for an asset of
// its own gets a 404, never something else.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := all().byHashed[strings.TrimPrefix(r.URL.Path, Prefix)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		a.serve(w, r)
	})
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	h.Set("X-Content-Type-Options", "nosniff")
	body := a.body
	if packed := a.packed(); packed != nil && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = packed
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body) // a client that went away is nobody's error
}

// acceptsGzip reads the header as RFC 9110 asks: gzip or * listed, and not with quality zero.
func acceptsGzip(header string) bool {
	accepted := false
	for part := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && coding != "*" {
			continue
		}
		q := 1.0
		if v, ok := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q="); ok {
			parsed, err := strconv.ParseFloat(v, 64)
			if err != nil {
				parsed = 0
			}
			q = parsed
		}
		if coding == "gzip" {
			return q > 0
		}
		accepted = q > 0
	}
	return accepted
}
