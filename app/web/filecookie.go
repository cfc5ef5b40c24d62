package web

import (
	"net/http"

	"github.com/gorilla/securecookie"
)

// A front end of erupt keeps its session's token in a script and sends it in a header. Pictures and downloads send no header,
// so that a browser would ask for them as nobody. This cookie carries the session for them, and counts for files alone.

const fileCookieSuffix = "_files"

// FileCookieName returns the name of the cookie that asks for files.
func (s *Shell) FileCookieName() string { return s.o.CookieName + fileCookieSuffix }

// FileToken returns the session token in the request's cookie for files, empty if there is none of ours.
func (s *Shell) FileToken(r *http.Request) string {
	name := s.FileCookieName()
	for _, c := range r.CookiesNamed(name) {
		var token string
		if securecookie.DecodeMulti(name, c.Value, &token, s.cookies.Codecs...) == nil {
			return token
		}
	}
	return ""
}

// WriteFileToken gives the browser the cookie for files, unless it has it; call it before the answer's body. Pages of other
// sites cannot use it.
func (s *Shell) WriteFileToken(w http.ResponseWriter, r *http.Request, token string) {
	if s.FileToken(r) == token {
		return
	}
	name := s.FileCookieName()
	value, err := securecookie.EncodeMulti(name, token, s.cookies.Codecs...)
	if err != nil {
		s.o.Logger.WarnContext(r.Context(), "pictures of this page will be asked for without a session", "error", err)
		return
	}
	o := s.cookieOptions(r)
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: o.Path, MaxAge: 0, Secure: o.Secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}
