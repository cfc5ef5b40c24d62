package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// played are the versions that no registry serves.
var played = []string{"2.0.4", "2.1.1", "2.2.0", "2.3.0"}

// erupt-wire 11, item 1: registration from each version, double slashes, bad token, disabled, unreachable, Redis flushed.
func TestErupt11_01Registration(t *testing.T) {
	f := javaFarm(t)
	f.realRegistration(t)
	f.playedRegistrations(t)
	f.refusedRegistrations(t)
	f.redisForgets(t)
}

// A real node is known as it wrote itself down, at both replicas; what it sent is what the played ones send.
func (f *farm) realRegistration(t *testing.T) {
	for _, s := range f.both() {
		for _, in := range s.awaitInstances(javaName, 2, patience) {
			if in.Version != "1.12.23" || in.Location != f.javaOne.URL && in.Location != f.javaTwo.URL {
				t.Errorf("%s has %+v, want 1.12.23 at %s or %s", s.URL, in, f.javaOne.URL, f.javaTwo.URL)
			}
		}
	}
	i := slices.IndexFunc(f.tap.texts(), func(s string) bool { return strings.HasPrefix(s, "POST //erupt-cloud-api/register-node HTTP/1.1\r\n") })
	if i < 0 {
		t.Fatalf("the node with a slash at the end of its server address sent %.300q", f.tap.texts())
	}
	head, body, _ := strings.Cut(f.tap.texts()[i], "\r\n\r\n")
	var names []string
	for _, line := range strings.Split(head, "\r\n")[1:] {
		name, _, _ := strings.Cut(line, ":")
		names = append(names, name)
	}
	if want := strings.Fields("Accept User-Agent Accept-Encoding Content-Length Content-Type Cache-Control Pragma Host Connection"); !slices.Equal(names, want) {
		t.Errorf("headers %v, want %v", names, want)
	}
	keys := regexp.MustCompile(`^\{"instanceId":"\w{6}","version":"1.12.23","nodeName":"warehouse","accessToken":"` + f.token +
		`","nodeAddress":\["` + regexp.QuoteMeta(f.javaOne.URL+"/") + `"\],"eruptModules":\["erupt-jpa","erupt-tpl"\],"erupts":\[`)
	if !keys.MatchString(body) {
		t.Errorf("body %.400s, want %s", body, keys)
	}
}

// playedNode makes the record of a node and plays it at the first replica.
func (f *farm) playedNode(t *testing.T, version string) *testbed.EruptNode {
	t.Helper()
	name := "shop" + strings.ReplaceAll(version, ".", "")
	n := testbed.NewEruptNode(t, testbed.EruptSettings{Name: name, Version: version, Token: f.one.node(name), Server: f.one.URL + "/", Slash: true})
	t.Cleanup(func() { f.one.must(http.MethodDelete, "/api/v1/nodes/"+name, nil, http.StatusNoContent, nil) })
	return n
}

func (f *farm) playedRegistrations(t *testing.T) {
	for _, version := range played {
		n := f.playedNode(t, version)
		answer, err := n.Register()
		if err != nil || answer.Status != http.StatusOK || answer.Body != "" {
			t.Errorf("%s: registration answered %d %q %v, want 200 and nothing", version, answer.Status, answer.Body, err)
		}
		for _, s := range f.both() {
			if in := s.awaitInstances(n.Name, 1, patience)[0]; in.InstanceID != n.Instance || in.Version != version || in.Location != n.URL() {
				t.Errorf("%s knows %s as %+v", s.URL, version, in)
			}
		}
	}
}

