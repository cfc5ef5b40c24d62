package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/boombuler/barcode/qr"
	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// Captcha makes the pictures that a login has to read after failures (access.Captcha).
type Captcha interface {
	Picture(ctx context.Context, mark string, height int) (png []byte, err error)
	NewMark() string
}

// MFA are second factors (access.MFA).
type MFA interface {
	// Complete ends a login whose ticket access.TicketOf gave.
	Complete(ctx context.Context, ticket, code string, a access.Attempt) (access.Session, error)
	Status(ctx context.Context, account string) (access.MFAStatus, error)
	Enroll(ctx context.Context, account string) (access.Enrolment, error)
	Pending(ctx context.Context, account string) (access.Enrolment, error)
	Confirm(ctx context.Context, account, code string) (recovery []string, err error)
	NewCodes(ctx context.Context, account, code string) (recovery []string, err error)
	Unbind(ctx context.Context, account, password, code string) error
	Reset(ctx context.Context, account string, by access.Actor) error
}

const mfaPath = "/me/mfa"

// mountMFA adds the second factor of one's own account, and how somebody is helped who lost his.
func (p *pages) mountMFA(root *gin.RouterGroup) {
	root.POST("/login/mfa", p.shell.Handle(formed(p.loginByCode, entryForm)))
	p.route(root, http.MethodGet, mfaPath, p.mfa)
	p.form(root, http.MethodPost, mfaPath+"/enroll", byPerson(p.mfaEnroll))
	p.form(root, http.MethodPost, mfaPath+"/confirm", byPerson(p.mfaConfirm))
	p.form(root, http.MethodPost, mfaPath+"/codes", byPerson(p.mfaCodes))
	p.form(root, http.MethodPost, mfaPath+"/unbind", byPerson(p.mfaUnbind))
	p.form(root, http.MethodPost, "/users/:account/mfa", p.resetMFA, access.CodeUsers+"@EDIT")
}

// byPerson refuses sessions of programs: their secret must not be enough to take over the account that they act as.
func byPerson(h func(*gin.Context) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		if viewer(c).OfProgram() {
			return fault.New(fault.Forbidden, "a program may not change the account that it acts as")
		}
		return h(c)
	}
}

// loginPicture handles GET /console/login/picture: the captcha of a sign-in page.
func (p *pages) loginPicture(c *gin.Context) error {
	if ok, retry := p.pictures.Allow(web.LimitKey(web.ClientIP(c.Request))); !ok {
		return web.TooFast(retry)
	}
	png, err := p.Captcha.Picture(c.Request.Context(), c.Query("mark"), 50)
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	c.Data(http.StatusOK, "image/png", png)
	return nil
}

// loginByCode handles POST /console/login/mfa, the second step of a login.
func (p *pages) loginByCode(c *gin.Context) error {
	if err := complete(c, "ticket", "code"); err != nil {
		return err
	}
	m := views.LoginCode{Ticket: c.PostForm("ticket"), Account: text(c, "account"), Next: web.SafeNext(c.PostForm("next"))}
	if ok, retry := p.logins.Allow(web.LimitKey(web.ClientIP(c.Request))); !ok {
		return web.TooFast(retry)
	}
	s, err := p.MFA.Complete(c.Request.Context(), m.Ticket, c.PostForm("code"), access.Attempt{
		Address: web.ClientIP(c.Request), Agent: c.Request.UserAgent(),
	})
	if err == nil {
		return p.enter(c, s, m.Next)
	}
	f := fault.Of(err)
	m.Message = views.Translate(views.FrameOf(c.Request.Context()).Lang, f.Format, f.Args...)
	switch {
	case f.Code != fault.Unauthenticated && f.Code != fault.TooMany:
		return err
	case access.TicketOf(err) == "" && f.Code == fault.Unauthenticated: // back to the first step
		c.Status(f.Code.Status())
		form := views.LoginForm{Account: m.Account, Next: m.Next, Reason: "refused"}
		form.Message = m.Message
		return p.showLogin(c, form)
	}
	c.Status(f.Code.Status())
	return web.Render(c, views.LoginCodePage(m))
}

// mfa handles GET /console/me/mfa.
func (p *pages) mfa(c *gin.Context) error { return p.showMFA(c, views.MFAPage{}, nil) }

// mfaEnroll handles POST /console/me/mfa/enroll: a new secret, to be confirmed by a code.
func (p *pages) mfaEnroll(c *gin.Context) error {
	e, err := p.MFA.Enroll(c.Request.Context(), viewer(c).Account)
	if err != nil {
		return p.showMFA(c, views.MFAPage{}, err)
	}
	return p.showEnrolment(c, e, nil)
}

