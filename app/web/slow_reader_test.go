package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/web"
)

// unread is more than the buffers of two sockets hold.
const unread = 64 << 20

func TestReadersThatStopReadingLeave(t *testing.T) {
	f := newShell(t)
	web.SetWriteIdle(f.Shell, 50*time.Millisecond)
	ended := make(chan error, 1)
	f.Engine().GET("/console/large", f.Handle(func(c *gin.Context) error {
		n, err := c.Writer.Write(make([]byte, unread))
		if n >= unread {
			t.Error("all was sent to a reader that took nothing")
		}
		ended <- err
		return err
	}))
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	conn := dial(t, srv)
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /console/large HTTP/1.1\r\nHost: a\r\n\r\n")
	if err := <-ended; err == nil { // the test's own time limit speaks if the handler hangs
		t.Error("the handler was told nothing")
	}
}

func TestTheTimeOfAnAnswerDoesNotEndTheNext(t *testing.T) {
	f := newShell(t)
	web.SetWriteIdle(f.Shell, 20*time.Millisecond)
	f.Engine().GET("/console/quick", text("ok"))
	late := make(chan struct{})
	f.Engine().GET("/erupt-api/stream", func(c *gin.Context) {
		<-late
		c.String(200, "later")
	})
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	conn := dial(t, srv)
	in := bufio.NewReader(conn)
	for _, path := range []string{"/console/quick", "/erupt-api/stream"} {
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path)
		if path == "/erupt-api/stream" {
			timer := time.AfterFunc(60*time.Millisecond, func() { close(late) })
			defer timer.Stop()
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 || len(body) == 0 {
			t.Errorf("%s answered %d %q, %v", path, res.StatusCode, body, err)
		}
	}
}

func TestLargeBodiesShareTheMemory(t *testing.T) {
	post := func(size int64) *http.Request {
		r := httptest.NewRequest("POST", "/x", nil)
		r.ContentLength = size
		return r
	}
	var release []func()
	for len(release) < 100 {
		free, err := web.ClaimBody(post(32<<20), 32<<20)
		if err != nil {
			break
		}
		release = append(release, free)
	}
	if len(release) != 3 {
		t.Errorf("%d bodies of 32 MiB at once, want 3", len(release))
	}
	if free, err := web.ClaimBody(post(1000), 32<<20); err != nil {
		t.Errorf("a small body: %v", err)
	} else {
		free()
	}
	if _, err := web.ClaimBody(post(-1), 1<<20); err == nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("a body of unknown length was let in: %v", err)
	}
	for _, free := range release {
		free()
	}
	free, err := web.ClaimBody(post(32<<20), 32<<20)
	if err != nil {
		t.Fatalf("what was given back is not there: %v", err)
	}
	free()
}

func TestAnAddressWithoutAPageKeepsTheFrame(t *testing.T) { // U80
	f := newShell(t)
	f.Engine().POST("/sign-in", func(c *gin.Context) { _ = f.WriteSession(c, "lin-token") })
	cookie := f.do("POST", "/sign-in").Result().Cookies()[0]
	signed := f.do("GET", "/console/nowhere", "Accept", "text/html", "Cookie", cookie.String())
	if signed.Code != 404 || !strings.Contains(signed.Body.String(), `data-account="lin"`) || !strings.Contains(signed.Body.String(), `id="nav"`) {
		t.Errorf("answered %d %.300s, want a 404 within the console", signed.Code, signed.Body)
	}
	for _, path := range []string{"/console/nowhere", "/nowhere"} {
		if w := f.do("GET", path, "Accept", "text/html"); w.Code != 404 || strings.Contains(w.Body.String(), `id="nav"`) {
			t.Errorf("a stranger at %s was answered %d with the console around it", path, w.Code)
		}
	}
}
