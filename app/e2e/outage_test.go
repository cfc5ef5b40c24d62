package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Redis hangs for a while, its connections stay open: requests are refused with a clear error instead of hanging, nobody is
// taken for logged out, and when it answers again everything goes on, open pages and the other replica included, with the
// sessions and the changes of before (S70, S71).
func TestRedisHangs(t *testing.T) {
	p := startProduction(t)
	token := p.one.node("crm")
	goNode(t, p.one, "crm", token, freeAddr(t), "")
	p.one.awaitInstances("crm", 1, patience)
	b := browse(t, p.two)
	b.expect("status of 503")
	b.expect("ERR_INCOMPLETE_CHUNKED_ENCODING")
	b.login("erupt", adminPassword)
	b.open("/console/nodes")
	b.shows("[data-node=crm]")
	b.eval("window.sinceThen = true")
	p.redis.Pause()
	statuses := make(chan string, 200)
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			for i := range 10 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.one.URL+[]string{"/api/v1/nodes", "/erupt-api/userinfo"}[i%2], nil)
				if err != nil {
					statuses <- err.Error()
					continue
				}
				req.Header.Set("token", p.one.Token)
				resp, err := (&http.Client{Timeout: patience}).Do(req)
				if err != nil {
					statuses <- err.Error()
					continue
				}
				_ = resp.Body.Close()
				statuses <- fmt.Sprint(resp.StatusCode)
			}
		})
	}
	wait.Wait()
	close(statuses)
	count := map[string]int{}
	for s := range statuses {
		count[s]++
	}
	if count["200"]+count["503"] != 200 || count["503"] == 0 {
		t.Errorf("while Redis hangs 200 requests were answered %v, want 503, or 200 from memory", count)
	}
	p.redis.Resume()
	for _, s := range []*server{p.one, p.two} {
		status := 0
		eventually(t, patience, func() bool {
			resp, _ := s.call(http.MethodGet, "/api/v1/nodes", nil, nil)
			status = resp.StatusCode
			return status == http.StatusOK
		}, func() string { return fmt.Sprintf("with the session of before %s answers %d", s.URL, status) })
		s.awaitInstances("crm", 1, patience)
	}
	p.one.node("made-afterwards")
	b.until("the open page of the other replica does not show it", `document.querySelector("[data-node=made-afterwards]") && window.sinceThen`)
}

// What is there is saved twice, by a server whose zone is not that of its times: identity and creation stay, moments are told in
// UTC, and a second record of the same name, in another case, is refused (S72).
func TestSaveTwice(t *testing.T) {
	s := serve(t, []string{"TZ=Asia/Shanghai"})
	s.node("crm")
	s.hires("clara", "Clara", "claras-own-words", nil)
	read := func() (out struct {
		Name    string
		Created time.Time
	}) {
		s.must(http.MethodGet, "/api/v1/users/clara", nil, http.StatusOK, &out)
		return out
	}
	before := read()
	for range 2 {
		s.must(http.MethodPatch, "/api/v1/users/clara", map[string]string{"name": "Clara 二"}, http.StatusOK, nil)
		s.must(http.MethodPatch, "/api/v1/nodes/crm", map[string]string{"name": "Customers"}, http.StatusOK, nil)
	}
	if resp, raw := s.call(http.MethodPost, "/api/v1/nodes", map[string]string{"nodeName": "CRM", "name": "Again"}, nil); resp.StatusCode != http.StatusConflict {
		t.Errorf("a second record of the same name = %d %s", resp.StatusCode, raw)
	}
	after := read()
	if after.Name != "Clara 二" || !after.Created.Equal(before.Created) {
		t.Errorf("after saving twice %+v, before %+v", after, before)
	}
	if _, offset := after.Created.Zone(); offset != 0 || time.Since(after.Created) > time.Hour || time.Until(after.Created) > time.Hour {
		t.Errorf("made at %s, want now and in UTC", after.Created)
	}
}
