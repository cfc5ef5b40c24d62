package e2e

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// lasting lets what one test starts serve the tests after it: its cleanups run at the end of the test binary, and it fails the
// test that runs at the moment. Only tests that are not parallel may use it.
type lasting struct {
	testing.TB // of the test that runs
	cleanups   []func()
	ended      bool
}

func (l *lasting) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }

func (l *lasting) Context() context.Context { return context.Background() }

// Failed is false at the end: there is nobody left to tell.
func (l *lasting) Failed() bool { return !l.ended && l.TB.Failed() }

func (l *lasting) TempDir() string {
	dir, err := os.MkdirTemp("", "ec-farm-")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (l *lasting) end() {
	l.ended = true
	for _, f := range slices.Backward(l.cleanups) {
		f()
	}
	l.cleanups = nil
}

// farm is two replicas on MariaDB and Redis, and two instances of a real Java node on one database. A start of Java takes
// seconds, so the tests share it; each leaves it as it found it or lets whole mend it.
type farm struct {
	*production
	*lasting
	listen   [2]string
	token    string // of the node
	db       string // its database
	tap      *tap   // between the first instance and the first replica
	javaOne  *javaNode
	javaTwo  *javaNode
	sessions map[string]string
}

var sharedFarm *farm

// farmTimeout is node_request_timeout of the second replica; the first waits longer, for exports that take their time.
const farmTimeout = 8 * time.Second

// javaFarm returns the farm with everything up and the admin logged in at both replicas.
func javaFarm(t *testing.T) *farm {
	t.Helper()
	testbed.Require(t, "java")
	testbed.Require(t, "mvn")
	if sharedFarm == nil {
		sharedFarm = plantFarm(t)
	}
	f := sharedFarm
	f.TB = t
	t.Cleanup(func() {
		if t.Failed() {
			for _, p := range []*process{f.one.process, f.two.process, f.javaOne.process, f.javaTwo.process} {
				t.Logf("%s printed:\n%s", filepath.Base(p.cmd.Path), tail(p.notable(), 3000))
			}
		}
	})
	f.whole()
	return f
}

func plantFarm(t *testing.T) *farm {
	t.Helper()
	l := &lasting{TB: t}
	f := &farm{lasting: l, listen: [2]string{freeAddr(t), freeAddr(t)}, sessions: map[string]string{}}
	// The survival check must not be what finds the dead: failover has to.
	f.production = startProductionAt(l, []string{
		"EC_CLOUD_SERVER_NODE_SURVIVE_CHECK_TIME=5m", "EC_CLOUD_SERVER_NODE_REQUEST_TIMEOUT=60s", "EC_SERVER_DRAIN_TIMEOUT=20s",
	}, []string{"EC_CLOUD_SERVER_NODE_REQUEST_TIMEOUT=" + farmTimeout.String()}, f.listen[:])
	f.db = javaDatabase(l)
	f.token = f.one.node(javaName)
	f.tap = newTap(l, f.listen[0])
	return f
}

// both are the replicas, for loops.
func (f *farm) both() []*server { return []*server{f.one, f.two} }

// whole starts again what has ended, and waits until both replicas route to both instances.
func (f *farm) whole() {
	f.Helper()
	f.startInstances()
	for _, n := range []*javaNode{f.javaOne, f.javaTwo} {
		n.ready()
	}
	for _, s := range f.both() {
		if resp, _ := s.call(http.MethodGet, "/erupt-api/userinfo", nil, nil); resp.StatusCode == http.StatusUnauthorized {
			s.Token = s.login("erupt", adminPassword)
		}
		s.awaitInstances(javaName, 2, 60*time.Second)
	}
}

// startInstances starts those that do not run, beside each other. The first has one server address and writes slashes at the
// end of all addresses; the second has both replicas as servers and a context path.
func (f *farm) startInstances() {
	f.Helper()
	if f.javaOne == nil || f.javaOne.ended() {
		port := freeAddr(f)
		f.javaOne = launchJava(f.lasting, javaSettings{
			name: javaName, token: f.token, servers: "http://" + f.tap.addr + "/", listen: port, address: "http://" + port + "/", db: f.db,
			env: []string{"JAVA_OPTS=-Xmx700m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
		})
		if f.javaTwo == nil {
			f.javaOne.ready() // it makes the tables and the rows
		}
	}
	if f.javaTwo == nil || f.javaTwo.ended() {
		f.javaTwo = launchJava(f.lasting, javaSettings{
			name: javaName, token: f.token, servers: f.one.URL + "," + f.two.URL, context: "/shop", db: f.db,
			env: []string{"JAVA_OPTS=-Xmx700m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
		})
	}
}

// forgetAll makes both instances forget what they were asked.
func (f *farm) forgetAll() {
	f.Helper()
	f.javaOne.forget()
	f.javaTwo.forget()
}

// seenAll is what both were asked since.
func (f *farm) seenAll() []string {
	f.Helper()
	return append(f.javaOne.seen(), f.javaTwo.seen()...)
}

// restart ends a replica as an operator does and starts it again at the same address with the same settings, and program if
// that is not empty.
func (f *farm) restart(i int, program string) *server {
	f.Helper()
	old := f.both()[i]
	if code := old.stop(40 * time.Second); code != 0 {
		f.Errorf("replica %d ended with code %d:\n%s", i+1, code, tail(old.output(), 3000))
	}
	if program == "" {
		program, _ = binary() // it has started already
	}
	fresh := launchProgram(f.lasting, program, old.Data, f.settings(i), "--listen", f.listen[i])
	old.process = fresh.process
	return old
}

// javaSettings are those of a node; what is empty has a default.
type javaSettings struct {
	name, token string
	servers     string // one address or several with commas between, as it stands in the node's settings
	listen      string // host:port
	address     string // how the server reaches it: hostAddress
	context     string // context path
	db          string // URL of H2; empty: its own in memory
	version     string // of erupt; empty: that of the pom
	env         []string
}

// launchJava starts an instance without waiting for it.
func launchJava(t testing.TB, o javaSettings) *javaNode {
	t.Helper()
	dir, err := filepath.Abs("interop/erupt-node")
	if err != nil {
		t.Fatal(err)
	}
	if o.listen == "" {
		o.listen = freeAddr(t)
	}
	_, port, err := net.SplitHostPort(o.listen)
	if err != nil {
		t.Fatal(err)
	}
	build := javaBuildDir(t, dir)
	if o.version != "" {
		build += "-" + o.version
	}
	env := append([]string{"BUILD_DIR=" + build, "WORK_DIR=" + t.TempDir(), "HEARTBEAT_TIME=2000", "ERUPT_VERSION=" + o.version, "CONTEXT_PATH=" + o.context}, o.env...)
	if o.db != "" {
		env = append(env, "DB_URL="+o.db, "DB_DDL=update")
	}
	n := &javaNode{URL: "http://" + o.listen + o.context}
	if o.address == "" {
		o.address = n.URL
	}
	n.process = start(t, env, filepath.Join(dir, "run.sh"), port, o.name, o.token, o.servers, o.address)
	return n
}

// javaDatabase starts a database server for instances that are killed, and returns the URL of a database.
func javaDatabase(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("interop/erupt-node")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(freeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, []string{"BUILD_DIR=" + javaBuildDir(t, dir), "WORK_DIR=" + t.TempDir(), "DATABASE_ONLY=1"}, filepath.Join(dir, "run.sh"), port, "-", "-", "-")
	p.await("TCP server running", 10*time.Minute)
	return "jdbc:h2:tcp://127.0.0.1:" + port + "/./db;MODE=MySQL"
}

// ready waits until it answers; the first start builds the program.
func (n *javaNode) ready() {
	n.t.Helper()
	n.await("READY ", 10*time.Minute)
}

// ended reports whether the process is over.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// term asks for a graceful end and waits for it.
func (n *javaNode) term() {
	n.t.Helper()
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	if code := n.wait(30 * time.Second); code != 143 {
		n.t.Errorf("the Java process ended with code %d, want 143 of a handled SIGTERM", code)
	}
}
