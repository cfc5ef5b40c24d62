package console

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// mountProfile adds what everybody may do about himself.
func (p *pages) mountProfile(root *gin.RouterGroup) {
	p.route(root, http.MethodGet, "/me", p.me)
	p.form(root, http.MethodPut, "/me", byPerson(p.saveMe))
	p.route(root, http.MethodGet, firstPasswordPath, p.firstPassword)
	p.form(root, http.MethodPost, "/me/password", byPerson(p.changePassword))
	p.form(root, http.MethodPost, "/me/logout-one", p.logoutOne)
	p.form(root, http.MethodPost, "/me/logout-others", p.logoutOthers)
	p.form(root, http.MethodPost, "/me/logout-all", p.logoutAll)
}

const firstPasswordPath = "/me/password"

// ownPasswords remembers sessions whose user has chosen his password himself, by the digest of their token. A password that
// somebody else sets ends the sessions of the account, so what is remembered stays true.
type ownPasswords struct {
	mu    sync.Mutex
	known map[[32]byte]bool
}

const maxOwnPasswords = 20_000

func (o *ownPasswords) has(token string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[sha256.Sum256([]byte(token))]
}

func (o *ownPasswords) add(token string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil || len(o.known) >= maxOwnPasswords {
		o.known = map[[32]byte]bool{}
	}
	o.known[sha256.Sum256([]byte(token))] = true
}

// ownPassword sends users whose password somebody else made to choose one of their own; nothing else opens to them before.
func (p *pages) ownPassword(c *gin.Context) {
	v := viewer(c)
	if c.IsAborted() || v == nil || p.own.has(v.Token) {
		return
	}
	ctx := c.Request.Context()
	u, err := p.Users.ByAccount(ctx, v.Account)
	switch {
	case fault.Is(err, fault.NotFound): // removed by somebody who does not know of sessions: it ends with the next review
		return
	case err != nil:
		c.Abort()
		p.shell.Fail(c.Writer, c.Request, err)
		return
	case !u.PasswordSet.IsZero():
		p.own.add(v.Token)
		return
	}
	if strings.HasSuffix(c.FullPath(), "/console"+firstPasswordPath) {
		return
	}
	c.Abort()
	if web.PrefersJSON(c.Request) {
		p.shell.Fail(c.Writer, c.Request, fault.New(fault.Forbidden, "choose a password of your own first, on the page /console/me/password"))
		return
	}
	next := views.FrameOf(ctx).Path
	if c.Request.Method != http.MethodGet || isFragment(c) {
		next = ""
	}
	if err := web.Redirect(c, "/console"+firstPasswordPath, "next", web.SafeNext(next)); err != nil {
		p.shell.Fail(c.Writer, c.Request, err)
	}
}

// firstPassword handles GET /console/me/password.
func (p *pages) firstPassword(c *gin.Context) error {
	if p.own.has(viewer(c).Token) {
		return web.Redirect(c, "/console/me")
	}
	return web.Render(c, views.FirstPasswordPage(views.FirstPassword{Account: viewer(c).Account, Next: web.SafeNext(c.Query("next"))}))
}

// changePassword handles POST /console/me/password; the session that asks goes on, all others end.
func (p *pages) changePassword(c *gin.Context) error {
	v := viewer(c)
	refuse := p.showMe
	if c.PostForm("first") == "1" {
		refuse = func(c *gin.Context, err error) error {
			fields, err := passwordFault(c, err)
			if err != nil {
				return err
			}
			m := views.FirstPassword{Fields: fields, Account: v.Account, Next: web.SafeNext(c.PostForm("next"))}
			return web.Render(c, views.FirstPasswordPage(m))
		}
	}
	if c.PostForm("new") != c.PostForm("again") {
		return refuse(c, fault.New(fault.Invalid, "the two new passwords differ").Field("again", "the two new passwords differ"))
	}
	ctx := access.KeepSession(c.Request.Context(), v.Token)
	err := p.Users.ChangePassword(ctx, v.Account, c.PostForm("old"), c.PostForm("new"))
	if err := p.record(c, "password.change", v.Account, err); err != nil {
		return refuse(c, err)
	}
	if next := c.PostForm("next"); c.PostForm("first") == "1" {
		return p.back(c, next, "password")
	}
	return p.back(c, "/console/me", "password")
}

// passwordFault is formFault; access names its field after the account's, these forms have three.
func passwordFault(c *gin.Context, refused error) (views.Fields, error) {
	fields, err := formFault(c, refused)
	if e := fields.Errors["password"]; e != "" {
		fields.Errors["new"] = e
		delete(fields.Errors, "password")
	}
	return fields, err
}

// me handles GET /console/me.
func (p *pages) me(c *gin.Context) error { return p.showMe(c, nil) }

// saveMe handles PUT /console/me: what somebody may change about himself.
func (p *pages) saveMe(c *gin.Context) error {
	if err := complete(c, "name", "phone", "email"); err != nil {
		return err
	}
	ctx, v := c.Request.Context(), viewer(c)
	before, err := p.Users.ByAccount(ctx, v.Account)
	if err != nil {
		return err
	}
	name, phone, email := text(c, "name"), text(c, "phone"), text(c, "email")
	_, err = p.Users.Update(ctx, v.Account, access.UserPatch{Name: &name, Phone: &phone, Email: &email, By: actor(c)})
	old := map[string]any{"name": before.Name, "phone": before.Phone, "email": before.Email}
	if err := p.recordChange(c, "user.update", v.Account, old, map[string]any{"name": name, "phone": phone, "email": email}, err); err != nil {
		return p.showMe(c, err)
	}
	return p.back(c, "/console/me", "saved")
}

