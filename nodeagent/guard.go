package nodeagent

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"eruptcloud/nodeagent/wire"
)

// caller is who stands behind a guarded request, as the server says.
type caller struct {
	user          *wire.User
	token         string
	erupt, parent string
	lang          string
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// UserFrom returns the user behind a guarded request; ok is false when the server named none.
func UserFrom(ctx context.Context) (user wire.User, ok bool) {
	if u := callerOf(ctx).user; u != nil {
		return *u, true
	}
	return wire.User{}, false
}

// TokenFrom returns the handle that stands for the user's session, empty if there is none. It is good for Agent.Power,
// Agent.UserInfo and Agent.Permission and for nothing else.
func TokenFrom(ctx context.Context) string { return callerOf(ctx).token }

// EruptFrom returns the simple name of the erupt that a guarded request is about, empty for logs, templates and files.
func EruptFrom(ctx context.Context) string { return callerOf(ctx).erupt }

// Guard lets only the server through to next (A23): 403 without a body for a request with an Origin header, 401 without the
// node's access token, 404 without a body for an erupt that the node does not host, 400 for identity headers that are repeated
// or cannot be read.
func (a *Agent) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if len(r.Header["Origin"]) > 0 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if !a.tokenMatches(r.Header[wire.HeaderAccessToken]) {
			writeError(w, r, http.StatusUnauthorized, "AccessToken incorrect")
			return
		}
		c, problem := readCaller(r.Header)
		if problem != "" {
			writeError(w, r, http.StatusBadRequest, problem)
			return
		}
		if c.erupt != "" && !a.hosts(c.erupt) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// tokenMatches takes the same time whatever differs. A node without a token matches nothing.
func (a *Agent) tokenMatches(shown []string) bool {
	want := *a.token.Load()
	if want == "" || len(shown) != 1 {
		return false
	}
	got, expected := sha256.Sum256([]byte(shown[0])), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(got[:], expected[:]) == 1
}

// hosts reports whether the node answers for the erupt, in whatever case.
func (a *Agent) hosts(erupt string) bool {
	if a.pages.page(erupt) != nil {
		return true
	}
	for _, name := range a.cfg.Erupts {
		if strings.EqualFold(name, erupt) {
			return true
		}
	}
	return false
}

// readCaller rebuilds user, token and erupt of the request. The problem, if any, is a text for the answer.
func readCaller(h http.Header) (c caller, problem string) {
	one := func(name string) string {
		values := h[http.CanonicalHeaderKey(name)]
		if len(values) > 1 {
			problem = "header " + name + " is repeated"
		}
		if len(values) == 0 {
			return ""
		}
		return values[0]
	}
	c.token, c.erupt, c.parent, c.lang = one(wire.HeaderToken), one(wire.HeaderErupt), one(wire.HeaderParent), one(wire.HeaderLang)
	encoded := one(wire.HeaderUser)
	if problem != "" || encoded == "" {
		return c, problem
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return c, "header user is not standard base64"
	}
	if err := json.Unmarshal(raw, &c.user); err != nil {
		return c, "header user is not a user as JSON"
	}
	return c, ""
}

// Handler answers everything that belongs to the agent below ContextPath: the probes, /erupt-api behind Guard, and attachments.
// All else is 404.
func (a *Agent) Handler() http.Handler { return a.Mount(http.HandlerFunc(notFound)) }

// Mount returns a handler that answers the agent's paths itself and passes the rest to next, counted as in flight. A nil next
// answers 404.
func (a *Agent) Mount(next http.Handler) http.Handler {
	if next == nil {
		next = http.HandlerFunc(notFound)
	}
	rest := a.Track(next)
	api := a.Track(a.recovered(a.Guard(http.HandlerFunc(a.serveAPI))))
	files := a.Track(a.recovered(a.Guard(http.HandlerFunc(a.serveAttachment))))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, below := strings.CutPrefix(r.URL.EscapedPath(), a.cfg.ContextPath)
		switch {
		case !below:
			rest.ServeHTTP(w, r)
		case path == wire.HealthPath || path == wire.ProbePath:
			a.health(w, r)
		case path == wire.NodeAPI || strings.HasPrefix(path, wire.NodeAPI+"/"):
			api.ServeHTTP(w, r)
		case strings.HasPrefix(path, wire.AttachmentDir+"/"):
			files.ServeHTTP(w, r)
		default:
			rest.ServeHTTP(w, r)
		}
	})
}

// segments returns the decoded parts of the request's path below prefix. ok is false if a part is empty, a dot, two dots, or
// hides a slash, a backslash or a control character: such a path could mean something else to somebody on the way.
func (a *Agent) segments(r *http.Request, prefix string) (parts []string, ok bool) {
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), a.cfg.ContextPath), prefix+"/")
	for raw := range strings.SplitSeq(path, "/") {
		part, err := url.PathUnescape(raw)
		if err != nil || part == "" || part == "." || part == ".." || strings.ContainsAny(part, "/\\;") ||
			strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
			return nil, false
		}
		parts = append(parts, part)
	}
	return parts, true
}

// recovered turns a panic of a page's code into a 500 and a log event with the stack. Once the answer has begun the connection
// is broken off instead, so that nobody takes half of it for the whole.
func (a *Agent) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &watchedWriter{ResponseWriter: w}
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			a.logPanic(r, p)
			if seen.begun {
				panic(http.ErrAbortHandler)
			}
			writeError(w, r, http.StatusInternalServerError, "internal error")
		}()
		next.ServeHTTP(seen, r)
	})
}

// watchedWriter knows whether the answer has begun.
type watchedWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *watchedWriter) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach flushing, deadlines and hijacking.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher for handlers that ask for it directly.
func (w *watchedWriter) Flush() {
	w.begun = true
	_ = http.NewResponseController(w.ResponseWriter).Flush() // nothing to do about a writer that cannot
}

func notFound(w http.ResponseWriter, r *http.Request) {
	writeError(w, r, http.StatusNotFound, "there is nothing here")
}

// writeError answers with the error object of erupt-wire 1.8, which erupt nodes, servers and front ends understand.
func writeError(w http.ResponseWriter, r *http.Request, status int, message string) {
	writeJSON(w, status, wire.ErrorBody{
		Timestamp: time.Now().Format(wire.TimestampLayout), Path: r.URL.Path, Status: status,
		Error: "erupt exception", Message: message,
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only values of this package come here
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone if this fails
}
