package access

import (
	"context"
	"slices"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/dbtype"
	"eruptcloud/ent/role"
	"eruptcloud/ent/user"
)

// Update changes an account. Its live sessions follow at once; those of a disabled one end, and a new password ends all but
// the one that KeepSession names. fault.Conflict if no enabled admin would be left, fault.Forbidden as for Create, and for a change
// of who may work on an account that holds more than By does.
func (u *Users) Update(ctx context.Context, account string, p UserPatch) (User, error) {
	if err := checkPatch(p); err != nil {
		return User{}, err
	}
	if p.Avatar != nil && u.db.Shape.Lacks(user.Table, user.FieldAvatar) {
		return User{}, fault.New(fault.Conflict, "this database cannot keep a picture: its table of users has no column for one, which erupt has since 1.13")
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
	if p.bars(before) {
		if err := u.changes.people.mayBar(ctx, p.By, before); err != nil {
			return User{}, err
		}
	}
	var secret secret
	if p.Password != nil {
		if err := u.changes.people.mayBecome(ctx, p.By, before); err != nil {
			return User{}, err
		}
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
		if err := u.apply(ctx, tx, change, p, row.ID); err != nil {
			return err
		}
		if err := moveUser(ctx, tx, change, row, p); err != nil {
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
	if reset := p.Password != nil && p.By.Account != account; reset || p.gives(before) {
		if err := u.changes.programs.gained(context.WithoutCancel(ctx), account, reset); err != nil {
			return User{}, err
		}
	}
	return u.after(ctx, account, p.Password != nil)
}

// bars reports whether the patch decides on who may work: it lets u in, shuts it out, or takes a role away. Forms send every
// field, so only what differs counts.
func (p UserPatch) bars(u User) bool {
	taken := p.Roles != nil && slices.ContainsFunc(u.RoleCodes, func(code string) bool { return !slices.Contains(*p.Roles, code) })
	return taken || p.Enabled != nil && *p.Enabled != u.Enabled || p.ExpiresAt != nil && !p.ExpiresAt.Equal(u.ExpiresAt) ||
		p.AllowedIPs != nil && *p.AllowedIPs != u.AllowedIPs
}

// gives reports whether the patch lets u hold more than before.
func (p UserPatch) gives(u User) bool {
	given := p.Roles != nil && slices.ContainsFunc(*p.Roles, func(code string) bool { return !slices.Contains(u.RoleCodes, code) })
	return given || p.Admin != nil && *p.Admin && !u.Admin
}

// after lets sessions follow a change, and returns the user as he is now.
func (u *Users) after(ctx context.Context, account string, password bool) (User, error) {
	end := map[string]string{}
	if password {
		end[account] = keptSession(ctx)
	}
	if err := u.changes.follow(ctx, "user", account, these(account), end); err != nil {
		return User{}, err
	}
	return u.ByAccount(ctx, account)
}

func (u *Users) apply(ctx context.Context, tx *ent.Tx, change *ent.UserUpdate, p UserPatch, id int64) error {
	setPatch(p.Name, change.SetName)
	setPatch(p.Phone, change.SetPhone)
	setPatch(p.Email, change.SetEmail)
	setPatch(p.Remark, change.SetRemark)
	setPatch(p.Avatar, change.SetAvatar)
	if p.Enabled != nil {
		change.SetStatus(dbtype.Flag(*p.Enabled))
	}
	if p.Admin != nil {
		change.SetIsAdmin(dbtype.Flag(*p.Admin))
	}
	setPatch(p.AllowedIPs, change.SetWhiteIP)
	switch {
	case p.ExpiresAt == nil:
	case p.ExpiresAt.IsZero():
		change.ClearExpireDate()
	default:
		change.SetExpireDate(*p.ExpiresAt)
	}
	by, err := actorID(ctx, tx, p.By)
	if err != nil {
		return err
	}
	change.SetNillableUpdateUserID(by)
	if p.Roles == nil {
		return nil
	}
	roles, err := rolesByCode(ctx, tx, *p.Roles)
	if err != nil {
		return err
	}
	have, err := tx.Role.Query().Where(role.HasUsersWith(user.ID(id))).IDs(ctx)
	if err != nil {
		return err
	}
	gone, added := differ(have, roles)
	change.RemoveRoleIDs(gone...).AddRoleIDs(added...)
	return nil
}

// setSecret writes a new password; one that somebody else set has to be changed by the user.
func (u *Users) setSecret(change *ent.UserUpdate, s secret, own bool) {
	change.SetPassword(s.Password).SetIsMd5(*s.Hashed)
	setOrClear(&s.Form, change.SetEncryptType, change.ClearEncryptType)
	setOrClear(&s.Salt, change.SetSalt, change.ClearSalt)
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
	row, err := exactly(rows, account)
	return row, database.Mapped(err, noUser(account), nil)
}

// mayUpdate keeps admins among themselves and one of them at work.
func (u *Users) mayUpdate(ctx context.Context, tx *ent.Tx, row *ent.User, p UserPatch) error {
	wasAdmin := bool(row.IsAdmin)
	if !p.By.Admin && (wasAdmin || (p.Admin != nil && *p.Admin)) {
		return fault.New(fault.Forbidden, "only an administrator may change administrators or make them")
	}
	stays := (p.Admin == nil || *p.Admin) && (p.Enabled == nil || *p.Enabled) &&
		(p.ExpiresAt == nil || p.ExpiresAt.IsZero() || p.ExpiresAt.After(u.now()))
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
// refer to it; fault.Forbidden if by is no admin and the account is one, or holds more than he does.
func (u *Users) Delete(ctx context.Context, account string, by Actor) error {
	before, err := u.ByAccount(ctx, account)
	if err != nil {
		return err
	}
	if err := u.changes.people.mayBar(ctx, by, before); err != nil {
		return err
	}
	err = u.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
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
		// Whoever changed himself refers to himself, and the foreign keys of erupt 1.12 hold him by that.
		if err := tx.User.Update().Where(user.ID(row.ID)).ClearRoles().ClearCreateUserID().ClearUpdateUserID().Exec(ctx); err != nil {
			return err
		}
		if err := u.forget(ctx, tx, row.ID); err != nil {
			return err
		}
		_, err = tx.User.Delete().Where(user.ID(row.ID)).Exec(ctx)
		return database.Mapped(err, nil, fault.New(fault.Conflict, "other records still refer to %q; disable it instead", account))
	})
	if err != nil {
		return err
	}
	return u.changes.follow(ctx, "user", account, these(account), nil)
}

// ChangePassword lets a user set his own password and ends his other sessions (see KeepSession). fault.Invalid if old is
// wrong, new breaks a rule or is the old one; fault.TooMany after too many wrong ones.
func (u *Users) ChangePassword(ctx context.Context, account, old, new string) error {
	row, err := u.proven(ctx, account, old)
	if err != nil {
		return err
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
	_, err = u.after(ctx, account, true)
	return err
}

// VerifyPassword checks the password of somebody who is logged in. fault.Invalid if it is wrong, fault.TooMany after too many
// wrong ones.
func (u *Users) VerifyPassword(ctx context.Context, account, password string) error {
	_, err := u.proven(ctx, account, password)
	return err
}

// ownPassword stands for the address where the tries of those who are logged in are counted.
const ownPassword = "change-pwd"

// proven returns the row of an account whose password is shown. Whoever got hold of an open session must not be able to guess
// the password at leisure.
func (u *Users) proven(ctx context.Context, account, password string) (*ent.User, error) {
	counted := countedName(account)
	if u.lock.On {
		limit := TryLimit{Max: u.lock.MaxFailures, Lock: time.Duration(u.lock.Minutes) * time.Minute, Life: u.tryLife}
		if _, wait, err := u.store.CountTry(ctx, counted, ownPassword, limit); err != nil {
			return nil, err
		} else if wait > 0 {
			return nil, tooManyFailures(wait)
		}
	}
	row, err := theUser(ctx, u.db.Client.User.Query(), account)
	if err != nil {
		return nil, database.Mapped(err, noUser(account), nil)
	}
	if ok, err := u.passwords.verify(ctx, secretOf(row), password); err != nil {
		return nil, err
	} else if !ok {
		return nil, fault.New(fault.Invalid, "the present password is wrong").Field("old", "is wrong")
	}
	if u.lock.On {
		return row, u.store.ForgetTries(ctx, counted, ownPassword)
	}
	return row, nil
}
