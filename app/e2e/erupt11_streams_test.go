package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"
)

// large is what goes up: more than the 10 MiB that Spring takes by default; the node's own limit is 64 MB.
const large = 12 << 20

// exported is the least that the large export must hold.
const exported = 50 << 20

// erupt-wire 11, item 7: multipart above 10 MiB, an export above 50 MiB, a client that leaves, a node that is too slow, one
// instance dead, both dead.
func TestErupt11_07Streams(t *testing.T) {
	f := javaFarm(t)
	f.uploads(t)
	f.exports(t)
	f.readTimeout(t)
	f.oneDead(t)
	f.bothDead(t)
}

// text12 writes lines that no compression makes small, and returns their hash.
func text12(w io.Writer, n int64) (hash.Hash, error) {
	sum := sha256.New()
	random := rand.New(rand.NewPCG(1, 2))
	for n > 0 {
		line := fmt.Sprintf("%016x%016x\n", random.Uint64(), random.Uint64())
		line = line[:min(int64(len(line)), n)]
		if _, err := io.WriteString(io.MultiWriter(w, sum), line); err != nil {
			return nil, err
		}
		n -= int64(len(line))
	}
	return sum, nil
}

func (f *farm) uploads(t *testing.T) {
	memory := watchMemory(t, f.two.cmd.Process.Pid)
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	sums := make(chan hash.Hash, 1)
	go func() {
		part, err := form.CreateFormFile("file", "Anleitung 说明.txt")
		if err == nil {
			var sum hash.Hash
			sum, err = text12(part, large)
			sums <- sum
		}
		w.CloseWithError(errors.Join(err, form.Close()))
	}()
	resp, raw := f.two.call(http.MethodPost, "/erupt-api/file/upload/warehouse.Widget/manual", r, http.Header{"erupt": {"warehouse.Widget"}, "Content-Type": {form.FormDataContentType()}})
	var out struct{ Status, Data string }
	if err := json.Unmarshal(raw, &out); resp.StatusCode != http.StatusOK || err != nil || out.Status != "SUCCESS" {
		t.Fatalf("upload = %d %.300s %v, want the file's path", resp.StatusCode, raw, err)
	}
	want := (<-sums).Sum(nil)
	found := false
	for range 4 { // it lies at the instance that took it
		req := f.two.request(t, http.MethodGet, "/erupt-attachment"+out.Data+"?_node="+javaName, "", nil)
		req.Header.Del("erupt")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		n, err := io.Copy(sum, resp.Body)
		resp.Body.Close()
		found = found || err == nil && resp.StatusCode == http.StatusOK && n == large && string(sum.Sum(nil)) == string(want)
	}
	if !found {
		t.Errorf("%s does not come back as it went", out.Data)
	}
	if mib := memory.end(); mib >= allowedGrowth {
		t.Errorf("resident memory grew by %d MiB, want less than %d", mib, allowedGrowth)
	}
}

// exports: a large one passes without being held; a client that leaves in the middle hurts nobody.
func (f *farm) exports(t *testing.T) {
	resp, err := http.Post(f.javaOne.URL+"/test/fill?rows=2300&length=31000", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("fill = %d", resp.StatusCode)
	}
	memory := watchMemory(t, f.one.cmd.Process.Pid)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ask := func() *http.Response {
		t.Helper()
		req := f.one.request(t, http.MethodPost, "/erupt-api/excel/export/warehouse.Archive", "warehouse.Archive", strings.NewReader("[]")).WithContext(ctx)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK || !strings.Contains(resp.Header.Get("Content-Disposition"), "Archive") {
			raw, _ := io.ReadAll(resp.Body)
			t.Fatalf("export = %d %v %.300s", resp.StatusCode, resp.Header, raw)
		}
		return resp
	}
	whole := ask()
	n, err := io.Copy(io.Discard, whole.Body)
	whole.Body.Close()
	if err != nil || n < exported {
		t.Errorf("the export has %d bytes, %v; want more than %d", n, err, exported)
	}
	left := ask()
	if _, err := io.CopyN(io.Discard, left.Body, 1<<20); err != nil {
		t.Fatal(err)
	}
	cancel()
	left.Body.Close()
	eventually(t, patience, func() bool {
		return strings.Contains(f.one.output(), "path=/erupt-api/excel/export/warehouse.Archive status=200") && f.idle()
	}, func() string {
		return "the export that nobody reads is still open"
	})
	if mib := memory.end(); mib >= allowedGrowth {
		t.Errorf("resident memory grew by %d MiB, want less than %d", mib, allowedGrowth)
	}
	if status, raw := f.one.table(t, "warehouse.Region"); status != http.StatusOK {
		t.Errorf("after that a table = %d %.300s", status, raw)
	}
}

