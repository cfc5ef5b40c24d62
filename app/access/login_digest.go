package access

import (
	"context"
	"strings"

	"eruptcloud/app/fault"
)

// AttemptDigest is Attempt for the front end of erupt 1.x, which sends md5(md5(password) + account) in place of the password.
// Only who is kept with an MD5 or plain password can log in so: fault.Conflict if this database holds none at all.
func (l *Login) AttemptDigest(ctx context.Context, a Attempt) (Session, error) {
	if l.passwords.form == formBcrypt {
		return Session{}, fault.New(fault.Conflict, "the login of erupt 1.x needs passwords kept as MD5, which this server does not do; use the console, or POST with the password")
	}
	a.Password = strings.ToLower(a.Password)
	s, err := l.attempt(ctx, a, true)
	if err != nil && fault.Of(err).Format == errWrong().Format {
		// Of an account that does not exist and of one whose password is kept in another form the same is said.
		told := *fault.Of(err)
		told.Format = "account or password is wrong, or the password is kept in a form that the login of erupt 1.x cannot use"
		err = &told
	}
	return l.counted(s, err)
}

// verifyDigest reports whether digest is that of the password that s stores; nil stands for an account that does not exist.
func (p *passwords) verifyDigest(ctx context.Context, s *secret, account, digest string) (bool, error) {
	inner := ""
	if s != nil && s.Hashed != nil && s.Form == "" && s.Password != "" {
		inner = s.Password
		if !bool(*s.Hashed) {
			inner = md5Hex(s.Password)
		}
	}
	// As long as any other attempt takes, and in the same queue.
	if _, err := p.verify(ctx, nil, digest); err != nil {
		return false, err
	}
	right := same(digest, md5Hex(inner+account))
	return right && inner != "", nil
}
