package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"eruptcloud/app/cluster"
	"eruptcloud/app/testbed"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("eruptcloud/app/testbed.start.func1"))
}

// both is what Solo and Redis are.
type both interface {
	cluster.Member
	cluster.Bus
}

// each runs test on a replica alone in its process and on one in a real Redis.
func each(t *testing.T, test func(t *testing.T, m both)) {
	t.Run("solo", func(t *testing.T) { test(t, cluster.NewSolo("a")) })
	t.Run("redis", func(t *testing.T) { test(t, running(t, dial(t, testbed.Redis(t)), "a")) })
}

func dial(t *testing.T, url string) redis.UniversalClient {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// running returns a replica whose Run runs until the test ends.
func running(t *testing.T, client redis.UniversalClient, id string) *cluster.Redis {
	t.Helper()
	r := cluster.NewRedis(client, "test:", id)
	cluster.Hurry(r)
	start(t, func(ctx context.Context) error { return r.Run(ctx) })
	eventually(t, id+" is present", func() bool { return slices.Contains(r.Replicas(), id) })
	return r
}

// start runs f until stop is called or the test ends, and fails if it returns an error.
func start(t *testing.T, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("returned %v at its context's end, want nil", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("did not return at its context's end")
		}
	})
	t.Cleanup(stop)
	return stop
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); ; {
		if ok() {
			return
		}
		select {
		case <-end:
			t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}

// inbox collects messages; a loss is "-".
type inbox struct {
	mu  sync.Mutex
	got []string
}

func (i *inbox) put(msg []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if msg == nil {
		i.got = append(i.got, "-")
		return
	}
	i.got = append(i.got, string(msg))
}

func (i *inbox) all() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.got)
}

// subscribed subscribes and waits until messages arrive.
func subscribed(t *testing.T, m cluster.Bus, topic string, in *inbox) (stop func()) {
	t.Helper()
	stop = start(t, func(ctx context.Context) error { return m.Subscribe(ctx, topic, in.put) })
	eventually(t, "the subscription works", func() bool {
		if err := m.Publish(t.Context(), topic, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		return len(in.all()) > 0
	})
	if err := m.Publish(t.Context(), topic, []byte("go")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the greetings are through", func() bool { got := in.all(); return got[len(got)-1] == "go" })
	in.mu.Lock()
	in.got = nil
	in.mu.Unlock()
	return stop
}

func TestBusDeliversInOrderToAll(t *testing.T) {
	each(t, func(t *testing.T, m both) {
		var one, two, other inbox
		subscribed(t, m, "fleet", &one)
		subscribed(t, m, "fleet", &two)
		eventually(t, "the second's greetings are through the first", func() bool {
			got := one.all()
			return len(got) > 0 && got[len(got)-1] == "go"
		})
		subscribed(t, m, "other", &other)
		before := len(one.all())
		want := make([]string, 0, 50)
		for i := range 50 {
			want = append(want, fmt.Sprint("m", i))
			if err := m.Publish(t.Context(), "fleet", []byte(want[i])); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "both have all", func() bool { return len(one.all()) == before+50 && len(two.all()) == 50 })
		if got := one.all()[before:]; !slices.Equal(got, want) {
			t.Errorf("first subscriber got %v, want %v", got, want)
		}
		if got := two.all(); !slices.Equal(got, want) {
			t.Errorf("second subscriber got %v, want %v", got, want)
		}
		if got := other.all(); len(got) != 0 {
			t.Errorf("a subscriber of another topic got %v", got)
		}
	})
}

func TestBusKeepsEmptyMessagesApartFromLosses(t *testing.T) {
	each(t, func(t *testing.T, m both) {
		var in inbox
		subscribed(t, m, "fleet", &in)
		if err := m.Publish(t.Context(), "fleet", nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it arrives", func() bool { return len(in.all()) == 1 })
		if got := in.all()[0]; got != "" {
			t.Errorf("an empty message arrived as %q", got)
		}
	})
}

func TestBusSurvivesAPanickingHandler(t *testing.T) {
	each(t, func(t *testing.T, m both) {
		var in inbox
		start(t, func(ctx context.Context) error {
			return m.Subscribe(ctx, "fleet", func(msg []byte) {
				in.put(msg)
				panic("bad message")
			})
		})
		eventually(t, "two messages arrive", func() bool {
			_ = m.Publish(t.Context(), "fleet", []byte("x"))
			return len(in.all()) >= 2
		})
	})
}

func TestBusEndsQuietlyWithoutRedis(t *testing.T) {
	r := cluster.NewRedis(dial(t, "redis://127.0.0.1:1/0"), "test:", "a")
	cluster.Hurry(r)
	if err := r.Publish(t.Context(), "fleet", []byte("x")); err == nil {
		t.Error("Publish without a Redis returned no error")
	}
	stop := start(t, func(ctx context.Context) error { return r.Subscribe(ctx, "fleet", func([]byte) {}) })
	stop()
}

func TestAsLeader(t *testing.T) {
	each(t, func(t *testing.T, m both) {
		broken := errors.New("broken")
		if err := m.AsLeader(t.Context(), func(context.Context) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("AsLeader returned %v, want what run returned", err)
		}
		var mu sync.Mutex
		running := 0
		for range 2 { // several loops of one process share its leadership
			start(t, func(ctx context.Context) error {
				return m.AsLeader(ctx, func(ctx context.Context) error {
					mu.Lock()
					running++
					mu.Unlock()
					<-ctx.Done()
					return ctx.Err() // no error of its own: the end was asked for
				})
			})
		}
		eventually(t, "both run", func() bool { mu.Lock(); defer mu.Unlock(); return running == 2 })
	})
}

func TestSoloOwnsAll(t *testing.T) {
	s := cluster.NewSolo("only")
	if s.ID() != "only" || !s.Owns("a") || !s.Owns("") {
		t.Errorf("Solo %q owns a: %v, owns nothing: %v", s.ID(), s.Owns("a"), s.Owns(""))
	}
}

func TestSoloTellsOfALoss(t *testing.T) {
	s := cluster.NewSolo("only")
	var in inbox
	entered, proceed := make(chan bool, 1), make(chan bool)
	first := true
	start(t, func(ctx context.Context) error {
		return s.Subscribe(ctx, "fleet", func(msg []byte) {
			if first {
				first = false
				entered <- true
				<-proceed
			}
			in.put(msg)
		})
	})
	eventually(t, "the handler is busy", func() bool {
		_ = s.Publish(t.Context(), "fleet", []byte("first"))
		return len(entered) == 1
	})
	for i := range 10_000 {
		if err := s.Publish(t.Context(), "fleet", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	close(proceed)
	eventually(t, "the last one arrives", func() bool { return slices.Contains(in.all(), "9999") })
	got := in.all()
	lost := slices.Index(got, "-")
	if lost < 0 || len(got) > 600 {
		t.Fatalf("%d of 10000 messages queued, loss told at %d; want a bounded queue and a word about the loss", len(got), lost)
	}
	for i := lost + 2; i < len(got); i++ {
		var a, b int
		_, _ = fmt.Sscan(got[i-1], &a)
		if _, _ = fmt.Sscan(got[i], &b); b != a+1 {
			t.Fatalf("after the loss %d follows %d", b, a)
		}
	}
}
