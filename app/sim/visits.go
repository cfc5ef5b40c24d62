package sim

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"eruptcloud/nodeagent/wire"
)

// settled is how long a node must have been without faults before a failed request to it is a surprise: by then its instances
// beat at least once and are in the routing again.
const settled = 40 * time.Second

// visit sends requests through the server to nodes, as a user of their pages would, until ctx ends.
func (c *Crowd) visit(ctx context.Context) {
	lot := c.lot(4 << 32)
	ticker := time.NewTicker(time.Duration(float64(time.Second) / c.spec.Visits))
	defer ticker.Stop()
	var open sync.WaitGroup
	defer open.Wait()
	slots := make(chan struct{}, 32) // a node that hangs must not stop the others' visitors
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		a := c.actors[lot.IntN(len(c.actors))]
		log := n%8 == 7
		select {
		case slots <- struct{}{}:
			open.Go(func() { defer func() { <-slots }(); c.visitOne(ctx, a.node, log) })
		default: // all wait for slow nodes
		}
	}
}

// visitOne asks for a page of rows, or for the node's log.
func (c *Crowd) visitOne(ctx context.Context, node string, log bool) {
	ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	calm := c.calmFor(node, settled)
	method, path, body := http.MethodPost, wire.NodeAPI+"/data/table/"+url.PathEscape(node)+".Ticket", `{"pageIndex":1,"pageSize":10}`
	if log {
		method, path, body = http.MethodGet, wire.ServerAPI+"/erupt-cloud-node-log?"+url.Values{"nodeName": {node}, "size": {"200"}}.Encode(), ""
	}
	status, text, err := c.spec.Records.ask(ctx, method, path, node+".Ticket", body)
	if ctx.Err() != nil {
		return // the play is over
	}
	c.visited(status)
	if status == http.StatusOK || !calm || !c.calmFor(node, settled) {
		return
	}
	e := Event{Event: EventSurprise, Node: node, Status: status, Error: text}
	if err != nil {
		e.Error = err.Error()
	}
	c.report(e)
}

// calmFor reports whether all instances of a node have been without a fault for at least d.
func (c *Crowd) calmFor(node string, d time.Duration) bool {
	for _, a := range c.actors {
		if a.node == node && !a.calmFor(d) {
			return false
		}
	}
	return true
}

// ask sends one request with the session, and returns the beginning of the answer.
func (r *Records) ask(ctx context.Context, method, path, erupt, body string) (status int, text string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, r.server+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(wire.HeaderToken, r.session())
	req.Header.Set(wire.HeaderErupt, erupt)
	res, err := r.client.Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer res.Body.Close()
	head, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<20))
	return res.StatusCode, string(head), err
}
