package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"eruptcloud/app/testbed"
	"eruptcloud/nodeagent"
)

// mixed is one control plane of two replicas behind a balancer, with a node of each kind.
type mixed struct {
	*production
	balancer *balancer
	listen   []string
	java     *javaNode
	players  map[string]*testbed.EruptNode // by node name
	versions map[string]string             // of each node, as the console shows it
}

// A mixed fleet: Java nodes of five generations, a Go node and one behind a sidecar, unchanged, in one console; a newer binary
// takes over under load and loses neither a node nor a record (D1).
func TestMixedFleet(t *testing.T) {
	m := startMixed(t)
	m.inTheConsole(t)
	m.newerBinary(t)
}

func startMixed(t *testing.T) *mixed {
	t.Helper()
	testbed.Require(t, "java")
	testbed.Require(t, "mvn")
	m := &mixed{listen: []string{freeAddr(t), freeAddr(t)}, players: map[string]*testbed.EruptNode{}, versions: map[string]string{}}
	m.production = startProductionAt(t, []string{"EC_SERVER_SHUTDOWN_GRACE=1s"}, nil, m.listen)
	m.balancer = newBalancer(t, m.listen...)
	plane := *m.one
	plane.URL = "http://" + m.balancer.addr
	m.java = launchJava(t, javaSettings{name: javaName, token: m.one.node(javaName), servers: plane.URL})
	m.versions[javaName] = "1.12.23"
	for _, version := range played {
		name := "shop" + strings.ReplaceAll(version, ".", "")
		n := testbed.NewEruptNode(t, testbed.EruptSettings{Name: name, Version: version, Token: m.one.node(name), Server: plane.URL + "/"})
		n.Beat(time.Second)
		m.players[name], m.versions[name] = n, version
	}
	goNode(t, &plane, "crm", m.one.node("crm"), freeAddr(t), "")
	m.versions["crm"] = "go-" + nodeagent.Version
	m.sidecar(t, plane.URL)
	m.java.ready()
	for name := range m.versions {
		for _, s := range []*server{m.one, m.two} {
			s.awaitInstances(name, 1, 30*time.Second)
		}
	}
	return m
}

// sidecar puts a process that knows nothing of us into the fleet.
func (m *mixed) sidecar(t *testing.T, plane string) {
	t.Helper()
	legacy := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(legacy.Close)
	program, err := build("./nodeagent/sidecar")
	if err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	start(t, []string{"EC_NODE_TOKEN=" + m.one.node("legacy"), "EC_NODE_HEARTBEAT_TIME=1s"}, program,
		"--name", "legacy", "--servers", plane, "--listen", addr, "--host-address", "http://"+addr, "--upstream", legacy.URL)
	m.versions["legacy"] = "go-" + nodeagent.Version
}

