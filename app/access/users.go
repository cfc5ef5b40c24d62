package access

import (
	"context"
	"slices"
	"strings"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/dbtype"
	"eruptcloud/ent/role"
	"eruptcloud/ent/user"
)

// Users keeps accounts.
type Users struct {
	db        *database.DB
	passwords *passwords
	changes   *changes
	store     SessionStore
	lock      LockOptions
	tryLife   time.Duration // of a count of tries
	now       func() time.Time
}

// NewUser is a wish for an account.
type NewUser struct {
	Account  string // up to 64 letters, digits and . _ - @ +
	Name     string // empty: the account
	Password string // see (*Users).Create
	Phone    string
	Email    string
	Remark   string
	Enabled  bool
	Admin    bool
	Roles    []string // codes
	// ExpiresAt ends the account; zero: never.
	ExpiresAt time.Time
	// AllowedIPs are addresses or CIDR ranges, one a line; empty: all.
	AllowedIPs string
	// Org, Post and Home are codes; empty: none. A post needs an organisation (erupt-wire 5.7). Home is the menu to start with.
	Org, Post, Home string
	By              Actor
}

// UserPatch says what to change; nil leaves a thing as it is.
type UserPatch struct {
	Name, Phone, Email, Remark, Password *string
	Avatar                               *string // URL of a picture; empty: none
	Enabled, Admin                       *bool
	Roles                                *[]string  // codes
	ExpiresAt                            *time.Time // zero: never
	AllowedIPs                           *string
	Org, Post, Home                      *string // codes; empty: none
	By                                   Actor
}

// ByAccount returns a user. fault.NotFound if there is none.
func (u *Users) ByAccount(ctx context.Context, account string) (User, error) {
	row, err := theUser(ctx, u.db.Client.User.Query().WithRoles().WithOrg().WithPost(), account)
	if err != nil {
		return User{}, database.Mapped(err, noUser(account), nil)
	}
	return u.withHome(ctx, userOf(row))
}

// ByID returns a user. fault.NotFound if there is none.
func (u *Users) ByID(ctx context.Context, id int64) (User, error) {
	row, err := u.db.Client.User.Query().Where(user.ID(id)).WithRoles().WithOrg().WithPost().Only(ctx)
	if err != nil {
		return User{}, database.Mapped(err, fault.New(fault.NotFound, "no user has the id %d", id), nil)
	}
	return u.withHome(ctx, userOf(row))
}

// Create makes an account. Its password needs 8 characters and, in a database of ours, at most 72 bytes; the user is asked
// to change it. fault.Invalid with Fields, fault.Conflict if the account exists in any case, fault.Forbidden if By may not:
// only an admin makes admins, and who is none grants only roles that he holds.
func (u *Users) Create(ctx context.Context, n NewUser) (User, error) {
	return u.create(ctx, n, nil)
}

func (u *Users) create(ctx context.Context, n NewUser, passwordSet *time.Time) (User, error) {
	if n.Admin && !n.By.Admin {
		return User{}, fault.New(fault.Forbidden, "only an administrator may create administrators")
	}
	if n.Name == "" {
		n.Name = n.Account
	}
	if err := checkNewUser(n); err != nil {
		return User{}, err
	}
	if err := u.passwords.check(n.Account, n.Password); err != nil {
		return User{}, err
	}
	if err := u.mayGrantRoles(ctx, n.By, n.Roles, nil); err != nil {
		return User{}, err
	}
	secret := u.passwords.make(n.Password)
	taken := fault.New(fault.Conflict, "the account %q exists already", n.Account).Field("account", "exists already")
	var id int64
	err := u.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		// The index compares byte by byte; "Lin" beside "lin" would only help those who want to be mistaken for somebody.
		if exists, err := tx.User.Query().Where(user.AccountEqualFold(n.Account)).Exist(ctx); err != nil {
			return err
		} else if exists {
			return taken
		}
		roles, err := rolesByCode(ctx, tx, n.Roles)
		if err != nil {
			return err
		}
		by, err := actorID(ctx, tx, n.By)
		if err != nil {
			return err
		}
		c := tx.User.Create().SetAccount(n.Account).SetName(n.Name).SetStatus(dbtype.Flag(n.Enabled)).
			SetIsAdmin(dbtype.Flag(n.Admin)).SetPassword(secret.Password).SetIsMd5(*secret.Hashed).
			SetNillableResetPwdTime(passwordSet).SetNillableCreateUserID(by).SetNillableUpdateUserID(by).AddRoleIDs(roles...)
		setText(secret.Form, c.SetEncryptType)
		setText(n.Phone, c.SetPhone)
		setText(n.Email, c.SetEmail)
		setText(n.Remark, c.SetRemark)
		setText(n.AllowedIPs, c.SetWhiteIP)
		setText(secret.Salt, c.SetSalt)
		if !n.ExpiresAt.IsZero() {
			c.SetExpireDate(n.ExpiresAt)
		}
		at, err := seatOf(ctx, tx, seat{}, &n.Org, &n.Post, &n.Home)
		if err != nil {
			return err
		}
		c.SetNillableEruptOrgID(at.org).SetNillableEruptPostID(at.post).SetNillableEruptMenuID(at.home)
		row, err := c.Save(ctx)
		if err == nil {
			id = row.ID
		}
		return database.Mapped(err, nil, taken)
	})
	if err != nil {
		return User{}, err
	}
	if err := u.changes.follow(ctx, "user", n.Account, these(), nil); err != nil {
		return User{}, err
	}
	return u.ByID(ctx, id)
}

