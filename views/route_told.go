package views

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// RouteHeadline says in one sentence where a request went and why (D11).
func RouteHeadline(ctx context.Context, t RouteTrace) string {
	why := t.reasons(ctx)
	to := func(key string, args ...any) string {
		if t.Dry {
			key += ".dry"
		}
		return upper(T(ctx, key, args...))
	}
	switch {
	case t.Own:
		return T(ctx, "route.head.own")
	case !t.Allowed && t.Anonymous:
		return to("route.head.other")
	case !t.Allowed && t.Account == "":
		return to("route.head.nobody")
	case !t.Allowed && t.Required != "":
		return to("route.head.right", "who", clean(t.Account), "code", clean(t.Required))
	case !t.Allowed:
		return to("route.head.refused", "why", clean(t.told(ctx, t.Because)))
	case t.Answered != "" && why != "":
		return to("route.head.because", "to", clean(t.Answered), "why", why)
	case t.Answered != "" && t.Total == 1:
		return to("route.head.only", "to", clean(t.Answered))
	case t.Answered != "":
		return to("route.head.turn", "to", clean(t.Answered))
	case t.ClientLeft:
		return to("route.head.left")
	case t.Retry == "sent":
		return to("route.head.sent", "to", clean(t.last()))
	case why != "" && t.Routed == 0 || t.Retry == "none_left" || t.Retry == "refused_body_read":
		return to("route.head.nowhere", "why", why)
	case t.Total == 0 && t.Failed:
		return to("route.head.none")
	}
	return to("route.head.failed", "why", clean(t.told(ctx, t.Message)))
}

// nobodyTook reports whether the request was allowed, and the node had no instance at all for it.
func (t RouteTrace) nobodyTook() bool {
	return t.Allowed && !t.Own && t.Failed && t.Total == 0 && t.Node != ""
}

// told is what the server said to the caller, in the viewer's language where it is one of the sentences that traces are full
// of. A trace keeps the finished sentence, so those with parts are made again from what the trace knows.
func (t RouteTrace) told(ctx context.Context, text string) string {
	lang := FrameOf(ctx).Lang
	for format, part := range map[string]string{"this needs the permission %s": t.Required, "'%s' has no available instance": t.Node} {
		if part != "" && text == fmt.Sprintf(format, part) {
			return Translate(lang, format, part)
		}
	}
	return Translate(lang, text)
}

// last is the location that was tried last.
func (t RouteTrace) last() (name string) {
	order := 0
	for _, h := range t.Hops {
		if h.Tried && h.Order > order {
			order, name = h.Order, h.Name
		}
	}
	return name
}

// maxReasons are named in a headline; more are counted.
const maxReasons = 3

// reasons are why the others were not chosen: those that refused a connection first, then those that took no requests.
func (t RouteTrace) reasons(ctx context.Context) string {
	var all []string
	for _, h := range t.Hops {
		switch {
		case h.Tried && !h.Taken && h.Error != "" && t.Retry != "sent":
			all = append(all, T(ctx, "route.why.refused", "who", clean(h.Name)))
		case h.Standing == "held":
			all = append(all, T(ctx, "route.why.held", "who", clean(h.Name)))
		case h.Standing == "draining":
			all = append(all, T(ctx, "route.why.draining", "who", clean(h.Name)))
		case h.Standing == "evicted":
			all = append(all, T(ctx, "route.why.evicted", "who", clean(h.Name)))
		}
	}
	if over := len(all) - maxReasons; over > 0 {
		all = append(all[:maxReasons], T(ctx, "route.why.more", "count", over, "n", Num(over)))
	}
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	comma, and := T(ctx, "route.comma"), T(ctx, "route.and")
	return strings.Join(all[:len(all)-1], comma) + and + all[len(all)-1]
}

// RouteFirst says where to look first; empty where nothing is odd.
func RouteFirst(ctx context.Context, t RouteTrace) string {
	switch t.Retry {
	case "refused":
		return T(ctx, "route.first.refused")
	case "sent":
		return T(ctx, "route.first.sent")
	case "none_left":
		return T(ctx, "route.first.none_left")
	case "refused_body_read":
		return T(ctx, "route.first.body")
	}
	return ""
}