// inTheConsole looks at the list and, for each dialect, at a table, and edits a record.
func (m *mixed) inTheConsole(t *testing.T) {
	b := browse(t, m.two)
	b.login("erupt", adminPassword)
	b.open("/console/nodes")
	for name, version := range m.versions {
		b.until(name+" is not up", `document.querySelector("[data-node=`+name+`]")?.dataset.state === "up"`)
		b.says("[data-node="+name+"]", version)
	}
	b.shoot("fleet")
	for name, n := range m.players {
		if n.Version != "2.0.4" { // what modules contribute beside pages
			b.open("/console/nodes/" + name + "/pages")
			b.says("[data-testid=node-resource]", "审批")
		}
		b.open("/console/pages/" + name + ".Customer")
		for id, words := range map[string][]string{"1": {"Very important", "Yes", "••••••", "9007199254740993", "2026-03-01 12:00"}, "2": {"普通 standard", "No"}} {
			row := `[data-testid=view-row][data-id="` + id + `"]`
			for _, word := range words {
				b.says(row, word)
			}
		}
		b.shoot(name)
		b.open("/console/pages/" + name + ".Customer/record?id=1")
		before := n.Row(1)
		b.fill(`#record-form [name="f.name"]`, "Söhne & 有限公司")
		b.click("[data-testid=record-save]")
		b.until("it is not saved", `!document.querySelector("[data-testid=record-save]")`)
		after := n.Row(1)
		for column, was := range before {
			if column == "name" {
				was = "Söhne & 有限公司"
			}
			if after[column] != was {
				t.Errorf("%s: %s is %q after an edit of the name, want %q", n.Version, column, after[column], was)
			}
		}
		for _, query := range []string{"q.name=Customer+2", "q.level=S"} {
			b.open("/console/pages/" + name + ".Customer?" + query)
			b.says(`[data-testid=view-row][data-id="2"]`, "Customer 2")
			if got := b.eval(`document.querySelectorAll("[data-testid=view-row]").length`); query == "q.name=Customer+2" && got != "1" {
				t.Errorf("%s: a search finds %s rows, want 1", n.Version, got)
			}
		}
	}
	b.open("/console/pages/warehouse.Customer")
	b.says(`[data-testid=view-row][data-id="1"]`, "Standard")
	b.open("/console/pages/crm.Customer")
	b.says("main", "customer 01")
}

// writer inserts records at one node until it is told to stop; each name is used once.
type writer struct {
	page                 string
	acked, open, refused []string
	problems             []string
	mu                   sync.Mutex
}

// write sends one record. open are those whose fate nobody can know: the connection broke after the request was on its way.
func (w *writer) write(client *http.Client, plane, token, name string) {
	body := map[string]any{"name": name, "level": "V"}
	switch {
	case strings.HasPrefix(w.page, "warehouse"):
		body["level"] = "VIP"
	case strings.HasPrefix(w.page, "crm"):
		body = map[string]any{"name": name, "balance": 1}
	}
	raw, _ := json.Marshal(body)
	req, err := http.NewRequest(http.MethodPost, plane+"/erupt-api/data/modify/"+w.page, strings.NewReader(string(raw)))
	if err != nil {
		panic(err) // an address of this test
	}
	req.Header = http.Header{"Token": {token}, "Erupt": {w.page}, "Content-Type": {"application/json"}}
	resp, err := client.Do(req)
	answer := ""
	if err == nil {
		var text []byte
		text, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		answer = fmt.Sprintf("%d %.200s", resp.StatusCode, text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		w.open = append(w.open, name)
		w.problems = append(w.problems, errors.Unwrap(err).Error())
	case strings.HasPrefix(answer, "200 ") && strings.Contains(answer, `"SUCCESS"`):
		w.acked = append(w.acked, name)
	default:
		w.refused = append(w.refused, name)
		w.problems = append(w.problems, answer)
	}
}

func (w *writer) done() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked)
}

// newerBinary replaces both replicas, one after the other, by another build, while records are written at every node.
func (m *mixed) newerBinary(t *testing.T) {
	newer := filepath.Join(t.TempDir(), "newer")
	cmd := exec.Command("go", "build", "-ldflags", "-X main.version=9.9.9-newer", "-o", newer, "./app")
	cmd.Dir = "../.."
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	before := map[string]instance{}
	for name := range m.versions {
		before[name] = m.one.awaitInstances(name, 1, patience)[0]
	}
	var writers []*writer
	stop := make(chan struct{})
	var over sync.WaitGroup
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for name := range m.versions {
		if name == "legacy" {
			continue
		}
		w := &writer{page: name + ".Customer"}
		writers = append(writers, w)
		over.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				w.write(client, "http://"+m.balancer.addr, m.one.Token, fmt.Sprintf("%s record %05d", name, i))
			}
		})
	}
	busy := func(when string) {
		t.Helper()
		for _, w := range writers {
			from := w.done()
			eventually(t, 30*time.Second, func() bool { return w.done() >= from+10 }, func() string { return when + ": nothing is written at " + w.page })
		}
	}
	busy("before")
	for i, s := range []*server{m.one, m.two} {
		if code := s.stop(60 * time.Second); code != 0 {
			t.Errorf("replica %d ended with code %d:\n%s", i+1, code, tail(s.output(), 3000))
		}
		s.process = launchProgram(t, newer, s.Data, m.env, "--listen", m.listen[i]).process
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", s.cmd.Process.Pid)); err != nil || exe != newer {
			t.Errorf("the replica runs %s %v, want %s", exe, err, newer)
		}
		eventually(t, patience, m.balancer.ready[i].Load, func() string { return "the newer replica is not ready" })
		busy(fmt.Sprintf("replica %d replaced", i+1))
	}
	close(stop)
	over.Wait()
	m.nothingLost(t, before, writers)
}

