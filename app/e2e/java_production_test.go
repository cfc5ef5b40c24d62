package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// What a real Java node and the official front end go through in production, step by step.
func TestJavaProduction(t *testing.T) { // F15
	f := javaFarm(t)
	f.frontEnd(t)
	f.sheets(t)
	f.logs(t)
	f.disabled(t)
	f.serversRestart(t)
	f.rotation(t)
}

// browser sends a request as the front end of 1.12 does.
func (f *farm) browser(s *server, method, path, page, body string) (int, string) {
	f.Helper()
	header := http.Header{"erupt": {"warehouse." + page}, "lang": {"en-US"}, "Origin": {s.URL}, "Accept": {"application/json, text/plain, */*"}}
	var content any
	if body != "" {
		content = json.RawMessage(body)
	}
	resp, raw := s.call(method, strings.Replace(path, "{e}", "warehouse."+page, 1), content, header)
	return resp.StatusCode, string(raw)
}

// frontEnd sends what was recorded of the official front end: first query, search, sort, detail, save, insert, delete.
func (f *farm) frontEnd(t *testing.T) {
	const ok = `"status":"SUCCESS"`
	for i, step := range []struct{ method, path, page, body, want string }{
		{"POST", "/erupt-api/data/table/{e}", "Customer", `{"pageIndex":1,"pageSize":20,"sort":null,"condition":[{"key":"active"},{"key":"score","value":[0,1000]}]}`, `"list":[{`},
		{"POST", "/erupt-api/data/extra-row/{e}", "Customer", `{"condition":[{"key":"active"},{"key":"score","value":[0,1000]}]}`, "合计"},
		{"POST", "/erupt-api/data/table/{e}", "Customer", `{"pageIndex":1,"pageSize":20,"sort":null,"condition":[{"key":"name","value":"上海"},{"key":"active"},{"key":"score","value":[0,1000]}]}`, "上海第4公司"},
		{"POST", "/erupt-api/data/table/{e}", "Customer", `{"pageIndex":1,"pageSize":20,"sort":"score asc","condition":[{"key":"active","value":null}]}`, `"sort":"score asc"`},
		{"GET", "/erupt-api/data/{e}/5", "Customer", "", `"name":"Customer 5"`},
		{"POST", "/erupt-api/data/modify/{e}/update", "Customer", `{"name":"<b>Bold & \"Sons\"</b>","code":"C-0003","level":"VIP","grade":"1","active":false,"score":21,"balance":37.02,"discount":0.375,"founded":"1990-04-22","since":"2026-03-01 09:00:00","remark":"Remark 3","bigNumber":3,"id":3}`, ok},
		{"GET", "/erupt-api/data/init-value/{e}", "Customer", "", `"founded":"2020-02-29"`},
		{"POST", "/erupt-api/data/modify/{e}", "Customer", `{"name":"From the real browser 浏览器","level":"VIP","active":true,"score":900,"founded":"2020-02-29"}`, ok},
		{"POST", "/erupt-api/data/{e}/operator/discount", "Customer", `{"ids":[1],"param":{"percent":2.5}}`, `"message":"Reason required"`},
		{"POST", "/erupt-api/data/modify/{e}/update", "Purchase", `{"number":"P-6","customer":{"id":"1","name":"Customer 1"},"region":{"id":"3","name":"Berlin"},"warehouse":{"id":"2","name":"Hall 1"},"state":"OPEN","orderedAt":"2026-03-07 12:00:00","delivery":{"address":"Street 6","due":"2026-03-05 08:00:00","carrier":{"id":"1","name":"Rail"},"id":6},"items":[{"product":{"name":"Hammer","id":"1"},"quantity":6,"price":12.5,"id":11,"product_name":"Hammer"},{"product":{"name":"Saw","id":"2"},"quantity":2,"price":20,"id":12}],"related":[{"id":3},{"id":4}],"areas":[{"id":"3"},{"id":"5"}],"carriers":[{"id":1},{"id":2}],"id":6}`, ok},
	} {
		if status, raw := f.browser(f.both()[i%2], step.method, step.path, step.page, step.body); status != http.StatusOK || !strings.Contains(raw, step.want) {
			t.Errorf("%s %s %s = %d %.300s, want %s", step.method, step.path, step.body, status, raw, step.want)
		}
	}
	id := ""
	for _, row := range f.javaOne.rows("customer") {
		if show(row["name"]) == "From the real browser 浏览器" {
			id = show(row["id"])
		}
	}
	if status, raw := f.browser(f.two, "POST", "/erupt-api/data/modify/{e}/delete", "Customer", `["`+id+`"]`); status != http.StatusOK || !strings.Contains(raw, ok) || f.javaTwo.row("customer", id) != nil {
		t.Errorf("delete of %q = %d %s", id, status, raw)
	}
	// A drill: its headers reach the node with the node's own name.
	resp, raw := f.one.call(http.MethodPost, "/erupt-api/data/table/warehouse.Purchase", json.RawMessage(`{"pageIndex":1,"pageSize":10,"sort":null,"condition":[]}`), http.Header{
		"erupt": {"warehouse.Purchase"}, "drill": {"purchases"}, "drillValue": {"1"}, "drillSourceErupt": {"warehouse.Customer"},
	})
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(raw), `"total":7`) {
		t.Errorf("a drill = %d %.300s, want the purchases of customer 1", resp.StatusCode, raw)
	}
}

