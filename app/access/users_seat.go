package access

import (
	"context"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/menu"
	"eruptcloud/ent/org"
	"eruptcloud/ent/post"
	"eruptcloud/ent/predicate"
	"eruptcloud/ent/user"
)

// seat is where a user belongs: organisation, post and the menu to start with, by id; nil: none.
type seat struct{ org, post, home *int64 }

// seatOf is a seat after a wish; a code that is nil leaves a thing as it is, an empty one takes it away. fault.Invalid with
// Fields if there is no such thing, or a post without an organisation (erupt-wire 5.7).
func seatOf(ctx context.Context, tx *ent.Tx, at seat, orgCode, postCode, homeCode *string) (seat, error) {
	if orgCode != nil {
		at.org = nil
		if *orgCode != "" {
			id, err := tx.Org.Query().Where(org.Code(*orgCode)).OnlyID(ctx)
			if err != nil {
				const format = "there is no organisation %q"
				return at, database.Mapped(err, fault.New(fault.Invalid, format, *orgCode).Field("org", format, *orgCode), nil)
			}
			at.org = &id
		}
	}
	if postCode != nil {
		at.post = nil
		if *postCode != "" {
			id, err := tx.Post.Query().Where(post.Code(*postCode)).OnlyID(ctx)
			if err != nil {
				const format = "there is no post %q"
				return at, database.Mapped(err, fault.New(fault.Invalid, format, *postCode).Field("post", format, *postCode), nil)
			}
			at.post = &id
		}
	}
	if (orgCode != nil || postCode != nil) && at.post != nil && at.org == nil {
		return at, fieldFault(nil, "org", "must be set when a post is set")
	}
	if homeCode == nil {
		return at, nil
	}
	at.home = nil
	if *homeCode == "" {
		return at, nil
	}
	row, err := tx.Menu.Query().Where(menu.Code(*homeCode)).Only(ctx)
	if err != nil {
		return at, database.Mapped(err, fault.New(fault.Invalid, "there is no menu %q", *homeCode).Field("home", "there is no menu %q", *homeCode), nil)
	}
	if m := menuOf(row); !m.Opens() {
		return at, fieldFault(nil, "home", "is a menu that opens no page")
	}
	at.home = &row.ID
	return at, nil
}

// Opens reports whether a menu leads to a page, as folders and rights do not.
func (m Menu) Opens() bool { return m.Type != "" && m.Type != TypeButton && m.Type != TypeAPI }

// moveUser writes where a user belongs after a patch.
func moveUser(ctx context.Context, tx *ent.Tx, change *ent.UserUpdate, row *ent.User, p UserPatch) error {
	if p.Org == nil && p.Post == nil && p.Home == nil {
		return nil
	}
	before := seat{row.EruptOrgID, row.EruptPostID, row.EruptMenuID}
	at, err := seatOf(ctx, tx, before, p.Org, p.Post, p.Home)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		sent  bool
		id    *int64
		set   func(int64) *ent.UserUpdate
		clear func() *ent.UserUpdate
	}{
		{p.Org != nil, at.org, change.SetEruptOrgID, change.ClearEruptOrgID},
		{p.Post != nil, at.post, change.SetEruptPostID, change.ClearEruptPostID},
		{p.Home != nil, at.home, change.SetEruptMenuID, change.ClearEruptMenuID},
	} {
		switch {
		case !f.sent:
		case f.id == nil:
			f.clear()
		default:
			f.set(*f.id)
		}
	}
	return nil
}

// withHome names the menu that a user starts with.
func (u *Users) withHome(ctx context.Context, one User) (User, error) {
	if one.HomeMenu == 0 {
		return one, nil
	}
	found, err := u.db.Client.Menu.Query().Where(menu.ID(one.HomeMenu)).Only(ctx)
	if ent.IsNotFound(err) {
		return one, nil
	} else if err != nil {
		return User{}, database.Mapped(err, nil, nil)
	}
	one.HomeCode = found.Code
	return one, nil
}

// whereAll is where with what has to be looked up first.
func (u *Users) whereAll(ctx context.Context, f UserFilter) ([]predicate.User, error) {
	where := u.where(f)
	if f.Org == "" {
		return where, nil
	}
	in, err := (&Orgs{db: u.db}).subtree(ctx, f.Org)
	if err != nil {
		return nil, err
	}
	return append(where, user.EruptOrgIDIn(in...)), nil
}
