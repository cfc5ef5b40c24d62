package console

import (
	"compress/gzip"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
)

// minPacked is the size below which packing a page saves nothing.
const minPacked = 1024

// A page goes out once and is packed well; parts of open pages go out again and again, and are packed fast: the other way takes a
// millisecond or two for each.
var wellPacked, fastPacked = packers(5), packers(gzip.BestSpeed)

func packers(level int) *sync.Pool {
	return &sync.Pool{New: func() any {
		w, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			panic(err) // the levels are constants of the package
		}
		return w
	}}
}

// packedWriter packs pages, their JSON twins and exports; event streams, files of nodes and short answers pass.
type packedWriter struct {
	gin.ResponseWriter
	c     *gin.Context
	begun bool
	zip   *gzip.Writer // nil: nothing is packed
	pool  *sync.Pool
}

// Write decides with the first bytes of the answer whether it is packed.
func (w *packedWriter) Write(b []byte) (int, error) {
	if !w.begun {
		w.begun = true
		h := w.Header()
		if len(b) >= minPacked && !w.c.GetBool(unpacked) && h.Get("Content-Encoding") == "" && packs(h.Get("Content-Type")) {
			h.Set("Content-Encoding", "gzip")
			h.Add("Vary", "Accept-Encoding")
			h.Del("Content-Length")
			w.zip = w.pool.Get().(*gzip.Writer)
			w.zip.Reset(w.ResponseWriter)
		}
	}
	if w.zip == nil {
		return w.ResponseWriter.Write(b)
	}
	return w.zip.Write(b)
}

func packs(contentType string) bool {
	for _, kind := range []string{"text/html", "application/json", "text/csv"} {
		if strings.HasPrefix(contentType, kind) {
			return true
		}
	}
	return false
}

// WriteString does as Write; the one of gin would pass the packer.
func (w *packedWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

func (w *packedWriter) close() {
	if w.zip == nil {
		return
	}
	_ = w.zip.Close() // a reader that is gone is nobody's error
	w.pool.Put(w.zip)
	w.zip = nil
}

// Unwrap lets http.ResponseController find the connection.
func (w *packedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// unpacked is what a handler sets when its page holds a secret beside text that others can choose: the size of a packed
// page would tell of it.
const unpacked = "console.unpacked"

// compress packs the console's pages for browsers that accept gzip.
func compress(c *gin.Context) {
	if c.Request.Method == http.MethodHead || !strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
		return
	}
	w := &packedWriter{ResponseWriter: c.Writer, c: c, pool: wellPacked}
	if isFragment(c) {
		w.pool = fastPacked
	}
	c.Writer = w
	c.Next()
	w.close()
}