// logs: each instance's own, at both replicas.
func (f *farm) logs(t *testing.T) {
	for i, n := range []*javaNode{f.javaOne, f.javaTwo} {
		var lines []struct {
			Num     int64
			Content string
		}
		query := url.Values{"nodeName": {javaName}, "instance": {n.URL}, "size": {"1000"}}
		f.both()[i].must(http.MethodGet, "/erupt-cloud-api/erupt-cloud-node-log?"+query.Encode(), nil, http.StatusOK, &lines)
		if len(lines) == 0 || lines[0].Num < 1 || lines[0].Content == "" {
			t.Errorf("the log of %s is %+v", n.URL, lines)
		}
	}
}

// disabled: refused at once at both replicas, its heartbeat with 500 and the reason in the node's own log; back when enabled.
func (f *farm) disabled(t *testing.T) {
	f.one.must(http.MethodPatch, "/api/v1/nodes/"+javaName, map[string]any{"enabled": false}, http.StatusOK, nil)
	for _, s := range f.both() {
		status, raw := 0, ""
		eventually(t, 5*time.Second, func() bool {
			status, raw = s.table(t, "warehouse.Customer")
			return status == http.StatusServiceUnavailable
		}, func() string { return fmt.Sprintf("a disabled node at %s = %d %.200s", s.URL, status, raw) })
	}
	f.javaOne.await("prohibiting the registration", patience)
	f.javaTwo.await("prohibiting the registration", patience)
	f.two.must(http.MethodPatch, "/api/v1/nodes/"+javaName, map[string]any{"enabled": true}, http.StatusOK, nil)
	f.whole()
}

// serversRestart: sessions and instances go on, first through one replica at a time, then through a time without any.
func (f *farm) serversRestart(t *testing.T) {
	tokens, since := [2]string{f.one.Token, f.two.Token}, map[string]time.Time{}
	for _, in := range f.one.instances(javaName) {
		since[in.InstanceID] = in.Registered
	}
	known := func(when string) {
		t.Helper()
		for i, s := range f.both() {
			if resp, raw := s.as(tokens[i]).call(http.MethodGet, "/erupt-api/userinfo", nil, nil); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: the session at %s = %d %s", when, s.URL, resp.StatusCode, raw)
			}
			for _, in := range s.awaitInstances(javaName, 2, 5*time.Second) {
				if !in.Registered.Equal(since[in.InstanceID]) {
					t.Errorf("%s: %s knows %s since %s, want since %s", when, s.URL, in.Location, in.Registered, since[in.InstanceID])
				}
			}
			if status, raw := s.table(t, "warehouse.Customer"); status != http.StatusOK {
				t.Errorf("%s: a table at %s = %d %.200s", when, s.URL, status, raw)
			}
		}
	}
	for i := range 2 {
		f.restart(i, "")
		known(fmt.Sprintf("replica %d restarted", i+1))
	}
	for _, s := range f.both() {
		if code := s.stop(40 * time.Second); code != 0 {
			t.Errorf("a replica ended with code %d", code)
		}
	}
	for i := range 2 {
		f.restart(i, "")
	}
	known("both were away")
}

// rotation: within the grace both instances go on with the token that they have; when it is ended, their heartbeat is refused
// and their own log says why; with the new token they are back.
func (f *farm) rotation(t *testing.T) {
	old := f.token
	var out struct{ AccessToken string }
	f.one.must(http.MethodPost, "/api/v1/nodes/"+javaName+"/token/rotate", nil, http.StatusOK, &out)
	if out.AccessToken == "" || out.AccessToken == old {
		t.Fatalf("the new token is %q", out.AccessToken)
	}
	f.token = out.AccessToken
	f.one.publish("/api/v1/nodes/"+javaName+"/config", `{"since":"rotation"}`)
	beats := time.Now()
	for _, s := range f.both() {
		eventually(t, patience, func() bool {
			for _, in := range s.awaitInstances(javaName, 2, patience) {
				if !in.LastHeartbeat.After(beats) {
					return false
				}
			}
			return true
		}, func() string { return "no heartbeat with the old token" })
		for range 2 {
			if status, raw := s.table(t, "warehouse.Customer"); status != http.StatusOK {
				t.Errorf("in the grace = %d %.200s", status, raw)
			}
		}
	}
	if got := f.javaOne.get("/test/config", nil); !strings.Contains(got, "rotation") {
		t.Errorf("in the grace the configuration is %q", got)
	}
	f.one.must(http.MethodDelete, "/api/v1/nodes/"+javaName+"/token/old", nil, http.StatusNoContent, nil)
	for _, n := range []*javaNode{f.javaOne, f.javaTwo} {
		n.await("Access token invalid", patience)
		if got := n.get("/test/config", nil); got != "" {
			t.Errorf("with a token that ended the configuration is %q, want nothing", got)
		}
		n.kill()
	}
	f.one.publish("/api/v1/nodes/"+javaName+"/config", "null")
}
