package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
)

// maxParams bounds what is kept of a write's body for the record, in bytes.
const maxParams = 16 << 10

// upload is a request body on its way to a node. net/http closes it when it is done with it, also after each failed dial;
// the client's body stays open until the server closes it.
type upload struct {
	body  io.Reader
	whole []byte // not nil: the body, which every location gets from its beginning
	limit int64  // bytes, 0 for none
	read  atomic.Bool

	mu     sync.Mutex
	passed int64
	err    error // why reading failed, nil for the end
	sample []byte
	keep   bool
	busy   chan struct{} // open while net/http may read
}

// begin says that net/http gets the body now.
func (u *upload) begin() {
	if u == nil {
		return
	}
	u.mu.Lock()
	u.busy = make(chan struct{})
	if u.whole != nil {
		u.body, u.passed, u.sample = bytes.NewReader(u.whole), 0, nil
	}
	u.mu.Unlock()
}

// wait returns when net/http is done with the body, with the error that ended it before its end. A node may answer before it has read everything;
// to answer the client at that moment would make the server swallow the rest of the body under the transport's hands,
// which then breaks the answer off.
func (u *upload) wait(ctx context.Context) error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	busy := u.busy
	u.mu.Unlock()
	if busy == nil {
		return u.failed()
	}
	select {
	case <-busy:
		return u.failed()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// clientLeft reports whether err, from reading a body, means that nobody is there to send the rest.
func clientLeft(err error) bool {
	var broken *net.OpError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &broken)
}

func (u *upload) Read(p []byte) (int, error) {
	u.read.Store(true)
	n, err := u.body.Read(p)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.passed += int64(n)
	if u.limit > 0 && u.passed > u.limit {
		n, err = 0, &http.MaxBytesError{Limit: u.limit}
	}
	if u.keep && len(u.sample) < maxParams {
		u.sample = append(u.sample, p[:min(n, maxParams-len(u.sample))]...)
	}
	if err != nil && err != io.EOF && u.err == nil {
		u.err = err
	}
	return n, err
}

// Close does not close the client's body: another location may need it.
func (u *upload) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.busy != nil {
		close(u.busy)
		u.busy = nil
	}
	return nil
}

// touched reports whether some of the body is gone, so that the request cannot go anywhere else.
func (u *upload) touched() bool { return u != nil && u.whole == nil && u.read.Load() }

// failed returns why the client's body could not be read.
func (u *upload) failed() error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// params returns the beginning of the body without passwords and tokens.
func (u *upload) params() []byte {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return secret.ReplaceAll(u.sample, []byte(`$1"***"`))
}

// secret finds members of a JSON object whose names speak of secrets; the text may end anywhere.
var secret = regexp.MustCompile(`(?i)("[^"\\]*(?:passw|pwd|secret|token)[^"\\]*"\s*:\s*)("(?:[^"\\]|\\.)*(?:"|\\?$)|\[[^\]]*\]?|\{[^}]*\}?|[^\s",{}\[\]]+)`)
