package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"eruptcloud/app/fault"
)

// guard counts tries to log in, of an account from an address, and asks for a captcha or locks the pair when there are many. The
// counter is shared by all replicas.
type guard struct {
	store   SessionStore
	captcha *Captcha
	lock    LockOptions
	after   int           // failures until a captcha is asked for; below zero: never
	life    time.Duration // of the count
	folded  bool          // accounts may be typed in any case, which must not give more tries
}

// name is the name of the counter.
func (g *guard) name(a Attempt) string {
	return g.counted(a.Account)
}

// counted is the name of the counter of an account. It is folded first: a digest is another one for each spelling.
func (g *guard) counted(account string) string {
	if g.folded {
		account = foldedAccount(account)
	}
	return countedName(account)
}

// limit is how tries are counted.
func (g *guard) limit() TryLimit {
	l := TryLimit{Lock: time.Duration(g.lock.Minutes) * time.Minute, Life: g.life}
	if g.lock.On {
		l.Max = g.lock.MaxFailures
	}
	return l
}

// enter counts a try and checks its captcha, before the password is looked at: a hundred tries at once must not all pass before
// the first has failed. One without a captcha where it takes one counts too, as in erupt 2.3: else the captcha would be a place
// to try for ever. tries counts this one as well.
func (g *guard) enter(ctx context.Context, a Attempt) (tries int, err error) {
	if !g.lock.On && g.after < 0 {
		return 0, nil
	}
	name := g.name(a)
	tries, wait, err := g.store.CountTry(ctx, name, a.Address, g.limit())
	switch {
	case err != nil:
		return 0, err
	case wait > 0:
		return 0, tooManyFailures(wait)
	case g.after < 0 || tries <= g.after:
		return tries, nil
	}
	ok, err := g.captcha.Verify(ctx, a.Mark, a.Code)
	if err == nil && !ok {
		err = errCode()
	}
	return tries, err
}

// leave forgets the tries of somebody who has logged in.
func (g *guard) leave(ctx context.Context, a Attempt) error {
	if !g.lock.On && g.after < 0 {
		return nil
	}
	return g.store.ForgetTries(ctx, g.name(a), a.Address)
}

// asking adds to a refusal that the next try needs a captcha, if it does.
func (g *guard) asking(err error, tries int) error {
	if f := fault.Of(err); f.Code == fault.Unauthenticated && g.after >= 0 && tries >= g.after {
		return f.Because(&demand{code: true})
	}
	return err
}

// errCode is the answer to a captcha that is wrong, missing or over.
func errCode() error {
	return fault.New(fault.Unauthenticated, "the characters of the picture are wrong").Because(&demand{code: true})
}

// IsWrongCode reports whether a login was refused for its captcha.
func IsWrongCode(err error) bool {
	return err != nil && fault.Of(err).Format == fault.Of(errCode()).Format
}

// demand is what a refused login asks for. It travels as the cause of the refusal.
type demand struct {
	code    bool   // a captcha
	ticket  string // the second factor
	account string // of the ticket
}

// Error says nothing secret: causes are logged.
func (d *demand) Error() string {
	if d.ticket != "" {
		return "the second factor is asked for"
	}
	return "a captcha is asked for"
}

// CodeWanted reports whether the next try of a login that was refused with err needs a captcha.
func CodeWanted(err error) bool {
	var d *demand
	return errors.As(err, &d) && d.code
}

// AccountOf returns the account whose second factor a login that was refused with err needs.
func AccountOf(err error) string {
	var d *demand
	if !errors.As(err, &d) {
		return ""
	}
	return d.account
}

// TicketOf returns the ticket with which a login that was refused with err goes on by a second factor; empty: it does not.
func TicketOf(err error) string {
	var d *demand
	if !errors.As(err, &d) {
		return ""
	}
	return d.ticket
}

// countedName bounds what a client can make us keep as the name of a counter.
func countedName(account string) string {
	if len(account) <= 64 {
		return account
	}
	sum := sha256.Sum256([]byte(account))
	return "sha256-" + hex.EncodeToString(sum[:])
}
