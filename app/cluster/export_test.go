package cluster

import "time"

// Hurry shortens the times of a replica that does not run yet.
func Hurry(r *Redis) {
	r.terms = terms{
		beat: 50 * time.Millisecond, alive: 500 * time.Millisecond, renew: 50 * time.Millisecond, lease: 900 * time.Millisecond,
		margin: 300 * time.Millisecond, ping: 200 * time.Millisecond, retry: 20 * time.Millisecond,
	}
}

// Weight is how much a replica wants a key.
var Weight = weight
