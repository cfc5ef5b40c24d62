package restapi_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
)

type locationHoldT struct{ Location, Reason, Account, Created string }

func TestHoldsOutliveTheirInstances(t *testing.T) { // F4
	w := newWorld(t)
	const a, b = "http://10.0.0.1:8080", "http://10.0.0.2:8080"
	for _, l := range []string{b, a} {
		w.held[l] = fleet.Hold{Node: "orders", Location: l, Reason: "bad disk", Account: "lin", Created: start}
	}
	w.held["http://10.0.0.3"] = fleet.Hold{Node: "stock", Location: "http://10.0.0.3"}
	var list page[locationHoldT]
	w.get(t, "/api/v1/nodes/orders/holds", &list)
	if list.Total != 2 || len(list.Items) != 2 || list.Items[0] != (locationHoldT{a, "bad disk", "lin", "2026-07-01T12:00:00.000Z"}) {
		t.Errorf("holds of a node without instances: %+v", list)
	}
	target := "/api/v1/nodes/orders/holds?location=" + url.QueryEscape(a)
	for _, want := range []int{204, 404} {
		if res := w.do("DELETE", target, "", "root"); res.Code != want {
			t.Errorf("lifting answered %d %s, want %d", res.Code, res.Body, want)
		}
	}
	if res := w.do("DELETE", "/api/v1/nodes/orders/holds", "", "root"); res.Code != 400 {
		t.Errorf("without a location: %d, want 400", res.Code)
	}
	if w.get(t, "/api/v1/nodes/orders/holds", &list); list.Total != 1 || list.Items[0].Location != b {
		t.Errorf("left are %+v, want %s", list, b)
	}
	if e := w.audit[0]; e.Action != "instance.release" || e.Subject != "orders" || !e.OK {
		t.Errorf("the trail has %+v", e)
	}
}

func TestFieldsAreThoseOfTheBody(t *testing.T) {
	for domain, want := range map[string]string{"name": "nodeName", "display": "name", "token": "accessToken", "group": "group"} {
		for method, target := range map[string]string{"POST": "/api/v1/nodes", "PATCH": "/api/v1/nodes/orders"} {
			w := newWorld(t)
			w.refuse = fault.New(fault.Invalid, "bad").Field(domain, "is bad")
			body := map[string]string{"POST": `{"nodeName":"x"}`, "PATCH": `{"name":"x"}`}[method]
			var got struct{ Fields map[string]string }
			if err := json.Unmarshal(w.do(method, target, body, "root").Body.Bytes(), &got); err != nil || len(got.Fields) != 1 || got.Fields[want] != "is bad" {
				t.Errorf("%s: what fleet calls %q is named in %v (%v), want %q", method, domain, got.Fields, err, want)
			}
		}
	}
}