// mfaConfirm handles POST /console/me/mfa/confirm and shows the recovery codes, this once.
func (p *pages) mfaConfirm(c *gin.Context) error {
	if err := complete(c, "code"); err != nil {
		return err
	}
	ctx, account := c.Request.Context(), viewer(c).Account
	codes, err := p.MFA.Confirm(ctx, account, c.PostForm("code"))
	if err := p.record(c, "mfa.bind", account, err); err != nil {
		if e, gone := p.MFA.Pending(ctx, account); gone == nil {
			return p.showEnrolment(c, e, err)
		}
		return p.showMFA(c, views.MFAPage{}, err)
	}
	return p.showMFA(c, views.MFAPage{Codes: codes}, nil)
}

// mfaCodes handles POST /console/me/mfa/codes: new recovery codes.
func (p *pages) mfaCodes(c *gin.Context) error {
	if err := complete(c, "code"); err != nil {
		return err
	}
	account := viewer(c).Account
	codes, err := p.MFA.NewCodes(c.Request.Context(), account, c.PostForm("code"))
	return p.showMFA(c, views.MFAPage{Codes: codes}, p.record(c, "mfa.codes", account, err))
}

// mfaUnbind handles POST /console/me/mfa/unbind.
func (p *pages) mfaUnbind(c *gin.Context) error {
	if err := complete(c, "password", "code"); err != nil {
		return err
	}
	account := viewer(c).Account
	err := p.MFA.Unbind(c.Request.Context(), account, c.PostForm("password"), c.PostForm("code"))
	if err := p.record(c, "mfa.unbind", account, err); err != nil {
		return p.showMFA(c, views.MFAPage{Unbinding: true}, err)
	}
	return p.back(c, "/console"+mfaPath, "unbound")
}

func (p *pages) showEnrolment(c *gin.Context, e access.Enrolment, refused error) error {
	code, err := qr.Encode(e.URI, qr.M, qr.Auto)
	if err != nil {
		return err
	}
	size := code.Bounds().Dx()
	dark := func(x, y int) bool { r, _, _, _ := code.At(x, y).RGBA(); return r == 0 }
	return p.showMFA(c, views.MFAPage{Secret: e.Secret, QRSize: size, QRPath: qrPath(size, dark)}, refused)
}

// qrPath draws the dark squares of a QR code as a path of an SVG, one stroke for those beside each other.
func qrPath(size int, dark func(x, y int) bool) string {
	var path strings.Builder
	for y := range size {
		for x := 0; x < size; x++ {
			if !dark(x, y) {
				continue
			}
			run := 1
			for x+run < size && dark(x+run, y) {
				run++
			}
			n := strconv.Itoa(run)
			path.WriteString("M" + strconv.Itoa(x) + " " + strconv.Itoa(y) + "h" + n + "v1h-" + n + "z")
			x += run
		}
	}
	return path.String()
}

func (p *pages) showMFA(c *gin.Context, m views.MFAPage, refused error) error {
	if refused != nil && !strings.Contains(c.GetHeader("Accept"), "text/html") {
		return refused // a script gets no page
	}
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	if e := fields.Errors["old"]; e != "" { // as access calls the present password
		fields.Errors["password"] = e
		delete(fields.Errors, "old")
	}
	status, err := p.MFA.Status(c.Request.Context(), viewer(c).Account)
	if err != nil {
		return err
	}
	m.Fields, m.Account, m.Said = fields, viewer(c).Account, said(c)
	m.On, m.Bound, m.Left = status.On, status.Bound, status.RecoveryCodes
	c.Header("Cache-Control", "no-store")
	return web.Render(c, views.MFASettings(m))
}

// resetMFA handles POST /console/users/:account/mfa: removes the second factor of somebody who lost it.
func (p *pages) resetMFA(c *gin.Context) error {
	account := web.Param(c, "account")
	if account == viewer(c).Account {
		return fault.New(fault.Conflict, "remove your own second factor on the page of your account")
	}
	if c.PostForm("confirm") != "1" {
		return fault.New(fault.Invalid, "say confirm=1 to remove the second factor of %q", account)
	}
	err := p.MFA.Reset(c.Request.Context(), account, actor(c))
	if err := p.record(c, "mfa.reset", account, err); err != nil {
		return err
	}
	return p.back(c, views.UserPath(account), "unbound")
}
