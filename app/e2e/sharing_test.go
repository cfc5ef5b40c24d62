package e2e

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/testbed"
)

// eruptSite is the MariaDB and the Redis of an erupt installation.
type eruptSite struct {
	t      *testing.T
	client *redis.Client
	url    string
	env    []string
}

func newEruptSite(t *testing.T, version string) *eruptSite {
	t.Helper()
	s := &eruptSite{t: t, url: testbed.Redis(t)}
	options, err := redis.ParseURL(s.url)
	if err != nil {
		t.Fatal(err)
	}
	s.client = redis.NewClient(options)
	t.Cleanup(func() { s.client.Close() })
	key := func(b byte) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(b), 48))) }
	s.env = []string{
		"EC_DATABASE_DRIVER=mysql", "EC_DATABASE_DSN=" + testbed.EruptDatabase(t, version), "EC_REDIS_URL=" + s.url,
		"EC_SESSION_KEYS=" + key('s'), "EC_SECRETS_TOKEN_KEY=" + key('t'), "EC_NETGUARD_ALLOW_LOOPBACK=true",
		"EC_CLOUD_SERVER_HEARTBEAT_TIME=1s", "EC_OPS_LISTEN=off", "EC_LOG_FORMAT=text", "EC_SERVER_SHUTDOWN_GRACE=0s",
	}
	return s
}

// adopt makes our tables beside erupt's.
func (s *eruptSite) adopt() {
	s.t.Helper()
	if _, stderr, code := command(s.t, s.env, "migrate", "--adopt"); code != 0 {
		s.t.Fatalf("migrate --adopt = %d\n%s", code, stderr)
	}
}

// keys are all that is in Redis, as it is stored.
func (s *eruptSite) keys() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, key := range s.client.Keys(s.t.Context(), "*").Val() {
		out[key] = s.client.Dump(s.t.Context(), key).Val()
	}
	return out
}

// oldEntry writes the entry that a real 2.0.4 server left.
func (s *eruptSite) oldEntry(left time.Duration) {
	s.t.Helper()
	raw, err := os.ReadFile("testdata/entry-2.0.base64")
	if err != nil {
		s.t.Fatal(err)
	}
	value, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(raw)))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.client.Set(s.t.Context(), "erupt-cloud:node:shop", value, left).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// A namespace that a server up to 2.0.4 uses is refused before one key is written; what it left is taken over once nobody
// renews it (erupt-wire 7.1).
func TestOldServersNamespace(t *testing.T) {
	s := newEruptSite(t, "2.0")
	s.adopt()
	s.oldEntry(9 * time.Minute)
	before := s.keys()
	_, stderr, code := command(t, s.env, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir())
	if code != 9 || !strings.Contains(stderr, "up to 2.0.4") || !strings.Contains(stderr, "cloud_server.take_over = true") || !strings.Contains(stderr, `"shop" (`) {
		t.Errorf("serve = %d, want 9 and the reason:\n%s", code, stderr)
	}
	if after := s.keys(); !maps.Equal(before, after) {
		t.Errorf("it left the keys %q, want %q as they were", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}

	takeOver := append(slices.Clone(s.env), "EC_CLOUD_SERVER_TAKE_OVER=true")
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	running := start(t, takeOver, program, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir())
	running.await("watching whether it has been stopped", 30*time.Second)
	s.oldEntry(10 * time.Minute) // a heartbeat at the old server
	if code := running.wait(30 * time.Second); code != 9 || !strings.Contains(running.output(), "renewed its entry") {
		t.Errorf("beside an old server that runs serve = %d, want 9 and why:\n%s", code, running.output())
	}
	if after := slices.Sorted(maps.Keys(s.keys())); !slices.Equal(after, []string{"erupt-cloud:node:shop"}) {
		t.Errorf("it left the keys %q", after)
	}

	serving := launch(t, t.TempDir(), takeOver) // now nobody renews it
	node := testbed.NewFakeNode(t, "shop")
	register := func() {
		t.Helper()
		resp, raw := serving.call(http.MethodPost, "/erupt-cloud-api/register-node", map[string]any{
			"instanceId": "kQzTbW", "version": "2.0.4", "nodeName": "shop", "accessToken": "7H2KQ9ZX4M1CVB0P", "nodeAddress": []string{node.URL()},
			"eruptModules": []string{}, "erupts": []string{"Customer"},
		}, nil)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("registration = %d %s", resp.StatusCode, raw)
		}
	}
	register()
	if got := s.client.Get(t.Context(), "erupt-cloud:node:shop").Val(); !strings.Contains(got, node.URL()) {
		t.Errorf("after a registration the entry is %.80q", got)
	}
}

