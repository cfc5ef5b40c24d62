package registry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Errors of a Store.
var (
	ErrNoLease = errors.New("no such lease")
	ErrLogGap  = errors.New("the change log no longer reaches back")
	// ErrStoreLost is an ErrLogGap after which what the store no longer has may well be alive: it lost data that it had
	// confirmed, by a restart without its data or a switch to a copy that lagged behind.
	ErrStoreLost = fmt.Errorf("the store lost data: %w", ErrLogGap)
	// ErrNoEntry is an EntryWriter's answer where there is nothing to renew.
	ErrNoEntry = errors.New("no node entry")
)

// StaleError tells a writer that somebody was faster; Current is what is stored, Found false if nothing is. What is stored
// but cannot be read counts as nothing; Current.Rev is then the revision to overwrite.
type StaleError struct {
	Current Instance
	Found   bool
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("instance was changed at log position %d", e.Current.Rev)
}

// Store keeps leases and one ordered log of what changed. It knows no rules: Registry computes with Merge and Resolve what
// to write, the store writes it unless somebody was faster. A write is one round trip.
type Store interface {
	// Put stores in with a lease until the given time and appends its Action, if the stored revision still is in.Rev;
	// otherwise it returns a *StaleError carrying what is stored. A zero time leaves the lease as it is.
	Put(ctx context.Context, in Instance, until time.Time) (Seq, error)
	// Renew moves the end of k's lease and counts one heartbeat. ErrNoLease if k has none.
	Renew(ctx context.Context, k Key, until time.Time) error
	// Remove ends k's lease and appends Deleted with the reason; with a non-zero expiredBy only if it had run out by then.
	// ErrNoLease if nothing was removed.
	Remove(ctx context.Context, k Key, why Reason, expiredBy time.Time) (Seq, error)
	// Snapshot returns all instances and a log position they are at least as new as.
	Snapshot(ctx context.Context) ([]Instance, Seq, error)
	// Follow calls apply with the changes after seq, in order and in batches, until ctx ends (nil) or the log no
	// longer reaches back to seq (ErrLogGap). A call with no changes says that the store answers and has nothing new. Errors
	// of the store end Follow too; calling it again with the position reached continues.
	Follow(ctx context.Context, seq Seq, apply func([]Change)) error
	// Expired lists up to limit leases of one origin that had run out by now.
	Expired(ctx context.Context, o Origin, now time.Time, limit int) ([]Key, error)
	// Ends returns when each lease ends, the zero time for a key without one.
	Ends(ctx context.Context, keys ...Key) ([]time.Time, error)
	// Renewals counts the heartbeats of one origin in the last whole minute, over all replicas.
	Renewals(ctx context.Context, o Origin, now time.Time) (int, error)
}
