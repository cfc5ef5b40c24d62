package web

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// MaxHeaderBytes bounds the header of a request: room for large cookies of other applications on the same host and for
// erupt's drill values, and no more.
const MaxHeaderBytes = 64 << 10

// NewServer returns a server for h with the limits that every listener of ours has. base is the context of all requests:
// when it ends, streams end. There is no write timeout, which would cut streams and long downloads.
func NewServer(base context.Context, h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 75 * time.Second, MaxHeaderBytes: MaxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), BaseContext: func(net.Listener) context.Context { return base },
	}
}
