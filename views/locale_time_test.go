package views_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"eruptcloud/views"
)

func TestTimesFollowTheViewersZoneAndLanguage(t *testing.T) { // S84, U72
	moment := time.Date(2026, 7, 1, 20, 0, 0, 0, time.UTC)
	for zone, want := range map[string]string{
		"Asia/Shanghai": "2026-07-02 04:00:00 UTC+8", "Asia/Kolkata": "2026-07-02 01:30:00 UTC+5:30",
		"America/New_York": "2026-07-01 16:00:00 UTC-4", "UTC": "2026-07-01 20:00:00 UTC",
	} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, lang := range views.Langs { // year first is read the same way in both
			ctx := views.WithFrame(t.Context(), views.Frame{Lang: lang, Zone: loc, Now: moment})
			if got := views.Exact(ctx, moment); got != want {
				t.Errorf("%s in %s: %q, want %q", lang, zone, got, want)
			}
		}
	}
	for lang, want := range map[string][]string{"en": {"3 s ago", "1 d ago", "never"}, "zh": {"3 秒前", "天前", "从未"}} {
		ctx := views.WithFrame(t.Context(), views.Frame{Lang: lang, Now: moment})
		got := []string{views.Ago(ctx, moment.Add(-3*time.Second)), views.Ago(ctx, moment.Add(-49*time.Hour)), views.Ago(ctx, time.Time{})}
		if got[0] != want[0] || !strings.Contains(got[1], strings.TrimPrefix(want[1], "1 ")) || got[2] != want[2] {
			t.Errorf("%s: %q, want about %q", lang, got, want)
		}
	}
}

func TestLinksKeepNamesExactly(t *testing.T) { // S84
	for _, name := range []string{"a+b", "a%20b", "100%", "a b", "a/b", "a?b#c", "节点", "a&b=c", `"<x>`} {
		for what, link := range map[string]string{
			"node": views.NodePath(name, ""), "group": views.GroupPath(name, ""), "badge": strings.TrimSuffix(views.BadgePath(name), ".svg"),
		} {
			u, err := url.Parse(views.URL(context.Background(), link))
			if err != nil {
				t.Errorf("%s %q: %v", what, name, err)
				continue
			}
			escaped := u.EscapedPath()
			last, err := url.PathUnescape(escaped[strings.LastIndex(escaped, "/")+1:])
			if err != nil || last != name || u.RawQuery != "" || u.Fragment != "" {
				t.Errorf("the link of the %s %q leads to %q: %s", what, name, last, link)
			}
		}
		u, err := url.Parse(views.InstancePath("node", name))
		if err != nil || u.Query().Get("id") != name {
			t.Errorf("the link of the instance %q leads to %q, %v", name, u.Query().Get("id"), err)
		}
		q := views.NodeQuery{Text: name}
		if u, err := url.Parse(q.Path()); err != nil || u.Query().Get("q") != name {
			t.Errorf("the search for %q leads to %q, %v", name, u.Query().Get("q"), err)
		}
	}
}
