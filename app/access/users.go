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
	By       Actor
}

// UserPatch says what to change; nil leaves a thing as it is.
type UserPatch struct {
	Name, Phone, Email, Remark, Password *string
	Enabled, Admin                       *bool
	Roles                                *[]string // codes
	By                                   Actor
}

// UserFilter selects users for a list.
type UserFilter struct {
	Query          string // part of account, name, phone or email, in any case
	Page, PageSize int    // from 1; 20 a page unless said, 500 at most
}

// ByAccount returns a user. fault.NotFound if there is none.
func (u *Users) ByAccount(ctx context.Context, account string) (User, error) {
	row, err := u.db.Client.User.Query().Where(user.Account(account)).WithRoles().Only(ctx)
	if err != nil {
		return User{}, database.Mapped(err, noUser(account), nil)
	}
	return userOf(row), nil
}

// ByID returns a user. fault.NotFound if there is none.
func (u *Users) ByID(ctx context.Context, id int64) (User, error) {
	row, err := u.db.Client.User.Query().Where(user.ID(id)).WithRoles().Only(ctx)
	if err != nil {
		return User{}, database.Mapped(err, fault.New(fault.NotFound, "no user has the id %d", id), nil)
	}
	return userOf(row), nil
}

// List returns one page of users by account, and how many there are in all.
func (u *Users) List(ctx context.Context, f UserFilter) ([]User, int, error) {
	q := u.db.Client.User.Query()
	if text := strings.TrimSpace(f.Query); text != "" {
		q.Where(user.Or(user.AccountContainsFold(text), user.NameContainsFold(text), user.PhoneContainsFold(text),
			user.EmailContainsFold(text)))
	}
	total, err := q.Clone().Count(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	offset, limit := pageOf(f.Page, f.PageSize)
	rows, err := q.WithRoles().Order(user.ByAccount(), user.ByID()).Offset(offset).Limit(limit).All(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	found := make([]User, 0, len(rows))
	for _, r := range rows {
		found = append(found, userOf(r))
	}
	return found, total, nil
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
		c := tx.User.Create().SetAccount(n.Account).SetName(n.Name).SetStatus(dbtype.Flag(n.Enabled)).
			SetIsAdmin(dbtype.Flag(n.Admin)).SetPassword(secret.Password).SetIsMd5(*secret.Hashed).SetEncryptType(secret.Form).
			SetNillableResetPwdTime(passwordSet).AddRoleIDs(roles...)
		setText(n.Phone, c.SetPhone)
		setText(n.Email, c.SetEmail)
		setText(n.Remark, c.SetRemark)
		setText(secret.Salt, c.SetSalt)
		row, err := c.Save(ctx)
		if err == nil {
			id = row.ID
		}
		return database.Mapped(err, nil, taken)
	})
	if err != nil {
		return User{}, err
	}
	u.changes.tell(ctx, "user", n.Account)
	return u.ByID(ctx, id)
}

// Update changes an account. Its live sessions follow at once; those of a disabled one end, and a new password ends all but
// the one that KeepSession names. fault.Conflict if no enabled admin would be left, fault.Forbidden as for Create.
func (u *Users) Update(ctx context.Context, account string, p UserPatch) (User, error) {
	if err := checkPatch(p); err != nil {
		return User{}, err
	}
	if p.Password != nil {
		if err := u.passwords.check(account, *p.Password); err != nil {
			return User{}, err
		}
	}
	before, err := u.ByAccount(ctx, account)
	if err != nil {
		return User{}, err
	}
	if p.Roles != nil {
		if err := u.mayGrantRoles(ctx, p.By, *p.Roles, before.RoleCodes); err != nil {
			return User{}, err
		}
	}
	var secret secret
	if p.Password != nil {
		secret = u.passwords.make(*p.Password) // outside of the transaction: it takes a quarter of a second
	}
	err = u.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := u.locked(ctx, tx, account)
		if err != nil {
			return err
		}
		if err := u.mayUpdate(ctx, tx, row, p); err != nil {
			return err
		}
		change := tx.User.Update().Where(user.ID(row.ID))
		if err := u.apply(ctx, tx, change, p, row.Account); err != nil {
			return err
		}
		if p.Password != nil {
			u.setSecret(change, secret, p.By.Account == account)
		}
		return change.Exec(ctx)
	})
	if err != nil {
		return User{}, err
	}
	return u.after(ctx, account, p.Password != nil)
}

// after lets sessions follow a change, and returns the user as he is now.
func (u *Users) after(ctx context.Context, account string, password bool) (User, error) {
	u.changes.tell(ctx, "user", account)
	end := map[string]string{}
	if password {
		end[account] = keptSession(ctx)
	}
	if err := u.changes.sessions.follow(ctx, []string{account}, end); err != nil {
		return User{}, err
	}
	return u.ByAccount(ctx, account)
}

func (u *Users) apply(ctx context.Context, tx *ent.Tx, change *ent.UserUpdate, p UserPatch, account string) error {
	setPatch(p.Name, change.SetName)
	setPatch(p.Phone, change.SetPhone)
	setPatch(p.Email, change.SetEmail)
	setPatch(p.Remark, change.SetRemark)
	if p.Enabled != nil {
		change.SetStatus(dbtype.Flag(*p.Enabled))
	}
	if p.Admin != nil {
		change.SetIsAdmin(dbtype.Flag(*p.Admin))
	}
	if id, err := tx.User.Query().Where(user.Account(p.By.Account)).FirstID(ctx); err == nil {
		change.SetUpdateUserID(id)
	} else if !ent.IsNotFound(err) {
		return err
	}
	if p.Roles == nil {
		return nil
	}
	roles, err := rolesByCode(ctx, tx, *p.Roles)
	if err != nil {
		return err
	}
	have, err := tx.Role.Query().Where(role.HasUsersWith(user.Account(account))).IDs(ctx)
	if err != nil {
		return err
	}
	gone, added := differ(have, roles)
	change.RemoveRoleIDs(gone...).AddRoleIDs(added...)
	return nil
}