// mayGrantRoles refuses roles that by does not hold, except those that the user has already.
func (u *Users) mayGrantRoles(ctx context.Context, by Actor, roles, have []string) error {
	if by.Admin || len(roles) == 0 {
		return nil
	}
	s, err := u.changes.people.session(ctx, by.Account)
	if err != nil {
		return actorUnknown(by, err)
	}
	for _, code := range roles {
		if !slices.Contains(s.Roles, code) && !slices.Contains(have, code) {
			return fault.New(fault.Forbidden, "you can only grant roles that you hold yourself, not %q", code).
				Field("roles", "you do not hold %q", code)
		}
	}
	return nil
}

func rolesByCode(ctx context.Context, tx *ent.Tx, codes []string) ([]int64, error) {
	if len(codes) == 0 {
		return nil, nil
	}
	rows, err := tx.Role.Query().Where(role.CodeIn(codes...)).All(ctx)
	if err != nil {
		return nil, err
	}
	ids, known := make([]int64, 0, len(rows)), make(map[string]bool, len(rows))
	for _, r := range rows {
		ids, known[r.Code] = append(ids, r.ID), true
	}
	for _, c := range codes {
		if !known[c] {
			return nil, fault.New(fault.Invalid, "there is no role %q", c).Field("roles", "there is no role %q", c)
		}
	}
	return ids, nil
}

// differ returns what of have is not wanted, and what is wanted besides.
func differ(have, want []int64) (gone, added []int64) {
	for _, id := range have {
		if !slices.Contains(want, id) {
			gone = append(gone, id)
		}
	}
	for _, id := range want {
		if !slices.Contains(have, id) && !slices.Contains(added, id) {
			added = append(added, id)
		}
	}
	return gone, added
}

func userOf(r *ent.User) User {
	u := User{
		ID: r.ID, Account: r.Account, Name: displayName(r), Phone: r.Phone, Email: r.Email, Enabled: bool(r.Status),
		Admin: bool(r.IsAdmin), Org: orZero(r.EruptOrgID), Post: orZero(r.EruptPostID), HomeMenu: orZero(r.EruptMenuID),
		ExpiresAt: orZero(r.ExpireDate), AllowedIPs: r.WhiteIP, PasswordSet: orZero(r.ResetPwdTime), Remark: r.Remark,
		Created: orZero(r.CreateTime), Avatar: r.Avatar, MFA: bound(r),
	}
	if r.Edges.Org != nil {
		u.OrgCode, u.OrgName = r.Edges.Org.Code, orText(r.Edges.Org.Name, r.Edges.Org.Code)
	}
	if r.Edges.Post != nil {
		u.PostCode, u.PostName = r.Edges.Post.Code, orText(r.Edges.Post.Name, r.Edges.Post.Code)
	}
	roles := slices.Clone(r.Edges.Roles)
	slices.SortFunc(roles, func(a, b *ent.Role) int { return strings.Compare(a.Code, b.Code) })
	for _, r := range roles {
		u.Roles, u.RoleCodes = append(u.Roles, r.ID), append(u.RoleCodes, r.Code)
	}
	return u
}

func secretOf(r *ent.User) *secret {
	return &secret{Password: r.Password, Form: r.EncryptType, Hashed: r.IsMd5, Salt: r.Salt}
}
