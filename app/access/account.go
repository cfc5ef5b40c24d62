package access

import (
	"context"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/user"
)

// A database of erupt's may compare accounts without regard to case and keep two rows with the same one. Nothing here guesses
// which of them is meant.

func sharedAccount(account string) *fault.Error {
	return fault.New(fault.Conflict, "several users have the account %q; rename all but one of them in the database", account)
}

// theUser reads the user of exactly this account. An ent.NotFoundError if there is none, fault.Conflict if there are several.
func theUser(ctx context.Context, q *ent.UserQuery, account string) (*ent.User, error) {
	rows, err := q.Where(user.Account(account)).All(ctx)
	if err != nil {
		return nil, err
	}
	return exactly(rows, account)
}

func exactly(rows []*ent.User, account string) (*ent.User, error) {
	var found *ent.User
	for _, r := range rows {
		if r.Account != account {
			continue
		}
		if found != nil {
			return nil, sharedAccount(account)
		}
		found = r
	}
	if found == nil {
		return nil, &ent.NotFoundError{}
	}
	return found, nil
}

// typed reads the rows that somebody may mean who types this account: the ones of exactly this account, else those that differ
// in case, where the database compares like that.
func typed(ctx context.Context, q *ent.UserQuery, account string) ([]*ent.User, error) {
	rows, err := q.Where(user.Account(account)).All(ctx)
	if err != nil {
		return nil, err
	}
	var exact, near []*ent.User
	for _, r := range rows {
		switch {
		case r.Account == account:
			exact = append(exact, r)
		case foldedAccount(r.Account) == foldedAccount(account): // and not what a collation takes for equal besides
			near = append(near, r)
		}
	}
	if len(exact) > 0 {
		return exact, nil
	}
	return near, nil
}

// WeakPasswords reports whether new passwords are kept as MD5 without salt, because the tables are of erupt 1.12 and hold
// nothing else.
func (a *Access) WeakPasswords() bool { return a.Users.passwords.form == formMD5 }

func foldedAccount(account string) string { return strings.ToLower(account) }

// markShared marks those of a list whose account several rows have.
func (u *Users) markShared(ctx context.Context, list []User) error {
	if !u.db.Shape.Adopted || len(list) == 0 {
		return nil
	}
	accounts := make([]string, len(list))
	for i, one := range list {
		accounts[i] = one.Account
	}
	found, err := u.db.Client.User.Query().Where(user.AccountIn(accounts...)).Select(user.FieldAccount).Strings(ctx)
	if err != nil {
		return database.Mapped(err, nil, nil)
	}
	count := make(map[string]int, len(found))
	for _, account := range found {
		count[account]++
	}
	for i := range list {
		list[i].Shared = count[list[i].Account] > 1
	}
	return nil
}

// actorID is the id of who makes a change, as erupt's columns keep it; nil for the server itself.
func actorID(ctx context.Context, tx *ent.Tx, by Actor) (*int64, error) {
	id, err := tx.User.Query().Where(user.Account(by.Account)).FirstID(ctx)
	if ent.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return &id, nil
}

// actorName is what erupt's columns of names keep of who makes a change.
func actorName(ctx context.Context, tx *ent.Tx, by Actor) (string, error) {
	row, err := tx.User.Query().Where(user.Account(by.Account)).Select(user.FieldAccount, user.FieldName).First(ctx)
	if ent.IsNotFound(err) {
		return by.Account, nil
	} else if err != nil {
		return "", err
	}
	return displayName(row), nil
}

// forget deletes the rows of erupt's tables that only belong to a user, as erupt does before it deletes him: their foreign
// keys would hold him.
func (u *Users) forget(ctx context.Context, tx *ent.Tx, id int64) error {
	for _, table := range u.db.Shape.UserTables {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
}
