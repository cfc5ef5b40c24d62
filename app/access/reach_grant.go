package access

import (
	"context"
	"slices"

	"eruptcloud/app/fault"
)

// mayGrant refuses a role of these menus with these limits unless by holds each menu as far as the role does: who is no admin
// may grant only what he has (erupt-wire 5.7).
func (p *people) mayGrant(ctx context.Context, by Actor, menus []int64, as limit) error {
	if by.Admin || len(menus) == 0 {
		return nil
	}
	held, up, err := p.holdings(ctx, by)
	if err != nil {
		return err
	}
	for _, id := range menus {
		i := slices.IndexFunc(held, func(g grant) bool { return g.ID == id })
		if i < 0 {
			return fault.New(fault.Forbidden, "you can only grant menus that you hold yourself")
		}
		if wish := within(as.groups); !held[i].looks.covers(wish, up) {
			return fault.New(fault.Forbidden, "you hold %s for some groups only; limit the role to these", held[i].Name).
				Field("groups", "you hold %s for some groups only", held[i].Name)
		} else if !as.readOnly && !held[i].writes.covers(wish, up) {
			return fault.New(fault.Forbidden, "you may only look at %s; let the role read only", held[i].Name).
				Field("readOnly", "you may only look at %s", held[i].Name)
		}
	}
	return nil
}

// mayBecome refuses by the accounts that hold more than he does: whose password he sets, he can be.
func (p *people) mayBecome(ctx context.Context, by Actor, u User) error {
	more, err := p.holdsMore(ctx, u, by)
	if err != nil || !more {
		return err
	}
	return fault.New(fault.Forbidden, "you can only set the password of an account that holds no more than you do").
		Field("password", "%s holds more than you do", u.Account)
}

// mayBar keeps by from letting accounts in or shutting them out that hold more than he does.
func (p *people) mayBar(ctx context.Context, by Actor, u User) error {
	more, err := p.holdsMore(ctx, u, by)
	if err != nil || !more {
		return err
	}
	return fault.New(fault.Forbidden, "%s holds more than you do; only somebody who holds as much can enable, limit or delete that account, or take roles from it", u.Account)
}

// holdsMore reports whether u holds anything that by does not. Of administrators it says no: they are guarded elsewhere.
func (p *people) holdsMore(ctx context.Context, u User, by Actor) (bool, error) {
	if by.Admin || u.Admin || by.Account == u.Account {
		return false, nil
	}
	own, up, err := p.holdings(ctx, by)
	if err != nil {
		return false, err
	}
	theirs, err := p.held(ctx, u.ID, u.Admin)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(theirs, func(t grant) bool {
		return !slices.ContainsFunc(own, func(o grant) bool {
			return o.ID == t.ID && o.looks.covers(t.looks, up) && o.writes.covers(t.writes, up)
		})
	}), nil
}

// holdings are what somebody who asks for a change holds, and the tree of groups to compare it in.
func (p *people) holdings(ctx context.Context, by Actor) ([]grant, parents, error) {
	s, err := p.session(ctx, by.Account)
	if err != nil {
		return nil, nil, actorUnknown(by, err)
	}
	held, err := p.held(ctx, s.UserID, s.Admin)
	if err != nil {
		return nil, nil, err
	}
	up, err := p.groupParents(ctx)
	return held, up, err
}

// actorUnknown refuses an actor who is nobody; other errors pass.
func actorUnknown(by Actor, err error) error {
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated) {
		return fault.New(fault.Forbidden, "the account %q that asks for this cannot grant anything", by.Account).Because(err)
	}
	return err
}
