package redisstore_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/registry"
	"eruptcloud/app/registry/redisstore"
	"eruptcloud/app/testbed"
)

const entryKey = "erupt-cloud:node:order-service"

type entryCase struct {
	t       *testing.T
	client  *redis.Client
	table   *registry.Table
	entries *redisstore.NodeEntries
}

func newEntryCase(t *testing.T, token func(node, digest string) string) *entryCase {
	client := open(t, testbed.Redis(t))
	return &entryCase{t, client, registry.NewTable(time.Now), redisstore.NewNodeEntries(redisstore.EntryOptions{
		Client: client, Prefix: "erupt-cloud:", TTL: 10 * time.Minute, Token: token,
		Canonical: trimmed,
	})}
}

// trimmed stands in for the rule of app/probe.
func trimmed(location string) (string, error) { return strings.TrimRight(location, "/"), nil }

func (c *entryCase) apply(seq registry.Seq, action registry.Action, in registry.Instance) {
	c.table.Apply([]registry.Change{{Seq: seq, Action: action, In: in, At: time.Now()}})
}

func (c *entryCase) write() {
	c.t.Helper()
	if err := c.entries.Write(c.t.Context(), "order-service", c.table.View()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *entryCase) value() string {
	c.t.Helper()
	text, err := c.client.Get(c.t.Context(), entryKey).Result()
	if err != nil && err != redis.Nil {
		c.t.Fatal(err)
	}
	return text
}

var registered = time.Date(2026, 7, 20, 9, 15, 2, 118e6, time.Local)

func order(id string, locations ...string) registry.Instance {
	return registry.Instance{
		Key: registry.Key{App: "ORDER-SERVICE", ID: id}, NodeName: "order-service", Origin: registry.OriginNode, Status: registry.Up,
		Locations: locations, Registered: registered, Updated: registered, Lease: registry.DefaultLease,
		Node: &registry.NodeDetail{Version: "2.2.0", Addresses: locations, Modules: []string{"erupt-cloud-node"}, Erupts: []string{"Customer"},
			Resources: map[string][]string{"flow": {"approve"}}, Token: "hash", Peer: "10.0.0.9"},
	}
}

// A10, erupt-wire 7.1: byte for byte, save for the token that stays with us.
func TestEntryIsWhatJavaWrites(t *testing.T) {
	c := newEntryCase(t, nil)
	c.apply(1, registry.Added, order("kQzTbW", "http://10.0.3.17:8081/shop"))
	c.write()
	want := `{"registerTime":"2026-07-20T09:15:02.118","locations":["http://10.0.3.17:8081/shop"],` +
		`"instanceId":"kQzTbW","version":"2.2.0","nodeName":"order-service","accessToken":null,` +
		`"nodeAddress":["http://10.0.3.17:8081/shop"],"eruptModules":["erupt-cloud-node"],"erupts":["Customer"],` +
		`"resources":{"flow":["approve"]}}`
	if got := c.value(); got != want {
		t.Errorf("entry is\n%s\nwant\n%s", got, want)
	}
	if ttl := c.client.PTTL(t.Context(), entryKey).Val(); ttl > 10*time.Minute || ttl < 9*time.Minute {
		t.Errorf("entry lives for %s, want ten minutes", ttl)
	}
}

func TestEntryOfSparseNode(t *testing.T) {
	c := newEntryCase(t, func(node, _ string) string { return "secret of " + node })
	in := order("a", "http://h")
	in.Node = &registry.NodeDetail{Addresses: []string{"http://h"}, Extra: map[string]json.RawMessage{"zone": json.RawMessage(`"<b>"`), "locations": json.RawMessage(`["http://evil"]`)}}
	c.apply(1, registry.Added, in)
	c.write()
	want := `"version":"","nodeName":"order-service","accessToken":"secret of order-service","nodeAddress":["http://h"],"eruptModules":null,` +
		`"erupts":null,"resources":null,"zone":"<b>"}`
	if got := c.value(); !strings.HasSuffix(got, want) || strings.Contains(got, "evil") {
		t.Errorf("entry is\n%s\nwant it to end with\n%s", got, want)
	}
}

// A6, A11: all locations, the other fields of the newest registration, no entry without locations; a drained instance is not named.
func TestEntryOfSeveralInstances(t *testing.T) {
	c := newEntryCase(t, nil)
	named := func() (id string, locations []string) {
		var got struct {
			InstanceID string   `json:"instanceId"`
			Locations  []string `json:"locations"`
		}
		if v := c.value(); v != "" {
			if err := json.Unmarshal([]byte(v), &got); err != nil {
				t.Fatal(err)
			}
		}
		return got.InstanceID, got.Locations
	}
	second := order("second", "http://b")
	second.Registered, second.Updated = registered.Add(time.Minute), registered.Add(time.Minute)
	c.apply(1, registry.Added, order("first", "http://a"))
	c.apply(2, registry.Added, second)
	c.write()
	if id, l := named(); id != "second" || !slices.Equal(l, []string{"http://a", "http://b"}) {
		t.Errorf("entry of two names %q at %q, want the newest and both locations", id, l)
	}
	second.Status = registry.OutOfService
	c.apply(3, registry.Modified, second)
	c.write()
	if id, l := named(); id != "first" || !slices.Equal(l, []string{"http://a"}) {
		t.Errorf("entry while one drains names %q at %q, want the other alone", id, l)
	}
	c.apply(4, registry.Deleted, order("first", "http://a"))
	c.write()
	if n := c.client.Exists(t.Context(), entryKey).Val(); n != 0 {
		t.Errorf("entry without locations is %s, want none", c.value())
	}
}

func TestOlderViewDoesNotOverwrite(t *testing.T) {
	c := newEntryCase(t, nil)
	c.apply(1, registry.Added, order("a", "http://a"))
	old := c.table.View()
	c.apply(1<<60, registry.Added, order("b", "http://b"))
	c.write()
	newer := c.value()
	if err := c.entries.Write(t.Context(), "order-service", old); err != nil {
		t.Fatal(err)
	}
	if got := c.value(); got != newer {
		t.Errorf("an older view wrote %s over %s", got, newer)
	}
}

// A10, S17: what we do not know is carried over, what cannot be read counts as absent.
func TestEntryThatOthersWrote(t *testing.T) {
	tests := map[string]struct{ before, want string }{
		"unknown fields":   {`{"locations":["http://old"],"zone":{"id":9007199254740993},"weight":[]}`, `"weight":[],"zone":{"id":9007199254740993}}`},
		"binary of 2.0.4":  {"\xac\xed\x00\x05sr\x00", `"resources":{"flow":["approve"]}}`},
		"cut off":          {`{"zone":"b`, `"resources":{"flow":["approve"]}}`},
		"another document": {`["zone"]`, `"resources":{"flow":["approve"]}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newEntryCase(t, nil)
			c.entries.TakeOver = true
			c.client.Set(t.Context(), entryKey, tt.before, 0)
			c.apply(1, registry.Added, order("a", "http://a"))
			c.write()
			if got := c.value(); !strings.HasSuffix(got, tt.want) || strings.Contains(got, "http://old") {
				t.Errorf("entry is\n%s\nwant it to end with\n%s", got, tt.want)
			}
		})
	}
	t.Run("another type", func(t *testing.T) {
		c := newEntryCase(t, nil)
		c.client.SAdd(t.Context(), entryKey, "x")
		c.apply(1, registry.Added, order("a", "http://a"))
		c.write()
		if got := c.value(); !strings.Contains(got, "http://a") {
			t.Errorf("entry is %q", got)
		}
	})
}

func TestTouchAndDrop(t *testing.T) {
	c := newEntryCase(t, nil)
	ctx := t.Context()
	if err := c.entries.Touch(ctx, "order-service"); err != registry.ErrNoEntry {
		t.Errorf("Touch of nothing = %v, want ErrNoEntry", err)
	}
	c.apply(1, registry.Added, order("a", "http://a"))
	c.write()
	c.client.PExpire(ctx, entryKey, time.Minute)
	if err := c.entries.Touch(ctx, "order-service"); err != nil {
		t.Fatal(err)
	}
	if ttl := c.client.PTTL(ctx, entryKey).Val(); ttl < 9*time.Minute {
		t.Errorf("after a touch the entry lives for %s, want ten minutes", ttl)
	}
	if err := c.entries.Drop(ctx, "order-service"); err != nil {
		t.Fatal(err)
	}
	if got := c.value(); got != "" {
		t.Errorf("after a drop the entry is %s", got)
	}
	c.write() // the node was enabled again
	if got := c.value(); got == "" {
		t.Error("after a drop the same view cannot be written again")
	}
}

// A12: the survey finds what is missing, unreadable or behind, with one read.
func TestWrong(t *testing.T) {
	c := newEntryCase(t, nil)
	ctx := t.Context()
	add := func(seq registry.Seq, node string) {
		in := order("a", "http://"+strings.ToLower(node))
		in.App, in.NodeName = strings.ToUpper(node), node
		c.apply(seq, registry.Added, in)
	}
	for i, node := range []string{"right", "missing", "garbled", "behind"} {
		add(registry.Seq(i+1), node)
		if err := c.entries.Write(ctx, node, c.table.View()); err != nil {
			t.Fatal(err)
		}
	}
	c.client.Del(ctx, "erupt-cloud:node:missing")
	c.client.Set(ctx, "erupt-cloud:node:garbled", "{", 0)
	c.client.Set(ctx, "erupt-cloud:node:behind", `{"locations":["http://elsewhere"]}`, 0)
	wrong, err := c.entries.Wrong(ctx, []string{"right", "missing", "garbled", "behind", "offline"}, c.table.View())
	if err != nil || !slices.Equal(wrong, []string{"missing", "garbled", "behind"}) {
		t.Errorf("Wrong = %q, %v, want those three", wrong, err)
	}
}
