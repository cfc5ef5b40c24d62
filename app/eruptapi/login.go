package eruptapi

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
)

// loginModel is the answer to a login, always with status 200.
type loginModel struct {
	Pass          bool    `json:"pass"`
	ResetPwd      bool    `json:"resetPwd"` // the user never set his own password
	UseVerifyCode bool    `json:"useVerifyCode"`
	Reason        *string `json:"reason"`
	Token         *string `json:"token"`
	Expire        *string `json:"expire"` // without zone, as erupt writes times
}

// login handles POST /erupt-api/login.
func (a *API) login(w http.ResponseWriter, r *http.Request) error {
	if err := a.slow(r); err != nil {
		return err
	}
	var in struct {
		Account string `json:"account"`
		Pwd     string `json:"pwd"`
	}
	if err := decode(w, r, &in); err != nil {
		return err
	}
	password, err := a.o.Login.DecodeTransfer(in.Pwd)
	if err != nil {
		password = in.Pwd // a script sends it as it is
	}
	s, err := a.o.Login.Attempt(r.Context(), attempt(r, in.Account, password))
	return a.answerLogin(w, r, s, err)
}

// loginByDigest handles GET /erupt-api/login?account=&pwd= of erupt 1.x.
func (a *API) loginByDigest(w http.ResponseWriter, r *http.Request) error {
	if err := a.slow(r); err != nil {
		return err
	}
	if a.o.Digest == nil {
		return refuse(w, "this server keeps no MD5 passwords, which the login of erupt 1.x needs; use the console, or POST with the password")
	}
	q := r.URL.Query()
	s, err := a.o.Digest.AttemptDigest(r.Context(), attempt(r, q.Get("account"), q.Get("pwd")))
	return a.answerLogin(w, r, s, err)
}

// slow bounds how often one address may try, beside the lock of account and address: hashing passwords is work.
func (a *API) slow(r *http.Request) error {
	if ok, retry := a.logins.Allow(web.LimitKey(web.ClientIP(r))); !ok {
		return web.TooFast(retry)
	}
	return nil
}

func attempt(r *http.Request, account, password string) access.Attempt {
	return access.Attempt{Account: account, Password: password, Address: web.ClientIP(r), Agent: r.UserAgent()}
}

func (a *API) answerLogin(w http.ResponseWriter, r *http.Request, s access.Session, err error) error {
	if err != nil {
		e := fault.Of(err)
		switch e.Code {
		case fault.Unauthenticated, fault.Forbidden, fault.Invalid:
		case fault.TooMany:
			setRetryAfter(w, e.RetryAfter)
		default:
			return err
		}
		return refuse(w, e.Message())
	}
	expire := s.Expires.In(a.o.Zone).Format("2006-01-02T15:04:05.000")
	return writeJSON(w, loginModel{Pass: true, ResetPwd: a.neverSet(r, s.Account), Token: &s.Token, Expire: &expire})
}

func refuse(w http.ResponseWriter, reason string) error {
	return writeJSON(w, loginModel{Reason: &reason})
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

// logout handles GET and POST /erupt-api/logout.
func (a *API) logout(w http.ResponseWriter, r *http.Request) error {
	in, err := a.session(r)
	if err != nil {
		return err
	}
	if err := a.o.Sessions.Logout(r.Context(), in.Token); err != nil {
		return err
	}
	return result(w, nil)
}

// changePassword handles POST /erupt-api/change-pwd.
func (a *API) changePassword(w http.ResponseWriter, r *http.Request) error {
	in, err := a.session(r)
	if err != nil {
		return err
	}
	var body struct {
		Pwd     string `json:"pwd"`
		NewPwd  string `json:"newPwd"`
		NewPwd2 string `json:"newPwd2"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	plain := a.decodeAll(body.Pwd, body.NewPwd, body.NewPwd2)
	if plain[1] != plain[2] {
		return result(w, fault.New(fault.Invalid, "the new passwords differ"))
	}
	// The session that asks lives on; the account's others end.
	err = a.o.Users.ChangePassword(access.KeepSession(r.Context(), in.Token), in.Account, plain[0], plain[1])
	switch fault.CodeOf(err) {
	case "", fault.Invalid, fault.Unauthenticated, fault.Conflict, fault.TooMany:
		return result(w, err)
	}
	return err
}

// decodeAll undoes the front end's encoding of all, or of none: a script sends them as they are.
func (a *API) decodeAll(sent ...string) []string {
	plain := make([]string, len(sent))
	for i, s := range sent {
		p, err := a.o.Login.DecodeTransfer(s)
		if err != nil {
			return sent
		}
		plain[i] = p
	}
	return plain
}
