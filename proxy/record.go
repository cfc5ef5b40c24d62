package proxy

import "strings"

// finish counts and records an exchange, however it ended. It is called once.
func (e *exchange) finish() {
	e.leave()
	m := e.p.metrics
	if e.streams {
		m.streams.Dec()
	}
	if !e.answered.IsZero() {
		m.seconds.Observe(e.answered.Sub(e.started).Seconds())
	}
	code := codeOf(e.status)
	switch {
	case e.answer.err != nil:
		code = "cut"
	case e.failure != nil:
		code = failedCode(e.failure)
	}
	m.count(e.target.Node, code)
	if !e.quiet {
		e.p.traces.keep(&e.route.wish, e.traced())
	}
	if e.p.o.Recorder != nil && !e.quiet {
		e.p.o.Recorder.Record(e.entry())
	}
}

func (e *exchange) entry() Entry {
	entry := Entry{
		At: e.started, User: e.user, Address: e.from, Wish: e.route.wish, Method: e.method, Path: e.shownPath(),
		Location: e.location(), Tried: e.tried, Status: e.status, Error: e.answer.text(), Params: e.upload.params(),
		Took: e.p.o.Now().Sub(e.started), RequestID: e.requestID,
	}
	switch {
	case e.answer.err != nil:
		entry.Error = "the answer broke off: " + e.answer.err.Error()
	case e.failure != nil:
		entry.Error = e.failure.Error()
	}
	return entry
}

// shownPath is the path with the full erupt name, as the sender wrote it, without the query: that may hold a token.
func (e *exchange) shownPath() string {
	if i := e.endpoint.index; i >= 0 {
		return named(e.route.path, i, e.route.wish.Node)
	}
	return e.route.path
}

// named puts a node's name before one segment of a path; one that was cut short may have lost it.
func named(path string, index int, node string) string {
	words := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if index < len(words) {
		words[index] = node + "." + words[index]
	}
	return "/" + strings.Join(words, "/")
}