// idle reports whether the first replica has no request open at an instance.
func (f *farm) idle() bool {
	f.Helper()
	var out struct {
		Instances []struct{ InFlight int }
	}
	f.one.must(http.MethodGet, "/api/v1/nodes/"+javaName+"/drain", nil, http.StatusOK, &out)
	for _, in := range out.Instances {
		if in.InFlight != 0 {
			return false
		}
	}
	return len(out.Instances) > 0
}

// readTimeout: a node that answers too late gets its request once, and stays routed to.
func (f *farm) readTimeout(t *testing.T) {
	f.forgetAll()
	late := time.Duration(2) * farmTimeout
	resp, raw := f.two.call(http.MethodPost, "/erupt-api/data/warehouse.Customer/operator/wait", map[string]any{"ids": []int{}, "param": map[string]any{"millis": late.Milliseconds()}}, http.Header{"erupt": {"warehouse.Customer"}})
	if resp.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("an operation that takes %s = %d %s, want 504", late, resp.StatusCode, raw)
	}
	asked := 0
	for _, s := range f.seenAll() {
		if strings.HasSuffix(s, "/operator/wait") {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the node was asked %d times, want once: it may have done the work", asked)
	}
	f.two.awaitInstances(javaName, 2, patience)
}

// oneDead: kill -9 of one of two costs no request that began afterwards, reads and writes alike, and puts the dead one out long
// before a survival check.
func (f *farm) oneDead(t *testing.T) { // F15, A15
	f.javaOne.kill()
	for i := range 4 {
		for _, s := range f.both() {
			if status, raw := s.table(t, "warehouse.Customer"); status != http.StatusOK || !strings.Contains(raw, `"list":[{`) {
				t.Errorf("request %d after the kill = %d %.200s, want the table", i+1, status, raw)
			}
			resp, raw := s.call(http.MethodPost, "/erupt-api/data/modify/warehouse.Bulletin", map[string]any{"author": "erupt", "text": fmt.Sprintf("%s %d", s.URL, i)}, http.Header{"erupt": {"warehouse.Bulletin"}})
			if resp.StatusCode != http.StatusOK || !strings.Contains(string(raw), `"status":"SUCCESS"`) {
				t.Errorf("write %d after the kill = %d %.200s", i+1, resp.StatusCode, raw)
			}
		}
	}
	for _, s := range f.both() {
		if left := s.awaitInstances(javaName, 1, patience); left[0].Location != f.javaTwo.URL {
			t.Errorf("%s routes to %+v", s.URL, left)
		}
	}
	if rows := f.javaTwo.rows("bulletin"); len(rows) != 2+8 {
		t.Errorf("%d rows after 8 writes to 2, want each once", len(rows))
	}
}

// bothDead: a clear answer at once, and the node is back by itself.
func (f *farm) bothDead(t *testing.T) {
	f.javaTwo.kill()
	for _, s := range f.both() {
		for range 2 {
			status, raw := s.table(t, "warehouse.Customer")
			if status != http.StatusBadGateway && status != http.StatusServiceUnavailable || !strings.Contains(raw, `"message":`) {
				t.Errorf("without an instance = %d %.300s, want 502 or 503 and a reason", status, raw)
			}
		}
	}
	f.whole()
	for _, s := range f.both() {
		if status, raw := s.table(t, "warehouse.Customer"); status != http.StatusOK {
			t.Errorf("when they are back = %d %.300s", status, raw)
		}
	}
}
