package web_test

import (
	"bufio"
	"context"
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

func TestSilentSendersLeave(t *testing.T) {
	f := newShell(t)
	web.SetBodyIdle(f.Shell, 50*time.Millisecond)
	f.Engine().POST("/api/v1/reads", f.Handle(func(c *gin.Context) error {
		_, err := io.ReadAll(c.Request.Body)
		if err != nil {
			return web.BodyFault(err)
		}
		return nil
	}))
	f.Engine().POST("/api/v1/refuses", func(c *gin.Context) { c.Status(http.StatusUnauthorized) })
	f.Engine().POST("/api/v1/hurries", f.Handle(func(c *gin.Context) error {
		web.BodyWithin(c.Request, 10*time.Millisecond)
		_, err := io.ReadAll(c.Request.Body)
		return web.BodyFault(err)
	}))
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	for path, want := range map[string]int{"/api/v1/reads": 400, "/api/v1/refuses": 401, "/api/v1/hurries": 400, "/nowhere": 404} {
		conn := dial(t, srv)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345", path)
		all, err := io.ReadAll(conn) // to its end: the server closes
		if got := string(all); err != nil || !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", want)) {
			t.Errorf("%s: %v, want %d and a closed connection: %.200s", path, err, want, got)
		}
	}
}

func TestTheTimeOfABodyEndsWithIt(t *testing.T) {
	f := newShell(t)
	web.SetBodyIdle(f.Shell, 20*time.Millisecond)
	f.Engine().POST("/api/v1/thinks", func(c *gin.Context) {
		if _, err := io.ReadAll(c.Request.Body); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(c.Request.Context(), 100*time.Millisecond)
		defer cancel()
		<-ctx.Done()
		if c.Request.Context().Err() != nil {
			t.Error("the request ended with the time of its body")
		}
		c.Status(http.StatusNoContent)
	})
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	conn := dial(t, srv)
	answers := bufio.NewReader(conn)
	for range 2 { // on one connection
		fmt.Fprint(conn, "POST /api/v1/thinks HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345")
		res, err := http.ReadResponse(answers, nil)
		if err != nil || res.StatusCode != http.StatusNoContent {
			t.Fatalf("%v %v, want 204", res, err)
		}
	}
}

func dial(t *testing.T, srv *httptest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}
