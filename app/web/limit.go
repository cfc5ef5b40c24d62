package web

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"eruptcloud/app/fault"
)

// LimitBody bounds the body of a route; reading past limit bytes is fault.TooLarge.
func LimitBody(limit int64) gin.HandlerFunc {
	return func(c *gin.Context) {
		if c.Request.Body != nil {
			c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, limit)
		}
	}
}

// Memory for large bodies: what is read whole is held several times over, as sent, decoded and as fields, so that a few
// clients who send the largest that is allowed at once could take all there is.
const (
	smallBody  = 256 << 10
	largeLimit = 96 << 20 // bytes of large bodies as sent, in the whole process
)

var largeBodies = semaphore.NewWeighted(largeLimit)

// ClaimBody takes room for a body of at most limit bytes that a handler reads whole. release gives it back, when the handler
// is through. fault.Unavailable if others have it all; small bodies need none.
func ClaimBody(r *http.Request, limit int64) (release func(), err error) {
	need := r.ContentLength
	if need < 0 || need > limit {
		need = limit
	}
	if need <= smallBody {
		return func() {}, nil
	}
	if !largeBodies.TryAcquire(need) {
		return nil, fault.New(fault.Unavailable, "too many large requests are being worked on; try again in a moment").Retry(2 * time.Second)
	}
	return func() { largeBodies.Release(need) }, nil
}

// Limiter bounds how often each key may do something. It keeps a bounded number of keys: when it is full, those not
// seen for longest are forgotten, which gives them a fresh allowance and costs nobody else's.
type Limiter struct {
	every rate.Limit
	burst int
	half  int
	now   func() time.Time

	mu          sync.Mutex
	young, aged map[string]*rate.Limiter // young fills up, then becomes aged
}

// NewLimiter allows each key burst events at once and perSecond of them in the long run, and keeps up to keys keys.
func NewLimiter(perSecond float64, burst, keys int, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	return &Limiter{every: rate.Limit(perSecond), burst: burst, half: max(1, keys/2), now: now, young: map[string]*rate.Limiter{}}
}

// Allow counts one event of key. If it is one too many, it returns false and when the next is possible.
func (l *Limiter) Allow(key string) (ok bool, retry time.Duration) {
	now := l.now()
	r := l.bucket(key).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait <= 0 {
		return true, 0
	}
	r.CancelAt(now)
	return false, wait
}

// Spent reports whether the next event of key would be one too many. It counts nothing.
func (l *Limiter) Spent(key string) bool {
	l.mu.Lock()
	b, ok := l.young[key]
	if !ok {
		b = l.aged[key]
	}
	l.mu.Unlock()
	return b != nil && b.TokensAt(l.now()) < 1
}

func (l *Limiter) bucket(key string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b, ok := l.young[key]; ok {
		return b
	}
	b, ok := l.aged[key]
	if !ok {
		b = rate.NewLimiter(l.every, l.burst)
	}
	if len(l.young) >= l.half {
		l.aged, l.young = l.young, make(map[string]*rate.Limiter, l.half)
	}
	l.young[key] = b
	return b
}

// LimitKey is the key that stands for a client's address when its requests are counted. Of an IPv6 address the first 64 bits
// count: whoever has one has all that begin like it.
func LimitKey(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Unmap().Is4() {
		return address
	}
	prefix, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}

// RateLimit refuses requests of an address that come faster than l allows.
func (s *Shell) RateLimit(l *Limiter) gin.HandlerFunc {
	return func(c *gin.Context) {
		if ok, retry := l.Allow(LimitKey(ClientIP(c.Request))); !ok {
			c.Abort()
			s.Fail(c.Writer, c.Request, TooFast(retry))
		}
	}
}

// TooFast is the error of a caller that exceeds a rate.
func TooFast(retry time.Duration) error {
	return fault.New(fault.TooMany, "too many requests; try again in %d s", int((retry+time.Second-1)/time.Second)).Retry(retry)
}
