package proxy

import (
	"net/http"
	"time"
)

// stalled is how long a client may take nothing of what is written to it. Without an end, a reader that stops would hold a
// connection of the node for ever. It counts for each piece of an answer, not for the whole: a slow reader gets everything,
// and an event stream may be silent for hours.
const stalled = 60 * time.Second

// paced gives each write its own time.
type paced struct {
	http.ResponseWriter
	limit time.Duration
}

// Write implements http.ResponseWriter.
func (p *paced) Write(b []byte) (int, error) {
	p.extend()
	return p.ResponseWriter.Write(b)
}

func (p *paced) extend() {
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(p.limit)) // not every writer can
}

// Unwrap lets http.ResponseController find the rest.
func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }
