package access

import (
	"context"
	"log/slog"

	"eruptcloud/ent"
	"eruptcloud/ent/user"
)

// strengthen keeps the password that just opened an account as SHA512 with salt, the strongest form that erupt reads, if it
// was weaker. Only if that is asked for: a Java server of 1.x could not read it. A failure refuses nobody.
func (l *Login) strengthen(ctx context.Context, row *ent.User, plain string) {
	old := secretOf(row)
	if !l.passwords.rehash || l.passwords.form != formSHA512 || old.strong() {
		return
	}
	s := l.passwords.make(plain)
	// Only over the password that was verified: somebody may have changed it meanwhile.
	n, err := l.db.Client.User.Update().Where(user.ID(row.ID), user.Password(old.Password)).
		SetPassword(s.Password).SetIsMd5(*s.Hashed).SetEncryptType(s.Form).SetSalt(s.Salt).Save(ctx)
	if err != nil {
		slog.WarnContext(ctx, "a password could not be kept in a stronger form", "account", row.Account, "error", err)
	} else if n > 0 {
		row.Password, row.Salt = s.Password, s.Salt // the ticket of a second factor is bound to them
		slog.InfoContext(ctx, "a password is now kept as SHA512", "account", row.Account)
	}
}
