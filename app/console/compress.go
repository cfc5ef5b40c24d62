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

var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant of the package
	}
	return w
}}

// packedWriter packs a page that is written at once, as web.Render does; event streams and short answers pass.
type packedWriter struct {
	gin.ResponseWriter
}

// Write packs b if it is an HTML page and the answer has not begun.
func (w *packedWriter) Write(b []byte) (int, error) {
	h := w.Header()
	if w.Written() || len(b) < minPacked || h.Get("Content-Encoding") != "" || h.Get(noPacking) != "" ||
		!strings.HasPrefix(h.Get("Content-Type"), "text/html") {
		h.Del(noPacking)
		return w.ResponseWriter.Write(b)
	}
	h.Set("Content-Encoding", "gzip")
	h.Add("Vary", "Accept-Encoding")
	h.Del("Content-Length")
	z := packers.Get().(*gzip.Writer)
	defer packers.Put(z)
	z.Reset(w.ResponseWriter)
	n, err := z.Write(b)
	if err != nil {
		return n, err
	}
	return n, z.Close()
}

// Unwrap lets http.ResponseController find the connection.
func (w *packedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// noPacking is a header that a handler sets, and that is never sent, when its page holds a secret beside text that others
// can choose: the size of a packed page would tell of it.
const noPacking = "X-Ec-No-Packing"

// compress packs the console's pages for browsers that accept gzip.
func compress(c *gin.Context) {
	if c.Request.Method == http.MethodHead || !strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
		return
	}
	c.Writer = &packedWriter{ResponseWriter: c.Writer}
}
