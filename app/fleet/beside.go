package fleet

import (
	"context"
	"strings"
	"time"

	"eruptcloud/ent"
	"eruptcloud/ent/configrevision"
	"eruptcloud/ent/user"
)

// What an adopted database asks for, where a Java server writes the same rows.

// author is what the columns create_by and update_by get: erupt keeps display names there.
func (f *Fleet) author(ctx context.Context, tx *ent.Tx, account string) (string, error) {
	if !f.db.Shape.Adopted || account == "" {
		return account, nil
	}
	row, err := tx.User.Query().Where(user.Account(account)).Select(user.FieldAccount, user.FieldName).First(ctx)
	if ent.IsNotFound(err) || err == nil && strings.TrimSpace(row.Name) == "" {
		return account, nil
	} else if err != nil {
		return "", err
	}
	return row.Name, nil
}

// dutyColumn turns the duty as it is written into what the database's version of erupt reads: 1.12 joins the names by bars.
func (f *Fleet) dutyColumn(text string) string {
	if f.db.Shape.Generation != "1.12" {
		return text
	}
	return strings.Join(dutyOf(text), "|")
}

// outside is a config as its row has it.
type outside struct {
	config, by string
	at         *time.Time
}

// keepOutside makes a revision of a config that was written past us, by a Java server or before the adoption, so that the edit
// which replaces it can be undone. It returns the number of the newest revision then.
func (f *Fleet) keepOutside(ctx context.Context, tx *ent.Tx, owner configrevision.Owner, id, newest int64, o outside) (int64, error) {
	if !f.db.Shape.Adopted {
		return newest, nil
	}
	last, err := tx.ConfigRevision.Query().Where(configrevision.OwnerEQ(owner), configrevision.OwnerID(id), configrevision.Revision(newest)).Only(ctx)
	if err != nil && !ent.IsNotFound(err) {
		return 0, err
	}
	known := ""
	if last != nil {
		known = last.Config
	}
	if o.config == known {
		return newest, nil
	}
	at := f.now()
	if o.at != nil {
		at = *o.at
	}
	return newest + 1, tx.ConfigRevision.Create().SetOwner(owner).SetOwnerID(id).SetRevision(newest + 1).SetConfig(o.config).
		SetAuthor(o.by).SetNote("written past this server").SetCreated(at).Exec(ctx)
}
