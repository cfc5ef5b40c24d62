package nodeagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"eruptcloud/nodeagent/wire"
)

const (
	callTimeout    = 5 * time.Second // for one call to the server, its failover included
	maxAnswer      = 64 << 10        // of answers that are flags, names or error texts
	maxDocument    = 12 << 20        // of a configuration; the server allows 10 MiB
	maxRefusalText = 300
)

// newClient returns a client that follows no redirects: the token in a request must not travel to where an answer points.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 4
	transport.IdleConnTimeout = 30 * time.Second
	transport.ResponseHeaderTimeout = callTimeout
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call is one request to the server.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte
	limit        int64 // of the answer; zero: maxAnswer
}

// reply is an answer that was read whole.
type reply struct {
	server string
	status int
	header http.Header
	body   []byte
}

func (r *reply) ok() bool { return r.status >= 200 && r.status < 300 }

// refusal says in one line why the server answered anything but 2xx.
func (r *reply) refusal() string {
	var e wire.ErrorBody
	reason := strings.TrimSpace(string(r.body))
	if json.Unmarshal(r.body, &e) == nil && e.Message != "" {
		reason = e.Message
	}
	reason = printable(reason, maxRefusalText)
	if layer := r.header.Get(wire.HeaderLayer); layer != "" {
		reason += " (" + printable(layer, 20) + ")"
	}
	return fmt.Sprintf("%d %s", r.status, reason)
}

// refusedError is an answer of the server that is not 2xx.
type refusedError struct{ reply *reply }

func (e *refusedError) Error() string {
	return fmt.Sprintf("%s refused: %s", e.reply.server, e.reply.refusal())
}

// errNoServer is returned for calls of an agent that has no server addresses.
var errNoServer = errors.New("nodeagent: no server address is configured")

// ask sends c to the server address in use and, while it cannot be reached, to the others, each once, all within callTimeout.
func (a *Agent) ask(ctx context.Context, c call) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	servers := a.cfg.ServerAddresses
	if len(servers) == 0 {
		return nil, errNoServer
	}
	first := a.currentServer()
	var failed error
	for i := range servers {
		r, err := a.send(ctx, servers[(first+i)%len(servers)], c)
		if err == nil {
			return r, nil
		}
		failed = err
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

// send makes one attempt at one server. It does not set a deadline.
func (a *Agent) send(ctx context.Context, server string, c call) (*reply, error) {
	target := server + c.path
	if len(c.query) > 0 {
		target += "?" + c.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, c.method, target, bytes.NewReader(c.body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "eruptcloud-nodeagent/"+Version)
	res, err := a.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", server, withoutURL(err))
	}
	defer res.Body.Close()
	limit := orDefault(c.limit, maxAnswer)
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: read answer: %w", server, err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("%s: answer is longer than %d bytes", server, limit)
	}
	return &reply{server: server, status: res.StatusCode, header: res.Header, body: body}, nil
}

// withoutURL drops the URL from a client error: it is known, and its query has no place in a log.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func (a *Agent) currentServer() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.server
}

// accessHeader shows the server who is calling.
func (a *Agent) accessHeader() http.Header {
	h := http.Header{}
	h.Set(wire.HeaderAccessToken, *a.token.Load())
	return h
}

// printable cuts foreign text to one line of at most limit bytes for logs and messages.
func printable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return cutText(s, limit)
}

// cutText cuts s to at most limit bytes without splitting a character, and makes it valid UTF-8.
func cutText(s string, limit int) string {
	if len(s) > limit {
		for limit > 0 && s[limit]&0xc0 == 0x80 {
			limit--
		}
		s = s[:limit] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