// setSecret writes a new password; one that somebody else set has to be changed by the user.
func (u *Users) setSecret(change *ent.UserUpdate, s secret, own bool) {
	change.SetPassword(s.Password).SetIsMd5(*s.Hashed).SetEncryptType(s.Form)
	if s.Salt != "" {
		change.SetSalt(s.Salt)
	} else {
		change.ClearSalt()
	}
	if own {
		change.SetResetPwdTime(u.now())
	} else {
		change.ClearResetPwdTime()
	}
}

// locked reads a row for a change. On MySQL it locks the row and those of all admins, so that two who take the admin's right
// from each other at once wait for one another; SQLite has one writer at a time.
func (u *Users) locked(ctx context.Context, tx *ent.Tx, account string) (*ent.User, error) {
	q := tx.User.Query().Where(user.Or(user.Account(account), user.IsAdmin(true))).Order(user.ByID())
	if u.db.Driver == database.MySQL {
		q.ForUpdate()
	}
	rows, err := q.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Account == account {
			return r, nil
		}
	}
	return nil, noUser(account)
}

// mayUpdate keeps admins among themselves and one of them at work.
func (u *Users) mayUpdate(ctx context.Context, tx *ent.Tx, row *ent.User, p UserPatch) error {
	wasAdmin := bool(row.IsAdmin)
	if !p.By.Admin && (wasAdmin || (p.Admin != nil && *p.Admin)) {
		return fault.New(fault.Forbidden, "only an administrator may change administrators or make them")
	}
	stays := (p.Admin == nil || *p.Admin) && (p.Enabled == nil || *p.Enabled)
	if !wasAdmin || stays || !bool(row.Status) {
		return nil
	}
	return u.othersLead(ctx, tx, row)
}

// othersLead refuses to lose row if no other admin could work then.
func (u *Users) othersLead(ctx context.Context, tx *ent.Tx, row *ent.User) error {
	others, err := tx.User.Query().Where(user.IDNEQ(row.ID), user.IsAdmin(true), user.Status(true),
		user.Or(user.ExpireDateIsNil(), user.ExpireDateGT(u.now()))).Exist(ctx)
	if err != nil {
		return err
	}
	if !others {
		return fault.New(fault.Conflict, "%q is the last administrator who can log in; make another one first", row.Account)
	}
	return nil
}

// Delete removes an account and ends its sessions. fault.Conflict for the last enabled admin, or if other tables still
// refer to it; fault.Forbidden if By is no admin and the account is one.
func (u *Users) Delete(ctx context.Context, account string, by Actor) error {
	err := u.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := u.locked(ctx, tx, account)
		if err != nil {
			return err
		}
		if bool(row.IsAdmin) {
			if !by.Admin {
				return fault.New(fault.Forbidden, "only an administrator may delete administrators")
			}
			if bool(row.Status) {
				if err := u.othersLead(ctx, tx, row); err != nil {
					return err
				}
			}
		}
		if err := tx.User.Update().Where(user.ID(row.ID)).ClearRoles().Exec(ctx); err != nil {
			return err
		}
		_, err = tx.User.Delete().Where(user.ID(row.ID)).Exec(ctx)
		return database.Mapped(err, nil, fault.New(fault.Conflict, "other records still refer to %q; disable it instead", account))
	})
	if err != nil {
		return err
	}
	u.changes.tell(ctx, "user", account)
	return u.changes.sessions.follow(ctx, []string{account}, nil)
}

// ChangePassword lets a user set his own password and ends his other sessions (see KeepSession). fault.Invalid if old is
// wrong, new breaks a rule or is the old one; fault.TooMany after too many wrong ones.
func (u *Users) ChangePassword(ctx context.Context, account, old, new string) error {
	if u.lock.On {
		// Whoever got hold of an open session must not be able to guess the password at leisure.
		wait, err := u.store.CountTry(ctx, account, "change-pwd", u.lock.MaxFailures, time.Duration(u.lock.Minutes)*time.Minute)
		if err != nil {
			return err
		} else if wait > 0 {
			return tooManyFailures(wait)
		}
	}
	row, err := u.db.Client.User.Query().Where(user.Account(account)).Only(ctx)
	if err != nil {
		return database.Mapped(err, noUser(account), nil)
	}
	if ok, err := u.passwords.verify(ctx, secretOf(row), old); err != nil {
		return err
	} else if !ok {
		return fault.New(fault.Invalid, "the present password is wrong").Field("old", "is wrong")
	}
	if old == new {
		return fault.New(fault.Invalid, "the new password is the present one").Field("password", "is the present one")
	}
	if err := u.passwords.check(account, new); err != nil {
		return err
	}
	change := u.db.Client.User.Update().Where(user.ID(row.ID))
	u.setSecret(change, u.passwords.make(new), true)
	if err := change.Exec(ctx); err != nil {
		return database.Mapped(err, nil, nil)
	}
	if err := u.store.ForgetTries(ctx, account, "change-pwd"); err != nil {
		return err
	}
	_, err = u.after(ctx, account, true)
	return err
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
		Created: orZero(r.CreateTime),
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
