package access

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"eruptcloud/app/cluster"
	"eruptcloud/app/database"
	"eruptcloud/app/loop"
)

// LockOptions say when too many failed logins of one account from one address lock that pair.
type LockOptions struct {
	On          bool
	MaxFailures int // zero: 10
	Minutes     int // zero: 10
}

// Options of New. DB is needed, everything else has a default.
type Options struct {
	DB      *database.DB
	Store   SessionStore  // nil: in memory
	Bus     cluster.Bus   // nil: nobody is told of changes
	Key     []byte        // seals delegated tokens; empty: random, so that they end with the process
	TTL     time.Duration // of a session; zero: 100 minutes
	Refresh bool          // a session in use lives on
	Lock    LockOptions
	// Vault keeps captchas, tickets and counters; nil: in memory.
	Vault Vault
	// CaptchaAfter is how many failures of an account from an address it takes until a login has to read a captcha; zero: it
	// always has to, below zero: never.
	CaptchaAfter int
	MFA          MFAOptions
	// PwdTransferEncrypt: clients send passwords in base64, applied three times (erupt-wire 3.4).
	PwdTransferEncrypt bool
	Now                func() time.Time
	// Adopted says that passwords are written in a form that erupt 2.0 reads, also in a database that was not adopted.
	Adopted bool
	// Rehash turns a weaker password of an adopted database into SHA512 with salt when its user logs in, if the tables can
	// hold that.
	Rehash  bool
	Cost    int // of bcrypt; zero: 12
	Metrics prometheus.Registerer
}

// Access joins the parts of this package.
type Access struct {
	Users     *Users
	Roles     *Roles
	Menus     *Menus
	Login     *Login
	Sessions  *Sessions
	Delegates *Delegates
	Audit     *Audit
	Captcha   *Captcha
	MFA       *MFA
	Orgs      *Orgs
	Posts     *Posts
	OpenAPIs  *OpenAPIs
	Online    *Online
	Tokens    *OpenTokens

	store SessionStore
	vault Vault
}

// Actor is who asks for a change. The zero Actor may do nothing that needs a right of his.
type Actor struct {
	Account string
	Admin   bool
}

// System is the server itself: commands of the operator and the first start.
var System = Actor{Account: "system", Admin: true}

// New joins the parts.
func New(o Options) *Access {
	o.fill()
	passwords := newPasswords(formOf(o.DB.Shape, o.Adopted), o.Cost)
	passwords.rehash = o.Rehash
	metrics := newMetrics(o.Metrics)
	people := &people{db: o.DB, now: o.Now}
	sessions := &Sessions{store: o.Store, people: people, ttl: o.TTL, refresh: o.Refresh, now: o.Now, pending: map[string]string{}}
	audit := newAudit(o.DB, metrics, o.Now)
	openAPIs := &OpenAPIs{db: o.DB, people: people, sessions: sessions, audit: audit, plain: o.Adopted || o.DB.Shape.Adopted, now: o.Now}
	changes := &changes{bus: o.Bus, sessions: sessions, people: people, programs: openAPIs}
	tryLife := max(o.TTL, time.Duration(o.Lock.Minutes)*time.Minute) // as erupt keeps them
	users := &Users{db: o.DB, passwords: passwords, changes: changes, store: o.Store, lock: o.Lock, tryLife: tryLife, now: o.Now}
	captcha := &Captcha{vault: o.Vault, nonce: derive(o.Key, "captcha numbers", 32)}
	login := &Login{
		db: o.DB, passwords: passwords, store: o.Store, sessions: sessions, captcha: captcha, users: users,
		guard:    guard{store: o.Store, captcha: captcha, lock: o.Lock, after: o.CaptchaAfter, life: tryLife, folded: o.DB.Shape.Adopted},
		transfer: o.PwdTransferEncrypt, now: o.Now, metrics: metrics,
	}
	login.mfa = &MFA{MFAOptions: o.MFA, db: o.DB, vault: o.Vault, login: login, users: users, now: o.Now}
	return &Access{
		Users:     users,
		Roles:     &Roles{db: o.DB, people: people, changes: changes},
		Menus:     &Menus{db: o.DB, people: people, changes: changes},
		Sessions:  sessions,
		Login:     login,
		Captcha:   captcha,
		MFA:       login.mfa,
		Delegates: newDelegates(o.Key),
		Orgs:      &Orgs{db: o.DB},
		Posts:     &Posts{db: o.DB},
		OpenAPIs:  openAPIs,
		Online:    &Online{users: users, people: people, sessions: sessions},
		Tokens:    &OpenTokens{apps: openAPIs, vault: o.Vault, login: login},
		Audit:     audit,
		store:     o.Store,
		vault:     o.Vault,
	}
}

func (o *Options) fill() {
	if o.DB == nil {
		o.DB = &database.DB{} // decoding and counting ask no database
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Store == nil {
		o.Store = newMemorySessions(o.Now)
	}
	if o.Vault == nil {
		o.Vault = newMemoryVault(o.Now)
	}
	if o.TTL <= 0 {
		o.TTL = 100 * time.Minute
	}
	if o.Lock.MaxFailures <= 0 {
		o.Lock.MaxFailures = 10
	}
	if o.Lock.Minutes <= 0 {
		o.Lock.Minutes = 10
	}
	if len(o.Key) == 0 {
		o.Key = make([]byte, 32)
		_, _ = rand.Read(o.Key) // never fails: it ends the program instead
	}
}

// Run writes the audit trail, sweeps sessions that are over and ends those of users who may no longer work, until ctx ends;
// then it writes what is still queued.
func (a *Access) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.Audit.Run(ctx) })
	g.Go(func() error {
		const name, each = "session review", 30 * time.Second
		return loop.Every(ctx, name, loop.Offset(name, each), each, a.Sessions.reviewOnce)
	})
	g.Go(func() error {
		const name, each = "session retry", 2 * time.Second
		return loop.Every(ctx, name, loop.Offset(name, each), each, a.Sessions.retryOnce)
	})
	for name, store := range map[string]any{"session sweep": a.store, "vault sweep": a.vault} {
		if s, ok := store.(sweeper); ok {
			g.Go(func() error { return loop.Every(ctx, name, loop.Offset(name, time.Minute), time.Minute, s.sweepOnce) })
		}
	}
	return g.Wait()
}

// sweeper is a store that does not forget by itself.
type sweeper interface{ sweepOnce(context.Context) error }

// derive makes a key of its own for each purpose out of the one that the operator gave.
func derive(key []byte, purpose string, length int) []byte {
	out, err := hkdf.Key(sha256.New, key, nil, "eruptcloud "+purpose, length)
	if err != nil {
		panic("access: derive " + purpose + ": " + err.Error()) // only for lengths that no caller asks for
	}
	return out
}
