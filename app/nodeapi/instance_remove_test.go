package nodeapi_test

import (
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/access"
)

func manager(w *world) {
	w.sessions["boss"] = access.Session{Token: "boss", Account: "boss", Values: map[string]access.Menu{
		access.CodeManageNodes: {}, access.CodeNodeLog: {},
	}}
}

func TestRemoveInstance(t *testing.T) { // A25, S18
	tests := map[string]struct {
		target  string
		headers []string
		status  int
		removed []string
	}{
		"by location":            {"orders?instance=http%3A%2F%2F10.0.3.17%3A8081%2Fshop%2F", []string{"token", "boss"}, 200, []string{"http://10.0.3.17:8081/shop"}},
		"of an absent node":      {"nosuch?instance=http://a", []string{"token", "boss"}, 200, []string{"http://a"}},
		"that is not there":      {"orders?instance=nowhere", []string{"token", "boss"}, 200, []string{"nowhere"}},
		"which one":              {"orders", []string{"token", "boss"}, 400, nil},
		"without the permission": {"orders?instance=http://a", []string{"token", "tok"}, 403, nil},
		"without a session":      {"orders?instance=http://a", nil, 401, nil},
		"with a query token":     {"orders?instance=http://a&_token=boss&token=boss", nil, 401, nil},
		"with a delegated token": {"orders?instance=http://a", []string{"token", "d1_orders_boss"}, 401, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			manager(w)
			res := w.do("GET", "/erupt-cloud-api/remove-instance/"+tt.target, "", tt.headers...)
			if res.Code != tt.status || !slices.Equal(w.removed, tt.removed) {
				t.Errorf("answered %d %s, removed %v; want %d, %v", res.Code, res.Body, w.removed, tt.status, tt.removed)
			}
			if (res.Code == 200) != (len(w.audit) == 1 && w.audit[0].Account == "boss" && w.audit[0].Action == "instance.remove") {
				t.Errorf("audit trail %+v after %d, want one entry exactly for a removal", w.audit, res.Code)
			}
			if res.Code == 200 && res.Body.Len() != 0 {
				t.Errorf("body %q, want none", res.Body)
			}
		})
	}
}

func TestNodeLog(t *testing.T) { // A28
	tests := map[string]struct {
		query, token string
		status       int
		size         int
		offset       int64 // -1: none
	}{
		"newest":             {"nodeName=orders&size=500", "boss", 200, 500, -1},
		"follow":             {"nodeName=orders&size=500&offset=1041", "boss", 200, 500, 1041},
		"more than we allow": {"nodeName=orders&size=100000", "boss", 200, 2000, -1},
		"no size":            {"nodeName=orders", "boss", 400, 0, 0},
		"negative size":      {"nodeName=orders&size=-1", "boss", 400, 0, 0},
		"odd offset":         {"nodeName=orders&size=5&offset=x", "boss", 400, 0, 0},
		"no node":            {"size=5", "boss", 400, 0, 0},
		"not ready":          {"nodeName=stock&size=5", "boss", 503, 5, -1},
		"no permission":      {"nodeName=orders&size=5", "tok", 403, 0, 0},
		"no session":         {"nodeName=orders&size=5&_token=boss", "", 401, 0, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			manager(w)
			res := w.do("GET", "/erupt-cloud-api/erupt-cloud-node-log?"+tt.query, "", "token", tt.token)
			if res.Code != tt.status {
				t.Fatalf("answered %d %s, want %d", res.Code, res.Body, tt.status)
			}
			if asked := tt.status == 200 || tt.status == 503; asked != (len(w.wishes) == 1) {
				t.Fatalf("nodes were asked %d times", len(w.wishes))
			} else if !asked {
				return
			}
			offset := int64(-1)
			if w.wishes[0].Offset != nil {
				offset = *w.wishes[0].Offset
			}
			if got := w.wishes[0]; got.Size != tt.size || offset != tt.offset || got.Token != "boss" {
				t.Errorf("asked for %+v from %d, want size %d from %d", got, offset, tt.size, tt.offset)
			}
			if res.Code == 200 && !strings.Contains(res.Body.String(), `[{"content":"started","num":1}]`) {
				t.Errorf("body %s", res.Body)
			}
		})
	}
}
