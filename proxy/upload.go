package proxy

import (
	"io"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
)

// maxParams bounds what is kept of a write's body for the record, in bytes.
const maxParams = 16 << 10

// upload is a request body on its way to a node. net/http closes the body after each failed dial, so Close does nothing:
// the server closes the client's body in the end. It may be read after the request is over, hence the lock.
type upload struct {
	body  io.Reader
	limit int64 // bytes, 0 for none
	read  atomic.Bool

	mu     sync.Mutex
	passed int64
	err    error // why reading failed, nil for the end
	sample []byte
	keep   bool
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

func (u *upload) Close() error { return nil }

// touched reports whether some of the body is gone, so that the request cannot go anywhere else.
func (u *upload) touched() bool { return u != nil && u.read.Load() }

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
