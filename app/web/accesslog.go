package web

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"eruptcloud/app/fault"
)

// recorder notes what was answered. It passes flushing, hijacking and deadlines through.
type recorder struct {
	http.ResponseWriter
	status   int
	bytes    int64
	hijacked bool
	aborted  bool
	// writeIdle is how long a reader may take nothing of an answer; zero: for ever, or as long as the handler says.
	writeIdle time.Duration
}

// piece is what is written with one time limit: a slow reader needs time for all of a large answer.
const piece = 64 << 10

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	sent := 0
	for {
		part := p[sent:min(sent+piece, len(p))]
		if w.writeIdle == 0 {
			part = p
		}
		w.extend()
		n, err := w.ResponseWriter.Write(part)
		sent += n
		w.bytes += int64(n)
		if err != nil || sent >= len(p) {
			return sent, err
		}
	}
}

// extend gives the reader more time.
func (w *recorder) extend() {
	if w.writeIdle > 0 && !w.hijacked {
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.writeIdle)) // not every writer can
	}
}

// SetWriteDeadline lets a handler that knows better, such as an event stream, set its own limits.
func (w *recorder) SetWriteDeadline(t time.Time) error {
	w.writeIdle = 0
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t)
}

// noteAbort notes that a panic passes, which breaks the connection.
func (w *recorder) noteAbort() {
	if p := recover(); p != nil {
		w.aborted = true
		panic(p)
	}
}

// Written reports whether the answer has begun.
func (w *recorder) Written() bool { return w.status != 0 || w.hijacked }

// Flush implements http.Flusher, which gin asserts.
func (w *recorder) Flush() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.extend()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // a writer that cannot flush sends at the end
}

// Hijack implements http.Hijacker, which gin asserts.
func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.hijacked = w.hijacked || err == nil
	return conn, rw, err
}

// Unwrap lets http.ResponseController find the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (s *Shell) logAccess(q *request, method string, target *url.URL, agent string, rec *recorder) {
	status := rec.status
	switch {
	case q.gone:
		status = fault.ClientGone.Status()
	case rec.hijacked:
		status = http.StatusSwitchingProtocols
	case status == 0 && !rec.aborted:
		status = http.StatusOK // net/http sends it for a handler that wrote nothing
	}
	level := slog.LevelInfo
	if isRoutine(q.path) && status < 400 {
		level = slog.LevelDebug
	}
	ctx := context.Background() // the request's own has ended when its client is gone, and a line must be written all the same
	if !s.o.Logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", q.id), slog.String("method", method), slog.String("path", shorten(q.path, 512)),
		slog.Int("status", status), slog.Int64("bytes", rec.bytes), slog.Duration("took", s.o.Now().Sub(q.start)),
		slog.String("client", q.client),
	}
	if query := RedactQuery(target.RawQuery); query != "" {
		attrs = append(attrs, slog.String("query", shorten(query, 512)))
	}
	if q.account != "" {
		attrs = append(attrs, slog.String("account", q.account))
	}
	if agent != "" {
		attrs = append(attrs, slog.String("agent", shorten(agent, 128)))
	}
	if rec.aborted {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	s.o.Logger.LogAttrs(ctx, level, "request", attrs...)
}

// isRoutine names what comes in every few seconds from everybody; it is logged only when it fails. Who follows the server's own log
// would read of nothing but himself.
func isRoutine(path string) bool {
	switch path {
	case "/livez", "/readyz", "/erupt-cloud-api/register-node", "/erupt-cloud-api/erupt-power", "/console/server-log/lines", "/erupt-api/tool/erupt-log":
		return true
	}
	return strings.HasPrefix(path, "/static/")
}

// RedactQuery replaces the values of secret parameters in a raw query, and keeps the rest byte for byte.
func RedactQuery(raw string) string {
	if raw == "" {
		return ""
	}
	pairs := strings.FieldsFunc(raw, func(r rune) bool { return r == '&' || r == ';' })
	for i, pair := range pairs {
		key, _, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(key)
		if err != nil || IsSecretName(name) {
			pairs[i] = key + "=***"
		}
	}
	return strings.Join(pairs, "&")
}

// IsSecretName reports whether a parameter, header or JSON key of that name holds a secret.
func IsSecretName(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"token", "pwd", "password", "passwd", "secret", "authorization", "cookie", "apikey", "api_key", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
