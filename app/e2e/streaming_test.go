package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// growth measures how far a process's resident memory rises above its value at the start.
type growth struct {
	stop func()
	done chan struct{}
	peak atomic.Int64
	base int64
}

func watchMemory(t testing.TB, pid int) *growth {
	over := make(chan struct{})
	g := &growth{stop: sync.OnceFunc(func() { close(over) }), done: make(chan struct{}), base: rss(t, pid)}
	t.Cleanup(func() { g.end() })
	g.peak.Store(g.base)
	go func() {
		defer close(g.done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				g.peak.Store(max(g.peak.Load(), rss(t, pid)))
			}
		}
	}()
	return g
}

// end returns the highest growth in MiB.
func (g *growth) end() int64 {
	g.stop()
	<-g.done
	return (g.peak.Load() - g.base) >> 20
}

const allowedGrowth = 32 // MiB, F17

// goFleet is a server with one instance of crm; files is the folder of what was uploaded to that.
func goFleet(t *testing.T) (s *server, files string) {
	s, files = serve(t, nil), t.TempDir()
	goNodeIn(t, s, "crm", s.node("crm"), freeAddr(t), "", files)
	s.awaitInstances("crm", 1, 20*time.Second)
	// the first requests make pools and buffers that stay
	for range 20 {
		if problem := query(http.DefaultClient, s, "crm.Customer", ""); problem != "" {
			t.Fatal(problem)
		}
	}
	return s, files
}

func (s *server) request(t testing.TB, method, path, erupt string, body io.Reader) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("token", s.Token)
	req.Header.Set("erupt", erupt)
	return req
}

func TestGigabyteDown(t *testing.T) { // F17
	s, _ := goFleet(t)
	memory := watchMemory(t, s.cmd.Process.Pid)
	req := s.request(t, http.MethodPost, "/erupt-api/excel/export/crm.Customer", "crm.Customer", tableQuery())
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || n != bigBody || resp.StatusCode != http.StatusOK {
		t.Errorf("export = %d, %d bytes, %v; want 200 and %d bytes", resp.StatusCode, n, err, bigBody)
	}
	if !strings.Contains(resp.Header.Get("Content-Disposition"), "customers.csv") {
		t.Errorf("Content-Disposition = %q, want the file's name", resp.Header.Get("Content-Disposition"))
	}
	if mib := memory.end(); mib >= allowedGrowth {
		t.Errorf("resident memory grew by %d MiB, want less than %d", mib, allowedGrowth)
	} else {
		t.Logf("resident memory grew by %d MiB", mib)
	}
}

func TestGigabyteUp(t *testing.T) { // F17
	s, files := goFleet(t)
	memory := watchMemory(t, s.cmd.Process.Pid)
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	go func() {
		part, err := form.CreateFormFile("file", "contract.bin")
		if err == nil {
			err = zeros(part, bigBody)
		}
		w.CloseWithError(errors.Join(err, form.Close()))
	}()
	req := s.request(t, http.MethodPost, "/erupt-api/file/upload/crm.Customer/contract", "crm.Customer", r)
	req.Header.Set("Content-Type", form.FormDataContentType())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	var answer struct {
		Success bool
		Data    string // where the node has put it
	}
	if err := json.Unmarshal(body, &answer); err != nil || resp.StatusCode != http.StatusOK || !answer.Success {
		t.Fatalf("upload = %d %s, want success", resp.StatusCode, body)
	}
	if info, err := os.Stat(filepath.Join(files, filepath.FromSlash(answer.Data))); err != nil || info.Size() != bigBody {
		t.Errorf("the node's file: %v, %v; want %d bytes", info, err, bigBody)
	}
	if mib := memory.end(); mib >= allowedGrowth {
		t.Errorf("resident memory grew by %d MiB, want less than %d", mib, allowedGrowth)
	} else {
		t.Logf("resident memory grew by %d MiB", mib)
	}
}

func TestEventStream(t *testing.T) { // F17, S39
	s, _ := goFleet(t)
	resp, err := http.DefaultClient.Do(s.request(t, http.MethodPost, "/erupt-api/data/crm.Stream/operator/events", "crm.Stream", strings.NewReader(`{"ids":[],"param":null}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("stream = %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	// The node sends an event only after we told it that the one before arrived: were any collected on the way, neither side
	// would get on.
	events := 0
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if lines.Text() != fmt.Sprintf("data: %d", events) {
			continue
		}
		events++
		told, answer := s.call(http.MethodPost, "/erupt-api/data/crm.Stream/operator/seen", map[string]any{"ids": []string{}, "param": nil}, http.Header{"erupt": {"crm.Stream"}})
		if told.StatusCode != http.StatusOK {
			t.Fatalf("telling the node = %d %s", told.StatusCode, answer)
		}
	}
	if events != streamedEvents || lines.Err() != nil {
		t.Errorf("%d events arrived, each before the next was sent (%v); want %d", events, lines.Err(), streamedEvents)
	}
}

func TestNodeDiesMidBody(t *testing.T) { // F17, S43
	s, _ := goFleet(t)
	resp, err := http.DefaultClient.Do(s.request(t, http.MethodPost, "/erupt-api/data/crm.Stream/operator/die", "crm.Stream", strings.NewReader(`{"ids":[],"param":null}`)))
	if err != nil {
		return // the transfer broke before the header reached us: an honest failure too
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil {
		t.Errorf("%d bytes arrived and the transfer ended as if complete", n)
	}
	if resp, _ := s.call(http.MethodGet, "/livez", nil, nil); resp.StatusCode != http.StatusOK {
		t.Error("the server suffered")
	}
}
