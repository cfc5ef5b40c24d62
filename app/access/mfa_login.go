package access

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/user"
)

const (
	codeStep      = 30 // seconds
	ticketLife    = 5 * time.Minute
	ticketTries   = 5
	accountLife   = time.Hour
	accountTries  = 60 // of one account's codes within accountLife, wherever they come from
	ownFactorName = "mfa"
)

func wrongCode() *fault.Error {
	return fault.New(fault.Invalid, "the code is wrong or was used already").Field("code", "is wrong or was used already")
}

// errTicket is the answer to a second step whose first one is over.
func errTicket() *fault.Error {
	return fault.New(fault.Unauthenticated, "the time for the code is over, or there were too many wrong ones; log in again")
}

// demand refuses a login by password alone and hands out the ticket for the second step.
func (m *MFA) demand(ctx context.Context, row *ent.User) error {
	ticket := newToken()
	if err := m.vault.Put(ctx, "mfa-ticket:"+ticket, ticketValue(row), ticketLife); err != nil {
		return err
	}
	return secondFactor(row.Account, ticket)
}

// ticketValue is what the vault keeps of a ticket: whose it is, and a digest of what he logs in with. A ticket is over when that is
// changed.
func ticketValue(row *ent.User) string {
	sum := sha256.Sum256([]byte(row.Password + "\x00" + row.Salt + "\x00" + row.MfaSecret))
	return strconv.FormatInt(row.ID, 10) + ":" + hex.EncodeToString(sum[:16])
}

func secondFactor(account, ticket string) error {
	return fault.New(fault.Unauthenticated, "the account %s needs a second factor", account).Because(&demand{ticket: ticket, account: account})
}

// Complete ends a login with a code of the authenticator or a recovery code. fault.Unauthenticated if the code is wrong, with a
// ticket in it (TicketOf) as long as there are tries left; what else can be wrong is as for Attempt. a needs address and agent.
func (m *MFA) Complete(ctx context.Context, ticket, code string, a Attempt) (Session, error) {
	return m.login.counted(m.complete(ctx, ticket, code, a))
}

func (m *MFA) complete(ctx context.Context, ticket, code string, a Attempt) (Session, error) {
	row, err := m.ticketed(ctx, ticket)
	if err != nil {
		return Session{}, err
	}
	a.Account = row.Account
	tries, err := m.vault.Add(ctx, "mfa-error:"+ticket, ticketLife)
	if err != nil {
		return Session{}, err
	} else if tries > ticketTries {
		return Session{}, errors.Join(errTicket(), m.burn(ctx, ticket))
	}
	_, wait, err := m.login.store.CountTry(ctx, m.login.guard.name(a), a.Address, m.login.guard.limit())
	if err != nil {
		return Session{}, err
	} else if wait > 0 {
		return Session{}, tooManyFailures(wait)
	}
	if err := m.patient(ctx, row.ID); err != nil {
		return Session{}, err
	}
	ok, err := m.matches(ctx, row, code)
	switch {
	case err != nil:
		return Session{}, err
	case !ok && tries >= ticketTries:
		return Session{}, errors.Join(errTicket(), m.burn(ctx, ticket))
	case !ok:
		return Session{}, fault.New(fault.Unauthenticated, "the code is wrong or was used already").Because(&demand{ticket: ticket, account: row.Account})
	}
	if _, err := m.vault.Take(ctx, "mfa-ticket:"+ticket); fault.Is(err, fault.NotFound) {
		return Session{}, errTicket().Because(err) // a second request with it was faster
	} else if err != nil {
		return Session{}, err
	}
	if err := errors.Join(m.burn(ctx, ticket), m.vault.Delete(ctx, triesKey(row.ID))); err != nil {
		return Session{}, err
	}
	if err := m.login.admitted(row, a.Address); err != nil { // it may have been disabled meanwhile
		return Session{}, err
	}
	return m.login.enter(ctx, row, a)
}

// ticketed returns the account that a ticket was made for.
func (m *MFA) ticketed(ctx context.Context, ticket string) (*ent.User, error) {
	if !tokenLike(ticket) {
		return nil, errTicket()
	}
	text, err := m.vault.Get(ctx, "mfa-ticket:"+ticket)
	if fault.Is(err, fault.NotFound) {
		return nil, errTicket().Because(err)
	} else if err != nil {
		return nil, err
	}
	owner, _, _ := strings.Cut(text, ":")
	id, err := strconv.ParseInt(owner, 10, 64)
	if err != nil {
		return nil, errTicket().Because(err)
	}
	row, err := m.db.Client.User.Query().Where(user.ID(id)).Only(ctx)
	if ent.IsNotFound(err) || err == nil && (!bound(row) || !same(ticketValue(row), text)) { // removed, or its factor was: the password says it all then
		return nil, errTicket().Because(err)
	}
	return row, database.Mapped(err, nil, nil)
}

