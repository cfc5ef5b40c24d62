package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestEventsArriveOneByOne(t *testing.T) { // S39, S40, with failover on
	next := make(chan string)
	node := newBareNode(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for {
			select {
			case text, ok := <-next:
				if !ok {
					return
				}
				fmt.Fprintf(w, "data: %s\n\n", text)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	rig := newRig(t)
	rig.dir.set("shop", deadAddress(t), node.URL)
	res, err := rig.client.Do(rig.request("GET", "/erupt-api/tpl/live?_node=shop", "", nil))
	if err != nil {
		close(next)
		t.Fatal(err)
	}
	defer res.Body.Close()
	if ct := res.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
		close(next)
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("%d, content type %q, %q", res.StatusCode, ct, body)
	}
	if n := testutil.ToFloat64(rig.proxy.metrics.streams); n != 1 {
		t.Errorf("%v open streams counted, want 1", n)
	}
	lines := bufio.NewReader(res.Body)
	for i := range 20 {
		next <- strconv.Itoa(i) // the next event is not even made before this one has arrived
		line, err := lines.ReadString('\n')
		if err != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("event %d: %q, %v", i, line, err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	close(next)
	if rest, err := io.ReadAll(lines); err != nil || len(rest) != 0 {
		t.Errorf("after the last event: %q, %v", rest, err)
	}
}

// A trickle of unknown length that is no event stream is not held back either.
func TestChunksArriveOneByOne(t *testing.T) {
	next := make(chan string)
	node := newBareNode(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for text := range next {
			_, _ = io.WriteString(w, text)
			w.(http.Flusher).Flush()
		}
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	go func() { next <- "a" }()
	res, err := rig.client.Do(rig.request("GET", "/erupt-api/data/tree/shop.X", "shop.X", nil))
	if err != nil {
		close(next)
		t.Fatal(err)
	}
	defer res.Body.Close()
	b := make([]byte, 1)
	for i, want := range "abc" {
		if i > 0 {
			next <- string(want)
		}
		if _, err := io.ReadFull(res.Body, b); err != nil || b[0] != byte(want) {
			t.Fatalf("chunk %d: %q, %v", i, b, err)
		}
	}
	close(next)
}

// Nor is one of known length, if it is long enough to be waited for.
func TestLongAnswersArriveAsTheyAreWritten(t *testing.T) {
	arrived := make(chan struct{})
	node := newBareNode(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(trickle+2))
		_, _ = io.WriteString(w, "a")
		w.(http.Flusher).Flush()
		select {
		case <-arrived:
		case <-r.Context().Done():
		}
		_, _ = io.CopyN(w, zeros{}, trickle+1)
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	res, err := rig.client.Do(rig.request("GET", "/erupt-api/excel/template/shop.X", "shop.X", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b := make([]byte, 1); func() bool { _, err := io.ReadFull(res.Body, b); return err != nil || b[0] != 'a' }() {
		t.Fatalf("the first byte is %q", b)
	}
	close(arrived)
	if n, err := io.Copy(io.Discard, res.Body); n != trickle+1 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A node may answer before it has read the body; neither of the two is cut off by that.
func TestAnswerOvertakesTheBody(t *testing.T) {
	answered := make(chan struct{})
	node := newBareNode(t, func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "early ")
		w.(http.Flusher).Flush()
		close(answered)
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	conn := rig.dial()
	defer conn.Close()
	fmt.Fprintf(conn, "POST /erupt-api/file/upload/shop.X/a HTTP/1.1\r\nHost: x\r\ntoken: %s\r\nerupt: shop.X\r\nContent-Length: 10\r\n\r\n12345", sessionToken)
	<-answered
	if _, err := io.WriteString(conn, "67890"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); string(body) != "early 10 <nil>" || err != nil {
		t.Errorf("%q, %v, want the whole answer to the whole body", body, err)
	}
}

// A client that leaves between the two ends the request.
func TestClientGoneWhileTheAnswerWaits(t *testing.T) {
	answered := make(chan struct{})
	node := newBareNode(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.(http.Flusher).Flush()
		close(answered)
		_, _ = io.Copy(io.Discard, r.Body)
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	conn := rig.dial()
	fmt.Fprintf(conn, "POST /erupt-api/file/upload/shop.X/a HTTP/1.1\r\nHost: x\r\ntoken: %s\r\nerupt: shop.X\r\nContent-Length: 10\r\n\r\n12345", sessionToken)
	<-answered
	_ = conn.Close()
	if f := rig.failure(); f.Kind != ClientGone {
		t.Errorf("%+v, want client_gone", f)
	}
}

// A node that refuses a big upload without reading it is heard.
func TestEarlyRefusalOfAnUpload(t *testing.T) {
	node := newBareNode(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	req := rig.request("POST", "/erupt-api/file/upload/shop.X/a", "shop.X", io.LimitReader(zeros{}, 32<<20))
	res, err := rig.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%d, want the node's 413", res.StatusCode)
	}
}

func TestTrailers(t *testing.T) { // S40
	node := newBareNode(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Checksum, Set-Cookie")
		_, _ = io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Checksum", "42")
		w.Header().Set("Set-Cookie", "a=1")
		w.Header().Set(http.TrailerPrefix+"Access-Control-Allow-Origin", "*")
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	res, err := rig.client.Do(rig.request("GET", "/erupt-api/data/tree/shop.X", "shop.X", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(http.Header{"X-Checksum": {"42"}}, res.Trailer); diff != "" {
		t.Errorf("trailers (-want +got):\n%s", diff)
	}
}

// heapGrowth runs f and returns by how much the heap grew while something big passed.
func heapGrowth(f func(sample func())) int64 {
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := int64(0)
	f(func() {
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		most = max(most, int64(now.HeapAlloc)-int64(before.HeapAlloc))
	})
	return most
}

const (
	bigTransfer = 256 << 20
	flat        = 4 << 20
)

func TestBigDownloadStaysFlat(t *testing.T) { // F17, S48
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("known length %v", known), func(t *testing.T) {
			node := newBareNode(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/x-download")
				if known {
					w.Header().Set("Content-Length", strconv.Itoa(bigTransfer))
				}
				_, _ = io.CopyN(w, zeros{}, bigTransfer)
			})
			rig := newRig(t)
			rig.dir.set("shop", node.URL)
			grown := heapGrowth(func(sample func()) {
				res, err := rig.client.Do(rig.request("POST", "/erupt-api/excel/export/shop.X", "shop.X", strings.NewReader("[]")))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				for n := int64(0); n < bigTransfer; {
					got, err := io.CopyN(io.Discard, res.Body, 64<<20)
					if n += got; err != nil {
						t.Fatalf("after %d bytes: %v", n, err)
					}
					sample()
				}
				if rest, err := io.Copy(io.Discard, res.Body); rest != 0 || err != nil {
					t.Errorf("%d bytes too many, %v", rest, err)
				}
			})
			if grown > flat {
				t.Errorf("the heap grew by %d KiB", grown>>10)
			}
		})
	}
}

func TestBigUploadStaysFlat(t *testing.T) { // F17, S47
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("known length %v", known), func(t *testing.T) {
			var sample func()
			node := newBareNode(t, func(w http.ResponseWriter, r *http.Request) {
				var n int64
				for {
					got, err := io.CopyN(io.Discard, r.Body, 64<<20)
					n += got
					if err != nil {
						break
					}
					sample()
				}
				fmt.Fprint(w, n)
			})
			rig := newRig(t)
			rig.dir.set("shop", node.URL)
			grown := heapGrowth(func(s func()) {
				sample = s
				req := rig.request("POST", "/erupt-api/file/upload/shop.X/photo", "shop.X", io.LimitReader(zeros{}, bigTransfer))
				if known {
					req.ContentLength = bigTransfer
				}
				if got := rig.do(req); got.Status != 200 || got.Body != strconv.Itoa(bigTransfer) {
					t.Errorf("%d %q, want all bytes to arrive", got.Status, got.Body)
				}
			})
			if grown > flat {
				t.Errorf("the heap grew by %d KiB", grown>>10)
			}
		})
	}
}

// An open event stream costs at most 64 KiB of heap and stacks; a direct one is subtracted.
func TestIdleStreamsAreSmall(t *testing.T) {
	release := make(chan struct{})
	node := newBareNode(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-release
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	const streams = 200
	perStream := func(base, target string) int64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range streams {
			req := rig.request("GET", target, "", nil)
			req.URL.Host = strings.TrimPrefix(base, "http://")
			res, err := rig.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = res.Body.Close() })
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		return int64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse) / streams
	}
	direct := perStream(node.URL, "/live")
	through := perStream(rig.server.URL, "/erupt-api/tpl/live?_node=shop")
	close(release)
	t.Logf("%d bytes a stream, %d without the proxy", through, direct)
	if through-direct > 64<<10 && !raceDetector {
		t.Errorf("an open stream costs the proxy %d KiB", (through-direct)>>10)
	}
}

func TestChunkedUploadOverTheLimit(t *testing.T) {
	node := newBareNode(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})
	rig := newRig(t, func(o *Options) { o.MaxUpload = 1 << 20 })
	rig.dir.set("shop", node.URL)
	req := rig.request("POST", "/erupt-api/file/upload/shop.X/photo", "shop.X", io.LimitReader(zeros{}, 3<<20))
	if got := rig.do(req); got.Status != 413 || !strings.Contains(got.Body, "larger than 1048576 bytes") {
		t.Errorf("%d %s, want 413", got.Status, got.Body)
	}
}

func TestBodyThatCannotBeRead(t *testing.T) {
	node := newBareNode(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	got := rig.raw("POST /erupt-api/data/table/shop.X HTTP/1.1\r\nHost: x\r\ntoken: " + sessionToken +
		"\r\nerupt: shop.X\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nnot a chunk\r\n")
	if got.Status != 400 {
		t.Errorf("%d %s, want 400", got.Status, got.Body)
	}
}

// A client that breaks off downloads is no failure of the node (S43).
func TestClientBreaksOffDownloads(t *testing.T) {
	node := newBareNode(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(100<<20))
		_, _ = io.CopyN(w, zeros{}, 100<<20)
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	const times = 20
	for range times {
		conn := rig.dial()
		fmt.Fprintf(conn, "POST /erupt-api/excel/export/shop.X HTTP/1.1\r\nHost: x\r\ntoken: %s\r\nerupt: shop.X\r\nContent-Length: 0\r\n\r\n", sessionToken)
		if _, err := io.CopyN(io.Discard, conn, 1<<20); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	rig.server.Close() // waits for the handlers
	if n := counted(t, rig, "shop", "499"); n != times {
		t.Errorf("%v of %d downloads counted as left by the client: cut %v, 200 %v", n, times, counted(t, rig, "shop", "cut"), counted(t, rig, "shop", "200"))
	}
	for _, e := range rig.recorder.all() {
		if !strings.Contains(e.Error, "the client left") {
			t.Errorf("record says %q", e.Error)
		}
	}
}

func counted(t testing.TB, r *rig, node, code string) float64 {
	t.Helper()
	return testutil.ToFloat64(r.proxy.metrics.requests.With(prometheus.Labels{"node": node, "code": code}))
}
