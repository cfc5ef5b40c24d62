package eruptapi

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
)

// loginModel is the answer to a login, always with status 200. Its last three are since erupt 2.3.
type loginModel struct {
	Pass          bool    `json:"pass"`
	ResetPwd      bool    `json:"resetPwd"`      // the user never set his own password
	UseVerifyCode bool    `json:"useVerifyCode"` // the next try needs a captcha
	Reason        *string `json:"reason"`
	Token         *string `json:"token"`
	Expire        *string `json:"expire"` // without zone, as erupt writes times
	MFARequired   bool    `json:"mfaRequired"`
	MFATicket     *string `json:"mfaTicket"`
	Account       *string `json:"account"`
}

// How the two dialects write times.
const (
	timeOf2 = "2006-01-02T15:04:05.000"
	timeOf1 = "2006-01-02 15:04:05"
)

// loose is a JSON value that some front ends write as a text and some as a number.
type loose string

// UnmarshalJSON implements json.Unmarshaler.
func (l *loose) UnmarshalJSON(raw []byte) error {
	if raw = bytes.TrimSpace(raw); bytes.Equal(raw, []byte("null")) {
		*l = ""
		return nil
	}
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(l))
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return err
	}
	*l = loose(n)
	return nil
}

// login handles POST /erupt-api/login.
func (a *API) login(w http.ResponseWriter, r *http.Request) error {
	if err := a.slow(r); err != nil {
		return err
	}
	var in struct {
		Account string `json:"account"`
		Pwd     string `json:"pwd"`
		Code    loose  `json:"verifyCode"`
		Mark    loose  `json:"verifyCodeMark"`
	}
	if err := decode(w, r, &in); err != nil {
		return err
	}
	try := attempt(r, in.Account, a.decodeAll(in.Pwd)[0])
	try.Code, try.Mark = string(in.Code), string(in.Mark)
	s, err := a.o.Login.Attempt(r.Context(), try)
	return a.answerLogin(w, r, s, err, timeOf2)
}

// loginByDigest handles GET /erupt-api/login?account=&pwd= of erupt 1.x, whose front end writes null as a word.
func (a *API) loginByDigest(w http.ResponseWriter, r *http.Request) error {
	if err := a.slow(r); err != nil {
		return err
	}
	q := r.URL.Query()
	try := attempt(r, q.Get("account"), q.Get("pwd"))
	if code := q.Get("verifyCode"); code != "null" {
		try.Code, try.Mark = code, q.Get("verifyCodeMark")
	}
	if !a.o.TransferEncrypt { // then it sends the password itself
		s, err := a.o.Login.Attempt(r.Context(), try)
		return a.answerLogin(w, r, s, err, timeOf1)
	}
	if a.o.Digest == nil {
		return a.answerLogin(w, r, access.Session{}, fault.New(fault.Invalid, "the login of erupt 1.x needs passwords kept as MD5, which this server does not do; use the console, or POST with the password"), timeOf1)
	}
	s, err := a.o.Digest.AttemptDigest(r.Context(), try)
	return a.answerLogin(w, r, s, err, timeOf1)
}

// loginByCode handles POST /erupt-api/login-mfa, the second step of a login.
func (a *API) loginByCode(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Ticket string `json:"mfaTicket"`
		Code   loose  `json:"code"`
	}
	if err := decode(w, r, &in); err != nil {
		return err
	}
	if err := a.slow(r); err != nil {
		return err
	}
	s, err := a.o.MFA.Complete(r.Context(), in.Ticket, string(in.Code), attempt(r, "", ""))
	return a.answerLogin(w, r, s, err, timeOf2)
}

// slow bounds how often one address may try what guesses a secret, beside the lock of account and address: hashing passwords is
// work.
func (a *API) slow(r *http.Request) error {
	if ok, retry := a.logins.Allow(web.LimitKey(web.ClientIP(r))); !ok {
		return web.TooFast(retry)
	}
	return nil
}

func attempt(r *http.Request, account, password string) access.Attempt {
	return access.Attempt{Account: account, Password: password, Address: web.ClientIP(r), Agent: r.UserAgent()}
}

func (a *API) answerLogin(w http.ResponseWriter, r *http.Request, s access.Session, err error, times string) error {
	if err != nil {
		e := fault.Of(err)
		switch e.Code {
		case fault.Unauthenticated, fault.Forbidden, fault.Invalid, fault.Conflict:
		case fault.TooMany:
			setRetryAfter(w, e.RetryAfter)
		default:
			return err
		}
		reason, ticket := web.Message(r, e), access.TicketOf(err)
		return writeJSON(w, loginModel{
			Reason: &reason, UseVerifyCode: access.CodeWanted(err) || e.Code == fault.TooMany && a.o.App.CaptchaAfter >= 0,
			MFARequired: ticket != "", MFATicket: orNil(ticket), Account: orNil(access.AccountOf(err)),
		})
	}
	expire := s.Expires.In(a.o.Zone).Format(times)
	return writeJSON(w, loginModel{Pass: true, ResetPwd: a.neverSet(r, s.Account), Token: &s.Token, Expire: &expire, Account: &s.Account})
}

// neverSet reports whether the password is still the one that somebody else gave. It only asks for a new one, so an
// account that cannot be read now is not asked.
func (a *API) neverSet(r *http.Request, account string) bool {
	u, err := a.o.Users.ByAccount(r.Context(), account)
	return err == nil && u.PasswordSet.IsZero()
}

func setRetryAfter(w http.ResponseWriter, after time.Duration) {
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
}

// picture handles GET /erupt-api/code-img?mark=&height=: a PNG, which erupt calls a JPEG; browsers look at its bytes.
func (a *API) picture(w http.ResponseWriter, r *http.Request) error {
	if ok, retry := a.pictures.Allow(web.LimitKey(web.ClientIP(r))); !ok {
		return web.TooFast(retry)
	}
	q := r.URL.Query()
	height := 38
	if h, err := strconv.Atoi(q.Get("height")); err == nil {
		height = h
	}
	png, err := a.o.Captcha.Picture(r.Context(), q.Get("mark"), height)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "image/jpeg")
	h.Set("Pragma", "no-cache")
	h.Set("Cache-Control", "no-store, no-cache")
	h.Set("Expires", "Thu, 01 Jan 1970 00:00:00 GMT")
	_, _ = w.Write(png) // a client that is gone needs no answer
	return nil
}
