package nodeapi_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"eruptcloud/app/fault"
)

// testCounter reads heartbeats_total{result="ok"}.
type testCounter struct{ w *world }

func (c testCounter) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }
func (c testCounter) Collect(ch chan<- prometheus.Metric) {
	families, err := c.w.reg.Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "ec_heartbeats_total" && m.GetLabel()[0].GetValue() == "ok" {
				ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("ok", "ok", nil, nil), prometheus.CounterValue, m.GetCounter().GetValue())
			}
		}
	}
}

func serve(w *world, r *http.Request) *httptest.ResponseRecorder {
	res := httptest.NewRecorder()
	w.handler.ServeHTTP(res, r)
	return res
}

func (w *world) leave(form string) *httptest.ResponseRecorder {
	return w.do("POST", "/erupt-cloud-api/remove-instance-node", form, "Content-Type", "application/x-www-form-urlencoded;charset=UTF-8")
}

const who = "nodeName=orders&accessToken=SECRET0123456789"

func TestLeaving(t *testing.T) { // A8, A9
	const location = "http://10.0.3.17:8081/shop"
	tests := map[string]struct {
		form, want string // last call
		removed    []string
		left       int // instances still registered
	}{
		"its location":              {who + "&locations=http%3A%2F%2F10.0.3.17%3A8081%2Fshop", "remove orders leave", []string{location}, 0},
		"as it spelt it":            {who + "&locations=+http%3A%2F%2F10.0.3.17%3A8081%2Fshop%2F+", "remove orders leave", []string{location}, 0},
		"several":                   {who + "&locations=http://a,,http://10.0.3.17:8081/shop", "remove orders leave", []string{"http://a", location}, 0},
		"unknown is no error":       {who + "&locations=http://nowhere", "remove orders leave", []string{"http://nowhere"}, 1},
		"nonsense is no error":      {who + "&locations=nonsense", "remove orders leave", []string{"nonsense"}, 1},
		"its id, without locations": {who + "&instanceId=kQzTbW", "remove orders leave", []string{location}, 0},
		"drains first":              {who + "&locations=http://10.0.3.17:8081/shop&drain=30000", "drain orders", nil, 1},
		"drain zero is goodbye":     {who + "&locations=http://10.0.3.17:8081/shop&drain=0", "remove orders leave", []string{location}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.register(registration())
			res := w.leave(tt.form)
			if res.Code != 200 || res.Body.Len() != 0 {
				t.Fatalf("answered %d %s, want 200 and nothing", res.Code, res.Body)
			}
			if lastOf(w.calls) != tt.want || !slices.Equal(w.removed, tt.removed) || len(w.live) != tt.left {
				t.Errorf("last call %q, removed %v, %d left; want %q, %v, %d", lastOf(w.calls), w.removed, len(w.live), tt.want, tt.removed, tt.left)
			}
			if len(w.triggered) != 0 {
				t.Errorf("a patrol was asked for although the location is known: %v", w.triggered)
			}
		})
	}
}

func TestLeavingWithoutLocationsAsksForAPatrol(t *testing.T) { // A8; every node up to 2.0 leaves so
	w := newWorld(t)
	for _, form := range []string{who, who + "&locations=", who + "&locations=+,+", who + "&instanceId=unknown"} {
		w.triggered = nil
		if res := w.leave(form); res.Code != 200 || !slices.Equal(w.triggered, []string{"orders"}) || len(w.removed) != 0 {
			t.Errorf("%s answered %d, patrol of %v, removed %v; want 200 and a patrol of orders", form, res.Code, w.triggered, w.removed)
		}
	}
}

func TestDrainEndsInTime(t *testing.T) {
	tests := map[string]time.Duration{"30000": 30 * time.Second, "9223372036854775807": 10 * time.Minute, "600001": 10 * time.Minute}
	for ms, want := range tests {
		w := newWorld(t)
		w.leave(who + "&locations=http://a&drain=" + ms)
		if got := w.drained["http://a"].Sub(w.now); got != want {
			t.Errorf("drain=%s lasts %s, want %s", ms, got, want)
		}
	}
}

func TestRefusedLeaving(t *testing.T) {
	tests := map[string]struct {
		form   string
		before func(*world)
		status int
		want   string
	}{
		"unknown node":      {"nodeName=nosuch&accessToken=x&locations=http://a", nil, 404, "NodeName: 'nosuch' not found"},
		"wrong token":       {"nodeName=orders&accessToken=x&locations=http://a", nil, 401, "orders Access token invalid"},
		"no token":          {"nodeName=orders&locations=http://a", nil, 401, "orders Access token invalid"},
		"no name":           {"accessToken=x", nil, 400, "nodeName is missing"},
		"nothing":           {"", nil, 400, "nodeName is missing"},
		"broken encoding":   {"nodeName=%zz", nil, 400, "not encoded"},
		"drain is no time":  {who + "&drain=soon", nil, 400, "drain must be a number"},
		"drain is negative": {who + "&drain=-1", nil, 400, "drain must be a number"},
		"65 locations":      {who + "&locations=" + strings.Repeat("http://a,", 65), nil, 413, "more than 64 addresses"},
		"over 64 KiB":       {who + "&locations=" + strings.Repeat("a", 65<<10), nil, 413, "larger than"},
		"hook refuses":      {who + "&locations=http://a", func(w *world) { w.hook = errors.New("not during the audit") }, 403, "not during the audit"},
		"store down":        {who + "&locations=http://a", func(w *world) { w.broken = fault.New(fault.Unavailable, "no store") }, 503, "no store"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tt.before != nil {
				tt.before(w)
			}
			res := w.leave(tt.form)
			if res.Code != tt.status || !strings.Contains(res.Body.String(), tt.want) {
				t.Errorf("answered %d %.300s, want %d with %q", res.Code, res.Body, tt.status, tt.want)
			}
			if len(w.removed)+len(w.triggered)+len(w.drained) != 0 {
				t.Errorf("a refused call removed %v, drained %v, asked for a patrol of %v", w.removed, w.drained, w.triggered)
			}
		})
	}
}

func TestTheHookRunsOnlyAfterTheTokenCheck(t *testing.T) {
	w := newWorld(t)
	w.leave("nodeName=orders&accessToken=x")
	if slices.Contains(w.calls, "hook remove orders") {
		t.Error("a stranger set off the hook")
	}
	w.leave(who)
	if !slices.Contains(w.calls, "hook remove orders") {
		t.Error("the hook did not run")
	}
}

func TestADisabledNodeMayLeave(t *testing.T) { // erupt-wire 1.2: status is not checked
	w := newWorld(t)
	w.register(registration())
	n := w.nodes["orders"]
	n.Enabled = false
	w.nodes["orders"] = n
	if res := w.leave(who + "&locations=http://10.0.3.17:8081/shop"); res.Code != 200 || len(w.live) != 0 {
		t.Errorf("answered %d with %d instances left, want 200 and none", res.Code, len(w.live))
	}
}

func TestTheFormMayComeInTheQuery(t *testing.T) {
	w := newWorld(t)
	if res := w.do("POST", "/erupt-cloud-api/remove-instance-node?"+who+"&locations=http://a", ""); res.Code != 200 || !slices.Equal(w.removed, []string{"http://a"}) {
		t.Errorf("answered %d, removed %v", res.Code, w.removed)
	}
}
