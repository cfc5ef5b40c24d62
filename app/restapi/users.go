package restapi

import (
	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/web"
)

type user struct {
	Account string   `json:"account"`
	Name    string   `json:"name"`
	Phone   string   `json:"phone"`
	Email   string   `json:"email"`
	Enabled bool     `json:"enabled"`
	Admin   bool     `json:"admin"`
	Roles   []string `json:"roles"` // codes
	Remark  string   `json:"remark"`
	Created *string  `json:"created"`
}

type newUser struct {
	Account  string   `json:"account"`
	Name     string   `json:"name"`
	Password string   `json:"password"`
	Phone    string   `json:"phone"`
	Email    string   `json:"email"`
	Enabled  *bool    `json:"enabled"` // true if left out
	Admin    bool     `json:"admin"`
	Roles    []string `json:"roles"`
	Remark   string   `json:"remark"`
}

type userPatch struct {
	Name     *string   `json:"name,omitempty"`
	Password *string   `json:"password,omitempty"`
	Phone    *string   `json:"phone,omitempty"`
	Email    *string   `json:"email,omitempty"`
	Enabled  *bool     `json:"enabled,omitempty"`
	Admin    *bool     `json:"admin,omitempty"`
	Roles    *[]string `json:"roles,omitempty"`
	Remark   *string   `json:"remark,omitempty"`
}

// listUsers handles GET /api/v1/users?q=.
func (a *api) listUsers(c *gin.Context) error {
	page, size, err := web.PageOf(c)
	if err != nil {
		return err
	}
	found, total, err := a.o.Users.List(c.Request.Context(), access.UserFilter{Query: c.Query("q"), Page: page, PageSize: size})
	if err != nil {
		return err
	}
	items := []user{}
	if (page-1)*size < total {
		for _, u := range found {
			items = append(items, userOf(u))
		}
	}
	return answerList(c, items, total)
}

func (a *api) getUser(c *gin.Context) error {
	u, err := a.o.Users.ByAccount(c.Request.Context(), web.Param(c, "account"))
	if err != nil {
		return err
	}
	return answer(c, 200, userOf(u))
}

func (a *api) createUser(c *gin.Context) error {
	var in newUser
	if err := body(c, &in); err != nil {
		return err
	}
	u, err := a.o.Users.Create(c.Request.Context(), access.NewUser{
		Account: in.Account, Name: in.Name, Password: in.Password, Phone: in.Phone, Email: in.Email, Remark: in.Remark,
		Enabled: in.Enabled == nil || *in.Enabled, Admin: in.Admin, Roles: in.Roles, By: actor(c),
	})
	in.Password = "" // not for the trail
	if err := a.audit(c, "user.create", in.Account, in, err); err != nil {
		return err
	}
	return created(c, "users", u.Account, userOf(u))
}

func (a *api) patchUser(c *gin.Context) error {
	var in userPatch
	if err := body(c, &in); err != nil {
		return err
	}
	if in == (userPatch{}) {
		return nothingToChange()
	}
	account := web.Param(c, "account")
	u, err := a.o.Users.Update(keeping(c), account, access.UserPatch{
		Name: in.Name, Phone: in.Phone, Email: in.Email, Remark: in.Remark, Password: in.Password,
		Enabled: in.Enabled, Admin: in.Admin, Roles: in.Roles, By: actor(c),
	})
	if in.Password != nil {
		changed := "******" // that it was changed is for the trail, to what is not
		in.Password = &changed
	}
	if err := a.audit(c, "user.update", account, in, err); err != nil {
		return err
	}
	return answer(c, 200, userOf(u))
}

func (a *api) deleteUser(c *gin.Context) error {
	account := web.Param(c, "account")
	err := a.o.Users.Delete(c.Request.Context(), account, actor(c))
	if err := a.audit(c, "user.delete", account, nil, err); err != nil {
		return err
	}
	return gone(c)
}

func userOf(u access.User) user {
	return user{
		Account: u.Account, Name: u.Name, Phone: u.Phone, Email: u.Email, Enabled: u.Enabled, Admin: u.Admin,
		Roles: orEmpty(u.RoleCodes), Remark: u.Remark, Created: when(u.Created),
	}
}
