package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
)

const tableAnswer = `{"linkTreeVal":null,"condition":[],"pageIndex":1,"pageSize":10,"sort":null,"totalPage":1,"total":2,"list":[{"id":1,"name":"Lin"},{"id":2,"name":"Alice"}]}`

// BenchmarkProxy compares the proxy with a bare ReverseProxy in one run, on the same node and the same requests. Budget:
// 1.25 times the CPU time of the bare one, client and node included in neither, and 300 µs on top of a direct request.
func BenchmarkProxy(b *testing.B) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json;charset=UTF-8")
		_, _ = io.WriteString(w, tableAnswer)
	}))
	defer node.Close()
	rig := newRig(b, func(o *Options) { o.Recorder = nil })
	rig.dir.set("shop", node.URL)
	bare := httptest.NewServer(bareProxy(b, node.URL))
	defer bare.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()

	ask := func(base string) {
		req, err := http.NewRequest("POST", base+"/erupt-api/data/table/shop.Customer?x=1", strings.NewReader(`{"pageIndex":1,"pageSize":10}`))
		if err != nil {
			b.Fatal(err)
		}
		for k, v := range map[string]string{
			"token": sessionToken, "erupt": "shop.Customer", "lang": "en-US", "Content-Type": "application/json", "Accept": "application/json, text/plain, */*",
			"User-Agent": "Mozilla/5.0 (X11; Linux x86_64)", "Accept-Language": "en-US,en;q=0.9", "Referer": base + "/",
		} {
			req.Header.Set(k, v)
		}
		res, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != 200 {
			b.Fatal(res.Status)
		}
	}
	bases := []string{node.URL, bare.URL, rig.server.URL}
	var cpu, wall [3]time.Duration
	n := 0
	for b.Loop() { // the three take turns, so that noise hits all alike
		for i, base := range bases {
			c, w := cpuTime(), time.Now()
			for range 50 {
				ask(base)
			}
			cpu[i] += cpuTime() - c
			wall[i] += time.Since(w)
		}
		n += 50
	}
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(n) / 1000 }
	b.ReportMetric(per(cpu[1]-cpu[0]), "bare-µs-cpu")
	b.ReportMetric(per(cpu[2]-cpu[0]), "ours-µs-cpu")
	b.ReportMetric(float64(cpu[2]-cpu[0])/float64(cpu[1]-cpu[0]), "cpu-ratio")
	b.ReportMetric(per(wall[2]-wall[0]), "µs-on-top")
	b.ReportMetric(0, "ns/op")
}

func bareProxy(b *testing.B, target string) http.Handler {
	to, err := url.Parse(target)
	if err != nil {
		b.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: maxIdlePerLocation}
	b.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{Transport: transport, Rewrite: func(pr *httputil.ProxyRequest) { pr.SetURL(to); pr.SetXForwarded() }}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRoute reads and checks a request: budget 1.5 µs, 6 allocations.
func BenchmarkRoute(b *testing.B) {
	rig := newRig(b)
	rig.dir.set("shop", "http://x")
	r := httptest.NewRequest("POST", "/erupt-api/data/table/shop.Customer?x=1", nil)
	r.Header.Set("token", sessionToken)
	r.Header.Set("erupt", "shop.Customer")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rig.proxy.route(r); err != nil {
			b.Fatal(err)
		}
	}
}
