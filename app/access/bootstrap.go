package access

import (
	"context"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent/user"
)

// FirstAdmin is the account of the first administrator, erupt's own default.
const FirstAdmin = "erupt"

// Bootstrap makes the first administrator if there is none, enabled or not. A given password is taken as chosen by its user;
// an empty one is generated and returned, and has to be changed. fault.Invalid if the given one breaks a rule,
// fault.Conflict if the account exists without being an admin.
func (l *Login) Bootstrap(ctx context.Context, password string) (generated string, created bool, err error) {
	exists, err := l.hasAdmin(ctx)
	if err != nil || exists {
		return "", false, err
	}
	var chosen *time.Time
	if password == "" {
		generated = randomText(legible, 20)
		password = generated
	} else {
		now := l.now()
		chosen = &now
	}
	_, err = l.users.create(ctx, NewUser{Account: FirstAdmin, Password: password, Enabled: true, Admin: true, By: System}, chosen)
	if fault.Is(err, fault.Conflict) {
		if exists, again := l.hasAdmin(ctx); again == nil && exists {
			return "", false, nil // another replica was faster, and has shown its password
		}
		return "", false, fault.New(fault.Conflict, "there is no administrator, and the account %q exists without being one", FirstAdmin).Because(err)
	} else if err != nil {
		return "", false, err
	}
	return generated, true, nil
}

func (l *Login) hasAdmin(ctx context.Context) (bool, error) {
	exists, err := l.db.Client.User.Query().Where(user.IsAdmin(true)).Exist(ctx)
	return exists, database.Mapped(err, nil, nil)
}

// DefaultOpens reports whether erupt's default login, erupt with the password erupt, still works.
func (l *Login) DefaultOpens(ctx context.Context) (bool, error) {
	row, err := l.db.Client.User.Query().Where(user.Account(FirstAdmin), user.Status(true)).First(ctx)
	if err != nil {
		err = database.Mapped(err, noUser(FirstAdmin), nil)
		if fault.Is(err, fault.NotFound) {
			return false, nil
		}
		return false, err
	}
	return l.passwords.verify(ctx, secretOf(row), FirstAdmin)
}
