package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/testbed"
)

// production is two replicas on one MariaDB and one Redis.
type production struct {
	one, two *server
	redis    *testbed.RedisProc
	client   *redis.Client
	env      []string // of both
	second   []string // of the second alone
}

func startProduction(t *testing.T) *production {
	t.Helper()
	return startProductionAt(t, nil, nil, []string{"127.0.0.1:0", "127.0.0.1:0"})
}

// startProductionAt is startProduction with more settings, those of the second replica alone, and the addresses to listen on.
func startProductionAt(t testing.TB, env, second, listen []string) *production {
	t.Helper()
	p := &production{redis: testbed.RedisServer(t), second: second}
	options, err := redis.ParseURL(p.redis.URL())
	if err != nil {
		t.Fatal(err)
	}
	p.client = redis.NewClient(options)
	t.Cleanup(func() { p.client.Close() })
	key := func(b byte) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(b), 48))) }
	p.env = append([]string{
		"EC_DATABASE_DRIVER=mysql", "EC_DATABASE_DSN=" + testbed.MariaDB(t), "EC_DATABASE_MIGRATE=true", "EC_REDIS_URL=" + p.redis.URL(),
		"EC_SESSION_KEYS=" + key('s'), "EC_SECRETS_TOKEN_KEY=" + key('t'), "EC_NETGUARD_ALLOW_LOOPBACK=true",
		"EC_CLOUD_SERVER_HEARTBEAT_TIME=1s",
	}, env...)
	p.one, p.two = serve(t, p.env, "--listen", listen[0]), serve(t, p.settings(1), "--listen", listen[1])
	return p
}

// settings are those of a replica.
func (p *production) settings(i int) []string {
	if i == 0 {
		return p.env
	}
	return slices.Concat(p.env, p.second)
}

// as returns a replica as seen by somebody else's session.
func (s *server) as(token string) *server {
	other := *s
	other.Token = token
	return &other
}

// table asks for a node's page and returns the status of the answer.
func (s *server) table(t testing.TB, erupt string) (int, string) {
	t.Helper()
	resp, raw := s.call(http.MethodPost, "/erupt-api/data/table/"+erupt, tableQuery(), http.Header{"erupt": {erupt}, "Content-Type": {"application/json"}})
	return resp.StatusCode, string(raw)
}

func TestReplicasAreOne(t *testing.T) { // F8, F10, A10, A13
	p := startProduction(t)
	goNode(t, p.one, "crm", p.one.node("crm"), freeAddr(t), "")
	// The node knows the first replica only; the other one routes to it all the same.
	p.two.awaitInstances("crm", 1, patience)
	if status, raw := p.two.table(t, "crm.Customer"); status != http.StatusOK || !strings.Contains(raw, `"total":30`) {
		t.Errorf("a request at the other replica = %d %.300s", status, raw)
	}

	// A session is good at both and ends at both.
	token := p.one.login("erupt", adminPassword)
	if resp, raw := p.two.as(token).call(http.MethodGet, "/api/v1/nodes", nil, nil); resp.StatusCode != http.StatusOK {
		t.Errorf("the session of one replica at the other = %d %s", resp.StatusCode, raw)
	}
	p.two.as(token).must(http.MethodGet, "/erupt-api/logout", nil, http.StatusOK, nil)
	for _, s := range []*server{p.one, p.two} {
		if resp, _ := s.as(token).call(http.MethodGet, "/api/v1/nodes", nil, nil); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("after the logout at one replica %s answers %d, want 401", s.URL, resp.StatusCode)
		}
	}

	// A hold at one counts at the other.
	id := p.one.instances("crm")[0].InstanceID
	p.one.must(http.MethodPut, "/api/v1/nodes/crm/instances/"+id+"/hold", map[string]any{"reason": "disk"}, http.StatusOK, nil)
	status, raw := 0, ""
	eventually(t, patience, func() bool {
		status, raw = p.two.table(t, "crm.Customer")
		return status == http.StatusServiceUnavailable
	}, func() string { return fmt.Sprintf("the other replica still routes: %d %s", status, raw) })
	p.two.must(http.MethodDelete, "/api/v1/nodes/crm/instances/"+id+"/hold", nil, http.StatusNoContent, nil)
	eventually(t, patience, func() bool {
		status, raw = p.one.table(t, "crm.Customer")
		return status == http.StatusOK
	}, func() string { return fmt.Sprintf("the hold is not lifted at the first replica: %d %s", status, raw) })

	// A page that is open at one replica hears of what changes at the other.
	b := browse(t, p.two)
	b.login("erupt", adminPassword)
	b.open("/console/nodes")
	b.until("not up", `document.querySelector("[data-node=crm]")?.dataset.state === "up"`)
	b.eval("window.sinceThen = true")
	p.one.node("shop")
	b.shows("[data-node=shop]")
	if b.eval("window.sinceThen") != "true" {
		t.Error("the page was loaded anew, want it live")
	}

	// One replica is enough.
	if code := p.two.stop(40 * time.Second); code != 0 {
		t.Errorf("the second replica ended with code %d:\n%s", code, p.two.output())
	}
	b.expect("ERR_") // the page's own replica is gone
	if status, raw := p.one.table(t, "crm.Customer"); status != http.StatusOK {
		t.Errorf("with one replica left a request = %d %.300s", status, raw)
	}
}

