package web

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/gorilla/securecookie"
	"github.com/gorilla/sessions"

	"eruptcloud/app/access"
)

// cookieLife is how long a sealed cookie is believed at all, in seconds; the session in it ends much earlier.
const cookieLife = 30 * 24 * 3600

const sessionValue = "t" // the session token inside the cookie

func newCookieStore(keys [][]byte) (*sessions.CookieStore, error) {
	if len(keys) == 0 || len(keys)%2 != 0 {
		return nil, errors.New("web: cookie keys must come in pairs of a signing key and an encryption key")
	}
	for i, k := range keys {
		if i%2 == 0 && len(k) < 32 {
			return nil, fmt.Errorf("web: signing key %d has %d bytes, needs at least 32", i/2+1, len(k))
		}
		if n := len(k); i%2 == 1 && n != 16 && n != 24 && n != 32 {
			return nil, fmt.Errorf("web: encryption key %d has %d bytes, needs 16, 24 or 32", i/2+1, n)
		}
	}
	store := sessions.NewCookieStore(keys...)
	store.MaxAge(cookieLife)
	// The browser forgets the cookie when it is closed, the server the session when its time is over.
	store.Options = &sessions.Options{Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	return store, nil
}

// CookieName returns the name of the session cookie.
func (s *Shell) CookieName() string { return s.o.CookieName }

// CookieToken returns the session token in the request's cookie, empty if there is none of ours. Cookies of the same
// name that others made, such as a second installation on this host, are passed over (S88).
func (s *Shell) CookieToken(r *http.Request) string {
	for _, c := range r.CookiesNamed(s.o.CookieName) {
		var values map[any]any
		if err := securecookie.DecodeMulti(s.o.CookieName, c.Value, &values, s.cookies.Codecs...); err != nil {
			continue
		}
		if token, ok := values[sessionValue].(string); ok {
			return token
		}
	}
	return ""
}

// WriteSession puts the session token into the browser's cookie; call it before the answer's body.
func (s *Shell) WriteSession(c *gin.Context, token string) error {
	session := sessions.NewSession(s.cookies, s.o.CookieName)
	session.Values[sessionValue] = token
	session.Options = s.cookieOptions(c.Request)
	if err := s.cookies.Save(c.Request, c.Writer, session); err != nil {
		return fmt.Errorf("write session cookie: %w", err)
	}
	return nil
}

// ClearSession makes the browser forget its cookie.
func (s *Shell) ClearSession(c *gin.Context) {
	o := s.cookieOptions(c.Request)
	http.SetCookie(c.Writer, &http.Cookie{
		Name: s.o.CookieName, Path: o.Path, MaxAge: -1, Secure: o.Secure, HttpOnly: o.HttpOnly, SameSite: o.SameSite,
	})
}

func (s *Shell) cookieOptions(r *http.Request) *sessions.Options {
	o := *s.cookies.Options
	q := requestOf(r)
	if q.base != "" {
		o.Path = q.base
	}
	switch s.o.SecureCookie {
	case SecureAlways:
		o.Secure = true
	case SecureNever:
		o.Secure = false
	default:
		o.Secure = q.scheme == "https"
	}
	return &o
}

const sessionKey = "eruptcloud.session"

// SessionFrom returns the session that RequireCookie or RequireHeader admitted, nil elsewhere.
func SessionFrom(c *gin.Context) *access.Session {
	if v, ok := c.Get(sessionKey); ok {
		return v.(*access.Session)
	}
	return nil
}

// AuditEntry begins an entry of the audit trail for a request: who, from where, by which call. The caller adds the rest.
func AuditEntry(c *gin.Context, action, subject string) access.Entry {
	q := requestOf(c.Request)
	e := access.Entry{
		At: q.start, Address: q.client, Action: action, Subject: subject, Method: c.Request.Method, URL: q.path,
		RequestID: q.id, OK: true,
	}
	if query := RedactQuery(c.Request.URL.RawQuery); query != "" {
		e.URL += "?" + query
	}
	if in := SessionFrom(c); in != nil {
		e.User, e.Account = in.Name, in.Account
		if e.User == "" {
			e.User = in.Account
		}
	}
	return e
}
