// Package eruptapi answers what of erupt's front-end API is the server's own: login, the user, menus, permissions. It hangs
// behind the proxy, which has /erupt-api to itself.
package eruptapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

// Login turns account and password into a session.
type Login interface {
	// Attempt returns the session. fault.Unauthenticated or fault.TooMany if there is none for these.
	Attempt(ctx context.Context, a access.Attempt) (access.Session, error)
	// DecodeTransfer undoes the front end's encoding of a password, where that is switched on.
	DecodeTransfer(pwd string) (string, error)
}

// DigestLogin checks what erupt 1.x sends in place of a password: md5(md5(password) + account). Only databases that hold
// MD5 passwords can tell.
type DigestLogin interface {
	AttemptDigest(ctx context.Context, a access.Attempt) (access.Session, error)
}

// Sessions find sessions and end them.
type Sessions interface {
	Get(ctx context.Context, token string, codes ...string) (access.Session, []bool, error)
	Check(ctx context.Context, token string, codes ...string) (access.Session, []bool, error)
	Logout(ctx context.Context, token string) error
	// Renew gives a session what its user holds now.
	Renew(ctx context.Context, token string) error
}

// Users are the accounts.
type Users interface {
	ByAccount(ctx context.Context, account string) (access.User, error)
	Update(ctx context.Context, account string, p access.UserPatch) (access.User, error)
	ChangePassword(ctx context.Context, account, old, new string) error
	VerifyPassword(ctx context.Context, account, password string) error
}

// Captcha makes the pictures that a login has to read (access.Captcha).
type Captcha interface {
	Picture(ctx context.Context, mark string, height int) (png []byte, err error)
}

// codeMaker answers a code with recovery codes.
type codeMaker func(ctx context.Context, account, code string) ([]string, error)

// MFA are second factors (access.MFA).
type MFA interface {
	Complete(ctx context.Context, ticket, code string, a access.Attempt) (access.Session, error)
	Status(ctx context.Context, account string) (access.MFAStatus, error)
	Enroll(ctx context.Context, account string) (access.Enrolment, error)
	Confirm(ctx context.Context, account, code string) ([]string, error)
	NewCodes(ctx context.Context, account, code string) ([]string, error)
	Unbind(ctx context.Context, account, password, code string) error
}

// Tokens are sessions of programs (access.OpenTokens).
type Tokens interface {
	Create(ctx context.Context, appid, secret string, a access.Attempt) (access.OpenToken, error)
	AppOf(ctx context.Context, token string) (access.OpenAPI, error)
}

// LogLine is one event of the server's own log.
type LogLine struct {
	Number int64
	Text   string
}

// Options of New. Digest, Captcha, MFA, Tokens and Log may be nil: there is nothing at their addresses then. Everything else
// without a default is required.
type Options struct {
	Login    Login
	Digest   DigestLogin
	Sessions Sessions
	Users    Users
	Captcha  Captcha
	MFA      MFA
	Tokens   Tokens
	// Log returns at most size events of the server's log from the number from on; below zero: the newest.
	Log func(from int64, size int) []LogLine
	App App
	// OpenDelegate returns the session token in a handle and the node that it was made for (access.Delegates.Read).
	OpenDelegate func(handle string) (sessionToken, node string, err error)
	// Chain returns from memory the ids of the group of a node and of all above it; the case of its name does not count. Not
	// known: there is no such node.
	Chain func(node string) (groups []int64, known bool)
	// Pages maps menu values of the server's own pages to paths of the console; nil: Pages.
	Pages map[string]string
	// TransferEncrypt tells clients to encode passwords, as Login.DecodeTransfer undoes it.
	TransferEncrypt bool
	Version         string
	Zone            *time.Location // of the time at which a login ends; nil: the machine's
	Fail            func(http.ResponseWriter, *http.Request, error)
	Now             func() time.Time
}

const maxBody = 64 << 10

type handler func(http.ResponseWriter, *http.Request) error

// API is the handler.
type API struct {
	o        Options
	routes   map[string]map[string]handler // path → method → handler
	logins   *web.Limiter                  // by address
	pictures *web.Limiter                  // by address
	own      *web.Limiter                  // by account, of those who are logged in
}

