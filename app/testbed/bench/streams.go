package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// measureStreams opens idle event streams through each proxy and looks at its memory: heap after a collection, and stacks.
func (r *rig) measureStreams(ctx context.Context, t *table) error {
	ours, err := r.perStream(ctx, r.server)
	if err != nil {
		return err
	}
	bare, err := r.perStream(ctx, r.bare)
	if err != nil {
		return err
	}
	t.add(row{what: "memory of an idle stream", ours: ours, base: 1, unit: "KiB", against: "limit as it stands", limit: 52, aim: 24})
	t.add(row{what: "memory of an idle stream", ours: ours, base: bare, unit: "KiB", against: "bare", limit: 1})
	return nil
}

// perStream returns KiB.
func (r *rig) perStream(ctx context.Context, p *process) (float64, error) {
	before, err := p.memory(ctx)
	if err != nil {
		return 0, err
	}
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close() // nothing was to be sent any more
		}
	}()
	for range r.streams {
		conn, err := r.openStream(ctx, p)
		if err != nil {
			return 0, err
		}
		open = append(open, conn)
	}
	after, err := p.memory(ctx)
	if err == nil && r.profile != "" && p == r.server {
		err = errors.Join(p.save(ctx, r.profile, "heap-streams.pb.gz", "heap"), p.save(ctx, r.profile, "goroutines.txt", "goroutine?debug=1"), p.save(ctx, r.profile, "memory.txt", "heap?debug=1"))
	}
	return (after - before) / float64(r.streams) / 1024, err
}

// openStream returns once the first event has come.
func (r *rig) openStream(ctx context.Context, p *process) (net.Conn, error) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET /erupt-api/data/tree/%s.Customer?stream HTTP/1.1\r\nHost: %s\r\ntoken: %s\r\nerupt: %s.Customer\r\nAccept: text/event-stream\r\n\r\n",
		nodeName, u.Host, r.token, nodeName)
	if err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("stream through %s = %s", p.URL, res.Status)
	}
	_, err = io.ReadFull(res.Body, make([]byte, len("data: open\n\n")))
	return conn, err
}
