package web

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// bodyIdle is how long the sender of a body may be silent.
const bodyIdle = 30 * time.Second

// writeIdle is how long the reader of an answer of ours may take nothing; streams of nodes have limits of their own.
const writeIdle = 60 * time.Second

// timedBody ends a request whose sender falls silent before the end of its body. The server has no time limit for whole
// requests, which would cut long uploads; without any, connections that only promise a byte would stay for ever, also those
// of strangers: net/http waits for a body that no handler has asked for before it answers.
type timedBody struct {
	io.ReadCloser
	conn *http.ResponseController
	idle time.Duration

	mu    sync.Mutex
	until time.Time // for the whole body; zero: none
	over  bool      // the request has ended: its connection may serve another one
}

// timed puts a time limit on the body of r, from now on and from each piece of it.
func (q *request) timed(w http.ResponseWriter, r *http.Request, idle time.Duration) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	q.body = &timedBody{ReadCloser: r.Body, conn: http.NewResponseController(w), idle: idle}
	q.body.extend()
	r.Body = q.body
}

// BodyWithin limits the time for the whole body of a request that came through Front.
func BodyWithin(r *http.Request, limit time.Duration) {
	b := requestOf(r).body
	if b == nil {
		return
	}
	b.mu.Lock()
	b.until = time.Now().Add(limit)
	b.mu.Unlock()
	b.extend()
}

func (b *timedBody) extend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	end := time.Now().Add(b.idle)
	if !b.until.IsZero() && b.until.Before(end) {
		end = b.until
	}
	if !b.over {
		_ = b.conn.SetReadDeadline(end) // not every writer can; then nothing is at stake
	}
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.over {
			_ = b.conn.SetReadDeadline(time.Time{}) // one that passes later would end the request's context
		}
	case err == nil && n > 0:
		b.extend()
	}
	return n, err
}

// end leaves the connection alone from now on. The last limit stays for what net/http reads to get past the body.
func (q *request) end() {
	if q.body != nil {
		q.body.mu.Lock()
		q.body.over = true
		q.body.mu.Unlock()
	}
}
