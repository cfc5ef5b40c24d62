package sharing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"eruptcloud/app/netguard"
	"eruptcloud/app/probe"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/redisstore"
	"eruptcloud/app/sharing"
	"eruptcloud/app/testbed"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("eruptcloud/app/testbed.start.func1"))
}

const (
	prefix = "erupt-cloud:"
	token  = "7H2KQ9ZX4M1CVB0P"
	ttl    = 10 * time.Minute
)

// world is one Redis with two replicas of ours and a Java server.
type world struct {
	t        *testing.T
	client   *redis.Client
	now      time.Time
	held     string
	replicas []*registry.Registry
	entries  *redisstore.NodeEntries
	sharer   *sharing.Sharer
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Now()}
	url := testbed.Redis(t)
	w.client = w.open(url)
	for range 2 {
		client := w.open(url)
		w.entries = redisstore.NewNodeEntries(redisstore.EntryOptions{
			Client: client, Prefix: prefix, TTL: ttl, Canonical: probe.CanonicalLocation,
			Hidden: func(_ string, _ *registry.Instance, l string) bool { return l == w.held },
			Token:  func(string, string) string { return token },
		})
		r := registry.New(registry.Options{Store: redisstore.New(client, prefix), Entries: w.entries, Lease: registry.Terms{Interval: 15 * time.Second, Duration: ttl}})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		t.Cleanup(func() { cancel(); <-done })
		if err := r.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.replicas = append(w.replicas, r)
	}
	w.sharer = w.leader(0, true)
	return w
}

func (w *world) open(url string) *redis.Client {
	client, err := redisstore.Open(url)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = client.Close() })
	return client
}

// leader is the Sharer of a replica.
func (w *world) leader(replica int, loopback bool) *sharing.Sharer {
	policy, err := netguard.NewPolicy(netguard.Options{AllowLoopback: loopback})
	if err != nil {
		w.t.Fatal(err)
	}
	return sharing.New(sharing.Options{
		Entries: w.entries, Registry: w.replicas[replica], Prober: probe.New(probe.Options{Policy: policy}),
		Names:    func(context.Context) ([]string, error) { return []string{"shop", "bill"}, nil },
		Tokens:   func(string) []string { return []string{token, "OLDONE1234567890"} },
		Validate: true, Beat: 15 * time.Second, Now: func() time.Time { return w.now },
	})
}

