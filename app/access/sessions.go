package access

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/ent/user"
)

// Sessions knows who is logged in. What a session may do is rewritten in the store when users, roles or menus change, so
// that one read tells it and a logout counts everywhere at once.
type Sessions struct {
	store   SessionStore
	people  *people
	ttl     time.Duration
	refresh bool
	now     func() time.Time

	mu      sync.Mutex
	pending map[string]string // account → token to keep; rewriting failed and is tried again
}

// errOver is what everybody gets who shows no session, or one that has ended.
func errOver() *fault.Error {
	return fault.New(fault.Unauthenticated, "you are not logged in, or the session has ended; log in")
}

// Get returns the session of token with menus and permission set, and for each code whether it holds it.
// fault.Unauthenticated if there is none, fault.Unavailable if the store does not answer.
func (s *Sessions) Get(ctx context.Context, token string, codes ...string) (Session, []bool, error) {
	if !tokenLike(token) {
		return Session{}, nil, errOver()
	}
	found, err := s.store.Get(ctx, token)
	if err == nil && found.Used.IsZero() {
		if err = s.adopt(ctx, &found); err == nil {
			found, err = s.store.Get(ctx, token)
		}
	}
	if err != nil {
		return Session{}, nil, err
	}
	held := make([]bool, len(codes))
	for i, c := range codes {
		held[i] = found.Holds(c)
	}
	return found, held, s.extend(ctx, &found)
}

// Check is Get without menus and permission set, for paths where many requests pass.
func (s *Sessions) Check(ctx context.Context, token string, codes ...string) (Session, []bool, error) {
	if !tokenLike(token) {
		return Session{}, nil, errOver()
	}
	found, held, err := s.store.Check(ctx, token, codes...)
	if err == nil && found.Used.IsZero() {
		if err = s.adopt(ctx, &found); err == nil {
			found, held, err = s.store.Check(ctx, token, codes...)
		}
	}
	if err != nil {
		return Session{}, nil, err
	}
	return found, held, s.extend(ctx, &found)
}

// adopt writes what the user holds into a session that a Java server made: it knows nothing of roles that only read or count
// for some groups only (D21).
func (s *Sessions) adopt(ctx context.Context, found *Session) error {
	if err := s.rewrite(ctx, found.Account, found.Token, nil); err != nil {
		return err
	}
	return s.store.Touch(ctx, found.Token, 0)
}

// extend notes the use of a session and moves its end, at most once a minute so that reading does not become writing.
func (s *Sessions) extend(ctx context.Context, found *Session) error {
	now, ttl := s.now(), time.Duration(0)
	if s.refresh && found.Expires.Sub(now) <= s.ttl-time.Minute {
		ttl = s.ttl
	}
	if ttl == 0 && now.Sub(found.Used) < time.Minute {
		return nil
	}
	if err := s.store.Touch(ctx, found.Token, ttl); err != nil {
		return err
	}
	found.Used = now
	if ttl > 0 {
		found.Expires = now.Add(ttl)
	}
	return nil
}

// Logout ends a session on all replicas. An unknown one is no error.
func (s *Sessions) Logout(ctx context.Context, token string) error {
	if !tokenLike(token) {
		return nil
	}
	return s.store.Delete(ctx, token)
}

// EndAll ends all sessions of an account.
func (s *Sessions) EndAll(ctx context.Context, account string) error {
	return s.endOthers(ctx, account, "")
}

// endOthers ends all sessions of an account but one.
func (s *Sessions) endOthers(ctx context.Context, account, keep string) error {
	tokens, err := s.store.Tokens(ctx, account)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t != keep {
			err = errors.Join(err, s.store.Delete(ctx, t))
		}
	}
	return err
}

// Of returns the live sessions of an account, newest first.
func (s *Sessions) Of(ctx context.Context, account string) ([]Session, error) {
	tokens, err := s.store.Tokens(ctx, account)
	if err != nil {
		return nil, err
	}
	var live []Session
	for _, t := range tokens {
		one, _, err := s.store.Check(ctx, t)
		if fault.Is(err, fault.Unauthenticated) {
			continue // ended since
		} else if err != nil {
			return nil, err
		}
		live = append(live, one)
	}
	slices.SortFunc(live, func(a, b Session) int { return b.Created.Compare(a.Created) })
	return live, nil
}

// End ends the session of an account that has the ID, on all replicas. fault.NotFound if it has none with it.
func (s *Sessions) End(ctx context.Context, account, id string) error {
	live, err := s.Of(ctx, account)
	if err != nil {
		return err
	}
	for _, one := range live {
		if one.ID() == id {
			return s.store.Delete(ctx, one.Token)
		}
	}
	return fault.New(fault.NotFound, "this session has ended already")
}

// Accounts returns the accounts that have live sessions, sorted.
func (s *Sessions) Accounts(ctx context.Context) ([]string, error) {
	accounts, err := s.store.Accounts(ctx)
	slices.Sort(accounts)
	return accounts, err
}

