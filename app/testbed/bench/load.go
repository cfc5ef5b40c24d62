package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const connections = 16

// sizes of answers in bytes; the route key decides nothing about them.
var sizes = []int{1 << 10, 64 << 10}

// client sends what a browser's table page sends.
type client struct {
	http  http.Client
	url   string
	token string
	body  string
	turns []string // bodies that take turns in place of body
	next  atomic.Int64
}

func newClient(base, token string, size int) *client {
	return &client{
		http: http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: connections}},
		url:  fmt.Sprintf("%s%s?%d", base, tablePath, size), token: token, body: `{"pageIndex":1,"pageSize":10,"condition":[]}`,
	}
}

func (c *client) request(ctx context.Context) (*http.Request, error) {
	body := c.body
	if len(c.turns) > 0 {
		body = c.turns[int(c.next.Add(1))%len(c.turns)]
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := req.Header
	if c.token != "" {
		h["token"], h["erupt"], h["lang"] = []string{c.token}, []string{nodeName + ".Customer"}, []string{"en-US"}
	}
	h["Content-Type"], h["Accept"] = []string{"application/json"}, []string{"application/json, text/plain, */*"}
	h["User-Agent"], h["Accept-Language"] = []string{"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"}, []string{"en-US,en;q=0.9"}
	return req, nil
}

// once asks once and returns the answer.
func (c *client) once(ctx context.Context) ([]byte, error) {
	req, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // read to its end
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s = %s: %s", c.url, res.Status, raw)
	}
	return raw, err
}

func (c *client) ask(ctx context.Context, buf []byte) error {
	req, err := c.request(ctx)
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, buf)
	_ = res.Body.Close() // read to its end, or err says why not
	switch {
	case err != nil:
		return fmt.Errorf("answer of %s: %w", c.url, err)
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s = %s", c.url, res.Status)
	}
	return nil
}

// load asks from n connections at once for a time and returns how long each request took that did not fail, and how one did.
func (c *client) load(ctx context.Context, n int, d time.Duration) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for range n {
		wg.Go(func() {
			var took []time.Duration
			buf := make([]byte, 64<<10)
			for {
				start := time.Now()
				if !start.Before(end) {
					break
				}
				if err := c.ask(ctx, buf); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					continue
				}
				took = append(took, time.Since(start))
			}
			mu.Lock()
			all = append(all, took...)
			mu.Unlock()
		})
	}
	wg.Wait()
	return all, failed
}

// quantile sorts all.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(int(q*float64(len(all))), len(all)-1)]
}

// median of numbers; one round that something disturbed does not count.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
