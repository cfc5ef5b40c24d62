package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/views"
)

// maxTarget bounds the request target in bytes; maxBody every body that is not streamed to a node.
const (
	maxTarget = 16 << 10
	maxBody   = 32 << 20
)

// Front stands before the router. It describes the request, cuts the base path, collapses repeated slashes (Java nodes
// send //erupt-cloud-api/…), refuses cross-site writes, and keeps the access log. It resolves no dot segments and decodes
// nothing: the proxy must see a path as it was sent to refuse it.
func (s *Shell) Front(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := s.describe(r)
		rec := &recorder{ResponseWriter: w}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the one of the request before on this connection
		// the handlers may change their address
		defer s.logAccess(q, r.Method, r.URL, r.UserAgent(), rec)
		defer rec.noteAbort()
		r = s.arrive(q, rec, r)
		defer rec.extend() // for what net/http still holds
		defer s.recoverPanic(rec, r)
		defer q.end()
		if s.begin(q, rec, r) {
			next.ServeHTTP(rec, r)
		}
	})
}

// arrive tells the handlers about a request, and the browser about the answer. It is apart from Front, as is begin, since what
// Front stands on is held by each open stream.
func (s *Shell) arrive(q *request, rec *recorder, r *http.Request) *http.Request {
	q.path = collapseSlashes(r.URL.EscapedPath())
	q.cutBase(s.o.BasePath)
	if !isStreamed(q.path) {
		rec.writeIdle = s.writeIdle
	}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, q))
	r = r.WithContext(views.WithFrame(r.Context(), s.frame(q, r)))
	rec.Header().Set("X-Request-Id", q.id)
	setSecurityHeaders(rec.Header(), q.path)
	if len(r.TransferEncoding) > 0 {
		// net/http drops a length that stands beside chunks before anybody sees it. A proxy in front that goes by the length
		// ends the request elsewhere, so nothing that follows on this connection can be believed (RFC 9112, 6.1).
		rec.Header().Set("Connection", "close")
	}
	return r
}

// begin answers what no handler should see and bounds the body; false if it answered.
func (s *Shell) begin(q *request, rec *recorder, r *http.Request) bool {
	err := s.admit(q, r)
	if err == nil {
		err = setPath(r, q.path)
	}
	if err != nil {
		s.Fail(rec, r, err)
		return false
	}
	q.timed(rec, r, s.bodyIdle)
	if !isStreamed(q.path) && r.Body != nil {
		r.Body = http.MaxBytesReader(rec, r.Body, maxBody)
	}
	return true
}

// admit refuses what no handler should see.
func (s *Shell) admit(q *request, r *http.Request) error {
	if len(r.URL.Path)+len(r.URL.RawPath)+len(r.URL.RawQuery) > maxTarget {
		return fault.New(fault.Invalid, "the address is longer than %d bytes", maxTarget)
	}
	if !strings.HasPrefix(q.path, "/") {
		return fault.New(fault.Invalid, "the address must begin with a slash")
	}
	seen := *r // the check compares Origin with Host as the browser knows it, not as the proxy rewrote it (S56)
	seen.Host = q.host
	if err := s.cross.Check(&seen); err != nil {
		return fault.New(fault.Forbidden, "a page of another site sent this, which is refused; if this is the console's own page, its proxy must be listed in server.trusted_proxies").Because(err)
	}
	return nil
}

// cutBase removes the base path where the proxy in front passed it on. A path without it is served as well: then the
// proxy has cut it (S87).
func (q *request) cutBase(configured string) {
	if rest, ok := below(q.path, q.base); ok {
		q.path = rest
		return
	}
	if rest, ok := below(q.path, configured); ok { // an outer prefix was cut, ours was not
		q.path, q.base = rest, q.base+configured
	}
}

// below returns what follows base in path, with its slash.
func below(path, base string) (string, bool) {
	if base == "" || !strings.HasPrefix(path, base) {
		return path, false
	}
	rest := path[len(base):]
	if rest == "" {
		return "/", true
	}
	return rest, rest[0] == '/'
}

// collapseSlashes makes one slash of several in an escaped path; an encoded slash is no slash.
func collapseSlashes(path string) string {
	if !strings.Contains(path, "//") {
		return path
	}
	var b strings.Builder
	b.Grow(len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '/' && i > 0 && path[i-1] == '/' {
			continue
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

// setPath puts an escaped path into r as net/http would have parsed it.
func setPath(r *http.Request, escaped string) error {
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return fault.New(fault.Invalid, "the address is not encoded correctly").Because(err)
	}
	u := *r.URL
	u.Path, u.RawPath = plain, ""
	if u.EscapedPath() != escaped {
		u.RawPath = escaped
	}
	r.URL = &u
	return nil
}

// isStreamed reports whether bodies of this path go to a node as they come.
func isStreamed(path string) bool {
	return strings.HasPrefix(path, "/erupt-api/") || strings.HasPrefix(path, "/erupt-attachment/")
}

// recoverPanic answers a panic with an error. http.ErrAbortHandler goes on: it breaks the connection on purpose, so that
// a half-sent answer never looks complete; the same happens to any panic after the answer has begun.
func (s *Shell) recoverPanic(rec *recorder, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	if rec.hijacked {
		s.o.Logger.ErrorContext(r.Context(), "handler failed after a hijack", "request_id", requestOf(r).id, "error", err)
		return
	}
	s.Fail(rec, r, err)
}