// logoutOne handles POST /console/me/logout-one.
func (p *pages) logoutOne(c *gin.Context) error {
	v := viewer(c)
	id := text(c, "session")
	err := p.Sessions.End(c.Request.Context(), v.Account, id)
	if err := p.record(c, "session.end", v.Account, err); err != nil {
		return err
	}
	if id == v.ID() {
		p.shell.ClearSession(c)
		return web.Redirect(c, web.LoginPath)
	}
	return p.back(c, "/console/me", "ended")
}

// logoutOthers handles POST /console/me/logout-others: all sessions but the one that asks.
func (p *pages) logoutOthers(c *gin.Context) error {
	ctx, v := c.Request.Context(), viewer(c)
	all, err := p.Sessions.Of(ctx, v.Account)
	for _, s := range all {
		if s.Token == v.Token {
			continue
		}
		if ended := p.Sessions.End(ctx, v.Account, s.ID()); ended != nil && !fault.Is(ended, fault.NotFound) {
			err = ended
		}
	}
	if err := p.record(c, "session.end_others", v.Account, err); err != nil {
		return err
	}
	return p.back(c, "/console/me", "ended")
}

// logoutAll handles POST /console/me/logout-all.
func (p *pages) logoutAll(c *gin.Context) error {
	err := p.Sessions.EndAll(c.Request.Context(), viewer(c).Account)
	if err := p.record(c, "session.end_all", viewer(c).Account, err); err != nil {
		return err
	}
	p.shell.ClearSession(c)
	return web.Redirect(c, web.LoginPath)
}

func (p *pages) showMe(c *gin.Context, refused error) error {
	ctx := c.Request.Context()
	fields, err := passwordFault(c, refused)
	if err != nil {
		return err
	}
	v := viewer(c)
	logins, err := p.Sessions.Of(ctx, v.Account)
	if err != nil {
		return err
	}
	m := views.MePage{
		Fields: fields, Account: v.Account, Name: v.Name, Admin: v.Admin, Sessions: sessionRows(logins, v.Token), Said: said(c),
		Zone: zoneOf(ctx).String(), Zones: commonZones, Weak: p.WeakPasswords,
	}
	u, err := p.Users.ByAccount(ctx, v.Account)
	if fault.Is(err, fault.NotFound) {
		u = access.User{Account: v.Account, Name: v.Name, Enabled: true, Admin: v.Admin, RoleCodes: v.Roles}
	} else if err != nil {
		return err
	}
	m.Phone, m.Email = u.Phone, u.Email
	if p.MFA != nil && u.ID != 0 {
		status, err := p.MFA.Status(ctx, v.Account)
		if err != nil {
			return err
		}
		m.MFA = views.MFACard{Shown: status.On || status.Bound, On: status.On, Bound: status.Bound, Left: status.RecoveryCodes}
	}
	roles, err := p.Roles.List(ctx)
	if err != nil {
		return err
	}
	m.Roles = rolesOf(u, roles)
	rights, err := p.rightsOf(ctx, u)
	if err != nil {
		return err
	}
	m.Rights, m.RightNotes = rights.areas(ctx), rights.notes
	return web.Twin(c, meTwin(m), views.MyPage(m))
}

// sessionItem is a session as scripts get it.
type sessionItem struct {
	ID      string `json:"id"`
	Since   string `json:"since"`
	Used    string `json:"used,omitempty"`
	Address string `json:"address"`
	Agent   string `json:"agent"`
	Current bool   `json:"current"`
}

// meTwin is what a script gets of the page.
func meTwin(m views.MePage) any {
	out := struct {
		Account  string        `json:"account"`
		Name     string        `json:"name"`
		Email    string        `json:"email"`
		Phone    string        `json:"phone"`
		Admin    bool          `json:"admin"`
		Roles    []string      `json:"roles"`
		Sessions []sessionItem `json:"sessions"`
	}{m.Account, m.Name, m.Email, m.Phone, m.Admin, codesOf(m.Roles), []sessionItem{}}
	for _, s := range m.Sessions {
		item := sessionItem{ID: s.ID, Since: s.Created.UTC().Format(timeForm), Address: s.Address, Agent: s.Agent, Current: s.Current}
		if !s.Used.IsZero() {
			item.Used = s.Used.UTC().Format(timeForm)
		}
		out.Sessions = append(out.Sessions, item)
	}
	return out
}

const timeForm = "2006-01-02T15:04:05Z07:00"

// sessionRows never holds a token.
func sessionRows(all []access.Session, current string) []views.SessionRow {
	out := make([]views.SessionRow, 0, len(all))
	for _, s := range all {
		out = append(out, views.SessionRow{
			ID: s.ID(), Created: s.Created, Used: s.Used, Expires: s.Expires, Address: s.Address, Agent: s.Agent, Browser: access.BrowserOf(s.Agent),
			Current: current != "" && s.Token == current,
		})
	}
	slices.SortFunc(out, func(a, b views.SessionRow) int { return b.Created.Compare(a.Created) })
	return out
}

// commonZones are offered; any other name of the zone database can be typed.
var commonZones = []string{
	"UTC", "Asia/Shanghai", "Asia/Hong_Kong", "Asia/Taipei", "Asia/Tokyo", "Asia/Singapore", "Asia/Kolkata", "Asia/Dubai", "Europe/London",
	"Europe/Berlin", "Europe/Moscow", "America/New_York", "America/Chicago", "America/Los_Angeles", "America/Sao_Paulo", "Australia/Sydney",
}
