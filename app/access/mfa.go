package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/user"
)

// MFAOptions say how second factors are bound. One that is bound is asked for in any case.
type MFAOptions struct {
	On     bool   // users may bind one
	Issuer string // as authenticators show it; empty: Erupt Cloud
	Window int    // steps of 30 seconds by which a clock may be off, to either side
}

// MFA keeps the second factor of accounts: codes of an authenticator (RFC 6238) and recovery codes, in the columns of erupt 2.3.
type MFA struct {
	MFAOptions
	db    *database.DB
	vault Vault
	login *Login
	users *Users
	now   func() time.Time
}

const (
	enrolLife      = 10 * time.Minute
	recoveryCodes  = 10
	recoveryLength = 10
)

// MFAStatus is what a user sees of his second factor.
type MFAStatus struct {
	On            bool // it can be bound here
	Bound         bool
	RecoveryCodes int // that are left
}

// Enrolment is a second factor that is not bound yet.
type Enrolment struct {
	Secret string // base32, in groups of four
	URI    string // what authenticators read from a QR code
}

// bound reports whether a second factor protects an account.
func bound(row *ent.User) bool { return bool(row.MfaEnabled) && row.MfaSecret != "" }

// keeps refuses on a database that has no room for second factors.
func (m *MFA) keeps() error {
	if m.lacking() {
		return fault.New(fault.Conflict, "this database cannot keep a second factor: its table of users has no columns for one, which erupt has since 2.3")
	}
	return nil
}

func (m *MFA) lacking() bool {
	for _, column := range []string{user.FieldMfaEnabled, user.FieldMfaSecret, user.FieldMfaRecoveryCodes} {
		if m.db.Shape.Lacks(user.Table, column) {
			return true
		}
	}
	return false
}

// Status returns what an account has. fault.NotFound if there is no such account.
func (m *MFA) Status(ctx context.Context, account string) (MFAStatus, error) {
	row, err := m.row(ctx, account)
	if err != nil {
		return MFAStatus{}, err
	}
	return MFAStatus{On: m.On && !m.lacking(), Bound: bound(row), RecoveryCodes: len(recoveryOf(row))}, nil
}

func (m *MFA) row(ctx context.Context, account string) (*ent.User, error) {
	row, err := theUser(ctx, m.db.Client.User.Query(), account)
	return row, database.Mapped(err, noUser(account), nil)
}

// ready returns the row of an account that may bind a second factor, or change the one it has.
func (m *MFA) ready(ctx context.Context, account string, has bool) (*ent.User, error) {
	if err := m.keeps(); err != nil {
		return nil, err
	}
	row, err := m.row(ctx, account)
	switch {
	case err != nil:
		return nil, err
	case !m.On && !has:
		return nil, fault.New(fault.Conflict, "second factors are switched off on this server")
	case has && !bound(row):
		return nil, fault.New(fault.Conflict, "no second factor is bound to this account")
	case !has && bound(row):
		return nil, fault.New(fault.Conflict, "a second factor is bound already; remove it first")
	}
	return row, nil
}

// Enroll makes a secret that Confirm binds within ten minutes; an older one that was not confirmed is over. fault.Conflict if
// one is bound, second factors are switched off or the database cannot keep any.
func (m *MFA) Enroll(ctx context.Context, account string) (Enrolment, error) {
	row, err := m.ready(ctx, account, false)
	if err != nil {
		return Enrolment{}, err
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: m.issuer(), AccountName: account, SecretSize: 20})
	if err != nil {
		return Enrolment{}, fmt.Errorf("make a secret for one-time codes: %w", err)
	}
	if err := m.vault.Put(ctx, enrolKey(row.ID), key.Secret(), enrolLife); err != nil {
		return Enrolment{}, err
	}
	return enrolment(key), nil
}

// Pending returns the enrolment that waits for its confirmation. fault.Conflict if none does.
func (m *MFA) Pending(ctx context.Context, account string) (Enrolment, error) {
	row, err := m.ready(ctx, account, false)
	if err != nil {
		return Enrolment{}, err
	}
	secret, err := m.pending(ctx, row)
	if err != nil {
		return Enrolment{}, err
	}
	raw, err := base32Of(secret)
	if err != nil {
		return Enrolment{}, err
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: m.issuer(), AccountName: account, Secret: raw})
	if err != nil {
		return Enrolment{}, fmt.Errorf("read a secret for one-time codes: %w", err)
	}
	return enrolment(key), nil
}

func (m *MFA) pending(ctx context.Context, row *ent.User) (string, error) {
	secret, err := m.vault.Get(ctx, enrolKey(row.ID))
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.Conflict, "the time to confirm is over; begin again").Because(err)
	}
	return secret, err
}

