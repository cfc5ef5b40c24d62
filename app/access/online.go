package access

import (
	"context"
	"slices"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent/user"
)

// Online tells who is logged in, and ends it.
type Online struct {
	users    *Users
	people   *people
	sessions *Sessions
}

// OnlineFilter selects sessions; empty fields select all.
type OnlineFilter struct {
	Query string // part of account or name, in any case
}

// mostOnline bounds how many accounts one look at the list loads sessions of.
const mostOnline = 2000

// List returns the live sessions, by account and the newest first, and how many accounts that fit the filter were left out
// because they are too many.
func (o *Online) List(ctx context.Context, f OnlineFilter) (live []Session, left int, err error) {
	accounts, err := o.sessions.Accounts(ctx)
	if err != nil {
		return nil, 0, err
	}
	if text := strings.TrimSpace(f.Query); text != "" {
		if accounts, err = o.called(ctx, text, accounts); err != nil {
			return nil, 0, err
		}
	}
	if len(accounts) > mostOnline {
		accounts, left = accounts[:mostOnline], len(accounts)-mostOnline
	}
	for _, a := range accounts {
		own, err := o.sessions.Of(ctx, a)
		if err != nil {
			return nil, 0, err
		}
		live = append(live, own...)
	}
	return live, left, nil
}

// called are those of accounts that contain text or whose display name does.
func (o *Online) called(ctx context.Context, text string, accounts []string) ([]string, error) {
	var named []string
	for chunk := range slices.Chunk(accounts, 500) {
		found, err := o.people.accounts(ctx, user.And(user.AccountIn(chunk...), user.NameContainsFold(text)))
		if err != nil {
			return nil, database.Mapped(err, nil, nil)
		}
		named = append(named, found...)
	}
	slices.Sort(named)
	return slices.DeleteFunc(accounts, func(a string) bool {
		_, byName := slices.BinarySearch(named, a)
		return !byName && !strings.Contains(strings.ToLower(a), strings.ToLower(text))
	}), nil
}

// End ends one session of an account, named by Session.ID, or all of them if id is empty. fault.NotFound if there is none
// with it, fault.Forbidden if the account is an administrator's or holds more than by does.
func (o *Online) End(ctx context.Context, account, id string, by Actor) error {
	if by.Account != account && !by.Admin {
		u, err := o.users.ByAccount(ctx, account)
		if err != nil && !fault.Is(err, fault.NotFound) { // whom nobody knows any more holds nothing
			return err
		}
		more := u.Admin
		if !more && err == nil {
			if more, err = o.people.holdsMore(ctx, u, by); err != nil {
				return err
			}
		}
		if more {
			return fault.New(fault.Forbidden, "%s holds more than you do; only somebody who holds as much can end these sessions", account)
		}
	}
	if id != "" {
		return o.sessions.End(ctx, account, id)
	}
	return o.sessions.EndAll(ctx, account)
}