// Rebuild gives the live sessions of an account what it holds now, each in one step, or ends them if it may not work any
// more.
func (s *Sessions) Rebuild(ctx context.Context, account string) error {
	tokens, err := s.store.Tokens(ctx, account)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if err := s.rewrite(ctx, account, t, nil); err != nil && !fault.Is(err, fault.Unauthenticated) {
			return err
		}
	}
	return nil
}

// Renew gives one session what its user holds now. fault.Unauthenticated if it is over or he may not work any more.
func (s *Sessions) Renew(ctx context.Context, token string) error {
	if !tokenLike(token) {
		return errOver()
	}
	found, err := s.store.Get(ctx, token)
	if err != nil {
		return err
	}
	return s.rewrite(ctx, found.Account, token, nil)
}

// rewrite writes what account holds until what it wrote is what the database says afterwards: whoever writes last has read
// after his write, so a change that happens meanwhile cannot be overwritten by what was read before it. before is what the
// session holds already, if known. fault.Unauthenticated if the session ended or had to be ended.
func (s *Sessions) rewrite(ctx context.Context, account, token string, before *Session) error {
	for range 10 {
		now, err := s.people.session(ctx, account)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated) {
			if dropped := s.store.Delete(ctx, token); dropped != nil {
				return dropped
			}
			return errOver().Because(err)
		} else if err != nil {
			return err
		}
		if before != nil && holdTheSame(*before, now) {
			return nil
		}
		now.Token = token
		if err := s.store.Replace(ctx, now); err != nil {
			return err
		}
		before = &now
	}
	return fault.New(fault.Conflict, "what %q may do changes faster than its sessions can be rewritten", account)
}

// holdTheSame compares what the database says about a user, not token and times.
func holdTheSame(a, b Session) bool {
	a.Token, a.Created, a.Expires, a.Used, a.Address, a.Agent = b.Token, b.Created, b.Expires, b.Used, b.Address, b.Agent
	return reflect.DeepEqual(a, b)
}

// everybody stands for all accounts that are online.
const everybody = ""

// follow rewrites the sessions of accounts after a committed change, and ends those that a new password ends: endBut names
// the account and the token to keep. What fails is tried again until it works; the caller hears that the change is saved and
// not yet in force everywhere.
func (s *Sessions) follow(ctx context.Context, accounts []string, endBut map[string]string) error {
	if len(accounts) == 0 {
		return nil
	}
	online, err := s.store.Accounts(ctx)
	if err != nil {
		return s.later(ctx, err, accounts, endBut)
	}
	var failed []string
	for _, a := range online {
		if !slices.Contains(accounts, a) && !slices.Contains(accounts, everybody) {
			continue
		}
		var one error
		if keep, end := endBut[a]; end {
			one = s.endOthers(ctx, a, keep)
		}
		if one = errors.Join(one, s.Rebuild(ctx, a)); one != nil {
			failed, err = append(failed, a), errors.Join(err, one)
		}
	}
	if len(failed) > 0 {
		return s.later(ctx, err, failed, endBut)
	}
	return nil
}

// rebuildOnly marks a pending account whose sessions go on.
const rebuildOnly = "*"

func (s *Sessions) later(ctx context.Context, err error, accounts []string, endBut map[string]string) error {
	s.mu.Lock()
	for _, a := range accounts {
		if _, ok := s.pending[a]; !ok {
			s.pending[a] = rebuildOnly
		}
	}
	for a, keep := range endBut {
		s.pending[a] = keep
	}
	s.mu.Unlock()
	slog.WarnContext(ctx, "sessions could not be rewritten after a change; trying again", "accounts", len(accounts), "error", err)
	return fault.New(fault.Unavailable, "the change is saved, but sessions that are open now do not follow it yet; this is being tried again").
		Because(err)
}

// retryOnce follows up on changes that live sessions have not seen.
func (s *Sessions) retryOnce(ctx context.Context) error {
	s.mu.Lock()
	pending := s.pending
	s.pending = map[string]string{}
	s.mu.Unlock()
	accounts, endBut := make([]string, 0, len(pending)), map[string]string{}
	for a, keep := range pending {
		accounts = append(accounts, a)
		if keep != rebuildOnly {
			endBut[a] = keep
		}
	}
	return s.follow(ctx, accounts, endBut)
}

// reviewOnce ends sessions of users who were disabled or removed by somebody else, such as a Java server on the same
// database, or whose time has run out.
func (s *Sessions) reviewOnce(ctx context.Context) error {
	online, err := s.store.Accounts(ctx)
	if err != nil {
		return err
	}
	var failed error
	for chunk := range slices.Chunk(online, 500) {
		may, err := s.people.accounts(ctx, user.And(user.AccountIn(chunk...), user.Status(true),
			user.Or(user.ExpireDateIsNil(), user.ExpireDateGT(s.now()))))
		if err != nil {
			return err
		}
		for _, a := range chunk {
			if !slices.Contains(may, a) {
				failed = errors.Join(failed, s.EndAll(ctx, a))
			}
		}
	}
	return failed
}

type keepKey struct{}

// KeepSession returns a context in which a change of a password spares the session that asks for it.
func KeepSession(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, keepKey{}, token)
}

func keptSession(ctx context.Context) string {
	token, _ := ctx.Value(keepKey{}).(string)
	return token
}
