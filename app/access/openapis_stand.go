package access

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/openapi"
	"eruptcloud/ent/user"
)

// A way in counts for as long as whoever last answered for it, which its row names as who changed it, may act as its user: that one
// knows the secret, or gave it to a program. One that counts no more is disabled, for somebody who may to enable it again.

// Why a way in was disabled, as the trail keeps it.
const (
	reasonMore  = "the user holds more than who changed the open API last"
	reasonReset = "somebody else set the password of the user"
)

// stands reports whether the last editor of a row may act as its user. unknown is the answer where no account is called like
// that: databases of erupt's hold display names there.
func (o *OpenAPIs) stands(ctx context.Context, row *ent.OpenAPI, unknown bool) (bool, error) {
	as := row.Edges.User
	if as == nil {
		return true, nil // it opens nothing
	}
	editor, err := theUser(ctx, o.db.Client.User.Query(), row.UpdateBy)
	switch {
	case ent.IsNotFound(err):
		return unknown || row.UpdateBy == System.Account, nil
	case fault.Is(err, fault.Conflict): // several are called like that
		return false, nil
	case err != nil:
		return false, database.Mapped(err, nil, nil)
	case editor.ID == as.ID:
		return true, nil
	case o.people.mayWork(editor) != nil:
		return false, nil
	}
	err = o.mayActAs(ctx, Actor{Account: editor.Account, Admin: bool(editor.IsAdmin)}, userOf(as))
	if fault.Is(err, fault.Forbidden) {
		return false, nil
	}
	return err == nil, err
}

// review disables what counts no more after a change of these accounts, as users or as editors.
func (o *OpenAPIs) review(ctx context.Context, accounts []string) error {
	return o.reviewed(ctx, func(r *ent.OpenAPI) (string, error) {
		edited := slices.Contains(accounts, r.UpdateBy)
		if !edited && !slices.Contains(accounts, r.Edges.User.Account) {
			return "", nil
		}
		ok, err := o.stands(ctx, r, !edited) // an editor that was one of these and is nobody now was deleted
		if err != nil || ok {
			return "", err
		}
		return reasonMore, nil
	})
}

// gained disables the ways in of a user who holds more than before, unless their editors are known to hold as much; after another
// set his password, all of them: it is what is done about an account in wrong hands.
func (o *OpenAPIs) gained(ctx context.Context, account string, reset bool) error {
	return o.reviewed(ctx, func(r *ent.OpenAPI) (string, error) {
		if r.Edges.User.Account != account {
			return "", nil
		}
		if reset {
			return reasonReset, nil
		}
		ok, err := o.stands(ctx, r, false)
		if err != nil || ok {
			return "", err
		}
		return reasonMore, nil
	})
}

// reviewed looks at all ways in that are open and disables those for which look has a reason.
func (o *OpenAPIs) reviewed(ctx context.Context, look func(*ent.OpenAPI) (string, error)) error {
	rows, err := o.db.Client.OpenAPI.Query().Where(openapi.Status(true), openapi.HasUser()).WithUser().All(ctx)
	if err != nil {
		return database.Mapped(err, nil, nil)
	}
	var failed []error
	for _, r := range rows {
		reason, err := look(r)
		if err == nil && reason != "" {
			err = o.revoke(ctx, r, reason)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// revoke disables a way in, ends its token and writes that down.
func (o *OpenAPIs) revoke(ctx context.Context, row *ent.OpenAPI, reason string) error {
	err := o.db.Client.OpenAPI.Update().Where(openapi.ID(row.ID)).SetStatus(false).Exec(ctx)
	if err = database.Mapped(err, nil, nil); err == nil {
		err = o.end(ctx, row)
	}
	e := Entry{User: System.Account, Account: System.Account, Action: "openapi.disable", Subject: row.Appid, OK: err == nil}
	facts := map[string]string{"account": row.Edges.User.Account, "changedBy": row.UpdateBy, "reason": reason}
	e.Params, _ = json.Marshal(facts) // texts can be written
	if err != nil {
		e.Error = fault.Of(err).Message()
	}
	o.audit.Record(e)
	return err
}

// open returns the row of a way in that counts. fault.Forbidden if it is disabled, which it is from now on if it counts no more.
func (o *OpenAPIs) open(ctx context.Context, appid string) (*ent.OpenAPI, error) {
	row, err := o.row(ctx, appid)
	if err != nil {
		return nil, err
	}
	if bool(row.Status) && row.Edges.User != nil {
		ok, err := o.stands(ctx, row, true)
		if err != nil {
			return nil, err
		} else if ok {
			return row, nil
		}
		if err := o.revoke(ctx, row, reasonMore); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Forbidden, "the open API %s is disabled", appid)
}

// ActingAs returns how many ways in act as an account, disabled ones among them.
func (o *OpenAPIs) ActingAs(ctx context.Context, id int64) (int, error) {
	n, err := o.db.Client.OpenAPI.Query().Where(openapi.HasUserWith(user.ID(id))).Count(ctx)
	return n, database.Mapped(err, nil, nil)
}
