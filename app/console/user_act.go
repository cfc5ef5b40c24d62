package console

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// recordChange is record with the values before and after; the trail masks them. Values that are nil are not known.
func (p *pages) recordChange(c *gin.Context, action, subject string, before, after any, err error) error {
	e := web.AuditEntry(c, action, subject)
	e.Took = p.Now().Sub(e.At)
	for _, v := range []struct {
		to    *json.RawMessage
		value any
	}{{&e.Before, before}, {&e.Params, after}} {
		if m, none := v.value.(map[string]any); v.value == nil || none && m == nil {
			continue
		}
		raw, bad := json.Marshal(v.value)
		if bad != nil {
			return errors.Join(err, bad)
		}
		*v.to = raw
	}
	if err != nil {
		e.OK, e.Error = false, fault.Of(err).Message()
	}
	p.Audit.Record(e)
	return err
}

// lockUser handles POST /console/users/:account/lock.
func (p *pages) lockUser(c *gin.Context) error {
	account, enabled := web.Param(c, "account"), c.PostForm("lock") == "0"
	if err := complete(c, "lock"); err != nil {
		return err
	}
	if account == viewer(c).Account {
		return fault.New(fault.Conflict, "you cannot lock your own account")
	}
	_, err := p.Users.Update(c.Request.Context(), account, access.UserPatch{Enabled: &enabled, By: actor(c)})
	action, word := "user.lock", "locked"
	if enabled {
		action, word = "user.unlock", "unlocked"
	}
	if err := p.record(c, action, account, err); err != nil {
		return err
	}
	return p.back(c, views.UserPath(account), word)
}

// resetPassword handles POST /console/users/:account/password: the account gets a password that is shown once and has to be
// changed at the next login. There is nothing else to fill in, so the form has to say that it was meant: a request that lost
// its body would lock somebody out.
func (p *pages) resetPassword(c *gin.Context) error {
	account := web.Param(c, "account")
	if account == viewer(c).Account {
		return fault.New(fault.Conflict, "change your own password on the page of your account")
	}
	if c.PostForm("confirm") != "1" {
		return fault.New(fault.Invalid, "say confirm=1 to give %q another password", account)
	}
	secret := access.NewPassword()
	_, err := p.Users.Update(c.Request.Context(), account, access.UserPatch{Password: &secret, By: actor(c)})
	if err := p.record(c, "password.reset", account, err); err != nil {
		return err
	}
	return p.showSecret(c, account, secret)
}

// showSecret answers with the page of an account and its new password; no address leads to it again.
func (p *pages) showSecret(c *gin.Context, account, secret string) error {
	u, err := p.Users.ByAccount(c.Request.Context(), account)
	if err != nil {
		return err
	}
	m := formOfUser(c.Request.Context(), u)
	m.Secret = secret
	c.Status(http.StatusOK)
	return p.userForm(c, m, u.RoleCodes, nil)
}

// logoutUser handles POST /console/users/:account/logout: one session, or all of them.
func (p *pages) logoutUser(c *gin.Context) error {
	ctx, account := c.Request.Context(), web.Param(c, "account")
	u, err := p.Users.ByAccount(ctx, account)
	if err != nil {
		return err
	}
	action := "session.end_all"
	switch id := text(c, "session"); {
	case p.Online != nil: // it knows who may
		if id != "" {
			action = "session.end"
		}
		err = p.Online.End(ctx, account, id, actor(c))
	case u.Admin && !viewer(c).Admin:
		err = fault.New(fault.Forbidden, "only an administrator may end the sessions of administrators")
	case id != "":
		action, err = "session.end", p.Sessions.End(ctx, account, id)
	default:
		err = p.Sessions.EndAll(ctx, account)
	}
	if err := p.record(c, action, account, err); err != nil {
		return err
	}
	return p.back(c, views.UserPath(account), "ended")
}

// deleteUser handles POST /console/users/:account/delete.
func (p *pages) deleteUser(c *gin.Context) error {
	ctx, account := c.Request.Context(), web.Param(c, "account")
	if account == viewer(c).Account {
		return fault.New(fault.Conflict, "you cannot delete your own account")
	}
	before, err := p.Users.ByAccount(ctx, account)
	if err != nil {
		return err
	}
	err = p.Users.Delete(ctx, account, actor(c))
	if err := p.recordChange(c, "user.delete", account, userFacts(formOfUser(ctx, before), before.RoleCodes), nil, err); err != nil {
		return err
	}
	return web.Redirect(c, views.UsersPath, "said", "deleted")
}
