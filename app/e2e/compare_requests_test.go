package e2e

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// recordedRequest is a request that erupt's front end, or a node, was seen to send. Words in braces stand for what differs
// between servers: tokens, addresses.
type recordedRequest struct {
	Name   string
	Do     string            // method and target
	With   map[string]string // headers
	Body   string
	Base64 string // a body that is no text
}

// recorded reads a file with a request a line.
func recorded[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var r T
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v in %.100s", path, err, lines.Text())
		}
		out = append(out, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// side is one of the servers that are compared, with the words that requests to it need.
type side struct {
	t     testing.TB
	URL   string
	words map[string]string
	store *redis.Client
	last  []byte // body of the last answer, not masked
}

// with replaces the words in braces.
func (s *side) with(text string) string {
	for _, k := range slices.Collect(maps.Keys(s.words)) {
		text = strings.ReplaceAll(text, "{"+k+"}", s.words[k])
	}
	return text
}

// verbatim follows no redirect, asks for no compression and keeps no cookies.
var verbatim = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 4},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"

// send sends a recorded request with the words of this server in place, and returns the answer with them masked again.
func (s *side) send(r recordedRequest) heard {
	s.t.Helper()
	h := s.raw(r)
	s.last = h.body
	h.body = mask(h.body, s.words)
	for _, values := range h.header {
		for i := range values {
			values[i] = string(mask([]byte(values[i]), s.words))
		}
	}
	return h
}

// raw is send without the mask.
func (s *side) raw(r recordedRequest) heard {
	s.t.Helper()
	method, target, _ := strings.Cut(s.with(r.Do), " ")
	body := []byte(s.with(r.Body))
	if r.Base64 != "" {
		raw, err := base64.StdEncoding.DecodeString(r.Base64)
		if err != nil {
			s.t.Fatalf("%s: %v", r.Name, err)
		}
		body = raw
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 60*time.Second)
	defer cancel()
	var reader io.Reader
	if len(body) > 0 {
		reader = strings.NewReader(string(body))
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+target, reader)
	if err != nil {
		s.t.Fatalf("%s: %v", r.Name, err)
	}
	req.Header["User-Agent"] = []string{chrome}
	req.Header["Accept"] = []string{"application/json, text/plain, */*"}
	for k, v := range r.With {
		req.Header[k] = []string{s.with(v)} // in the case that was recorded
	}
	resp, err := verbatim.Do(req)
	if err != nil {
		s.t.Fatalf("%s: %v", r.Name, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s: %v", r.Name, err)
	}
	return heard{resp.StatusCode, resp.Header, raw}
}
