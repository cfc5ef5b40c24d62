package nodeapi_test

import (
	"strings"
	"testing"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
)

// questions reads the counter of questions without an answer.
func (w *world) questions(t *testing.T, call, code string) float64 {
	t.Helper()
	all, err := w.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if f.GetName() == "ec_node_questions_refused_total" && labels["call"] == call && labels["code"] == code {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// TestGuessesAreLimitedAndAnswersAreNot: erupt-wire 10.1, 1.5, 1.6: one address may be refused so often; then nothing is looked up for
// what may be a guess. A node asks once for each request of a user: its questions are never limited.
func TestGuessesAreLimitedAndAnswersAreNot(t *testing.T) {
	const power, user = "/erupt-cloud-api/erupt-power?nodeName=orders&eruptName=Customer", "/erupt-cloud-api/userinfo/"
	w := newWorld(t)
	w.nodes["legacy"] = fleet.Node{Name: "legacy", Enabled: true, RawSession: true}
	w.tokens["legacy"] = "LEGACY"
	const ofLegacy = "/erupt-cloud-api/erupt-power?nodeName=legacy&eruptName=Customer"
	for range 3_000 {
		if res := w.do("GET", power, "", "token", "d1_orders_tok"); !strings.Contains(res.Body.String(), `"add":true`) {
			t.Fatalf("a genuine question got %s", res.Body)
		}
	}
	for i := range 600 {
		if res := w.do("GET", power, "", "token", "guess"); res.Code != 200 || res.Body.String() != noPower {
			t.Fatalf("guess %d got %d %s", i, res.Code, res.Body)
		}
	}
	if known, many := w.questions(t, "power", "unauthenticated"), w.questions(t, "power", "too_many"); known != 500 || many != 100 {
		t.Errorf("%v guesses looked into and %v not, want 500 and 100", known, many)
	}
	w.calls = nil
	w.log.Reset()
	for range 10 {
		if res := w.do("GET", ofLegacy, "", "token", "guess"); res.Code != 200 || res.Body.String() != noPower {
			t.Fatalf("got %d %s", res.Code, res.Body)
		}
		if res := w.do("GET", user+"nosuch", "", "token", "guess", "Access-Token", "guess"); res.Code != 200 || res.Body.Len() != 0 {
			t.Fatalf("got %d %s", res.Code, res.Body)
		}
	}
	if len(w.calls) != 0 {
		t.Errorf("the stores were asked: %v", w.calls)
	}
	if strings.Contains(w.log.String(), "too many requests") {
		t.Error("each of them is logged")
	}
	if res := w.do("GET", power, "", "token", "d1_orders_tok"); !strings.Contains(res.Body.String(), `"add":true`) {
		t.Errorf("a genuine question from the same address got %s", res.Body)
	}
	if res := w.do("GET", user+"orders", "", "token", "d1_orders_tok", "Access-Token", "SECRET0123456789"); !strings.Contains(res.Body.String(), `"account":"lin"`) {
		t.Errorf("a genuine question about a user got %s", res.Body)
	}
	w.now = w.now.Add(2 * time.Second)
	if res := w.do("GET", ofLegacy, "", "token", "tok"); !strings.Contains(res.Body.String(), `"print":true`) {
		t.Errorf("later, a raw session got %s", res.Body)
	}
}

// A store that is down is nobody's guess.
func TestFailuresOfOursAreNotCountedAgainstTheAddress(t *testing.T) {
	w := newWorld(t)
	w.broken = fault.New(fault.Unavailable, "no store")
	for range 700 {
		w.do("GET", "/erupt-cloud-api/userinfo/orders", "", "token", "d1_orders_tok", "Access-Token", "SECRET0123456789")
	}
	if n := w.questions(t, "userinfo", "too_many"); n != 0 {
		t.Errorf("%v questions were held against the address", n)
	}
}
