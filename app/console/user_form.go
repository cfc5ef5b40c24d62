package console

import (
	"context"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// newUser handles GET /console/users/new.
func (p *pages) newUser(c *gin.Context) error {
	return p.userForm(c, views.UserForm{New: true, Enabled: true}, nil, nil)
}

// createUser handles POST /console/users. Without a password the account gets one that is shown once.
func (p *pages) createUser(c *gin.Context) error {
	ctx := c.Request.Context()
	m := userFields(c)
	m.New, m.Account = true, text(c, "account")
	roles, password, made := c.PostFormArray("role"), c.PostForm("password"), ""
	if password == "" {
		made = access.NewPassword()
		password = made
	}
	expires, err := moment(ctx, m.Expires, "expires")
	if err == nil {
		_, err = p.Users.Create(ctx, access.NewUser{
			Account: m.Account, Name: m.Name, Password: password, Phone: m.Phone, Email: m.Email, Remark: m.Remark,
			Enabled: m.Enabled, Admin: m.Admin, Roles: roles, ExpiresAt: expires, AllowedIPs: m.AllowedIPs,
			Org: m.Org, Post: m.Post, Home: m.Home, By: actor(c),
		})
	}
	if err := p.recordChange(c, "user.create", m.Account, nil, userFacts(m, roles), err); err != nil {
		return p.userForm(c, m, roles, err)
	}
	if made != "" {
		return p.showSecret(c, m.Account, made)
	}
	return p.back(c, views.UserPath(m.Account), "created")
}

func userFields(c *gin.Context) views.UserForm {
	return views.UserForm{
		Name: text(c, "name"), Phone: text(c, "phone"), Email: text(c, "email"), Remark: text(c, "remark"),
		Enabled: c.PostForm("enabled") == "1", Admin: c.PostForm("admin") == "1", Expires: text(c, "expires"), AllowedIPs: text(c, "allowedIPs"),
		Org: text(c, "org"), Post: text(c, "post"), Home: text(c, "home"),
	}
}

// userFacts is what the trail keeps of a form.
func userFacts(m views.UserForm, roles []string) map[string]any {
	return map[string]any{
		"name": m.Name, "phone": m.Phone, "email": m.Email, "remark": m.Remark, "enabled": m.Enabled, "admin": m.Admin, "roles": roles,
		"expires": m.Expires, "allowedIPs": m.AllowedIPs, "org": m.Org, "post": m.Post, "home": m.Home,
	}
}

// formTime is how browsers write a moment.
const formTime = "2006-01-02T15:04"

// moment reads what a form says about a time in the viewer's zone; empty is none.
func moment(ctx context.Context, s, field string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	zone := zoneOf(ctx)
	for _, layout := range []string{formTime, formTime + ":05", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	return time.Time{}, fault.New(fault.Invalid, "%s must be a time like 2026-12-31T18:00", field).Field(field, "must be a time like 2026-12-31T18:00")
}

func zoneOf(ctx context.Context) *time.Location {
	if zone := views.FrameOf(ctx).Zone; zone != nil {
		return zone
	}
	return time.UTC
}

func formMoment(ctx context.Context, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zoneOf(ctx)).Format(formTime)
}

// editUser handles GET /console/users/:account.
func (p *pages) editUser(c *gin.Context) error {
	u, err := p.Users.ByAccount(c.Request.Context(), web.Param(c, "account"))
	if err != nil {
		return err
	}
	if web.PrefersJSON(c.Request) {
		return p.userTwin(c, u)
	}
	return p.userForm(c, formOfUser(c.Request.Context(), u), u.RoleCodes, nil)
}

// userTwin answers a script with an account and what it may do.
func (p *pages) userTwin(c *gin.Context, u access.User) error {
	ctx := c.Request.Context()
	rows, err := p.userRows(ctx, []access.User{u})
	if err != nil {
		return err
	}
	rights, err := p.rightsOf(ctx, u)
	if err != nil {
		return err
	}
	type right struct {
		Code   string   `json:"code"`
		Groups []string `json:"groups,omitempty"` // of nodes, by code; none: everywhere
		Roles  []string `json:"roles"`
	}
	out := struct {
		userItem
		Admin  bool    `json:"admin"`
		Rights []right `json:"rights"`
	}{userTwin(rows, 1).Items[0], u.Admin, []right{}}
	for _, r := range rights.list {
		out.Rights = append(out.Rights, right{Code: r.menu.Value, Groups: r.groupCodes(rights), Roles: codesOf(r.roles)})
	}
	return web.Twin(c, out, nil)
}

func formOfUser(ctx context.Context, u access.User) views.UserForm {
	return views.UserForm{
		Account: u.Account, Name: u.Name, Phone: u.Phone, Email: u.Email, Remark: u.Remark, Enabled: u.Enabled, Admin: u.Admin,
		Expires: formMoment(ctx, u.ExpiresAt), AllowedIPs: u.AllowedIPs, Org: u.OrgCode, Post: u.PostCode, Home: u.HomeCode,
	}
}

// saveUser handles PUT /console/users/:account.
func (p *pages) saveUser(c *gin.Context) error {
	ctx := c.Request.Context()
	if err := complete(c, "name"); err != nil {
		return err
	}
	m := userFields(c)
	m.Account = web.Param(c, "account")
	before, err := p.Users.ByAccount(ctx, m.Account)
	if err != nil {
		return err
	}
	roles := c.PostFormArray("role")
	patch := access.UserPatch{Name: &m.Name, Phone: &m.Phone, Email: &m.Email, Remark: &m.Remark, Roles: &roles, By: actor(c)}
	if _, sent := c.GetPostForm("allowedIPs"); sent {
		patch.AllowedIPs = &m.AllowedIPs
	} else {
		m.AllowedIPs = before.AllowedIPs
	}
	for _, f := range []struct {
		name     string
		to       **string
		form     *string
		original string
	}{{"org", &patch.Org, &m.Org, before.OrgCode}, {"post", &patch.Post, &m.Post, before.PostCode}, {"home", &patch.Home, &m.Home, before.HomeCode}} {
		if _, sent := c.GetPostForm(f.name); sent {
			*f.to = f.form
		} else {
			*f.form = f.original
		}
	}
	self := m.Account == viewer(c).Account
	if self {
		m.Enabled, m.Admin, m.Expires = before.Enabled, before.Admin, formMoment(ctx, before.ExpiresAt)
	} else {
		patch.Enabled = &m.Enabled
		if viewer(c).Admin {
			patch.Admin = &m.Admin
		} else {
			m.Admin = before.Admin
		}
		// A minute is what forms know: one that was not touched must not cut the seconds off.
		if _, sent := c.GetPostForm("expires"); sent && m.Expires != formMoment(ctx, before.ExpiresAt) {
			var expires time.Time
			expires, err = moment(ctx, m.Expires, "expires")
			patch.ExpiresAt = &expires
		} else {
			m.Expires = formMoment(ctx, before.ExpiresAt)
		}
	}
	if err == nil {
		_, err = p.Users.Update(ctx, m.Account, patch)
	}
	old := userFacts(formOfUser(ctx, before), before.RoleCodes)
	if err := p.recordChange(c, "user.update", m.Account, old, userFacts(m, roles), err); err != nil {
		return p.userForm(c, m, roles, err)
	}
	return p.back(c, views.UserPath(m.Account), "saved")
}

func (p *pages) userForm(c *gin.Context, m views.UserForm, given []string, refused error) error {
	ctx := c.Request.Context()
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	roles, err := p.Roles.List(ctx)
	if err != nil {
		return err
	}
	v := viewer(c)
	m.Fields, m.Said, m.Self, m.MayAdmin = fields, said(c), m.Account == v.Account && !m.New, v.Admin
	m.Weak = p.WeakPasswords
	m.Roles = roleChoices(roles, given)
	if err := p.addUserPlaces(ctx, &m); err != nil {
		return err
	}
	if m.New {
		return p.renderUser(c, m, nil)
	}
	u, err := p.Users.ByAccount(ctx, m.Account)
	if err != nil {
		return err
	}
	m.Untouchable = u.Admin && !v.Admin
	m.States, m.Created, m.PasswordSet = stateKeys(u, p.Now()), u.Created, u.PasswordSet
	m.MFA = u.MFA && p.MFA != nil
	logins, err := p.Sessions.Of(ctx, m.Account)
	if err != nil {
		return err
	}
	m.Sessions = sessionRows(logins, v.Token)
	last, err := p.Users.LastLogins(ctx, []access.User{u})
	if err != nil {
		return err
	}
	m.LastLogin = last[u.Account]
	for _, s := range m.Sessions {
		if s.Created.After(m.LastLogin) {
			m.LastLogin = s.Created
		}
	}
	if p.OpenAPIs != nil {
		if m.Programs, err = p.OpenAPIs.ActingAs(ctx, u.ID); err != nil {
			return err
		}
	}
	rights, err := p.rightsOf(ctx, u)
	if err != nil {
		return err
	}
	m.Rights, m.RightNotes = rights.areas(ctx), rights.notes
	return p.renderUser(c, m, u.RoleCodes)
}

// renderUser marks the roles that the viewer cannot give: those that neither he nor the user has.
func (p *pages) renderUser(c *gin.Context, m views.UserForm, have []string) error {
	if v := viewer(c); !v.Admin {
		for i, r := range m.Roles {
			if !slices.Contains(v.Roles, r.Code) && !slices.Contains(have, r.Code) {
				m.Roles[i].Why = views.T(c.Request.Context(), "users.role_why")
			}
		}
	}
	return web.Render(c, views.UserFormPage(m))
}
