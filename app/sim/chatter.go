package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"
)

// chatter logs what such a process would log, a line every second or so, a warning now and then, a stack trace rarely.
func (in *instance) chatter(ctx context.Context) {
	in.log.Info("started", "instance", in.label, "pid", 4000+in.random.IntN(900), "workers", 16)
	for {
		// Between half and one and a half of the pause: machines do not tick in step.
		pause := time.Duration(float64(in.spec.LogEvery) * (0.5 + in.random.Float64()))
		if !sleep(ctx, pause) {
			return
		}
		say(in.log, in.random)
	}
}

// say logs one event such as a business makes.
func say(log *slog.Logger, r *rand.Rand) {
	switch n := r.IntN(1000); {
	case n < 8:
		log.Error("request failed", "path", pick(r, paths), "request_id", hex(r, 8), "error", pick(r, failures), "stack", stack(r))
	case n < 20:
		log.Error("could not send 通知", "to", pick(r, people), "error", "SMTP 451 try again later", "attempt", 1+r.IntN(4))
	case n < 70:
		log.Warn("slow query", "ms", 800+r.IntN(4000), "rows", r.IntN(20000), "sql", pick(r, queries))
	case n < 110:
		log.Warn("retrying", "target", pick(r, targets), "in", time.Duration(1+r.IntN(8))*time.Second)
	case n < 200:
		log.Info("job finished", "job", pick(r, jobs), "ms", 20+r.IntN(900), "items", r.IntN(400))
	case n < 280:
		log.Info("cache", "hits", 9000+r.IntN(900), "misses", r.IntN(300), "evicted", r.IntN(40))
	case n < 300:
		log.Info("登录", "user", pick(r, people), "address", fmt.Sprintf("10.0.%d.%d", r.IntN(8), 2+r.IntN(250)))
	default:
		level := slog.LevelInfo
		status := 200
		if r.IntN(40) == 0 {
			level, status = slog.LevelWarn, 404
		}
		log.Log(context.Background(), level, "request", "method", pick(r, methods), "path", pick(r, paths), "status", status,
			"ms", 2+r.IntN(120), "request_id", hex(r, 8))
	}
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func hex(r *rand.Rand, digits int) string {
	return fmt.Sprintf("%016x", r.Uint64())[:digits]
}

// stack is a trace of many lines, as a reader of logs knows them.
func stack(r *rand.Rand) string {
	var b strings.Builder
	fmt.Fprintf(&b, "goroutine %d [running]:", 20+r.IntN(4000))
	for range 4 + r.IntN(8) {
		fmt.Fprintf(&b, "\n%s(0x%s)\n\t/srv/app/%s:%d +0x%s", pick(r, frames), hex(r, 10), pick(r, files), 20+r.IntN(300), hex(r, 3))
	}
	return b.String()
}

var (
	methods  = []string{"GET", "GET", "GET", "POST", "PUT", "DELETE"}
	paths    = []string{"/api/customers", "/api/customers/17", "/api/orders", "/api/orders/2026-0817", "/api/stock", "/api/search?q=茶叶", "/api/export", "/api/login"}
	failures = []string{"deadlock found when trying to get lock", "context deadline exceeded", "invalid memory address or nil pointer dereference", "unexpected EOF"}
	queries  = []string{"select * from orders where customer_id = ? order by placed desc", "update stock set quantity = quantity - ? where id = ?", "select count(*) from customer where name like ?"}
	targets  = []string{"payment.example:443", "sms-gateway:8080", "search:9200", "物流接口"}
	jobs     = []string{"nightly-report", "对账", "reindex", "send-reminders", "clean-sessions", "库存盘点"}
	people   = []string{"lin.yu", "han.mei", "a.turner", "wang.lei", "m.rossi", "陈静"}
	frames   = []string{"main.(*handler).serve", "shop/order.(*Service).Place", "shop/stock.Reserve", "database/sql.(*DB).QueryContext", "net/http.HandlerFunc.ServeHTTP", "shop/customer.(*Repo).Find"}
	files    = []string{"order/service.go", "stock/reserve.go", "http/handler.go", "customer/repo.go", "main.go"}
)
