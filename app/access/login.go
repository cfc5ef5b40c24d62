package access

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
)

// Login turns account and password into a session.
type Login struct {
	db        *database.DB
	passwords *passwords
	store     SessionStore
	sessions  *Sessions
	users     *Users
	captcha   *Captcha
	mfa       *MFA
	guard     guard
	transfer  bool
	now       func() time.Time
	metrics   *metrics
}

// Attempt is one try to log in.
type Attempt struct {
	Account, Password string
	Address           string // of the client, behind trusted proxies
	Agent             string // User-Agent
	// Code is what the client read in the captcha with the number Mark; empty: it was shown none.
	Code, Mark string
}

// errWrong is the answer to a wrong password and to an unknown account alike.
func errWrong() *fault.Error {
	return fault.New(fault.Unauthenticated, "account or password is wrong")
}

func tooManyFailures(wait time.Duration) *fault.Error {
	minutes := int((wait + time.Minute - 1) / time.Minute)
	return fault.New(fault.TooMany, "too many failed attempts; try again in %d minutes", minutes).Retry(wait)
}

// Attempt logs in. fault.Unauthenticated with one text and after the same time for an unknown account and a wrong password;
// only who knows the password hears that the account is disabled, expired, not allowed from his address or needs a second
// factor, for which TicketOf has the ticket. CodeWanted says whether the next try needs a captcha. fault.TooMany with RetryAfter
// while the pair of account and address is locked, or too many logins wait. fault.Unavailable if database or session store do
// not answer.
func (l *Login) Attempt(ctx context.Context, a Attempt) (Session, error) {
	return l.counted(l.attempt(ctx, a, false))
}

// counted puts an attempt into the metrics.
func (l *Login) counted(s Session, err error) (Session, error) {
	result := "failed"
	switch {
	case err == nil:
		result = "ok"
	case TicketOf(err) != "":
		result = "half"
	case fault.Of(err).Format == errWrong().Format:
		result = "wrong"
	case fault.Is(err, fault.Unauthenticated):
		result = "refused"
	case fault.Is(err, fault.TooMany):
		result = "locked"
	}
	l.metrics.logins.WithLabelValues(result).Inc()
	return s, err
}

// attempt follows the order of erupt 2.3: lock, captcha, account and password, and what stands against the account. digest: what
// is shown is not the password but what erupt 1.x makes of it.
func (l *Login) attempt(ctx context.Context, a Attempt, digest bool) (Session, error) {
	tries, err := l.guard.enter(ctx, a)
	if err != nil {
		return Session{}, err
	}
	row, err := l.verified(ctx, a, digest)
	if err != nil {
		return Session{}, l.guard.asking(err, tries)
	}
	if err := l.admitted(row, a.Address); err != nil {
		return Session{}, errors.Join(err, l.guard.leave(ctx, a))
	}
	if !digest {
		l.strengthen(ctx, row, a.Password)
	}
	if bound(row) {
		// The count stays until the second step is done: who has the password alone must not get tickets without end.
		return Session{}, l.mfa.demand(ctx, row)
	}
	return l.enter(ctx, row, a)
}

// enter opens a session for whoever has shown all that the account asks for.
func (l *Login) enter(ctx context.Context, row *ent.User, a Attempt) (Session, error) {
	if err := l.guard.leave(ctx, a); err != nil {
		return Session{}, err
	}
	s, err := l.open(ctx, row, newToken(), l.sessions.ttl, a)
	if err != nil {
		return Session{}, err
	}
	l.record(ctx, s)
	return s, nil
}

// verified returns the row of the account if the password is right.
func (l *Login) verified(ctx context.Context, a Attempt, digest bool) (*ent.User, error) {
	verify := l.passwords.verify
	if digest {
		verify = func(ctx context.Context, s *secret, shown string) (bool, error) {
			return l.passwords.verifyDigest(ctx, s, a.Account, shown)
		}
	}
	rows := []*ent.User{nil}
	if a.Account != "" && len(a.Account) <= 255 && utf8.ValidString(a.Account) {
		found, err := typed(ctx, l.db.Client.User.Query(), a.Account)
		if err != nil {
			return nil, database.Mapped(err, nil, nil)
		}
		if len(found) > 0 {
			rows = found
		}
	}
	for _, row := range rows {
		var stored *secret
		if row != nil {
			stored = secretOf(row)
		}
		ok, err := verify(ctx, stored, a.Password)
		switch {
		case err != nil:
			return nil, err
		case !ok || a.Password == "":
			continue
		case len(rows) > 1:
			return nil, fault.New(fault.Unauthenticated, "several users have the account %s; ask an administrator", row.Account)
		}
		return row, nil
	}
	return nil, errWrong()
}

// open makes the session and looks once more at what the user holds: a change that was committed while the session was
// being made did not find it, and so could not rewrite it.
func (l *Login) open(ctx context.Context, row *ent.User, token string, ttl time.Duration, a Attempt) (Session, error) {
	s, err := l.sessions.people.session(ctx, row.Account)
	if fault.Is(err, fault.NotFound) {
		return Session{}, errWrong() // deleted just now
	} else if err != nil {
		return Session{}, err
	}
	s.Token, s.Created, s.Address, s.Agent = token, l.now(), a.Address, shorten(a.Agent, 255)
	if row.ExpireDate != nil {
		ttl = max(min(ttl, row.ExpireDate.Sub(l.now())), time.Second) // never nothing, which a store takes for no end
	}
	s.Expires = s.Created.Add(ttl)
	if err := l.store.Create(ctx, s, ttl); err != nil {
		return Session{}, err
	}
	if err := l.sessions.rewrite(ctx, s.Account, s.Token, &s); err != nil {
		return Session{}, err
	}
	return s, nil
}

// record writes the login log. A login is not refused because its row cannot be written.
func (l *Login) record(ctx context.Context, s Session) {
	sum := sha256.Sum256([]byte(s.Token))
	client := describeAgent(s.Agent)
	err := l.db.Client.LoginLog.Create().SetUserName(shorten(s.Name, 255)).SetLoginTime(s.Created).SetIP(shorten(s.Address, 64)).
		SetSystemName(client.System).SetBrowser(client.Browser).SetDeviceType(client.Device).
		SetToken(hex.EncodeToString(sum[:8])).Exec(ctx)
	if err != nil {
		slog.WarnContext(ctx, "the login log could not be written", "account", s.Account, "error", err)
	}
}

// DecodeTransfer undoes what erupt's front end does to a password before it sends it: base64 three times over its
// percent-encoded form. Nothing is undone where that is switched off. fault.Invalid for anything else.
func (l *Login) DecodeTransfer(pwd string) (string, error) {
	if !l.transfer {
		return pwd, nil
	}
	wrong := fault.New(fault.Invalid, "the password is not encoded as this server asks for: base64, applied three times")
	if len(pwd) > 8192 {
		return "", wrong
	}
	for range 3 {
		raw, err := base64.StdEncoding.DecodeString(pwd)
		if err != nil {
			return "", wrong // without its cause, which quotes the text
		}
		pwd = string(raw)
	}
	plain, err := url.QueryUnescape(pwd)
	if err != nil || !utf8.ValidString(plain) {
		return "", wrong
	}
	return plain, nil
}

// shorten cuts a text to n characters and leaves valid UTF-8.
func shorten(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}
