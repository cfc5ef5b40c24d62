package redisstore_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/registry"
	"eruptcloud/app/registry/redisstore"
)

func shared(t *testing.T) *entryCase {
	return newEntryCase(t, func(string, string) string { return "7H2KQ9ZX4M1CVB0P" })
}

// javaEntry is an entry byte for byte as a server of 2.1 or later writes it (erupt-wire 7.1).
func javaEntry(at string, locations ...string) string {
	list, _ := json.Marshal(locations)
	return `{"registerTime":"` + at + `","locations":` + string(list) + `,"instanceId":"jAvAid","version":"2.2.0","nodeName":"order-service",` +
		`"accessToken":"7H2KQ9ZX4M1CVB0P","nodeAddress":` + string(list) + `,"eruptModules":["erupt-jpa"],"erupts":["Customer"],"resources":null}`
}

func (c *entryCase) java(value string) {
	c.t.Helper()
	if err := c.client.Set(c.t.Context(), entryKey, value, 10*time.Minute).Err(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *entryCase) named() []string {
	c.t.Helper()
	var got struct{ Locations []string }
	if v := c.value(); v != "" {
		if err := json.Unmarshal([]byte(v), &got); err != nil {
			c.t.Fatal(err)
		}
	}
	return got.Locations
}

func (c *entryCase) wantNamed(when string, want ...string) {
	c.t.Helper()
	if got := c.named(); !slices.Equal(got, want) {
		c.t.Errorf("%s the entry names %q, want %q", when, got, want)
	}
}

// erupt-wire 7.1: byte for byte as Java writes it, and with the token when Java servers share it.
func TestSharedEntryIsWhatJavaWrites(t *testing.T) {
	c := shared(t)
	in := order("jAvAid", "http://10.0.3.17:8081/shop")
	in.Node.Modules, in.Node.Resources = []string{"erupt-jpa"}, nil
	c.apply(1, registry.Added, in)
	c.write()
	if got, want := c.value(), javaEntry("2026-07-20T09:15:02.118", "http://10.0.3.17:8081/shop"); got != want {
		t.Errorf("entry is\n%s\nwant\n%s", got, want)
	}
}

// A10: what a Java server added stays when we write, in its spelling; what we removed goes; what it removed stays out until
// the instance beats through us.
func TestSharedEntryKeepsWhatJavaWrote(t *testing.T) {
	c := shared(t)
	ctx := t.Context()
	c.apply(1, registry.Added, order("a", "http://a"))
	c.write()
	c.wantNamed("after our registration", "http://a")
	c.java(javaEntry("2026-07-20T09:16:00.000", "http://a", "http://j/"))
	c.apply(2, registry.Added, order("b", "http://b"))
	c.write()
	c.wantNamed("after a registration beside Java's", "http://a", "http://b", "http://j/")
	c.apply(3, registry.Added, order("jAvAid", "http://j")) // taken over
	c.write()
	c.wantNamed("after Java's was taken over", "http://a", "http://b", "http://j/")
	c.apply(4, registry.Deleted, order("b", "http://b"))
	c.write()
	c.wantNamed("after our removal", "http://a", "http://j/")

	c.java(javaEntry("2026-07-20T09:17:00.000", "http://j/")) // a removal, or what it had read before we wrote
	if wrong, err := c.entries.Wrong(ctx, []string{"order-service"}, c.table.View()); err != nil || len(wrong) > 0 {
		t.Errorf("after Java's removal Wrong = %q, %v, want nothing to put right", wrong, err)
	}
	if err := c.entries.Touch(ctx, "order-service", "http://j"); err != nil {
		t.Errorf("beat of another instance = %v, want nothing to do", err)
	}
	c.write()
	c.wantNamed("after a write on behalf of others", "http://j/")
	if err := c.entries.Touch(ctx, "order-service", "http://a"); err != registry.ErrNoEntry {
		t.Errorf("beat of the instance that Java's entry lacks = %v, want ErrNoEntry", err)
	}
	if err := c.entries.Write(ctx, "order-service", c.table.View(), "http://a"); err != nil {
		t.Fatal(err)
	}
	c.wantNamed("after the beat", "http://a", "http://j/")
}

// The last location that Java removes takes the entry along; the survey does not bring it back, a beat does.
func TestSharedEntryThatJavaDeleted(t *testing.T) {
	c := shared(t)
	c.apply(1, registry.Added, order("a", "http://a"))
	c.write()
	c.client.Del(t.Context(), entryKey)
	if wrong, err := c.entries.Wrong(t.Context(), []string{"order-service"}, c.table.View()); err != nil || len(wrong) > 0 {
		t.Errorf("Wrong = %q, %v, want none", wrong, err)
	}
	c.write()
	c.wantNamed("after a write")
	if err := c.entries.Touch(t.Context(), "order-service", "http://a"); err != registry.ErrNoEntry {
		t.Fatalf("a beat = %v, want ErrNoEntry", err)
	}
	if err := c.entries.Write(t.Context(), "order-service", c.table.View(), "http://a"); err != nil {
		t.Fatal(err)
	}
	c.wantNamed("after a beat", "http://a")
}

// Held and draining locations are not named, whoever puts them back; what is only Java's is kept with its fields.
func TestHiddenLocations(t *testing.T) {
	c := shared(t)
	hidden := ""
	c.entries.Hidden = func(_ string, _ *registry.Instance, l string) bool { return l == hidden }
	c.apply(1, registry.Added, order("a", "http://a"))
	c.write()
	hidden = "http://a"
	if wrong, err := c.entries.Wrong(t.Context(), []string{"order-service"}, c.table.View()); err != nil || len(wrong) != 1 {
		t.Errorf("with a held location named Wrong = %q, %v, want the node", wrong, err)
	}
	c.write()
	c.wantNamed("while held")
	c.java(javaEntry("2026-07-20T09:16:00.000", "http://a", "http://j"))
	c.write()
	c.wantNamed("while held, after a beat at Java", "http://j")
	if got := c.value(); !strings.Contains(got, `"instanceId":"jAvAid"`) {
		t.Errorf("entry is %s, want it to tell of the instance that it names", got)
	}
	c.apply(2, registry.Deleted, order("a", "http://a"))
	c.java(javaEntry("2026-07-20T09:16:00.000", "http://j"))
	c.write()
	if got, want := c.value(), javaEntry("2026-07-20T09:16:00.000", "http://j"); got != want {
		t.Errorf("an entry that is all Java's became\n%s\nwant it as it was\n%s", got, want)
	}
}

// What two of our replicas and Java write at once: nothing that Java added is lost, since a write is refused if the entry is
// no longer the one that it was made from.
func TestWritesMeet(t *testing.T) {
	c := shared(t)
	c.apply(1, registry.Added, order("a", "http://a"))
	other := redisstore.NewNodeEntries(c.entries.EntryOptions)
	done := make(chan error, 2)
	for _, e := range []*redisstore.NodeEntries{c.entries, other} {
		go func() {
			var err error
			for range 200 {
				if err == nil {
					err = e.Write(t.Context(), "order-service", c.table.View(), "http://a")
				}
			}
			done <- err
		}()
	}
	c.java(javaEntry("2026-07-20T09:16:00.000", "http://j"))
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	got := c.named()
	slices.Sort(got)
	if !slices.Equal(got, []string{"http://a", "http://j"}) {
		t.Errorf("entry names %q, want both", got)
	}
}

// binary is an entry of a real 1.12 or 2.0.4 server.
func binary(t *testing.T, version string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/entry-" + version + ".base64")
	if err != nil {
		t.Fatal(err)
	}
	value, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

// erupt-wire 7.1: entries of servers up to 2.0.4 are neither overwritten, renewed nor deleted, unless that server has gone.
func TestOldServersEntriesAreLeftAlone(t *testing.T) {
	for _, version := range []string{"1.12", "2.0"} {
		t.Run(version, func(t *testing.T) {
			ctx := t.Context()
			c := newEntryCase(t, nil)
			was := binary(t, version)
			c.client.Set(ctx, entryKey, was, time.Minute)
			c.apply(1, registry.Added, order("a", "http://a"))
			c.write()
			if err := c.entries.Touch(ctx, "order-service", "http://a"); err != nil {
				t.Errorf("Touch = %v, want nothing to do", err)
			}
			if err := c.entries.Drop(ctx, "order-service"); err != nil {
				t.Fatal(err)
			}
			if wrong, err := c.entries.Wrong(ctx, []string{"order-service"}, c.table.View()); err != nil || len(wrong) > 0 {
				t.Errorf("Wrong = %q, %v, want none", wrong, err)
			}
			if got := c.value(); got != was {
				t.Errorf("the entry became %q", got)
			}
			if left := c.client.PTTL(ctx, entryKey).Val(); left > time.Minute {
				t.Errorf("the entry lives for %s, want its minute", left)
			}
			c.entries.TakeOver = true
			if err := c.entries.Touch(ctx, "order-service", "http://a"); err != registry.ErrNoEntry {
				t.Errorf("Touch when taking over = %v, want ErrNoEntry", err)
			}
			c.write()
			c.wantNamed("after taking over", "http://a")
		})
	}
}

func TestFindOldServer(t *testing.T) {
	ctx := t.Context()
	c := newEntryCase(t, nil)
	c.client.Set(ctx, "erupt-cloud:node:shop", binary(t, "2.0"), 9*time.Minute)
	c.client.Set(ctx, "erupt-cloud:node:<b>\x1b[31m", binary(t, "1.12"), 0)
	c.client.Set(ctx, "erupt-cloud:node:json", `{}`, 0)
	c.client.SAdd(ctx, "erupt-cloud:node:set", "x")
	c.client.Set(ctx, "other:node:shop", binary(t, "2.0"), 0)
	before := c.client.DBSize(ctx).Val()
	old, err := redisstore.OldEntries(ctx, c.client, "erupt-cloud:")
	if err != nil || len(old) != 2 || old[1].Node != "shop" || old[1].Left > 9*time.Minute || old[0].Left >= 0 {
		t.Fatalf("OldEntries = %v, %v, want that of shop and one without an end", old, err)
	}
	if none, err := redisstore.OldEntries(ctx, c.client, "erupt-*oud:"); err != nil || len(none) > 0 {
		t.Errorf("under another prefix OldEntries = %v, %v", none, err)
	}
	if n := c.client.DBSize(ctx).Val(); n != before {
		t.Errorf("looking left %d keys, want %d", n, before)
	}
	text := redisstore.OldServer("erupt-cloud:", old, "").Error()
	for _, want := range []string{`"shop" (9m`, "without an end", "cloud_server.take_over = true", "up to 2.0.4"} {
		if !strings.Contains(text, want) {
			t.Errorf("the reason does not say %q:\n%s", want, text)
		}
	}
	if strings.ContainsRune(text, 0x1b) {
		t.Errorf("the reason holds a control character: %q", text)
	}
}

func TestRenewed(t *testing.T) {
	at := func(left time.Duration) []redisstore.OldEntry {
		return []redisstore.OldEntry{{Node: "shop", Left: left}}
	}
	tests := map[string]struct {
		after []redisstore.OldEntry
		want  string
	}{
		"ages":          {at(9*time.Minute - 20*time.Second), ""},
		"ended":         {nil, ""},
		"was renewed":   {at(10 * time.Minute), "shop"},
		"is new":        {[]redisstore.OldEntry{{Node: "bill", Left: time.Minute}}, "bill"},
		"within a beat": {at(9*time.Minute - 15*time.Second), "shop"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := redisstore.Renewed(at(9*time.Minute), tt.after, 20*time.Second); got != tt.want {
				t.Errorf("Renewed(%v) = %q, want %q", tt.after, got, tt.want)
			}
		})
	}
}

// A namespace that an old server uses gets nothing more from any replica, and is rid of what it cannot read.
func TestWithhold(t *testing.T) {
	ctx := t.Context()
	c := newEntryCase(t, nil)
	c.apply(1, registry.Added, order("a", "http://a"))
	c.write()
	c.client.Set(ctx, "erupt-cloud:node:shop", binary(t, "2.0"), time.Minute)
	if err := c.entries.Withhold(ctx, []string{"order-service", "shop"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	c.write()
	if err := c.entries.Touch(ctx, "order-service", "http://a"); err != nil {
		t.Error(err)
	}
	if got := c.value(); got != "" {
		t.Errorf("while entries are withheld there is %s", got)
	}
	if n := c.client.Exists(ctx, "erupt-cloud:node:shop").Val(); n != 1 {
		t.Error("the old server's entry is gone")
	}
	c.client.Del(ctx, "erupt-cloud:withheld")
	if err := c.entries.Touch(ctx, "order-service", "http://a"); err != registry.ErrNoEntry {
		t.Errorf("a beat afterwards = %v, want ErrNoEntry", err)
	}
	c.write()
	c.wantNamed("afterwards", "http://a")
}

// An entry of many megabytes is not read: the next write puts one of ours in its place.
func TestHugeEntryIsReplaced(t *testing.T) {
	c := shared(t)
	c.apply(1, registry.Added, order("a", "http://a"))
	c.java(strings.Replace(javaEntry("2026-07-20T09:16:00.000", "http://j"), `{`, `{"more":"`+strings.Repeat("x", 5<<20)+`",`, 1))
	c.write()
	if got := len(c.value()); got > 1<<10 {
		t.Errorf("the entry has %d bytes", got)
	}
	c.wantNamed("after a huge entry", "http://a")
}
