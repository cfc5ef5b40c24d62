package access_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
	"eruptcloud/ent/dbtype"
)

// world is an Access on a database, with a clock that tests move.
type world struct {
	*access.Access
	db    *database.DB
	store access.SessionStore

	mu  sync.Mutex
	now time.Time
}

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// cheap is the lowest cost of bcrypt; the usual one would make the tests take minutes.
const cheap = 4

func newWorld(t *testing.T, db *database.DB, change ...func(*access.Options)) *world {
	t.Helper()
	w := &world{db: db, now: time.Now().UTC().Truncate(time.Second)}
	o := access.Options{
		DB: db, Store: access.NewMemorySessionsAt(w.time), Key: []byte("0123456789abcdef0123456789abcdef"), TTL: ttl, Now: w.time, Cost: cheap,
		Lock: access.LockOptions{On: true, MaxFailures: 10, Minutes: 10}, PwdTransferEncrypt: true, CaptchaAfter: -1,
		MFA: access.MFAOptions{On: true, Window: 1},
	}
	for _, c := range change {
		c(&o)
	}
	w.store = o.Store
	w.Access = access.New(o)
	return w
}

// eachWorld runs test on SQLite and on MariaDB.
func eachWorld(t *testing.T, test func(t *testing.T, w *world), change ...func(*access.Options)) {
	t.Helper()
	testbed.EachDB(t, func(t *testing.T, db *database.DB) { test(t, newWorld(t, db, change...)) })
}

const goodPassword = "correct horse"

// user makes an account with goodPassword.
func (w *world) user(t *testing.T, account string, change ...func(*access.NewUser)) access.User {
	t.Helper()
	n := access.NewUser{Account: account, Password: goodPassword, Enabled: true, By: access.System}
	for _, c := range change {
		c(&n)
	}
	u, err := w.Users.Create(t.Context(), n)
	if err != nil {
		t.Fatalf("create %s: %v", account, err)
	}
	return u
}

func admin(n *access.NewUser) { n.Admin = true }

func withRoles(codes ...string) func(*access.NewUser) {
	return func(n *access.NewUser) { n.Roles = codes }
}

// role makes an enabled role of menus.
func (w *world) role(t *testing.T, code string, menus ...string) {
	t.Helper()
	_, err := w.Roles.Create(t.Context(), access.NewRole{Code: code, Enabled: true, Menus: menus, By: access.System})
	if err != nil {
		t.Fatalf("create role %s: %v", code, err)
	}
}

// menu makes a menu whose code is its value.
func (w *world) menu(t *testing.T, kind, value string) {
	t.Helper()
	_, err := w.Menus.Create(t.Context(), access.NewMenu{Code: strings.NewReplacer("?", "_", "=", "_", "/", "_", ":", "_").Replace(value), Name: value, Type: kind, Value: value})
	if err != nil {
		t.Fatalf("create menu %s: %v", value, err)
	}
}

func (w *world) attempt(ctx context.Context, account, password string) (access.Session, error) {
	return w.Login.Attempt(ctx, access.Attempt{Account: account, Password: password, Address: "10.0.0.9", Agent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"})
}

// login logs in with goodPassword.
func (w *world) login(t *testing.T, account string) access.Session {
	t.Helper()
	s, err := w.attempt(t.Context(), account, goodPassword)
	if err != nil {
		t.Fatalf("log in as %s: %v", account, err)
	}
	return s
}

// holds reports whether a session holds a code now.
func (w *world) holds(t *testing.T, token, code string) bool {
	t.Helper()
	_, held, err := w.Sessions.Check(t.Context(), token, code)
	if err != nil {
		t.Fatalf("check %s: %v", code, err)
	}
	return held[0]
}

func (w *world) alive(t *testing.T, token string) bool {
	t.Helper()
	_, _, err := w.Sessions.Get(t.Context(), token)
	if err != nil && !fault.Is(err, fault.Unauthenticated) {
		t.Fatal(err)
	}
	return err == nil
}

// wants fails unless err carries code.
func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func flag(b bool) *dbtype.Flag { f := dbtype.Flag(b); return &f }

func p[T any](v T) *T { return &v }
