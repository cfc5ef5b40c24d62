package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	_ "net/http/pprof" // the bare proxy is looked at like the server
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// nodeName is the profile that all locations of the upstream register under.
const nodeName = "shop"

// runNode is the upstream of both proxies: its health page, answers of the size that the query names, and event streams that
// say one thing and then nothing.
func runNode(ctx context.Context) error {
	answers := map[int][]byte{}
	for _, n := range slices.Concat(sizes, []int{answerSize}) {
		answers[n] = append(append([]byte(`{"list":["`), bytes.Repeat([]byte("x"), n-13)...), `"]}`...)
	}
	return serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/node-health") {
			_, _ = io.WriteString(w, healthName(r.URL.Path))
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // the proxies are what is measured
		if r.URL.RawQuery == "stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: open\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-ctx.Done():
			case <-r.Context().Done():
			}
			return
		}
		n, _ := strconv.Atoi(r.URL.RawQuery)
		w.Header().Set("Content-Type", "application/json;charset=UTF-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(answers[n])))
		_, _ = w.Write(answers[n])
	}), nil)
}

// healthName is the name in /NAME/INSTANCE/node-health, else the one of all locations.
func healthName(path string) string {
	if parts := strings.Split(path, "/"); len(parts) == 4 {
		return parts[1]
	}
	return nodeName
}

// runBare is a ReverseProxy with a transport like the server's, and nothing else.
func runBare(ctx context.Context) error {
	to, err := url.Parse(os.Getenv("EC_BENCH_TARGET"))
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256, IdleConnTimeout: 4 * time.Second}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(pr *httputil.ProxyRequest) { pr.SetURL(to); pr.SetXForwarded() }}
	http.Handle("/metrics", promhttp.Handler())
	return serve(ctx, proxy, http.DefaultServeMux)
}

// serve answers until ctx ends and prints where; ops has an address of its own.
func serve(ctx context.Context, h, ops http.Handler) error {
	for _, handler := range []http.Handler{h, ops} {
		if handler == nil {
			continue
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		go func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				fmt.Fprintln(os.Stderr, "bench:", err)
			}
		}()
		fmt.Println("listening on http://" + l.Addr().String())
	}
	<-ctx.Done()
	return nil
}
