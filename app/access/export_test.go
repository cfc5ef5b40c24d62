package access

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/pquerna/otp/totp"
	"golang.org/x/crypto/bcrypt"
)

// NewMemorySessionsAt is NewMemorySessions with a clock of its own.
func NewMemorySessionsAt(now func() time.Time) SessionStore { return newMemorySessions(now) }

// CountComparisons calls seen with the cost of each bcrypt comparison that a makes.
func CountComparisons(a *Access, seen func(cost int)) {
	a.Login.passwords.compare = func(hash, plain []byte) error {
		cost, err := bcrypt.Cost(hash)
		if err != nil {
			return err
		}
		seen(cost)
		return bcrypt.CompareHashAndPassword(hash, plain)
	}
}

// FillSlots takes all turns to verify a password until free is called, and makes logins wait only for patience.
func FillSlots(a *Access, patience time.Duration) (free func()) {
	p := a.Login.passwords
	p.patient = patience
	n := int64(0)
	for p.slots.TryAcquire(1) {
		n++
	}
	return func() { p.slots.Release(n) }
}

// FailLookup follows a change of which nobody can say whom it concerns.
func FailLookup(ctx context.Context, a *Access) {
	_ = a.Roles.changes.follow(ctx, "role", "r", func(context.Context) ([]string, error) { return nil, errors.New("no database") }, nil)
}

// ReviewOnce and RetryOnce are rounds of (*Access).Run.
var (
	ReviewOnce = (*Sessions).reviewOnce
	RetryOnce  = (*Sessions).retryOnce
)

// HurryAudit shortens the times of a trail that does not run yet.
func HurryAudit(a *Audit, grace, pause time.Duration) { a.grace, a.pause = grace, pause }

// Internals that have rules of their own.
var (
	AddressAllowed = addressAllowed
	DescribeAgent  = describeAgent
	MaskParams     = maskParams
	MaskURL        = maskURL
	SecretKey      = secretKey
	RandomText     = randomText
)

// AuditQueue is how many entries wait at most.
const AuditQueue = auditQueue

// SearchLess makes one search of the trail look at fewer rows.
func (a *Audit) SearchLess(rows, extras, batch int) { a.rows, a.extras, a.batch = rows, extras, batch }

// NewMemoryVaultAt is NewMemoryVault with a clock of its own.
func NewMemoryVaultAt(now func() time.Time) Vault { return newMemoryVault(now) }

// MaxKept bounds the values of one kind in memory, KeptIn counts them.
const MaxKept = maxKept

func KeptIn(v Vault, kind string) int { return len(v.(*memoryVault).kinds[kind]) }

// ReadCaptcha returns what the picture of mark shows, and leaves it good.
func ReadCaptcha(ctx context.Context, c *Captcha, mark string) string {
	text, _ := c.vault.Get(ctx, c.key(mark))
	return text
}

// CodeAt is what an authenticator with this secret shows.
func CodeAt(secret string, at time.Time) string {
	code, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), at)
	if err != nil {
		panic(err)
	}
	return code
}

// SweepOnce is what runs once a minute on stores that need it.
func SweepOnce(s SessionStore, ctx context.Context) error { return s.(sweeper).sweepOnce(ctx) }