func (w *world) look() {
	w.t.Helper()
	if err := w.sharer.Once(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// beat is a heartbeat of an instance at a replica of ours.
func (w *world) beat(replica int, id string, locations ...string) {
	w.t.Helper()
	if _, _, err := w.replicas[replica].Register(w.t.Context(), registry.Instance{
		Key: registry.Key{ID: id}, NodeName: "shop", Locations: locations, Node: &registry.NodeDetail{Version: "2.2.0"},
	}); err != nil {
		w.t.Fatal(err)
	}
}

// javaEntry has the fields that a server of 2.1 or later knows, in its order; all others it drops (erupt-wire 7.1).
type javaEntry struct {
	RegisterTime string              `json:"registerTime"`
	Locations    []string            `json:"locations"`
	InstanceID   string              `json:"instanceId"`
	Version      string              `json:"version"`
	NodeName     string              `json:"nodeName"`
	AccessToken  *string             `json:"accessToken"`
	NodeAddress  []string            `json:"nodeAddress"`
	EruptModules []string            `json:"eruptModules"`
	Erupts       []string            `json:"erupts"`
	Resources    map[string][]string `json:"resources"`
}

const entryKey = prefix + "node:shop"

// javaReads is the first half of what Java does, javaWrites the second: it locks nothing.
func (w *world) javaReads() (e javaEntry) {
	w.t.Helper()
	value, err := w.client.Get(w.t.Context(), entryKey).Bytes()
	if err == redis.Nil {
		return e
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(value, &e); err != nil {
		w.t.Fatal(err)
	}
	return e
}

func (w *world) javaWrites(e javaEntry) {
	w.t.Helper()
	if len(e.Locations) == 0 {
		w.client.Del(w.t.Context(), entryKey)
		return
	}
	value, err := json.Marshal(e)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Set(w.t.Context(), entryKey, value, ttl).Err(); err != nil {
		w.t.Fatal(err)
	}
}

// javaBeat is a heartbeat at the Java server.
func (w *world) javaBeat(id string, addresses ...string) {
	w.t.Helper()
	w.javaRegisters(w.javaReads(), id, token, addresses...)
}

func (w *world) javaRegisters(e javaEntry, id, token string, addresses ...string) {
	w.t.Helper()
	w.now = w.now.Add(time.Millisecond)
	for _, a := range addresses {
		if !slices.Contains(e.Locations, a) {
			e.Locations = append(e.Locations, a)
		}
	}
	w.javaWrites(javaEntry{
		RegisterTime: w.now.Format("2006-01-02T15:04:05.000"), Locations: e.Locations, InstanceID: id, Version: "2.2.0", NodeName: "shop",
		AccessToken: &token, NodeAddress: addresses, EruptModules: []string{"erupt-jpa"}, Erupts: []string{"Customer"},
	})
}

func (w *world) javaRemoves(location string) {
	w.t.Helper()
	e := w.javaReads()
	e.Locations = slices.DeleteFunc(e.Locations, func(l string) bool { return l == location })
	w.javaWrites(e)
}

// wantRouted compares the instances of both replicas, "id location" each.
func (w *world) wantRouted(when string, want ...string) {
	w.t.Helper()
	for i, r := range w.replicas {
		var got []string
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if got = routed(r); slices.Equal(got, want) || time.Now().After(deadline) {
				break
			}
		}
		if !slices.Equal(got, want) {
			w.t.Errorf("%s replica %d routes to %q, want %q", when, i, got, want)
		}
	}
}

func routed(r *registry.Registry) []string {
	got := []string{}
	for _, in := range r.View().Node("shop") {
		got = append(got, in.ID+" "+strings.Join(in.Locations, " "))
	}
	slices.Sort(got)
	return got
}

func (w *world) wantNamed(when string, want ...string) {
	w.t.Helper()
	got := w.javaReads().Locations
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("%s the entry names %q, want %q", when, got, want)
	}
}

// value is the entry as it stands.
func (w *world) value() string { return w.client.Get(w.t.Context(), entryKey).Val() }

// erupt-wire 11, item 10: a node entry written by one and read by the other. Two replicas and a Java server work on the entry
// of one node.
func TestTwoReplicasAndJava(t *testing.T) {
	w := newWorld(t)
	a, b, j := testbed.NewFakeNode(t, "shop"), testbed.NewFakeNode(t, "shop"), testbed.NewFakeNode(t, "shop")
	w.beat(0, "aaa", a.URL())
	w.beat(1, "bbb", b.URL())
	w.javaBeat("jjj", j.URL()+"/")
	w.wantNamed("after three registrations", a.URL(), b.URL(), j.URL()+"/")
	w.look()
	w.wantRouted("after a look", "aaa "+a.URL(), "bbb "+b.URL(), "jjj "+j.URL())
	if in, _ := w.replicas[1].View().ByLocation("shop", j.URL()); in.Origin != registry.OriginNode || !in.Node.Shared || in.Node.Version != "2.2.0" {
		t.Errorf("what was taken over is %+v, %+v", in, in.Node)
	}
	w.wantNamed("after a look", a.URL(), b.URL(), j.URL()+"/")

	// Nobody goes on writing when nothing happens, and no beat of ours changes what is there.
	still := w.value()
	w.look()
	w.beat(0, "aaa", a.URL())
	w.beat(1, "bbb", b.URL())
	w.look()
	if got := w.value(); got != still {
		t.Errorf("without a change the entry became\n%s\nand was\n%s", got, still)
	}
	w.javaBeat("jjj", j.URL()+"/")
	spoken := w.value()
	w.look()
	w.look()
	if got := w.value(); got != spoken {
		t.Errorf("a beat at Java was answered with\n%s\nto\n%s", got, spoken)
	}

	// Java's second half of read and write comes after our registration: the location is back with its next beat.
	read := w.javaReads()
	c := testbed.NewFakeNode(t, "shop")
	w.beat(1, "ccc", c.URL())
	w.javaRegisters(read, "jjj", token, j.URL()+"/")
	w.wantNamed("after Java wrote what it had read before", a.URL(), b.URL(), j.URL()+"/")
	w.look()
	w.wantRouted("after Java's late write", "aaa "+a.URL(), "bbb "+b.URL(), "ccc "+c.URL(), "jjj "+j.URL())
	w.beat(0, "aaa", a.URL())
	w.wantNamed("after a beat of another", a.URL(), b.URL(), j.URL()+"/")
	w.beat(0, "ccc", c.URL())
	w.wantNamed("one beat later", a.URL(), b.URL(), c.URL(), j.URL()+"/")

	// What Java removes leaves: at once what beats there, after two beats what says nothing here either.
	w.javaRemoves(j.URL() + "/")
	w.javaRemoves(c.URL())
	w.look()
	w.wantRouted("after Java removed two", "aaa "+a.URL(), "bbb "+b.URL(), "ccc "+c.URL())
	w.now = w.now.Add(31 * time.Second)
	w.look()
	w.wantRouted("two beats later", "aaa "+a.URL(), "bbb "+b.URL())
	w.wantNamed("two beats later", a.URL(), b.URL())

	// What we remove leaves the entry, and returns with the next beat, wherever that is.
	w.javaBeat("jjj", j.URL())
	w.look()
	if _, err := w.replicas[1].RemoveLocations(t.Context(), "shop", []string{a.URL(), j.URL()}, registry.Admin); err != nil {
		t.Fatal(err)
	}
	w.wantNamed("after our removal", b.URL())
	w.look()
	w.wantRouted("after our removal", "bbb "+b.URL())
	w.javaBeat("jjj", j.URL())
	w.look()
	w.wantRouted("after the next beat at Java", "bbb "+b.URL(), "jjj "+j.URL())

	// A hold keeps a location out of the entry, also where Java puts it back.
	w.held = b.URL()
	w.look()
	w.wantNamed("while one is held", j.URL())
	w.javaBeat("bbb", b.URL())
	w.look()
	w.wantNamed("while one is held that beats at Java", j.URL())
	w.javaRemoves(j.URL())
	w.javaBeat("bbb", b.URL())
	w.look()
	w.wantNamed("while the only one is held")
	w.javaBeat("jjj", j.URL())
	w.held = ""
	w.look()
	w.wantNamed("after the hold", b.URL(), j.URL())
}

// An instance that has beaten at Java and then beats here is ours, and the other way round; both keep its lease.
func TestInstanceBeatsAtBoth(t *testing.T) {
	w := newWorld(t)
	j := testbed.NewFakeNode(t, "shop")
	w.javaBeat("jjj", j.URL())
	w.look()
	w.beat(1, "jjj", j.URL())
	w.wantRouted("after a beat at us", "jjj "+j.URL())
	in := func() registry.Instance {
		in, _ := w.replicas[0].View().ByLocation("shop", j.URL())
		return in
	}
	for deadline := time.Now().Add(5 * time.Second); in().Node.Shared && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if in().Node.Shared {
		t.Error("it still counts as Java's")
	}
	before, err := w.replicas[0].LastHeartbeats(t.Context(), in().Key)
	if err != nil {
		t.Fatal(err)
	}
	after := before
	for deadline := time.Now().Add(5 * time.Second); !after[0].After(before[0]) && time.Now().Before(deadline); { // leases end at whole milliseconds
		w.javaBeat("jjj", j.URL())
		w.look()
		if after, err = w.replicas[0].LastHeartbeats(t.Context(), in().Key); err != nil {
			t.Fatal(err)
		}
	}
	if !after[0].After(before[0]) {
		t.Errorf("after beats at Java the last beat is %s, as before", after[0])
	}
}

// An entry names only the one that spoke last; others get a name from their address until they speak.
func TestInstancesThatNobodyNamed(t *testing.T) {
	w := newWorld(t)
	j, k := testbed.NewFakeNode(t, "shop"), testbed.NewFakeNode(t, "shop")
	w.javaBeat("kkk", k.URL())
	w.javaBeat("jjj", j.URL())
	w.look()
	made := "at-" + strings.TrimPrefix(k.URL(), "http://")
	w.wantRouted("after a look", made+" "+k.URL(), "jjj "+j.URL())
	w.javaBeat("kkk", k.URL())
	w.look()
	w.wantRouted("once the other spoke", "jjj "+j.URL(), "kkk "+k.URL())
}

// A10: only what answers with the right name, within the address policy and under a token of the database, is taken over.
func TestNotTakenOver(t *testing.T) {
	right := func(w *world) string { return testbed.NewFakeNode(t, "shop").URL() }
	tests := map[string]func(w *world){
		"another service answers": func(w *world) { w.javaBeat("x", testbed.NewFakeNode(t, "bill").URL()) },
		"nobody answers":          func(w *world) { w.javaBeat("x", "http://127.0.0.1:1") },
		"no address":              func(w *world) { w.javaBeat("x", "http://user@127.0.0.1:80", "file:///etc/passwd", "http://h/?q", "") },
		"a wrong token":           func(w *world) { w.javaRegisters(javaEntry{}, "x", "SOMEBODY-ELSES-1", right(w)) },
		"no token":                func(w *world) { w.javaRegisters(javaEntry{}, "x", "", right(w)) },
		"null for a token": func(w *world) {
			w.client.Set(t.Context(), entryKey, `{"nodeName":"shop","instanceId":"x","accessToken":null,"nodeAddress":["`+right(w)+`"],"locations":["`+right(w)+`"]}`, ttl)
		},
		"an entry of another node": func(w *world) {
			w.client.Set(t.Context(), entryKey, `{"nodeName":"bill","locations":["`+right(w)+`"]}`, ttl)
		},
		"types that do not fit": func(w *world) {
			w.client.Set(t.Context(), entryKey, `{"nodeName":"shop","locations":{"a":"`+right(w)+`"}}`, ttl)
		},
		"an entry that breaks off":  func(w *world) { w.client.Set(t.Context(), entryKey, `{"nodeName":"shop","locations":["`+right(w), ttl) },
		"the binary of 2.0.4":       func(w *world) { w.client.Set(t.Context(), entryKey, "\xac\xed\x00\x05"+right(w), ttl) },
		"loopback, which is denied": func(w *world) { w.sharer = w.leader(0, false); w.javaBeat("x", right(w)) },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			prepare(w)
			was := w.value()
			w.look()
			w.wantRouted("after a look")
			if got := w.value(); got != was {
				t.Errorf("the entry became\n%q\nand was\n%q", got, was)
			}
		})
	}
}

