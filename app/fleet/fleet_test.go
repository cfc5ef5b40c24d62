package fleet_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/testbed"
)

// clock is a time that tests move.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 3, 1, 10, 2, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) Now() time.Time          { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) Advance(d time.Duration) { c.at.Add(int64(d)) }

func sealer(t testing.TB) fleet.Sealer {
	t.Helper()
	s, err := fleet.NewSealer([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open returns a Fleet on db with a clock of its own.
func open(t testing.TB, db *database.DB, change ...func(*fleet.Options)) (*fleet.Fleet, *clock) {
	t.Helper()
	c := newClock()
	o := fleet.Options{DB: db, Sealer: sealer(t), ValidateToken: true, Now: c.Now}
	for _, f := range change {
		f(&o)
	}
	f := fleet.New(o)
	if err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f, c
}

// onEach runs a test with a Fleet on SQLite and on MariaDB.
func onEach(t *testing.T, test func(t *testing.T, f *fleet.Fleet, c *clock)) {
	t.Helper()
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		f, c := open(t, db)
		test(t, f, c)
	})
}

func mustNode(t testing.TB, f *fleet.Fleet, in fleet.NewNode) (fleet.Node, string) {
	t.Helper()
	n, token, err := f.Nodes.Create(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return n, token
}

func mustGroup(t testing.TB, f *fleet.Fleet, in fleet.NewGroup) fleet.Group {
	t.Helper()
	g, err := f.Groups.Create(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wantFault fails unless err has the code and its message the text.
func wantFault(t testing.TB, what string, err error, code fault.Code, text string) {
	t.Helper()
	if fault.CodeOf(err) != code || (err != nil && !strings.Contains(fault.Of(err).Message(), text)) {
		t.Errorf("%s = %v, want %q with %q", what, err, code, text)
	}
}

func ptr[T any](v T) *T { return &v }
