package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"eruptcloud/app/fault"
	"eruptcloud/views"
)

// Envelope is the one shape of an error for programs: Spring's error object, whose message erupt nodes and front ends
// print, plus our fields.
type Envelope struct {
	Timestamp string            `json:"timestamp"` // RFC 3339, UTC
	Path      string            `json:"path"`      // below the base path
	Status    int               `json:"status"`
	Error     string            `json:"error"` // the status in words
	Message   string            `json:"message"`
	Code      string            `json:"code"`
	Fields    map[string]string `json:"fields"`
	RequestID string            `json:"requestId"`
}

// Handle adapts a handler that returns its error.
func (s *Shell) Handle(h func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := h(c); err != nil {
			c.Abort()
			s.Fail(c.Writer, c.Request, err)
		}
	}
}

// Fail answers a request with err as JSON, fragment or page, logs it once with its cause, and counts it. After the answer
// has begun it breaks the connection instead, so that the client does not take what it got for all there is.
func (s *Shell) Fail(w http.ResponseWriter, r *http.Request, err error) {
	e := s.Note(r, err)
	q := requestOf(r)
	if e.Code == fault.ClientGone {
		q.gone = true
		panic(http.ErrAbortHandler)
	}
	if begun, ok := w.(interface{ Written() bool }); ok && begun.Written() {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "ETag", "Last-Modified", "Content-Disposition"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", q.id)
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	switch formOf(q.path, r) {
	case asNotice:
		s.failHTML(w, r, e, views.Notice)
	case asPage:
		s.failHTML(w, r, e, views.ErrorPage)
	default:
		failJSON(w, r, e, s.o.Now())
	}
}

// Note logs and counts err like Fail but answers nothing: for endpoints whose answer to any refusal is fixed.
func (s *Shell) Note(r *http.Request, err error) *fault.Error {
	e := s.faultOf(r, err)
	s.faults.WithLabelValues(string(e.Code)).Inc()
	s.logFault(r, requestOf(r), e)
	return e
}

func (s *Shell) faultOf(r *http.Request, err error) *fault.Error {
	if s.o.Translate != nil {
		err = s.o.Translate(err)
	}
	var large *http.MaxBytesError
	var known *fault.Error
	switch {
	case errors.As(err, &known):
	case errors.As(err, &large):
		return fault.New(fault.TooLarge, "the request is larger than %d bytes", large.Limit).Because(err)
	case r.Context().Err() != nil && errors.Is(err, context.Canceled):
		return fault.New(fault.ClientGone, "the client left").Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Unavailable, "this took too long").Because(err)
	}
	return fault.Of(err)
}

func (s *Shell) logFault(r *http.Request, q *request, e *fault.Error) {
	level := slog.LevelInfo
	switch e.Code {
	case fault.Internal:
		level = slog.LevelError
	case fault.Unavailable:
		level = slog.LevelWarn
	case fault.ClientGone:
		level = slog.LevelDebug
	}
	s.o.Logger.LogAttrs(context.WithoutCancel(r.Context()), level, "request refused",
		slog.String("request_id", q.id), slog.String("method", r.Method), slog.String("path", shorten(q.path, 512)),
		slog.String("code", string(e.Code)), slog.String("error", shorten(e.Error(), 8<<10)), slog.String("client", q.client))
}

func failJSON(w http.ResponseWriter, r *http.Request, e *fault.Error, now time.Time) {
	q := requestOf(r)
	message, fields := told(r, q.path, e)
	status := e.Code.Status()
	body, err := json.Marshal(Envelope{
		Timestamp: now.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Path: q.path, Status: status,
		Error: http.StatusText(status), Message: message, Code: string(e.Code), Fields: fields, RequestID: q.id,
	})
	if err != nil {
		panic(err) // strings and a map of strings
	}
	if status == http.StatusUnauthorized && strings.HasPrefix(q.path, "/api/") {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

func (s *Shell) failHTML(w http.ResponseWriter, r *http.Request, e *fault.Error, show func(views.Failure) templ.Component) {
	frame := views.FrameOf(r.Context())
	model := views.Failure{
		Status: e.Code.Status(), Code: string(e.Code), Message: views.Translate(frame.Lang, e.Format, e.Args...),
		Fields: e.Fields, RequestID: requestOf(r).id, RetryAfter: e.RetryAfter,
	}
	if strings.HasSuffix(e.Format, needsPermission) && len(e.Args) > 0 {
		model.Missing = fmt.Sprint(e.Args[len(e.Args)-1])
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Add("Vary", "HX-Request")
	w.WriteHeader(model.Status)
	if err := show(model).Render(r.Context(), w); err != nil {
		s.o.Logger.ErrorContext(r.Context(), "show an error", "request_id", model.RequestID, "error", err)
	}
}

type form int

const (
	asJSON form = iota
	asNotice
	asPage
)

// formOf chooses how an error is shown: programs always get JSON, htmx a notice, browsers a page.
func formOf(path string, r *http.Request) form {
	switch {
	case isMachine(path), PrefersJSON(r):
		return asJSON
	case isFragment(r):
		return asNotice
	case strings.Contains(r.Header.Get("Accept"), "text/html"):
		return asPage
	}
	return asJSON
}

// isFragment reports whether htmx asks for a part of a page; boosted links and restored history want all of it.
func isFragment(r *http.Request) bool {
	h := r.Header
	return h.Get("HX-Request") == "true" && h.Get("HX-Boosted") != "true" && h.Get("HX-History-Restore-Request") != "true"
}

func newFaults(reg prometheus.Registerer) (*prometheus.CounterVec, error) {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "ec", Name: "faults_total", Help: "Requests refused or failed, by error code.",
	}, []string{"code"})
	if reg == nil {
		return vec, nil
	}
	if err := reg.Register(vec); err != nil {
		return nil, fmt.Errorf("register faults_total: %w", err)
	}
	return vec, nil
}