// Beside a Java server of 2.1 or later: what it registered is routed to, with the token of the database, and who is logged in
// there is logged in here. What we write for such a server is held by TestErupt11_10Sharing.
func TestBesideAJavaServer(t *testing.T) {
	s := newEruptSite(t, "2.3")
	s.adopt()
	ctx := t.Context()
	node := testbed.NewFakeNode(t, "shop")
	node.Handle("/erupt-api/data/table/Customer", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Access-Token") != "7H2KQ9ZX4M1CVB0P" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write([]byte(`{"total":1,"list":[{"id":1,"name":"Ada"}]}`))
	})
	entry, err := json.Marshal(map[string]any{
		"registerTime": time.Now().Format("2006-01-02T15:04:05.000"), "locations": []string{node.URL()}, "instanceId": "jAvAid", "version": "2.3.0",
		"nodeName": "shop", "accessToken": "7H2KQ9ZX4M1CVB0P", "nodeAddress": []string{node.URL()}, "eruptModules": []string{}, "erupts": []string{"Customer"},
		"resources": nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.client.Set(ctx, "erupt-cloud:node:shop", entry, 10*time.Minute)
	const token = "aZ3kaZ3kaZ3kaZ3kaZ3kaZ"
	for kind, value := range map[string]string{
		"token": "lin", "user": `{"id":2,"account":"lin","username":"Lin Yu","org":"D-01","post":"ENG","superAdmin":false,"roles":["sales"],"tenantId":null}`,
		"menu-view": "[]",
	} {
		s.client.Set(ctx, "erupt-auth:"+kind+":"+token, value, time.Hour)
	}
	serving := launch(t, t.TempDir(), append(slices.Clone(s.env), "EC_CLOUD_SERVER_SHARE_NAMESPACE=true"))
	lin := serving.as(token)
	eventually(t, patience, func() bool {
		status, _ := lin.table(t, "shop.Customer")
		return status == http.StatusOK
	}, func() string {
		status, raw := lin.table(t, "shop.Customer")
		return "a page of the node that registered at the Java server = " + http.StatusText(status) + " " + raw
	})
	// We may renew the moment; all else is as the Java server wrote it, and lives no longer.
	fields := func(raw string) map[string]any {
		var m map[string]any
		if err := json.Unmarshal([]byte(raw), &m); err != nil {
			t.Fatalf("%v in the entry %s", err, raw)
		}
		delete(m, "registerTime")
		return m
	}
	got := s.client.Get(ctx, "erupt-cloud:node:shop").Val()
	if !reflect.DeepEqual(fields(got), fields(string(entry))) || !strings.Contains(got, `"registerTime":"`) {
		t.Errorf("the entry became\n%s\nwant it as the Java server wrote it:\n%s", got, entry)
	}
	if ttl := s.client.TTL(ctx, "erupt-cloud:node:shop").Val(); ttl <= 0 || ttl > 10*time.Minute {
		t.Errorf("the entry lives for %s, want at most the 10 minutes that the Java server gave it", ttl)
	}
	s.client.Del(ctx, "erupt-cloud:node:shop") // it left at the Java server
	eventually(t, patience, func() bool {
		status, _ := lin.table(t, "shop.Customer")
		return status == http.StatusServiceUnavailable
	}, func() string { return "what left at the Java server is still routed to" })
}

// migrate-from-erupt on an installation of 1.12, read-only: text, JSON and exit codes.
func TestMigrateFromErupt(t *testing.T) {
	s := newEruptSite(t, "1.12")
	s.oldEntry(9 * time.Minute)
	before := s.keys()
	dsn := strings.TrimPrefix(s.env[1], "EC_DATABASE_DSN=")
	stdout, stderr, code := command(t, nil, "migrate-from-erupt", "--dsn", dsn, "--redis", s.url)
	if code != 10 || !strings.Contains(stdout, "erupt 1.12") || !strings.Contains(stdout, "double") || !strings.Contains(stderr, "put right") {
		t.Errorf("migrate-from-erupt = %d, want 10 and the report:\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code = command(t, nil, "migrate-from-erupt", "--redis", s.url, "-o", "json")
	var report struct {
		CanBeTakenOver bool `json:"canBeTakenOver"`
		Nodes          []struct{ Name, Version string }
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 0 || !report.CanBeTakenOver || len(report.Nodes) != 1 || report.Nodes[0].Version != "2.0.4" {
		t.Errorf("with -o json = %d, %v, %+v\n%s", code, err, report, stderr)
	}
	for _, tt := range []struct {
		args []string
		code int
	}{
		{nil, 2},
		{[]string{"-o", "xml"}, 2},
		{[]string{"--application", "missing.yml"}, 2},
		{[]string{"--dsn", "ec:of-nobody@tcp(127.0.0.1:1)/erupt"}, 3},
		{[]string{"--redis", "redis://:of-nobody@127.0.0.1:1/0"}, 8},
	} {
		stdout, stderr, code := command(t, nil, append([]string{"migrate-from-erupt"}, tt.args...)...)
		if code != tt.code || strings.Contains(stdout+stderr, "of-nobody") {
			t.Errorf("%q = %d, want %d and no password\n%s%s", tt.args, code, tt.code, stdout, stderr)
		}
	}
	if after := s.keys(); !maps.Equal(before, after) {
		t.Errorf("the keys of Redis became %q", slices.Sorted(maps.Keys(after)))
	}
}
