package restapi_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
)

// doings is what stands behind drains, tokens and events.
type doings struct {
	drains  map[string]fleet.Drain    // by instance
	loads   map[string]fleet.InFlight // by location; missing: nothing, known
	old     bool                      // an older token is accepted
	refused []fleet.Refusal
	events  []history.Event
}

type (
	drainRepo   struct{ *world }
	tokenRepo   struct{ *world }
	loadRepo    struct{ *world }
	refusalRepo struct{ *world }
	eventRepo   struct{ *world }
)

func (r drainRepo) Start(_ context.Context, d fleet.Drain) (fleet.Drain, error) {
	if old, ok := r.doings.drains[d.Instance]; ok {
		return old, r.broken
	}
	if r.broken != nil {
		return d, r.broken
	}
	d.Created = start
	r.doings.drains[d.Instance] = d
	return d, nil
}

func (r drainRepo) End(_ context.Context, _, instance, _ string) error {
	return remove(r.world, r.doings.drains, instance)
}

func (r drainRepo) Of(_ context.Context, node string) ([]fleet.Drain, error) {
	return slices.DeleteFunc(sorted(r.doings.drains), func(d fleet.Drain) bool { return d.Node != node }), r.broken
}

func (r drainRepo) Draining(node, instance string) (fleet.Drain, bool) {
	d, ok := r.doings.drains[instance]
	return d, ok && d.Node == node
}

func (r loadRepo) InFlight(_ string, locations []string) fleet.InFlight {
	for _, l := range locations {
		if load, ok := r.doings.loads[l]; ok {
			return load
		}
	}
	return fleet.InFlight{Known: true}
}

func (r tokenRepo) RotateToken(_ context.Context, name, _ string) (string, error) {
	if r.doings.old {
		return "", fault.New(fault.Conflict, "just now")
	}
	_, err := one(r.world, r.nodes, name)
	r.doings.old = err == nil
	return "ROTATED012345678", err
}

func (r tokenRepo) EndGrace(context.Context, string, string) error {
	if !r.doings.old {
		return fault.New(fault.NotFound, "there is no older token")
	}
	r.doings.old = false
	return r.broken
}

func (r tokenRepo) Grace(string) (fleet.Grace, bool) {
	return fleet.Grace{Rotated: start, Account: "lin", Until: start.Add(24 * time.Hour)}, r.doings.old
}

// TokenAge takes the digest for the age.
func (r tokenRepo) TokenAge(_, digest string) fleet.TokenAge {
	if digest == "" {
		return fleet.TokenUnknown
	}
	return fleet.TokenAge(digest)
}

func (r refusalRepo) Of(node string) []fleet.Refusal {
	return slices.DeleteFunc(slices.Clone(r.doings.refused), func(f fleet.Refusal) bool { return f.Node != node })
}

func (r eventRepo) Record(e history.Event) {
	e.ID, e.At = int64(len(r.doings.events)+1), start
	r.doings.events = append(r.doings.events, e)
}

func (r eventRepo) List(_ context.Context, f history.Filter) ([]history.Event, int, error) {
	var out []history.Event
	for _, e := range slices.Backward(r.doings.events) {
		if (f.Node == "" || f.Node == e.Node) && (f.Nodes == nil || slices.Contains(f.Nodes, e.Node)) &&
			(len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) && strings.Contains(e.Reason, f.Query) &&
			(f.Before == 0 || e.ID < f.Before) && (f.From.IsZero() || !e.At.Before(f.From)) && (f.To.IsZero() || e.At.Before(f.To)) &&
			(f.Instance == "" || f.Instance == e.Instance) {
			out = append(out, e)
		}
	}
	from := min((f.Page-1)*f.PageSize, len(out))
	return out[from:min(from+f.PageSize, len(out))], len(out), r.broken
}

func (r nodeRepo) SetConfig(_ context.Context, name string, e fleet.ConfigEdit) (fleet.Node, error) {
	n, err := one(r.world, r.nodes, name)
	if err == nil && n.Revision != e.BaseRevision {
		err = fault.New(fault.Conflict, "the config was changed by lin")
	}
	if err == nil {
		n.Revision, n.Config = n.Revision+1, e.JSON
		r.nodes[name], r.edits = n, append(r.edits, e)
	}
	return n, err
}

func (r groupRepo) SetConfig(_ context.Context, code string, e fleet.ConfigEdit) (fleet.Group, error) {
	g, err := one(r.world, r.groups, code)
	if err == nil && g.Revision != e.BaseRevision {
		err = fault.New(fault.Conflict, "the config was changed by lin")
	}
	if err == nil {
		g.Revision, g.Config = g.Revision+1, e.JSON
		r.groups[code] = g
	}
	return g, err
}

// kinds are what was recorded, in order.
func (w *world) kinds() (out []string) {
	for _, e := range w.doings.events {
		out = append(out, strings.TrimSpace(string(e.Kind)+" "+e.Node+" "+e.Instance+" by "+e.Account))
	}
	return out
}