func TestNodeEntryIsAsJavaReadsIt(t *testing.T) { // A10, erupt-wire 7.1
	p := startProduction(t)
	addr := freeAddr(t)
	token := p.one.node("crm")
	goNode(t, p.one, "crm", token, addr, "")
	p.one.awaitInstances("crm", 1, patience)
	var raw string
	eventually(t, patience, func() bool {
		var err error
		raw, err = p.client.Get(t.Context(), "erupt-cloud:node:crm").Result()
		return err == nil
	}, func() string { return "there is no erupt-cloud:node:crm" })
	var entry struct {
		RegisterTime, InstanceID, Version, NodeName string
		AccessToken                                 *string
		Locations, NodeAddress, EruptModules        []string
		Erupts                                      []string
	}
	if err := json.Unmarshal([]byte(raw), &entry); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if entry.NodeName != "crm" || entry.InstanceID == "" || entry.Version != "go-1.0.0" || len(entry.Locations) != 1 || entry.Locations[0] != "http://"+addr ||
		entry.EruptModules == nil || len(entry.Erupts) != 2 {
		t.Errorf("the entry is %s", raw)
	}
	if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$`).MatchString(entry.RegisterTime) {
		t.Errorf("registerTime is %q, want it with milliseconds and without a zone", entry.RegisterTime)
	}
	if strings.Contains(raw, token) {
		t.Error("the entry holds the node's token, which only a shared namespace needs")
	}
	if ttl := p.client.TTL(t.Context(), "erupt-cloud:node:crm").Val(); ttl <= 0 || ttl > 10*time.Minute {
		t.Errorf("the entry lives for %s, want at most node_expire_time", ttl)
	}
}

func TestRedisLosesItsData(t *testing.T) { // F10, D14
	p := startProduction(t)
	token := p.one.node("crm")
	goNode(t, p.one, "crm", token, freeAddr(t), "")
	goNode(t, p.two, "crm", token, freeAddr(t), "")
	p.one.awaitInstances("crm", 2, patience)
	p.two.awaitInstances("crm", 2, patience)
	p.redis.Kill()
	// What is known is served while the store is away.
	if status, raw := p.one.table(t, "crm.Customer"); status != http.StatusOK && status != http.StatusServiceUnavailable {
		t.Errorf("without Redis a request = %d %.300s", status, raw)
	}
	p.redis.Start(t)
	for _, s := range []*server{p.one, p.two} {
		status := 0
		eventually(t, patience, func() bool { // sessions were in Redis as well
			resp, _ := s.call(http.MethodGet, "/livez", nil, nil)
			status = resp.StatusCode
			return status == http.StatusOK
		}, func() string { return fmt.Sprintf("%s/livez = %d", s.URL, status) })
		eventually(t, patience, func() bool {
			resp, _ := s.call(http.MethodGet, "/readyz", nil, nil)
			status = resp.StatusCode
			return status == http.StatusOK
		}, func() string { return fmt.Sprintf("%s/readyz = %d", s.URL, status) })
		s.Token = s.login("erupt", adminPassword)
		s.awaitInstances("crm", 2, patience)
		if status, raw := s.table(t, "crm.Customer"); status != http.StatusOK {
			t.Errorf("after Redis came back a request at %s = %d %.300s", s.URL, status, raw)
		}
	}
	eventually(t, patience, func() bool { return p.client.Exists(t.Context(), "erupt-cloud:node:crm").Val() == 1 },
		func() string { return "the node's entry is not written again" })
}