// More than a node may have is not taken over, and what fails is not probed at every look.
func TestBounds(t *testing.T) {
	w := newWorld(t)
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("http://127.0.0.1:1/%d", i))
	}
	w.javaBeat("x", many...)
	w.look()
	w.wantRouted("after a look")

	n := testbed.NewFakeNode(t, "shop")
	n.Behave(testbed.Fails)
	w.client.Del(t.Context(), entryKey)
	w.javaBeat("x", n.URL())
	w.look()
	w.look()
	if got := n.Count("/node-health"); got != 1 {
		t.Errorf("probed %d times within a beat, want once", got)
	}
	n.Behave(testbed.Answers)
	w.now = w.now.Add(16 * time.Second)
	w.look()
	w.wantRouted("a beat later", "x "+n.URL())
}

// erupt-wire 7.1: a server up to 2.0.4 that appears while we run gets its namespace, and we go on without entries.
func TestOldServerAppears(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	n := testbed.NewFakeNode(t, "shop")
	w.beat(0, "aaa", n.URL())
	watch := &sharing.Watch{
		Entries: w.entries, Prefix: prefix, Names: func(context.Context) ([]string, error) { return []string{"shop", "bill"}, nil },
		Interval: 15 * time.Second, Now: func() time.Time { return w.now },
	}
	once := func() {
		t.Helper()
		if err := watch.Once(ctx); err != nil {
			t.Fatal(err)
		}
	}
	once()
	if r := watch.Reason(); r != "" {
		t.Fatalf("without an old server: %s", r)
	}
	w.client.Set(ctx, prefix+"node:bill", "\xac\xed\x00\x05sr", ttl)
	once()
	if r := watch.Reason(); !strings.Contains(r, "up to 2.0.4") || !strings.Contains(r, `"bill"`) {
		t.Errorf("reason is %q", r)
	}
	w.beat(1, "aaa", n.URL())
	w.wantNamed("beside an old server")
	w.wantRouted("beside an old server", "aaa "+n.URL())
	w.client.Del(ctx, prefix+"node:bill")
	w.client.Del(ctx, prefix+"withheld") // its end is 45 s away
	once()
	if r := watch.Reason(); r != "" {
		t.Errorf("after it has gone: %s", r)
	}
	w.beat(1, "aaa", n.URL())
	w.wantNamed("after it has gone", n.URL())

	// Left over is what nobody renews.
	watch.TakeOver = true
	w.client.Set(ctx, prefix+"node:bill", "\xac\xed\x00\x05sr", 5*time.Minute)
	watch.Reset()
	once()
	w.now = w.now.Add(15 * time.Second)
	w.client.PExpire(ctx, prefix+"node:bill", 5*time.Minute-15*time.Second)
	once()
	if r := watch.Reason(); r != "" {
		t.Errorf("with what a stopped server left: %s", r)
	}
	w.now = w.now.Add(15 * time.Second)
	w.client.PExpire(ctx, prefix+"node:bill", ttl)
	once()
	if r := watch.Reason(); !strings.Contains(r, "renewed its entry") {
		t.Errorf("after it was renewed the reason is %q", r)
	}
}
