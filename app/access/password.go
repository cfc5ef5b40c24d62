package access

import (
	"context"
	"crypto/md5" //nolint:gosec // what erupt 1.12 stores, and still has to read where it works beside us
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/semaphore"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent/dbtype"
	"eruptcloud/ent/user"
)

// Forms of a stored password, as in the column encrypt_type.
const (
	formBcrypt = "BCRYPT" // databases of ours only
	formSHA512 = "SHA512" // erupt 2.0
	formMD5    = ""       // erupt 1.12, whose tables have no such column; is_md5 says it
)

// Limits of a password. bcrypt looks at 72 bytes only, so a longer one would be cut without anybody noticing.
const (
	minPassword = 8
	maxBcrypt   = 72
	maxPassword = 255
)

// secret is a stored password in the columns of e_upms_user.
type secret struct {
	Password string
	Form     string       // encrypt_type
	Hashed   *dbtype.Flag // is_md5
	Salt     string
}

// passwords makes and verifies stored passwords. Verifying is deliberately expensive, so only a few run at a time: a flood
// of logins must not take the processors from everything else.
type passwords struct {
	form    string // of new ones
	rehash  bool   // see (*Login).strengthen
	cost    int
	dummy   secret // verified for accounts that do not exist, so that they take the same time
	slots   *semaphore.Weighted
	patient time.Duration // how long a login waits for its turn
	compare func(hash, plain []byte) error
}

// formOf is the form of new passwords: erupt's own where a Java server has to let their users in too.
func formOf(shape database.Shape, adopted bool) string {
	switch {
	case shape.Lacks(user.Table, user.FieldEncryptType) || shape.Lacks(user.Table, user.FieldSalt):
		return formMD5
	case shape.Adopted || adopted:
		return formSHA512
	}
	return formBcrypt
}

func newPasswords(form string, cost int) *passwords {
	if cost == 0 {
		cost = 12
	}
	// No password matches: nobody knows one whose hash these letters are.
	dummy := secret{Password: fmt.Sprintf("$2a$%02d$%s", cost, strings.Repeat("u", 53)), Form: formBcrypt}
	if form != formBcrypt {
		dummy = secret{Password: "none", Form: formSHA512, Salt: strings.Repeat("0", 64)}
	}
	return &passwords{
		form: form, cost: cost, dummy: dummy, patient: 5 * time.Second,
		slots: semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)-1))), compare: bcrypt.CompareHashAndPassword,
	}
}

// make returns the stored form of a password that passed check.
func (p *passwords) make(plain string) secret {
	hashed := dbtype.Flag(true)
	switch p.form {
	case formMD5:
		return secret{Password: md5Hex(plain), Hashed: &hashed}
	case formSHA512:
		salt := make([]byte, 32)
		_, _ = rand.Read(salt) // never fails: it ends the program instead
		s := secret{Form: formSHA512, Hashed: &hashed, Salt: hex.EncodeToString(salt)}
		s.Password = sha512Hex(plain + s.Salt)
		return s
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(plain), p.cost)
	if err != nil {
		panic("access: bcrypt refused a password that was checked: " + err.Error()) // too long, or a wrong cost: bugs of ours
	}
	return secret{Password: string(hash), Form: formBcrypt, Hashed: &hashed}
}

// check says what is wrong with a new password. Its text never holds the password.
func (p *passwords) check(account, plain string) error {
	wrong := func(format string, args ...any) error {
		return fault.New(fault.Invalid, format, args...).Field("password", format, args...)
	}
	switch {
	case !utf8.ValidString(plain):
		return wrong("the password is not valid UTF-8")
	case utf8.RuneCountInString(plain) < minPassword:
		return wrong("the password needs at least %d characters", minPassword)
	case p.form == formBcrypt && len(plain) > maxBcrypt:
		return wrong("the password has %d bytes, at most %d count; letters outside ASCII take several bytes", len(plain), maxBcrypt)
	case len(plain) > maxPassword:
		return wrong("the password has %d bytes, at most %d are allowed", len(plain), maxPassword)
	case strings.EqualFold(plain, account):
		return wrong("the password must not be the account")
	}
	return nil
}

// verify reports whether plain is the password that s stores; nil stands for an account that does not exist and takes the
// same time. fault.TooMany if too many are waiting for their turn.
func (p *passwords) verify(ctx context.Context, s *secret, plain string) (bool, error) {
	turn, cancel := context.WithTimeout(ctx, p.patient)
	defer cancel()
	if err := p.slots.Acquire(turn, 1); err != nil {
		if ctx.Err() != nil {
			return false, fmt.Errorf("wait to verify a password: %w", ctx.Err())
		}
		return false, fault.New(fault.TooMany, "too many logins at the moment").Retry(time.Second).Because(err)
	}
	defer p.slots.Release(1)
	if s == nil {
		_ = p.matches(&p.dummy, plain)
		return false, nil
	}
	ok := p.matches(s, plain)
	if s.slow() != p.dummy.slow() {
		_ = p.matches(&p.dummy, plain) // a cheap form among expensive ones would tell that the account exists
	}
	return ok, nil
}

// strong reports whether the password is kept in a form that only guessing opens.
func (s *secret) strong() bool {
	return s.slow() || strings.EqualFold(s.Form, formSHA512) && s.Salt != ""
}

func (s *secret) slow() bool { return strings.EqualFold(s.Form, formBcrypt) }

// matches follows erupt-wire 3.4, with bcrypt added. A password without is_md5 cannot be used.
func (p *passwords) matches(s *secret, plain string) bool {
	switch {
	case s.slow():
		err := p.compare([]byte(s.Password), []byte(plain[:min(len(plain), maxBcrypt)]))
		return err == nil && len(plain) <= maxBcrypt
	case strings.EqualFold(s.Form, formSHA512):
		return same(s.Password, sha512Hex(plain+s.Salt))
	case s.Hashed == nil || s.Password == "":
		return false
	case bool(*s.Hashed):
		return same(s.Password, md5Hex(plain))
	default:
		return same(s.Password, plain)
	}
}

// same compares without telling by its time where the texts differ, nor how long they are.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s)) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

func sha512Hex(s string) string {
	sum := sha512.Sum512([]byte(s))
	return hex.EncodeToString(sum[:])
}
