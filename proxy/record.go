package proxy

import "strings"

// finish counts and records an exchange, however it ended. It is called once.
func (e *exchange) finish() {
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
	i := e.endpoint.index
	if i < 0 {
		return e.route.path
	}
	words := strings.Split(strings.TrimPrefix(e.route.path, "/"), "/")
	words[i] = e.route.wish.Node + "." + words[i]
	return "/" + strings.Join(words, "/")
}
