package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// awayWatch tells a drain that ended because its instance has left from one that somebody called off while the instance was not
// registered. Of both nothing is left at the server but what it wrote down.
type awayWatch struct {
	*drainer
	orders map[string]int64 // instance that is or was away → the newest event of a drain called off before, or unseen
	gone   []string         // of these, whose drain had ended at the last look
}

// look is asked with every report. Not settled: whether an instance has left is known after the next one, since what happened is
// written down a moment after it did.
func (w *awayWatch) look(ctx context.Context, r drainReport) (settled bool, err error) {
	for _, id := range r.Away {
		if _, known := w.orders[id]; known {
			continue
		}
		newest, err := w.calledOff(ctx, id)
		if err != nil {
			return false, err
		}
		w.orders[id] = newest
	}
	settled = true
	for _, id := range r.Left {
		before, wasAway := w.orders[id]
		if !wasAway {
			continue
		}
		if !slices.Contains(w.gone, id) {
			w.gone, settled = append(w.gone, id), false
			continue
		}
		newest, err := w.calledOff(ctx, id)
		if err != nil {
			return false, err
		}
		if newest == unseen || before == unseen {
			return false, &problem{Status: http.StatusConflict, Message: fmt.Sprintf(
				"the drain of instance %s has ended while it was not registered, and why is not for this account to see (it needs the permission CloudNode)", id)}
		}
		if newest > before {
			return false, &problem{Status: http.StatusConflict, Message: fmt.Sprintf("the drain of instance %s was called off", id)}
		}
	}
	return settled, nil
}

// unseen stands for events that the account may not see.
const unseen = -1

// calledOff returns the id of the newest event that says that a drain of the instance was called off; 0: there is none.
func (w *awayWatch) calledOff(ctx context.Context, id string) (int64, error) {
	var found struct {
		Items []struct{ ID int64 }
	}
	query := url.Values{"instance": {id}, "kind": {"undrained"}, "pageSize": {"1"}}
	err := w.api.call(ctx, http.MethodGet, "/api/v1/nodes/"+url.PathEscape(w.node)+"/events?"+query.Encode(), nil, &found)
	var p *problem
	switch {
	case errors.As(err, &p) && !passes(err):
		return unseen, nil
	case err != nil || len(found.Items) == 0:
		return 0, err
	}
	return found.Items[0].ID, nil
}
