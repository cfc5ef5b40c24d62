package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"eruptcloud/nodeagent"
)

// A Go node is this test binary, started again with these variables: one real process per instance.
const (
	goNodeName   = "EC_TEST_GONODE"       // node name; makes the process a node
	goNodeToken  = "EC_TEST_GONODE_TOKEN" //
	goNodeServer = "EC_TEST_GONODE_SERVER"
	goNodeAddr   = "EC_TEST_GONODE_ADDR" // host:port to listen on
	goNodeTrace  = "EC_TEST_GONODE_TRACE"
	goNodeFiles  = "EC_TEST_GONODE_FILES" // folder of uploads
)

// runGoNode is the main function of such a process.
func runGoNode() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	trace, err := traceTo(os.Getenv(goNodeTrace))
	if err != nil {
		return err
	}
	ring := nodeagent.NewLogRing(1000)
	agent, err := nodeagent.New(nodeagent.Config{
		NodeName: os.Getenv(goNodeName), AccessToken: os.Getenv(goNodeToken),
		ServerAddresses: []string{os.Getenv(goNodeServer)}, HostAddress: []string{"http://" + os.Getenv(goNodeAddr)},
		HeartbeatTime: time.Second, UploadDir: os.Getenv(goNodeFiles), MaxUpload: 4 << 30,
		Erupts: []string{"Stream"}, EruptHandler: trace(says(ring, http.HandlerFunc(streams))), LogRing: ring,
	})
	if err != nil {
		return err
	}
	if err := agent.Host(goPages()...); err != nil {
		return err
	}
	server := &http.Server{Addr: os.Getenv(goNodeAddr), ReadHeaderTimeout: 10 * time.Second}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", server.Addr)
	if err != nil {
		return err
	}
	fmt.Println("node listens on", listener.Addr())
	return agent.ServeListener(ctx, server, listener)
}

// traceTo returns a middleware that writes the query parameter n of each accepted request to a file, unbuffered, before
// anything else happens.
func traceTo(path string) (func(http.Handler) http.Handler, error) {
	if path == "" {
		return func(next http.Handler) http.Handler { return next }, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := r.URL.Query().Get("n"); n != "" {
				fmt.Fprintln(f, n)
			}
			next.ServeHTTP(w, r)
		})
	}, nil
}

// says logs what it is told to.
func says(ring *nodeagent.LogRing, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/operator/say") {
			ring.Append(r.URL.Query().Get("line"))
			_, _ = io.WriteString(w, `{"status":"SUCCESS","success":true,"promptWay":"MESSAGE","message":null,"data":null}`)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// streamedEvents is how many events a stream has; each is sent only after the client has said that it saw the one before.
const streamedEvents = 5

var seen = make(chan struct{})

// streams answers what the proxy must pass piece by piece.
func streams(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.Contains(r.URL.Path, "/data/table/"):
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"pageIndex":1,"pageSize":10,"total":30,"totalPage":3,"list":[]}`)
	case strings.Contains(r.URL.Path, "/operator/events"):
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range streamedEvents {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			select {
			case <-seen:
			case <-r.Context().Done():
				return
			case <-time.After(20 * time.Second): // the client has not got it
				panic(http.ErrAbortHandler)
			}
		}
	case strings.Contains(r.URL.Path, "/operator/seen"):
		select {
		case seen <- struct{}{}:
			_, _ = io.WriteString(w, `{"status":"SUCCESS","success":true,"promptWay":"MESSAGE","message":null,"data":null}`)
		case <-r.Context().Done():
		}
	case strings.Contains(r.URL.Path, "/operator/die"):
		_, _ = io.WriteString(w, strings.Repeat("x", 64<<10))
		w.(http.Flusher).Flush()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case strings.Contains(r.URL.Path, "/operator/wait"):
		ms, _ := strconv.Atoi(r.URL.Query().Get("ms"))
		select {
		case <-r.Context().Done():
		case <-time.After(time.Duration(ms) * time.Millisecond):
		}
		_, _ = io.WriteString(w, `{"status":"SUCCESS","success":true,"promptWay":"MESSAGE","message":null,"data":null}`)
	default:
		http.NotFound(w, r)
	}
}

func goPages() []nodeagent.Page {
	rows := make([]nodeagent.Row, 30)
	for i := range rows {
		rows[i] = nodeagent.Row{"id": int64(i + 1), "name": fmt.Sprintf("customer %02d", i+1), "balance": int64(100 * i)}
	}
	return []nodeagent.Page{{
		Name: "Customer", Title: "Customers", Source: nodeagent.NewMemSource(rows...),
		Fields: []nodeagent.Field{
			nodeagent.Input("name", "Name").Required().Search().Sortable(),
			nodeagent.Number("balance", "Balance").Sortable(),
			nodeagent.Attachment("contract", "Contract", nodeagent.Files{}),
		},
		Export: &nodeagent.Export{Name: "customers.csv", Write: func(_ context.Context, _ nodeagent.Query, w io.Writer) error {
			return zeros(w, bigBody)
		}},
	}}
}

// bigBody is 1 GiB: what must pass without being held in memory.
const bigBody = 1 << 30

func zeros(w io.Writer, n int64) error {
	chunk := make([]byte, 256<<10)
	for n > 0 {
		k := min(n, int64(len(chunk)))
		if _, err := w.Write(chunk[:k]); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// goNode starts an instance; addr is its fixed address, trace a file for the requests it accepted.
func goNode(t testing.TB, s *server, name, token, addr, trace string) *process {
	t.Helper()
	return goNodeIn(t, s, name, token, addr, trace, t.TempDir())
}

// goNodeIn is goNode with the folder that its uploads lie in.
func goNodeIn(t testing.TB, s *server, name, token, addr, trace, files string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, []string{
		goNodeName + "=" + name, goNodeToken + "=" + token, goNodeServer + "=" + s.URL, goNodeAddr + "=" + addr, goNodeTrace + "=" + trace,
		goNodeFiles + "=" + files,
	}, exe)
	p.await("node listens on", 20*time.Second)
	return p
}

// freeAddr returns an address that was free a moment ago.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// tableQuery is the body of a first page.
func tableQuery() io.Reader {
	raw, err := json.Marshal(map[string]any{"pageIndex": 1, "pageSize": 10})
	if err != nil {
		panic(err) // a constant
	}
	return strings.NewReader(string(raw))
}