// says is the second line of a hop, with the reason that an admin gave.
func (h RouteHop) says(ctx context.Context, t RouteTrace) string {
	if h.Why != "" && !h.Tried {
		return h.fate(ctx, t) + ": " + clean(h.Why)
	}
	return h.fate(ctx, t)
}

func (h RouteHop) fate(ctx context.Context, t RouteTrace) string {
	switch {
	case h.Taken && t.Dry:
		return T(ctx, "route.hop.would")
	case h.Taken:
		return T(ctx, "route.hop.answered", "status", strconv.Itoa(t.Status), "took", Millis(h.Took))
	case h.Tried && t.Retry == "sent":
		return T(ctx, "route.hop.broke", "took", Millis(h.Took))
	case h.Tried:
		return T(ctx, "route.hop.refused", "took", Millis(h.Took))
	case h.Standing == "held" && h.By != "":
		return T(ctx, "route.hop.held_by", "who", h.By)
	case h.Standing == "held":
		return T(ctx, "route.hop.held")
	case h.Standing == "draining" && h.By != "":
		return T(ctx, "route.hop.drained_by", "who", h.By)
	case h.Standing == "draining":
		return T(ctx, "route.hop.draining")
	case h.Standing == "evicted":
		return T(ctx, "route.hop.evicted")
	}
	return T(ctx, "route.hop.spare")
}

func (h RouteHop) look() (class, icon string) {
	switch {
	case h.Taken:
		return "taken is-up", "up"
	case h.Tried:
		return "is-down", "down"
	case h.Standing == "held":
		return "skipped", "held"
	case h.Standing == "draining":
		return "skipped", "drain"
	case h.Standing == "evicted":
		return "skipped", "down"
	}
	return "", "up"
}

// why is the column of the table: what made the difference.
func (t RouteTrace) why(ctx context.Context) string {
	switch {
	case !t.Allowed && t.Anonymous:
		return T(ctx, "route.refused")
	case !t.Allowed:
		return t.told(ctx, t.Because)
	case t.nobodyTook():
		return T(ctx, "route.nobody_took")
	case t.Failed:
		return t.told(ctx, t.Message)
	}
	if why := t.reasons(ctx); why != "" {
		return why
	}
	return T(ctx, "route.why.turn")
}

// caller names who asked; nobody is what stands for no session.
func (t RouteTrace) caller(ctx context.Context, nobody string) string {
	switch {
	case t.Anonymous:
		return T(ctx, "route.other")
	case t.Account == "":
		return nobody
	}
	return t.Account
}

// request is what was asked, as far as the viewer may know it.
func (t RouteTrace) request(ctx context.Context) string {
	if t.Anonymous {
		return t.Method + " " + T(ctx, "route.hidden")
	}
	return t.Method + " " + t.Path
}

// way is the column of instances: "i-4 → i-1".
func (t RouteTrace) way() string {
	var names []string
	for order := 1; ; order++ {
		found := false
		for _, h := range t.Hops {
			if h.Tried && h.Order == order {
				names, found = append(names, h.Name), true
			}
		}
		if !found {
			break
		}
	}
	if len(names) == 0 {
		return "–"
	}
	return strings.Join(names, " → ")
}

// Millis writes a duration in milliseconds: "0.4 ms", "38 ms", "1,204 ms".
func Millis(d time.Duration) string {
	if d < 50*time.Microsecond {
		return "<0.1 ms"
	}
	if d < 10*time.Millisecond {
		return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
	}
	return Num(d.Milliseconds()) + " ms"
}

// clockMillis is the time of day of a request in the viewer's zone.
func clockMillis(ctx context.Context, t time.Time) string {
	return t.In(zoneOf(FrameOf(ctx))).Format("15:04:05.000")
}

func routeRetry(ctx context.Context, t RouteTrace) string {
	switch {
	case t.Dry:
		return T(ctx, "route.retry.dry")
	case t.Retry == "refused":
		return T(ctx, "route.retry.refused")
	case t.Retry == "sent":
		return T(ctx, "route.retry.sent")
	case t.Retry == "missing":
		return T(ctx, "route.retry.missing")
	case t.Retry == "none_left":
		return T(ctx, "route.retry.none_left")
	case t.Retry == "refused_body_read":
		return T(ctx, "route.retry.body")
	case t.Retry == "answered":
		return T(ctx, "route.retry.answered")
	}
	return T(ctx, "route.retry.none")
}