// nothingLost compares instances and records with those of before.
func (m *mixed) nothingLost(t *testing.T, before map[string]instance, writers []*writer) {
	for _, s := range []*server{m.one, m.two} {
		resp, raw := s.call(http.MethodGet, "/erupt-api/userinfo", nil, nil)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("the session of before = %d %s", resp.StatusCode, raw)
		}
		for name, was := range before {
			if in := s.awaitInstances(name, 1, patience)[0]; in.InstanceID != was.InstanceID || !in.Registered.Equal(was.Registered) || in.Version != was.Version {
				t.Errorf("%s is %+v at %s, was %+v", name, in, s.URL, was)
			}
		}
	}
	if gone := m.one.events("kind=expired,unreached,removed,left"); len(gone) > 0 {
		t.Errorf("the history has %+v, want nobody gone", gone)
	}
	sent, failed, unknown := 0, 0, 0
	for _, w := range writers {
		sent, failed, unknown = sent+len(w.acked)+len(w.refused)+len(w.open), failed+len(w.refused), unknown+len(w.open)
		stored := m.stored(t, strings.TrimSuffix(w.page, ".Customer"))
		for _, name := range w.acked {
			if stored[name] != 1 {
				t.Errorf("%s: the record %q was acknowledged and is there %d times", w.page, name, stored[name])
			}
		}
		for _, name := range w.refused {
			if stored[name] != 0 {
				t.Errorf("%s: the record %q was refused and is there", w.page, name)
			}
		}
		for _, name := range w.open {
			if stored[name] > 1 {
				t.Errorf("%s: the record %q is there %d times", w.page, name, stored[name])
			}
		}
		if len(w.problems) > 0 {
			t.Logf("%s: %v", w.page, slices.Compact(w.problems))
		}
	}
	t.Logf("%d records sent through two restarts, %d failed, %d of unknown fate", sent, failed, unknown)
	if failed > 0 || unknown > 0 {
		t.Errorf("%d requests failed and %d broke, want none", failed, unknown)
	}
}

// stored counts the records of a node by name.
func (m *mixed) stored(t *testing.T, node string) map[string]int {
	t.Helper()
	count := map[string]int{}
	switch n := m.players[node]; {
	case n != nil:
		for _, name := range n.Names() {
			count[name]++
		}
	case node == javaName:
		for _, row := range m.java.rows("customer") {
			count[show(row["name"])]++
		}
	default:
		var page struct{ List []struct{ Name string } }
		for index := 1; index == 1 || len(page.List) > 0; index++ {
			_, raw := m.one.call(http.MethodPost, "/erupt-api/data/table/"+node+".Customer", map[string]any{"pageIndex": index, "pageSize": 100}, http.Header{"erupt": {node + ".Customer"}})
			page.List = nil
			if err := json.Unmarshal(raw, &page); err != nil {
				t.Fatalf("table of %s: %v %.200s", node, err, raw)
			}
			for _, row := range page.List {
				count[row.Name]++
			}
		}
	}
	return count
}