func (m *MFA) issuer() string {
	if m.Issuer == "" {
		return "Erupt Cloud"
	}
	return m.Issuer
}

func enrolKey(id int64) string { return fmt.Sprintf("mfa-enroll:%d", id) }

func enrolment(key *otp.Key) Enrolment {
	var grouped strings.Builder
	for i, r := range key.Secret() {
		if i > 0 && i%4 == 0 {
			grouped.WriteByte(' ')
		}
		grouped.WriteRune(r)
	}
	return Enrolment{Secret: grouped.String(), URI: key.URL()}
}

// Confirm binds the secret of Enroll to an account whose user shows a code of it, and returns his recovery codes, which nobody
// can read again. fault.Invalid if the code is wrong, fault.Conflict as for Enroll, fault.TooMany after too many wrong ones.
func (m *MFA) Confirm(ctx context.Context, account, code string) ([]string, error) {
	row, err := m.ready(ctx, account, false)
	if err != nil {
		return nil, err
	}
	secret, err := m.pending(ctx, row)
	if err != nil {
		return nil, err
	}
	ok, err := m.guarded(ctx, row, func() (bool, error) { return m.spend(ctx, row.ID, secret, code) })
	if err != nil {
		return nil, err
	} else if !ok {
		return nil, wrongCode()
	}
	if taken, err := m.vault.Take(ctx, enrolKey(row.ID)); err != nil || taken != secret {
		return nil, fault.New(fault.Conflict, "the time to confirm is over; begin again").Because(err)
	}
	codes, kept := newRecoveryCodes()
	err = m.db.Client.User.Update().Where(user.ID(row.ID)).SetMfaEnabled(true).SetMfaSecret(secret).SetMfaRecoveryCodes(kept).Exec(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	return codes, nil
}

// NewCodes replaces the recovery codes of a user who shows a code. Its errors are those of Confirm.
func (m *MFA) NewCodes(ctx context.Context, account, code string) ([]string, error) {
	row, err := m.ready(ctx, account, true)
	if err != nil {
		return nil, err
	}
	if err := m.shown(ctx, row, code); err != nil {
		return nil, err
	}
	codes, kept := newRecoveryCodes()
	if err := m.db.Client.User.Update().Where(user.ID(row.ID)).SetMfaRecoveryCodes(kept).Exec(ctx); err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	return codes, nil
}

// Unbind removes the second factor of a user who shows password and code. fault.Invalid if either is wrong.
func (m *MFA) Unbind(ctx context.Context, account, password, code string) error {
	row, err := m.ready(ctx, account, true)
	if err != nil {
		return err
	}
	if err := m.users.VerifyPassword(ctx, account, password); err != nil {
		return err
	}
	if err := m.shown(ctx, row, code); err != nil {
		return err
	}
	return m.clear(ctx, row.ID)
}

// Reset removes the second factor of somebody who lost it. fault.Forbidden unless by may set the password of that account.
func (m *MFA) Reset(ctx context.Context, account string, by Actor) error {
	u, err := m.users.ByAccount(ctx, account)
	if err != nil {
		return err
	}
	if u.Admin && !by.Admin {
		return fault.New(fault.Forbidden, "only an administrator may change administrators or make them")
	}
	if err := m.users.changes.people.mayBecome(ctx, by, u); err != nil {
		return err
	}
	row, err := m.ready(ctx, account, true)
	if err != nil {
		return err
	}
	return m.clear(ctx, row.ID)
}

func (m *MFA) clear(ctx context.Context, id int64) error {
	err := m.db.Client.User.Update().Where(user.ID(id)).SetMfaEnabled(false).ClearMfaSecret().ClearMfaRecoveryCodes().Exec(ctx)
	if err != nil {
		return database.Mapped(err, nil, nil)
	}
	return m.vault.Delete(ctx, triesKey(id), enrolKey(id))
}

// newRecoveryCodes returns codes and the form in which they are kept: a JSON array of digests.
func newRecoveryCodes() (codes []string, kept string) {
	digests := make([]string, 0, recoveryCodes)
	for range recoveryCodes {
		c := strings.ToLower(randomText(alphanumerics, recoveryLength))
		codes, digests = append(codes, c), append(digests, recoveryDigest(c))
	}
	text, _ := json.Marshal(digests) // texts can be written
	return codes, string(text)
}

func recoveryDigest(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

// recoveryOf returns the digests of the codes that are left; what cannot be read is none.
func recoveryOf(row *ent.User) []string {
	var digests []string
	if json.Unmarshal([]byte(row.MfaRecoveryCodes), &digests) != nil {
		return nil
	}
	return digests
}
