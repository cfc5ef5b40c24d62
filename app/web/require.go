package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/views"
)

// LoginPath is the page that a visitor without a session is sent to, and HomePath where a login leads by default.
const (
	LoginPath = "/console/login"
	HomePath  = "/console/"
)

// RequireCookie admits a browser whose session holds one of the codes; without codes any session will do. Others are
// sent to the login with a way back: pages by a redirect, fragments by an instruction to htmx, programs by 401. A program
// that reads JSON may name its session as RequireHeader wants it; what changes something asks for the cookie.
func (s *Shell) RequireCookie(codes ...string) gin.HandlerFunc {
	return s.require(codes, s.browserToken, s.sendToLogin)
}

func (s *Shell) browserToken(r *http.Request) string {
	if t := s.CookieToken(r); t != "" {
		return t
	}
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && PrefersJSON(r) {
		return HeaderToken(r)
	}
	return ""
}

// RequireHeader admits a program whose session, named by the header "token" or a bearer, holds one of the codes. It never
// looks at cookies: a page of another site cannot make a browser send these headers.
func (s *Shell) RequireHeader(codes ...string) gin.HandlerFunc {
	return s.require(codes, HeaderToken, func(c *gin.Context, err error) { s.Fail(c.Writer, c.Request, err) })
}

func (s *Shell) require(codes []string, tokenOf func(*http.Request) string, deny func(*gin.Context, error)) gin.HandlerFunc {
	return func(c *gin.Context) {
		in, err := s.session(c, tokenOf(c.Request))
		if err != nil {
			c.Abort()
			if fault.Is(err, fault.Unauthenticated) {
				deny(c, err)
				return
			}
			s.Fail(c.Writer, c.Request, err)
			return
		}
		s.enter(c, in)
		if err := Permit(in, codes...); err != nil {
			c.Abort()
			s.Fail(c.Writer, c.Request, err)
		}
	}
}

func (s *Shell) session(c *gin.Context, token string) (*access.Session, error) {
	if token == "" {
		return nil, fault.New(fault.Unauthenticated, "log in first")
	}
	in, _, err := s.o.Sessions.Get(c.Request.Context(), token)
	if err != nil {
		return nil, err
	}
	return &in, nil
}

// enter makes in the session of the request, for handlers, pages and the access log.
func (s *Shell) enter(c *gin.Context, in *access.Session) {
	c.Set(sessionKey, in)
	requestOf(c.Request).account = in.Account
	frame := s.withViewer(c.Request.Context(), *views.FrameOf(c.Request.Context()), in)
	c.Request = c.Request.WithContext(views.WithFrame(c.Request.Context(), frame))
}

// frameViewer puts what is around every page of a viewer around one that answers nothing, such as an address without a page
// (U80). It admits nobody: a request without a session stays without a viewer.
func (s *Shell) frameViewer(c *gin.Context) {
	if _, inConsole := below(requestOf(c.Request).path, "/console"); !inConsole || formOf(requestOf(c.Request).path, c.Request) != asPage {
		return
	}
	if in, err := s.session(c, s.CookieToken(c.Request)); err == nil {
		s.enter(c, in)
	}
}

// needsPermission ends the formats by which an error page finds the code that is missing; it is their last argument.
const needsPermission = "this needs the permission %s"

// Permit returns fault.Forbidden unless in holds one of the codes; no codes are always held.
func Permit(in *access.Session, codes ...string) error {
	if len(codes) == 0 {
		return nil
	}
	for _, code := range codes {
		if in.Holds(code) {
			return nil
		}
	}
	return fault.New(fault.Forbidden, needsPermission, strings.Join(codes, " / "))
}

// HeaderToken returns the session token of the header "token" or, without one, of "Authorization: Bearer".
func HeaderToken(r *http.Request) string {
	if t := strings.TrimSpace(r.Header.Get("token")); t != "" {
		return t
	}
	scheme, value, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(value)
}

func (s *Shell) sendToLogin(c *gin.Context, err error) {
	r := c.Request
	if formOf(requestOf(r).path, r) == asJSON {
		s.Fail(c.Writer, r, err)
		return
	}
	target := views.URL(r.Context(), LoginPath) + "?" + url.Values{"next": {wayBack(r)}}.Encode()
	c.Header("Cache-Control", "no-store")
	c.Writer.Header().Add("Vary", "HX-Request")
	if isFragment(r) {
		c.Header("HX-Redirect", target) // htmx obeys it whatever the status
		c.Status(http.StatusUnauthorized)
		c.Writer.WriteHeaderNow()
		return
	}
	c.Redirect(http.StatusSeeOther, target)
}

// wayBack returns the page below the base path to return to after a login: for a fragment the page it belongs to, for a
// form the page that showed it.
func wayBack(r *http.Request) string {
	q := requestOf(r)
	page := ""
	switch {
	case isFragment(r):
		page = r.Header.Get("HX-Current-URL")
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return SafeNext(views.FrameOf(r.Context()).Path)
	default:
		page = r.Header.Get("Referer")
	}
	u, err := url.Parse(page)
	if err != nil {
		return HomePath
	}
	path, _ := below(u.EscapedPath(), q.base)
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return SafeNext(path)
}

// SafeNext returns raw if it is a page of the console, below the base path, that a login may lead to, and HomePath
// otherwise. Whatever it returns stays on this server.
func SafeNext(raw string) string {
	if len(raw) > 2048 || !strings.HasPrefix(raw, "/console") || strings.ContainsAny(raw, "\\\r\n\t\x00") {
		return HomePath
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil {
		return HomePath
	}
	for seg := range strings.SplitSeq(u.Path, "/") {
		if seg == "." || seg == ".." {
			return HomePath
		}
	}
	path, inConsole := below(u.Path, "/console")
	if !inConsole || strings.Contains(u.Path, "//") || path == "/login" || path == "/logout" {
		return HomePath
	}
	return raw
}
