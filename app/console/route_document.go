package console

import (
	"time"

	"eruptcloud/views"
)

// routeDocument is the route view for scripts (U80). Times are milliseconds.
type routeDocument struct {
	Node    string          `json:"node"`
	Replica string          `json:"scope"` // always "this replica"
	Kept    int             `json:"kept"`
	Shown   *routeDocTrace  `json:"shown,omitempty"`
	Error   string          `json:"error,omitempty"` // of the dry run
	Traces  []routeDocTrace `json:"traces"`
}

type routeDocTrace struct {
	ID       string        `json:"id,omitempty"`
	At       time.Time     `json:"at"`
	Outcome  string        `json:"outcome"`
	Method   string        `json:"method"`
	Path     string        `json:"path,omitempty"`
	Account  string        `json:"account,omitempty"`
	Other    bool          `json:"anonymous,omitempty"` // of somebody else: account and path are not told
	Allowed  bool          `json:"allowed"`
	Required string        `json:"required,omitempty"`
	Because  string        `json:"because,omitempty"`
	Instance string        `json:"instance,omitempty"`
	Status   int           `json:"status"`
	Message  string        `json:"message,omitempty"`
	Retry    string        `json:"retry,omitempty"`
	Waited   float64       `json:"waitedMs"`
	Took     float64       `json:"tookMs"`
	Dry      bool          `json:"dry,omitempty"`
	Hops     []routeDocHop `json:"hops"`
}

type routeDocHop struct {
	Instance string  `json:"instance"`
	Location string  `json:"location"`
	Order    int     `json:"order,omitempty"`
	Tried    bool    `json:"tried"`
	Taken    bool    `json:"taken"`
	Standing string  `json:"standing,omitempty"`
	Error    string  `json:"error,omitempty"`
	Took     float64 `json:"tookMs,omitempty"`
	Why      string  `json:"why,omitempty"`
	By       string  `json:"by,omitempty"`
}

func routeDocumentOf(m views.RouteModel) routeDocument {
	d := routeDocument{Node: m.Name, Replica: "this replica", Kept: m.Kept, Error: m.Form.Error, Traces: make([]routeDocTrace, 0, len(m.Traces))}
	if m.Shown != nil {
		shown := routeDocOf(*m.Shown)
		d.Shown = &shown
	}
	for _, t := range m.Traces {
		d.Traces = append(d.Traces, routeDocOf(t))
	}
	return d
}

func routeDocOf(t views.RouteTrace) routeDocTrace {
	d := routeDocTrace{
		ID: t.ID, At: t.At.UTC(), Outcome: string(t.Outcome()), Method: t.Method, Path: t.Path, Account: t.Account, Other: t.Anonymous, Allowed: t.Allowed,
		Required: t.Required, Because: t.Because, Instance: t.Answered, Status: t.Status, Message: t.Message, Retry: t.Retry,
		Waited: millis(t.Waited), Took: millis(t.Took), Dry: t.Dry, Hops: make([]routeDocHop, 0, len(t.Hops)),
	}
	for _, h := range t.Hops {
		d.Hops = append(d.Hops, routeDocHop{
			Instance: h.Name, Location: h.Location, Order: h.Order, Tried: h.Tried, Taken: h.Taken, Standing: h.Standing, Error: h.Error,
			Took: millis(h.Took), Why: h.Why, By: h.By,
		})
	}
	return d
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
