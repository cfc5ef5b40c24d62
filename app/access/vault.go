package access

import (
	"context"
	"time"

	"eruptcloud/app/fault"
)

// Vault keeps what lives for minutes and what all replicas must see: captchas, tickets of half a login, secrets of an enrolment,
// counters of failures. A key begins with its kind, up to the first colon, as erupt names them (erupt-wire 7.2). A vault that
// does not answer is fault.Unavailable.
type Vault interface {
	// Put keeps value until ttl has passed, in place of an older one.
	Put(ctx context.Context, key, value string, ttl time.Duration) error
	// Get returns the value. fault.NotFound if there is none.
	Get(ctx context.Context, key string) (string, error)
	// Take returns the value and forgets it: of several who take at once, one gets it. fault.NotFound if there is none.
	Take(ctx context.Context, key string) (string, error)
	// Swap is Put that returns what was there before, empty if nothing was. Several who swap at once see each value once.
	Swap(ctx context.Context, key, value string, ttl time.Duration) (before string, err error)
	// Add counts one up, from zero, and keeps the count until ttl has passed without a further one.
	Add(ctx context.Context, key string, ttl time.Duration) (count int64, err error)
	// Delete forgets values; what is not there is no error.
	Delete(ctx context.Context, keys ...string) error
}

// errGone is what whoever asks for a value gets that is over or never was.
func errGone() error { return fault.New(fault.NotFound, "this is over or was never there") }
