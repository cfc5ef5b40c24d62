// Package testbed gives tests the real things: MariaDB, Redis, Chromium and nodes that misbehave on demand. Only tests import
// it. What it starts ends with the test binary, however that ends.
package testbed

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Require returns the path of a program. Without it the test is skipped, or fails when EC_TEST_REQUIRE=1.
func Require(t testing.TB, program string) string {
	t.Helper()
	if p, err := exec.LookPath(program); err == nil {
		return p
	}
	// Servers live where the search path of an ordinary user does not lead.
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/sbin", "/usr/libexec"} {
		if p := filepath.Join(dir, program); isExecutable(p) {
			return p
		}
	}
	if os.Getenv("EC_TEST_REQUIRE") == "1" {
		t.Fatalf("%s is not installed, and EC_TEST_REQUIRE=1 asks for it", program)
	}
	t.Skipf("%s is not installed", program)
	return ""
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// process is a child that dies with us.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has
	log    string        // path of what it printed
}

// start runs cmd in its own group, its output in a file.
func start(cmd *exec.Cmd, log string) (*process, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	cmd.SysProcAttr = dieWithUs()
	p := &process{cmd: cmd, exited: make(chan struct{}), log: log}
	started := make(chan error)
	go func() {
		// The kernel sends the death signal when the thread that started the child ends, so this one stays.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended shows in its log
			close(p.exited)
		}
	}()
	return p, <-started
}

func dieWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// signal sends s if the child still runs.
func (p *process) signal(s os.Signal) {
	if !p.dead() {
		_ = p.cmd.Process.Signal(s)
	}
}

func (p *process) dead() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// end sends s and waits; a child that does not listen is killed after ten seconds.
func (p *process) end(s os.Signal) {
	p.signal(s)
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		p.signal(syscall.SIGKILL)
		<-p.exited
	}
}

// await polls ready until it returns nil. It fails when the child ends or 30 s have passed.
func (p *process) await(ready func() error) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if p.dead() || time.Now().After(deadline) {
			printed, _ := os.ReadFile(p.log)
			return fmt.Errorf("%s did not come up: %w\n%s", filepath.Base(p.cmd.Path), err, tail(printed))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-4000):] }

// attempts is how often a server is started on another port when somebody else took the free one in between.
const attempts = 5

// freePort returns a port of 127.0.0.1 that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// reaper is a shell that waits for our end and then removes what we left: it also works after a panic, where no cleanup of
// a test runs.
var reaper = sync.OnceValues(func() (io.Writer, error) {
	const script = `trap "" INT TERM HUP
while IFS=" " read -r kind what; do
	if [ "$kind" = group ]; then groups="$groups $what"; else set -- "$@" "$what"; fi
done
for g in $groups; do kill -9 -- "-$g" 2>/dev/null; done
sleep 0.3
for d; do rm -rf -- "$d"; done`
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return in, cmd.Start()
})

// removeAtEnd has a directory removed after the test binary has ended.
func removeAtEnd(dir string) error {
	w, err := reaper()
	if err == nil {
		_, err = io.WriteString(w, "dir "+dir+"\n")
	}
	return err
}

// killAtEnd has a process group killed after the test binary has ended.
func killAtEnd(pid int) error {
	w, err := reaper()
	if err == nil {
		_, err = io.WriteString(w, "group "+strconv.Itoa(pid)+"\n")
	}
	return err
}

// shortDir makes a directory that lives as long as the test binary. Its name is short, since the path of a socket has at most
// 107 bytes; in memory where there is room, since servers sync a lot.
func shortDir() (string, error) {
	for _, base := range []string{"/dev/shm", "/tmp", os.TempDir()} {
		if base == "/dev/shm" && !hasRoom(base) {
			continue
		}
		if dir, err := os.MkdirTemp(base, "ec-"); err == nil {
			return dir, removeAtEnd(dir)
		}
	}
	dir, err := os.MkdirTemp("", "ec-")
	if err != nil {
		return "", err
	}
	return dir, removeAtEnd(dir)
}

// hasRoom reports whether a file system has a gigabyte free: containers often give /dev/shm 64 MB.
func hasRoom(dir string) bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(dir, &fs) == nil && fs.Bavail*uint64(fs.Bsize) > 1<<30
}
