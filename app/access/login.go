package access

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/user"
)

// Login turns account and password into a session.
type Login struct {
	db        *database.DB
	passwords *passwords
	store     SessionStore
	sessions  *Sessions
	users     *Users
	lock      LockOptions
	transfer  bool
	now       func() time.Time
	metrics   *metrics
}

// Attempt is one try to log in.
type Attempt struct {
	Account, Password string
	Address           string // of the client, behind trusted proxies
	Agent             string // User-Agent
}

// errWrong is the answer to a wrong password and to an unknown account alike.
func errWrong() *fault.Error {
	return fault.New(fault.Unauthenticated, "account or password is wrong")
}

func tooManyFailures(wait time.Duration) error {
	minutes := int((wait + time.Minute - 1) / time.Minute)
	return fault.New(fault.TooMany, "too many failed attempts; try again in %d minutes", minutes).Retry(wait)
}

// Attempt logs in. fault.Unauthenticated with one text and after the same time for an unknown account and a wrong password;
// only who knows the password hears that the account is disabled, expired, or not allowed from his address. fault.TooMany
// with RetryAfter while the pair of account and address is locked, or too many logins wait. fault.Unavailable if database or
// session store do not answer.
func (l *Login) Attempt(ctx context.Context, a Attempt) (Session, error) {
	s, err := l.attempt(ctx, a)
	result := "failed"
	switch {
	case err == nil:
		result = "ok"
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

func (l *Login) attempt(ctx context.Context, a Attempt) (Session, error) {
	counted := countedName(a.Account)
	if l.lock.On {
		// Counted before the password is looked at: a hundred tries at once must not all pass before the first has failed.
		wait, err := l.store.CountTry(ctx, counted, a.Address, l.lock.MaxFailures, time.Duration(l.lock.Minutes)*time.Minute)
		if err != nil {
			return Session{}, err
		} else if wait > 0 {
			return Session{}, tooManyFailures(wait)
		}
	}
	row, err := l.verified(ctx, a)
	if err != nil {
		return Session{}, err
	}
	if l.lock.On {
		if err := l.store.ForgetTries(ctx, counted, a.Address); err != nil {
			return Session{}, err
		}
	}
	if err := l.admitted(row, a.Address); err != nil {
		return Session{}, err
	}
	s, err := l.open(ctx, row, a)
	if err != nil {
		return Session{}, err
	}
	l.record(ctx, s)
	return s, nil
}

// countedName bounds what a client can make us keep as the name of a counter.
func countedName(account string) string {
	if len(account) <= 64 {
		return account
	}
	sum := sha256.Sum256([]byte(account))
	return "sha256-" + hex.EncodeToString(sum[:])
}

// verified returns the row of the account if the password is right.
func (l *Login) verified(ctx context.Context, a Attempt) (*ent.User, error) {
	var stored *secret
	var row *ent.User
	if a.Account != "" && len(a.Account) <= 255 && utf8.ValidString(a.Account) {
		var err error
		row, err = l.db.Client.User.Query().Where(user.Account(a.Account)).Only(ctx)
		switch {
		case err == nil:
			stored = secretOf(row)
		case !ent.IsNotFound(err):
			return nil, database.Mapped(err, nil, nil)
		}
	}
	ok, err := l.passwords.verify(ctx, stored, a.Password)
	if err != nil {
		return nil, err
	}
	if !ok || a.Password == "" {
		return nil, errWrong()
	}
	return row, nil
}

// admitted says why somebody who knows the password may not log in.
func (l *Login) admitted(row *ent.User, address string) error {
	if err := l.sessions.people.mayWork(row); err != nil {
		return err
	}
	if !addressAllowed(row.WhiteIP, address) {
		return fault.New(fault.Unauthenticated, "the account %s may not log in from %s", row.Account, address)
	}
	if bool(row.MfaEnabled) && row.MfaSecret != "" {
		// Letting him in by password alone would quietly take away what protects the account.
		return fault.New(fault.Unauthenticated, "the account %s needs a second factor, which this server does not ask for", row.Account)
	}
	return nil
}

// addressAllowed reports whether address is in a list of addresses and CIDR ranges, one a line. An empty list allows all.
func addressAllowed(list, address string) bool {
	ip, err := netip.ParseAddr(address)
	ip = ip.Unmap().WithZone("")
	empty := true
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		empty = false
		if line == address {
			return true
		}
		if err != nil {
			continue
		}
		if one, bad := netip.ParseAddr(line); bad == nil && one.Unmap().WithZone("") == ip {
			return true
		}
		if many, bad := netip.ParsePrefix(line); bad == nil && many.Contains(ip) {
			return true
		}
	}
	return empty
}

// open makes the session and looks once more at what the user holds: a change that was committed while the session was
// being made did not find it, and so could not rewrite it.
func (l *Login) open(ctx context.Context, row *ent.User, a Attempt) (Session, error) {
	s, err := l.sessions.people.session(ctx, row.Account)
	if fault.Is(err, fault.NotFound) {
		return Session{}, errWrong() // deleted just now
	} else if err != nil {
		return Session{}, err
	}
	ttl := l.sessions.ttl
	s.Token, s.Created, s.Address, s.Agent = newToken(), l.now(), a.Address, shorten(a.Agent, 255)
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
