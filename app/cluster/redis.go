package cluster

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"eruptcloud/app/loop"
)

//go:embed beat.lua
var beatSource string

//go:embed lead.lua
var leadSource string

//go:embed release.lua
var releaseSource string

var (
	beatScript    = redis.NewScript(beatSource)
	leadScript    = redis.NewScript(leadSource)
	releaseScript = redis.NewScript(releaseSource)
)

// terms are the times of presence and leadership; tests shorten them.
type terms struct {
	beat, alive  time.Duration // a sign of life each beat keeps a replica alive for alive
	renew, lease time.Duration // leadership, renewed each renew, ends lease after the last renewal
	margin       time.Duration // how much before the end of its lease a leader that cannot renew steps down
	ping         time.Duration // a bus connection that is silent for twice this is replaced
	retry        time.Duration // between two tries to subscribe
}

var usual = terms{
	beat: 3 * time.Second, alive: 10 * time.Second, renew: 5 * time.Second, lease: 15 * time.Second,
	margin: 3 * time.Second, ping: 3 * time.Second, retry: 500 * time.Millisecond,
}

// Redis is one of several replicas that meet in Redis. Keys: PREFIXreplica:ID, PREFIXreplicas, PREFIXleader; channels
// PREFIXbus:TOPIC. While Redis is down the last known replicas count as alive and nobody leads.
type Redis struct {
	client redis.UniversalClient
	prefix string
	id     string
	name   string // in the leader key: two processes by mistake called the same must not both lead
	terms  terms

	mu      sync.Mutex
	members []string      // live replicas, empty before the first beat
	leading *leadership   // nil: not leading
	changed chan struct{} // closed and replaced whenever leading changes
}

// leadership is one stretch of leading.
type leadership struct {
	ctx    context.Context // ends with it
	cancel context.CancelFunc
	runs   sync.WaitGroup // AsLeader calls that are inside run
	until  *time.Timer    // steps down unless renewed
}

// NewRedis returns this replica. It is alive and may lead while Run runs.
func NewRedis(client redis.UniversalClient, prefix, id string) *Redis {
	return &Redis{
		client: client, prefix: prefix, id: id, name: id + "/" + rand.Text(), terms: usual, changed: make(chan struct{}),
	}
}

// ID implements Member.
func (r *Redis) ID() string { return r.id }

// Replicas returns the ids of the live replicas, sorted.
func (r *Redis) Replicas() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.members)
}

// Leads reports whether this replica leads now.
func (r *Redis) Leads() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leading != nil
}

// Owns implements Member by rendezvous hashing: when a replica comes or goes, only its own share of the keys moves.
func (r *Redis) Owns(key string) bool {
	r.mu.Lock()
	members := r.members // replaced as a whole, never changed
	r.mu.Unlock()
	var best string
	var highest uint64
	for _, m := range members {
		if w := weight(m, key); best == "" || w > highest || (w == highest && m > best) {
			best, highest = m, w
		}
	}
	return best == r.id && best != ""
}

func weight(member, key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(member)) // a hash never fails
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(key))
	// FNV's high bits hardly depend on the last bytes; splitmix64's finish spreads them.
	x := h.Sum64()
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// Run keeps this replica present and lets it stand for leadership until ctx ends. Then the leader's work is ended and
// awaited, and leadership and presence are given up, so that another replica takes over at once.
func (r *Redis) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return loop.Every(ctx, "presence", 0, r.terms.beat, r.beatOnce) })
	g.Go(func() error { return loop.Every(ctx, "leadership", 0, r.terms.renew, r.leadOnce) })
	err := g.Wait()
	r.leave()
	return err
}

func (r *Redis) beatOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.terms.beat)
	defer cancel()
	keys := []string{r.prefix + "replica:" + r.id, r.prefix + "replicas"}
	live, err := beatScript.Run(ctx, r.client, keys, r.id, r.prefix+"replica:", r.terms.alive.Milliseconds()).StringSlice()
	if err != nil {
		return fmt.Errorf("say that replica %s is alive: %w", r.id, err)
	}
	slices.Sort(live)
	r.mu.Lock()
	changed := !slices.Equal(r.members, live)
	r.members = live
	r.mu.Unlock()
	if changed {
		slog.InfoContext(ctx, "replicas changed", "replica", r.id, "replicas", live)
	}
	return nil
}

// leave gives everything up. It has its own deadline because the context that ran the loops is over.
func (r *Redis) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), r.terms.alive)
	defer cancel()
	led := r.stepDown(nil)
	if led != nil {
		led.runs.Wait() // their context is over; releasing earlier would let two leaders work at once
		if err := releaseScript.Run(ctx, r.client, []string{r.prefix + "leader"}, r.name).Err(); err != nil {
			slog.WarnContext(ctx, "leadership could not be given up, it ends with its lease", "replica", r.id, "error", err)
		}
	}
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, r.prefix+"replica:"+r.id)
		p.SRem(ctx, r.prefix+"replicas", r.id)
		return nil
	})
	if err != nil {
		slog.WarnContext(ctx, "presence could not be given up, it ends with its life time", "replica", r.id, "error", err)
	}
	r.mu.Lock()
	r.members = nil
	r.mu.Unlock()
}
