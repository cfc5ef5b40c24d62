package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"eruptcloud/nodeagent/wire"
)

// Limits of a log answer (erupt-wire 10.4). A node may send more: what is newest is kept when it was asked for the end of
// its log, what is next when it was asked to go on.
const (
	maxLogLines = 2000
	maxLogBytes = 2 << 20
	maxLogInput = 16 << 20
	logBuffer   = 1000 // lines that a Java node keeps
)

// LogCall asks for a node's log.
type LogCall struct {
	Node     string
	Location string // whose log; empty: the next in turn
	Token    string // session token
	Size     int    // lines wanted, default and at most 2,000
	Offset   *int64 // first number wanted, inclusive; nil: the end of the log
}

var logEndpoint = &Endpoint{Pattern: "erupt-api/tool/erupt-log", Verify: ByHeader, kind: kindData, index: -1}

// Log returns lines of a node's log, oldest first. The gate decides by Wish.Log.
func (c *Caller) Log(ctx context.Context, call LogCall) ([]wire.LogLine, error) {
	ctx, cancel := context.WithTimeout(ctx, c.p.o.ConnectTimeout+2*c.p.o.RequestTimeout)
	defer cancel()
	if call.Size <= 0 || call.Size > maxLogLines {
		call.Size = maxLogLines
	}
	if !c.p.o.Directory.Known(call.Node) {
		return nil, Fail(NodeNotReady, "'%s' node not ready", call.Node)
	}
	rt := route{endpoint: logEndpoint, wish: Wish{Token: call.Token, Node: call.Node, Log: true}, query: logQuery(&call)}
	said := &verdict{}
	if err := c.admit(ctx, &Call{Location: call.Location}, &rt, said); err != nil {
		return nil, err
	}
	for _, rt.path = range []string{wire.LogPath, wire.LogPathSeed} {
		e := &exchange{
			p: c.p, endpoint: logEndpoint, route: &rt, user: said.user, target: said.target, method: http.MethodGet,
			started: c.p.o.Now(), quiet: true,
		}
		lines, status, err := c.log(ctx, e, &call)
		if status != http.StatusNotFound {
			return lines, err
		}
	}
	return nil, Fail(NotFound, "'%s' offers no log", call.Node)
}

// logQuery always has a size: some versions fail without one. Without an offset, Java counts the size from its oldest
// line, so the whole buffer is asked for and cut here.
func logQuery(call *LogCall) string {
	if call.Offset == nil {
		return "size=" + strconv.Itoa(max(call.Size, logBuffer))
	}
	return "size=" + strconv.Itoa(call.Size) + "&offset=" + strconv.FormatInt(*call.Offset, 10)
}

func (c *Caller) log(ctx context.Context, e *exchange, call *LogCall) ([]wire.LogLine, int, error) {
	out, err := e.request(ctx, nil, nil)
	if err != nil {
		return nil, 0, err
	}
	res, err := c.p.send(e, out)
	if err != nil {
		return nil, 0, err
	}
	defer e.finish()
	defer func() { _ = res.Body.Close() }() // read to its end or given up
	switch {
	case res.StatusCode == http.StatusNotFound:
		return nil, res.StatusCode, nil
	case res.StatusCode != http.StatusOK:
		return nil, res.StatusCode, Fail(UpstreamUnreachable, "'%s' refuses its log with status %d", call.Node, res.StatusCode)
	}
	body := asUTF8(io.LimitReader(res.Body, maxLogInput), res.Header.Get("Content-Type"))
	lines, err := readLog(body, call.Size, call.Offset == nil)
	if err != nil && len(lines) == 0 {
		if out.Context().Err() != nil {
			return nil, res.StatusCode, e.explain(out.Context(), err)
		}
		return nil, res.StatusCode, Fail(UpstreamUnreachable, "the log of '%s' cannot be read", call.Node).Because(err)
	}
	return lines, res.StatusCode, nil
}

// errNoLog says that an answer is no list of lines.
var errNoLog = errors.New("no list of log lines")

// readLog reads a list of lines, one at a time, so that neither a long list nor a long line fills the memory. newest
// keeps the end of the list, else its beginning. Lines read before an error are returned with it.
func readLog(body io.Reader, size int, newest bool) ([]wire.LogLine, error) {
	dec := json.NewDecoder(body)
	if first, err := dec.Token(); err != nil || first != json.Delim('[') {
		if first == nil && err == nil {
			return nil, nil // null
		}
		return nil, errors.Join(errNoLog, err)
	}
	var lines []wire.LogLine
	bytes := 0
	for dec.More() {
		line, err := decodeLogLine(dec)
		if err != nil {
			return lines, fmt.Errorf("line %d: %w", len(lines)+1, err)
		}
		if !newest && (len(lines) == size || bytes+len(line.Content) > maxLogBytes) {
			return lines, nil
		}
		lines, bytes = append(lines, line), bytes+len(line.Content)
		for newest && (len(lines) > size || bytes > maxLogBytes) {
			bytes -= len(lines[0].Content)
			lines = lines[1:]
		}
	}
	return lines, nil
}