// New returns the handler for what the proxy leaves to the server.
func New(o Options) *API {
	if o.Pages == nil {
		o.Pages = Pages
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &API{o: o, logins: web.NewLimiter(5, 30, 20_000, o.Now), pictures: web.NewLimiter(2, 30, 20_000, o.Now), own: web.NewLimiter(5, 30, 20_000, o.Now)}
	get := func(h handler) map[string]handler { return map[string]handler{http.MethodGet: h} }
	post := func(h handler) map[string]handler { return map[string]handler{http.MethodPost: h} }
	a.routes = map[string]map[string]handler{
		"version":        get(a.version),
		"erupt-app":      get(a.app),
		"login":          {http.MethodPost: a.login, http.MethodGet: a.loginByDigest},
		"logout":         {http.MethodGet: a.logout, http.MethodPost: a.logout},
		"userinfo":       get(a.userInfo),
		"menu":           get(a.menu),
		"change-pwd":     {http.MethodPost: a.changePassword, http.MethodGet: a.changePassword},
		"verify-pwd":     post(a.verifyPassword),
		"profile":        post(a.profile),
		"profile/avatar": post(a.avatar),
	}
	if o.Captcha != nil {
		a.routes["code-img"] = get(a.picture)
	}
	if o.MFA != nil {
		a.routes["login-mfa"] = post(a.loginByCode)
		a.routes["mfa/status"] = get(a.mfaStatus)
		a.routes["mfa/enroll"] = post(a.mfaEnroll)
		a.routes["mfa/enroll-confirm"] = post(a.mfaConfirm)
		a.routes["mfa/recovery-codes"] = post(a.mfaRecovery)
		a.routes["mfa/unbind"] = post(a.mfaUnbind)
	}
	if o.Tokens != nil {
		a.routes["open-api/create-token"] = get(a.createToken)
		a.routes["open-api/get-appid"] = get(a.appOfToken)
	}
	if o.Log != nil {
		a.routes["tool/erupt-log"] = get(a.serverLog)
	}
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if err := a.serve(w, r); err != nil {
		a.o.Fail(w, r, err)
	}
}

func (a *API) serve(w http.ResponseWriter, r *http.Request) error {
	name, ok := strings.CutPrefix(r.URL.EscapedPath(), wire.NodeAPI+"/")
	if !ok {
		return notHere()
	}
	methods, ok := a.routes[name]
	if code, found := strings.CutPrefix(name, "erupt-permission/"); found && !strings.Contains(code, "/") && code != "" {
		methods, ok = map[string]handler{http.MethodGet: a.permission}, true
	}
	if !ok {
		return notHere()
	}
	h, ok := methods[r.Method]
	if !ok {
		allowed := make([]string, 0, len(methods))
		for m := range methods {
			allowed = append(allowed, m)
		}
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return fault.New(fault.NotAllowed, "%s is not possible here", r.Method)
	}
	return h(w, r)
}

func notHere() error { return fault.New(fault.NotFound, "nothing is at this address") }

// session returns the session of the header token, never of a cookie: some of these GETs change something.
func (a *API) session(r *http.Request) (access.Session, error) {
	token := web.HeaderToken(r)
	if token == "" {
		return access.Session{}, fault.New(fault.Unauthenticated, "log in first")
	}
	in, _, err := a.o.Sessions.Get(r.Context(), token)
	if in.Token == "" {
		in.Token = token
	}
	return in, err
}

// person is session for what only people may do about their account: a program's secret must not be enough to take it over.
func (a *API) person(r *http.Request) (access.Session, error) {
	in, err := a.session(r)
	if err == nil && in.OfProgram() {
		err = fault.New(fault.Forbidden, "a program may not change the account that it acts as")
	}
	return in, err
}

// decode reads a JSON body; fields that we do not know are left alone, as front ends of all versions call.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return web.BodyFault(err)
	}
	if err := json.Unmarshal(body, v); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fault.New(fault.Invalid, "the request is not JSON: %s (byte %d)", syntax.Error(), syntax.Offset) // no cause: it may quote a password
		}
		return fault.New(fault.Invalid, "the request is not the JSON object that is expected here")
	}
	return web.CheckJSON(body)
}

func writeJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // a client that is gone needs no answer
	return nil
}

// result is the envelope that erupt's commands answer with, in the language of the front end.
func result(w http.ResponseWriter, r *http.Request, err error) error {
	answer := wire.Result{Success: true, Status: wire.StatusSuccess, PromptWay: "MESSAGE"}
	if err != nil {
		e := fault.Of(err)
		message := web.Message(r, e)
		answer.Success, answer.Status, answer.Message = false, wire.StatusError, &message
		if e.RetryAfter > 0 {
			setRetryAfter(w, e.RetryAfter)
		}
	}
	return writeJSON(w, answer)
}

// resultOf answers with data in the envelope.
func resultOf(w http.ResponseWriter, data any) error {
	return writeJSON(w, wire.Result{Data: data, Success: true, Status: wire.StatusSuccess, PromptWay: "NONE"})
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// codeOf returns the permission code in the path.
func codeOf(r *http.Request) (string, error) {
	raw := strings.TrimPrefix(r.URL.EscapedPath(), wire.PermissionPath)
	code, err := url.PathUnescape(raw)
	if err != nil || code == "" || len(code) > 255 {
		return "", fault.New(fault.Invalid, "the permission code is not readable")
	}
	return code, nil
}
