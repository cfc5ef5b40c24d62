package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// mountEntry adds what needs no right: the way in, the way out, the look.
func (p *pages) mountEntry(root *gin.RouterGroup) {
	root.GET("", p.shell.Handle(func(c *gin.Context) error { return web.Redirect(c, "/console/") }))
	p.route(root, http.MethodGet, "/", p.home)
	root.GET("/login", p.shell.Handle(p.loginPage))
	root.POST("/login", p.shell.Handle(formed(p.login, entryForm)))
	if p.Captcha != nil {
		root.GET("/login/picture", p.shell.Handle(p.loginPicture))
	}
	root.POST("/logout", p.shell.Handle(p.logout))
	root.POST("/look", p.shell.Handle(formed(p.look, entryForm)))
	p.mountProfile(root)
	if p.MFA != nil {
		p.mountMFA(root)
	}
}

// home handles GET /console/: the first page that the viewer may open.
func (p *pages) home(c *gin.Context) error {
	v := viewer(c)
	for _, h := range []struct{ code, path string }{
		{access.CodeNodes, "/console/nodes"}, {"", "/console/pages"},
	} {
		if h.code == "" || v.Holds(h.code) {
			return web.Redirect(c, h.path)
		}
	}
	return nil
}

// loginPage handles GET /console/login.
func (p *pages) loginPage(c *gin.Context) error {
	return p.showLogin(c, views.LoginForm{Next: c.Query("next"), Ended: c.Query("next") != "" && p.shell.CookieToken(c.Request) != ""})
}

// login handles POST /console/login. There is no token in the form that could grow old: cross-site posts are refused at the
// front door, so a page that was open overnight logs in at the first try (S89).
func (p *pages) login(c *gin.Context) error {
	m := views.LoginForm{Account: text(c, "account"), Next: c.PostForm("next")}
	if c.PostForm("again") != "" { // another picture
		m.Captcha = true
		return p.showLogin(c, m)
	}
	s, err := p.attempt(c, m.Account)
	if err == nil {
		return p.enter(c, s, m.Next)
	}
	f := fault.Of(err)
	ticket := access.TicketOf(err)
	m.Captcha = access.CodeWanted(err)
	switch {
	case ticket != "" && p.MFA != nil:
		return web.Render(c, views.LoginCodePage(views.LoginCode{Ticket: ticket, Account: access.AccountOf(err), Next: web.SafeNext(m.Next)}))
	case f.Code == fault.TooMany:
		m.Reason = "busy"
		if f.RetryAfter > 0 {
			c.Header("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
		}
	case access.IsWrongCode(err):
		m.Reason = "code"
	case f.Code == fault.Unauthenticated && len(f.Args) > 0: // names the account: the password was right, and something else is not
		m.Reason = "refused"
	case f.Code == fault.Unauthenticated, f.Code == fault.Invalid:
		m.Reason = "wrong"
	default:
		return err
	}
	c.Status(f.Code.Status())
	m.Message = views.Translate(views.FrameOf(c.Request.Context()).Lang, f.Format, f.Args...)
	return p.showLogin(c, m)
}

// enter gives the browser the session of a login.
func (p *pages) enter(c *gin.Context, s access.Session, next string) error {
	if err := p.shell.WriteSession(c, s.Token); err != nil {
		return err
	}
	return web.Redirect(c, web.SafeNext(next))
}

// attempt bounds how often one address may try, beside the lock of account and address: hashing passwords is work.
func (p *pages) attempt(c *gin.Context, account string) (access.Session, error) {
	if ok, retry := p.logins.Allow(web.LimitKey(web.ClientIP(c.Request))); !ok {
		return access.Session{}, web.TooFast(retry)
	}
	return p.Login.Attempt(c.Request.Context(), access.Attempt{
		Account: account, Password: c.PostForm("password"), Address: web.ClientIP(c.Request), Agent: c.Request.UserAgent(),
		Code: text(c, "captcha"), Mark: c.PostForm("mark"),
	})
}

func (p *pages) showLogin(c *gin.Context, m views.LoginForm) error {
	fresh, err := p.Audit.NeverUsed(c.Request.Context())
	m.Fresh = err == nil && fresh // a database that is away must not take the page away
	if m.Captcha = p.Captcha != nil && (m.Captcha || p.AlwaysCaptcha); m.Captcha {
		m.Mark = p.Captcha.NewMark()
	}
	m.Next, m.Server = web.SafeNext(m.Next), web.Origin(c.Request)+web.Base(c.Request)
	return web.Render(c, views.LoginPage(m))
}

// logout handles POST /console/logout: the session ends everywhere, and the browser forgets its cookie and its pages.
func (p *pages) logout(c *gin.Context) error {
	if token := p.shell.CookieToken(c.Request); token != "" {
		if err := p.Sessions.Logout(c.Request.Context(), token); err != nil {
			return err
		}
	}
	p.shell.ClearSession(c)
	c.Header("Clear-Site-Data", `"cache", "storage"`)
	return web.Redirect(c, web.LoginPath)
}

// look handles POST /console/look: language, theme, header, side list, clock zone, each a cookie.
func (p *pages) look(c *gin.Context) error {
	for _, k := range []struct {
		field, cookie string
		values        []string
	}{
		{"lang", web.LangCookie, views.Langs}, {"theme", web.ThemeCookie, []string{"light", "dark", "system"}},
		{"header", web.HeaderCookie, []string{"short", "full"}}, {"side", web.SideCookie, []string{"hidden", "shown"}},
	} {
		if v := c.PostForm(k.field); slices.Contains(k.values, v) {
			http.SetCookie(c.Writer, &http.Cookie{
				Name: k.cookie, Value: v, Path: cookiePath(c), MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode,
			})
		}
	}
	if zone := text(c, "zone"); zone != "" {
		if _, err := time.LoadLocation(zone); err != nil || len(zone) > 64 || zone == "Local" {
			return fault.New(fault.Invalid, "%q is no time zone", zone)
		}
		http.SetCookie(c.Writer, &http.Cookie{
			Name: web.ZoneCookie, Value: url.QueryEscape(zone), Path: cookiePath(c), MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode,
		})
	}
	return web.Redirect(c, views.BackPath(c.PostForm("back"))) // unlike SafeNext it may lead back to the sign-in page
}