func (f *farm) refusedRegistrations(t *testing.T) {
	name := "refused"
	token := f.one.node(name)
	t.Cleanup(func() { f.one.must(http.MethodDelete, "/api/v1/nodes/"+name, nil, http.StatusNoContent, nil) })
	for _, c := range []struct {
		what              string
		node              testbed.EruptSettings
		status            int
		reason            string
		disabled, deleted bool
	}{
		{what: "a wrong token", node: testbed.EruptSettings{Token: "WRONGWRONGWRONGX"}, status: 401, reason: "Access token invalid"},
		{what: "no such node", node: testbed.EruptSettings{Name: "nosuch", Token: token}, status: 404, reason: "not found"},
		{what: "an address where nothing listens", node: testbed.EruptSettings{Token: token, Address: "http://127.0.0.1:1"}, status: 502, reason: "Unable to establish a connection with http://127.0.0.1:"},
		{what: "an address of a cloud's metadata", node: testbed.EruptSettings{Token: token, Address: "http://169.254.169.254"}, status: 0, reason: "169.254.169.254"},
		{what: "a disabled node", node: testbed.EruptSettings{Token: token}, disabled: true, status: 500, reason: "prohibiting the registration"},
	} {
		for _, version := range played {
			o := c.node
			o.Version, o.Server = version, f.one.URL+"/"
			if o.Name == "" {
				o.Name = name
			}
			if c.disabled {
				f.one.must(http.MethodPatch, "/api/v1/nodes/"+name, map[string]any{"enabled": false}, http.StatusOK, nil)
			}
			answer, err := testbed.NewEruptNode(t, o).Register()
			var body struct {
				Status                 int
				Timestamp, Path, Error string
				Message                string
			}
			if e := json.Unmarshal([]byte(answer.Body), &body); err != nil || e != nil || answer.Status < 400 || c.status != 0 && answer.Status != c.status || !strings.Contains(body.Message, c.reason) {
				t.Errorf("%s, %s: %d %s %v, want %d with %q", version, c.what, answer.Status, answer.Body, err, c.status, c.reason)
			}
			if body.Status != answer.Status || body.Path != "/erupt-cloud-api/register-node" || body.Timestamp == "" {
				t.Errorf("%s, %s: %s is not the document that nodes print", version, c.what, answer.Body)
			}
			if got := f.two.instances(name); len(got) != 0 {
				t.Errorf("%s, %s: %+v is registered", version, c.what, got)
			}
		}
	}
}

// redisForgets: nodes are back with their next beat after Redis was emptied, and after it was away and came back empty.
func (f *farm) redisForgets(t *testing.T) {
	for what, forget := range map[string]func(){
		"flushed": func() { f.client.FlushAll(t.Context()) },
		"restarted": func() {
			f.redis.Kill()
			f.redis.Start(t)
		},
	} {
		forget()
		eventually(t, patience, func() bool { return f.client.Exists(t.Context(), "erupt-cloud:node:"+javaName).Val() == 1 }, func() string {
			return what + ": the entry of the node is not written again"
		})
		for _, s := range f.both() {
			f.back(t, s, what)
		}
	}
	if raw, err := f.client.Get(t.Context(), "erupt-cloud:node:"+javaName).Result(); err != nil || !strings.Contains(raw, `"version":"1.12.23"`) {
		t.Errorf("the entry is %q (%v), want that of 1.12.23", raw, err)
	}
}

// back waits until a replica is ready, logs in and finds both instances.
func (f *farm) back(t *testing.T, s *server, what string) {
	t.Helper()
	status := 0
	eventually(t, patience, func() bool {
		resp, _ := s.call(http.MethodGet, "/readyz", nil, nil)
		status = resp.StatusCode
		return status == http.StatusOK
	}, func() string { return fmt.Sprintf("%s: %s/readyz = %d", what, s.URL, status) })
	s.Token = s.login("erupt", adminPassword)
	s.awaitInstances(javaName, 2, 30*time.Second)
	if status, raw := s.table(t, "warehouse.Customer"); status != http.StatusOK || !strings.Contains(raw, `"list":[{`) {
		t.Errorf("%s: a request at %s = %d %.300s", what, s.URL, status, raw)
	}
}