func (m *MFA) burn(ctx context.Context, ticket string) error {
	return m.vault.Delete(ctx, "mfa-ticket:"+ticket, "mfa-error:"+ticket)
}

func triesKey(id int64) string { return fmt.Sprintf("mfa-tries:%d", id) }

// patient bounds how many codes of one account are tried from everywhere: six digits do not stand a botnet.
func (m *MFA) patient(ctx context.Context, id int64) error {
	tries, err := m.vault.Add(ctx, triesKey(id), accountLife)
	if err == nil && tries > accountTries {
		err = tooManyFailures(accountLife)
	}
	return err
}

// shown checks a code that a user who is logged in shows to change something.
func (m *MFA) shown(ctx context.Context, row *ent.User, code string) error {
	ok, err := m.guarded(ctx, row, func() (bool, error) { return m.matches(ctx, row, code) })
	if err == nil && !ok {
		err = wrongCode()
	}
	return err
}

// guarded counts tries as the login does: whoever got hold of an open session must not guess codes at leisure.
func (m *MFA) guarded(ctx context.Context, row *ent.User, check func() (bool, error)) (bool, error) {
	limit := m.login.guard.limit()
	if limit.Max > 0 {
		if _, wait, err := m.login.store.CountTry(ctx, m.login.guard.counted(row.Account), ownFactorName, limit); err != nil {
			return false, err
		} else if wait > 0 {
			return false, tooManyFailures(wait)
		}
	}
	if err := m.patient(ctx, row.ID); err != nil {
		return false, err
	}
	ok, err := check()
	if err != nil || !ok {
		return false, err
	}
	return true, errors.Join(m.login.store.ForgetTries(ctx, m.login.guard.counted(row.Account), ownFactorName), m.vault.Delete(ctx, triesKey(row.ID)))
}

// matches reports whether code is one of the authenticator that was not used yet, or a recovery code, which it uses up.
func (m *MFA) matches(ctx context.Context, row *ent.User, code string) (bool, error) {
	code = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(code), " ", ""))
	if len(code) == int(otp.DigitsSix) {
		return m.spend(ctx, row.ID, row.MfaSecret, code)
	}
	return m.useRecovery(ctx, row, code)
}

// spend reports whether code belongs to secret now, and to no step that was used already. It marks the step as used.
func (m *MFA) spend(ctx context.Context, id int64, secret, code string) (bool, error) {
	code = strings.ReplaceAll(strings.TrimSpace(code), " ", "")
	step, window := m.now().Unix()/codeStep, int64(m.Window)
	at := int64(-1)
	for s := step - window; s <= step+window; s++ {
		want, err := hotp.GenerateCodeCustom(secret, uint64(max(s, 0)), hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return false, fmt.Errorf("the stored secret of the second factor of user %d: %w", id, errors.New("it is no base32")) // without its cause, which quotes it
		}
		if same(want, code) {
			at = s
		}
	}
	if at < 0 {
		return false, nil
	}
	uses, err := m.vault.Add(ctx, fmt.Sprintf("mfa-used:%d:%d", id, at), time.Duration(2*window+2)*codeStep*time.Second)
	return err == nil && uses == 1, err
}

// useRecovery uses up a recovery code. Of two requests with the same one, one gets through.
func (m *MFA) useRecovery(ctx context.Context, row *ent.User, code string) (bool, error) {
	left := recoveryOf(row)
	i := slices.Index(left, recoveryDigest(code))
	if i < 0 {
		return false, nil
	}
	text, err := json.Marshal(slices.Delete(left, i, i+1))
	if err != nil {
		return false, err
	}
	n, err := m.db.Client.User.Update().Where(user.ID(row.ID), user.MfaRecoveryCodes(row.MfaRecoveryCodes)).
		SetMfaRecoveryCodes(string(text)).Save(ctx)
	return n == 1, database.Mapped(err, nil, nil)
}

func base32Of(secret string) ([]byte, error) {
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		return nil, errors.New("the secret of an enrolment is no base32")
	}
	return raw, nil
}
