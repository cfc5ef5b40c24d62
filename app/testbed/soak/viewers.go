package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// viewers are open consoles without a browser: each keeps an event stream and asks for the fragments of its page when the stream
// says that they changed, as the page's script does.
type viewers struct {
	url     string
	started time.Time
	login   sync.Mutex
	client  *http.Client // with the cookie of one login, as tabs of one browser
	over    bool

	mu       sync.Mutex
	took     []time.Duration // of fragments
	asked    []time.Time     // when, of each
	bytes    int64
	messages int
	failed   map[string]int
}

// Times of the page's script (static/js/live.js).
const (
	later = 700 * time.Millisecond
	beat  = 15 * time.Second
)

var liveRegion = regexp.MustCompile(`data-live="([^"]*)" data-src="([^"]*)"`)

// region is a part of a page that follows changes.
type region struct {
	topics []string
	src    string
}

func (r region) concerned(topics []string) bool {
	return slices.ContainsFunc(topics, func(t string) bool {
		return t == "all" || slices.ContainsFunc(r.topics, func(want string) bool {
			return t == want || want == "nodes" && strings.HasPrefix(t, "node:") || want == "groups" && strings.HasPrefix(t, "group:")
		})
	})
}

// pages are what the viewers look at, one after the other.
var pages = []string{"/console/nodes", "/console/nodes", "/console/nodes?q=sim-00", "/console/nodes/sim-0007", "/console/groups"}

// run keeps one console open until ctx ends.
func (v *viewers) run(ctx context.Context, n int) {
	for ctx.Err() == nil {
		if err := v.open(ctx, pages[n%len(pages)]); err != nil && ctx.Err() == nil {
			v.fail(err.Error())
			_ = pause(ctx, 5*time.Second)
		}
	}
}

// session logs in once for all.
func (v *viewers) session(ctx context.Context) error {
	v.login.Lock()
	defer v.login.Unlock()
	if v.client != nil && !v.over {
		return nil
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // the wire's bytes are counted
	transport.MaxIdleConnsPerHost = 64
	c := &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, v.url+"/console/login", strings.NewReader(url.Values{"account": {account}, "password": {password}}.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusSeeOther {
		return fmt.Errorf("login: %s", res.Status)
	}
	v.client, v.over = c, false
	return nil
}

// http is the client of the present login.
func (v *viewers) http() *http.Client {
	v.login.Lock()
	defer v.login.Unlock()
	return v.client
}

func (v *viewers) close() {
	if c := v.http(); c != nil {
		c.CloseIdleConnections()
	}
}

func (v *viewers) open(ctx context.Context, page string) error {
	if err := v.session(ctx); err != nil {
		return err
	}
	body, status, _, err := v.fetch(ctx, page, false)
	if err != nil {
		return err
	}
	if status == http.StatusNotFound {
		return pause(ctx, 10*time.Second) // its node is not there yet
	}
	if status != http.StatusOK {
		if status == http.StatusSeeOther || status == http.StatusUnauthorized {
			v.login.Lock()
			v.over = true // the login; the next console logs in again
			v.login.Unlock()
		}
		return fmt.Errorf("%s answered %d", strings.SplitN(page, "?", 2)[0], status)
	}
	var regions []region
	for _, m := range liveRegion.FindAllStringSubmatch(body, -1) {
		regions = append(regions, region{strings.Fields(m[1]), strings.ReplaceAll(m[2], "&amp;", "&")})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	topics := make(chan []string)
	go v.refresh(ctx, page, regions, topics)
	return v.listen(ctx, topics)
}

// listen reads the event stream and passes topics on until it breaks.
func (v *viewers) listen(ctx context.Context, topics chan<- []string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+"/console/events", http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	res, err := v.http().Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("event stream: %s", res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var m struct {
			T []string `json:"t"`
		}
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			return err
		}
		v.mu.Lock()
		v.messages++
		v.mu.Unlock()
		select {
		case topics <- m.T:
		case <-ctx.Done():
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(errors.New("the event stream broke"), lines.Err())
}

// refresh asks for what changed, each source once, a moment after the first change.
func (v *viewers) refresh(ctx context.Context, page string, regions []region, topics <-chan []string) {
	waiting := map[string]bool{}
	var timer <-chan time.Time
	beats := time.NewTicker(beat)
	defer beats.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-topics:
			for _, r := range regions {
				if r.concerned(t) {
					waiting[source(page, r.src)] = true
				}
			}
		case <-beats.C:
			for _, r := range regions {
				waiting[source(page, r.src)] = true
			}
		case <-timer:
			timer = nil
			for src := range waiting {
				_, status, took, err := v.fetch(ctx, src, true)
				switch {
				case ctx.Err() != nil:
					return
				case err != nil:
					v.fail(err.Error())
				case status != http.StatusOK:
					v.fail(fmt.Sprintf("a fragment answered %d", status))
				default:
					v.mu.Lock()
					v.took, v.asked = append(v.took, took), append(v.asked, time.Now().Add(-took))
					v.mu.Unlock()
				}
			}
			clear(waiting)
		}
		if len(waiting) > 0 && timer == nil {
			timer = time.After(later)
		}
	}
}

// source is what the script asks for: the page's own address wins where only the query differs.
func source(page, src string) string {
	if strings.SplitN(src, "?", 2)[0] == strings.SplitN(page, "?", 2)[0] {
		return page
	}
	return src
}

// fetch gets a page or a fragment as a browser does, with the bytes of the wire counted.
func (v *viewers) fetch(ctx context.Context, path string, fragment bool) (body string, status int, took time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+path, http.NoBody)
	if err != nil {
		return "", 0, 0, err
	}
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Accept-Encoding", "gzip")
	if fragment {
		r.Header.Set("HX-Request", "true")
	}
	start := time.Now()
	res, err := v.http().Do(r)
	if err != nil {
		return "", 0, 0, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	took = time.Since(start)
	if err != nil {
		return "", 0, 0, err
	}
	v.mu.Lock()
	v.bytes += int64(len(raw))
	v.mu.Unlock()
	if fragment {
		return "", res.StatusCode, took, nil
	}
	text, err := unzipped(raw, res.Header.Get("Content-Encoding"))
	return text, res.StatusCode, took, err
}

func unzipped(raw []byte, encoding string) (string, error) {
	if encoding != "gzip" {
		return string(raw), nil
	}
	z, err := gzip.NewReader(strings.NewReader(string(raw)))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(z)
	return string(text), err
}

func (v *viewers) fail(why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failed == nil {
		v.failed = map[string]int{}
	}
	v.failed[why]++
}

// reset forgets what was measured so far.
func (v *viewers) reset() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.took, v.asked, v.bytes, v.messages, v.started = nil, nil, 0, 0, time.Now()
}

func (v *viewers) summary() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return fmt.Sprintf("consoles: %d messages, %d fragments, %.1f KiB each on average; p50 %s, p95 %s, p99 %s; failed: %s", v.messages, len(v.took),
		float64(v.bytes)/1024/float64(max(len(v.took), 1)), millis(percentile(v.took, 0.5)), millis(percentile(v.took, 0.95)), millis(percentile(v.took, 0.99)), counted(v.failed))
}

// drained reads an answer to its end and counts.
func drained(res *http.Response) (int, error) {
	n, err := io.Copy(io.Discard, res.Body)
	return int(n), err
}

// undisturbed are the fragments during which the machine had time.
func (v *viewers) undisturbed(p *pulse) []time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []time.Duration
	for i, took := range v.took {
		if p.steady(v.asked[i], v.asked[i].Add(took)) {
			out = append(out, took)
		}
	}
	return out
}
