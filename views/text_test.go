package views_test

import (
	"context"
	"testing"
	"time"

	"eruptcloud/views"
)

func TestNum(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 11204: "11,204", -1234567: "-1,234,567", 42: "42"} {
		if got := views.Num(n); got != want {
			t.Errorf("Num(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestAgo(t *testing.T) { // U72
	tests := map[time.Duration][2]string{
		3 * time.Second: {"3 s ago", "3 秒前"}, 90 * time.Second: {"1 min ago", "1 分钟前"}, 47 * time.Hour: {"47 h ago", "47 小时前"},
		41 * 24 * time.Hour: {"41 d ago", "41 天前"}, -5 * time.Minute: {"0 s ago", "0 秒前"},
	}
	for age, want := range tests {
		for i, lang := range []string{"en", "zh"} {
			if got := views.Ago(in(lang), at.Add(-age)); got != want[i] {
				t.Errorf("Ago(%s) in %s = %q, want %q", age, lang, got, want[i])
			}
		}
	}
}

func TestExactNamesTheZone(t *testing.T) { // U72
	for zone, want := range map[string]string{"Asia/Shanghai": "2026-12-01 14:32:05 UTC+8", "Asia/Kolkata": "2026-12-01 12:02:05 UTC+5:30", "America/New_York": "2026-12-01 01:32:05 UTC-5", "UTC": "2026-12-01 06:32:05 UTC"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		ctx := views.WithFrame(context.Background(), views.Frame{Lang: "en", Now: at, Zone: loc})
		if got := views.Exact(ctx, at); got != want {
			t.Errorf("Exact in %s = %q, want %q", zone, got, want)
		}
	}
}

func TestBackPathStaysHere(t *testing.T) {
	const home = "/console/"
	tests := map[string]string{
		"/console/nodes?q=a": "/console/nodes?q=a", "/console/login?next=%2Fconsole%2Fnodes": "/console/login?next=%2Fconsole%2Fnodes",
		"https://evil.example/": home, "//evil.example/console/": home, "/console//evil": home, "/\\evil": home, "javascript:alert(1)": home,
		"/api/v1/nodes": home, "": home, "/console/x\r\nSet-Cookie: a=b": home,
		"/console/../../evil": home, "/console/%2e%2e/evil": home, "/console/./nodes": home, "/console/nodes?q=../x": "/console/nodes?q=../x",
	}
	for path, want := range tests {
		if got := views.BackPath(path); got != want {
			t.Errorf("BackPath(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestPagedShowsTheLastPagePastTheEnd(t *testing.T) { // U14
	for _, tt := range []struct{ page, size, total, want, from, to int }{
		{1, 50, 137, 1, 1, 50}, {3, 50, 137, 3, 101, 137}, {99, 50, 137, 3, 101, 137}, {-4, 50, 137, 1, 1, 50}, {2, 50, 50, 1, 1, 50},
	} {
		p := views.Paged(tt.page, tt.size, tt.total, nil)
		if p.Page != tt.want || p.From() != tt.from || p.To() != tt.to {
			t.Errorf("Paged(%d, %d, %d) = page %d, %d–%d, want page %d, %d–%d", tt.page, tt.size, tt.total, p.Page, p.From(), p.To(), tt.want, tt.from, tt.to)
		}
	}
}

func TestNodeQueryComesBackFromItsAddress(t *testing.T) { // U11
	q := views.NodeQuery{Text: "a&b", States: []string{"off", "held"}, Groups: []string{"-"}, Versions: []string{"2.3.0"}, Enabled: "1", Order: views.OrderWorst, Page: 3, Size: 100}
	path := q.Path()
	if got := parsePath(t, path); got.Path() != path {
		t.Errorf("%s reads as %+v, whose address is %s", path, got, got.Path())
	}
	if got := q.Toggled("state", "off").States; len(got) != 1 || got[0] != "held" {
		t.Errorf("toggling a state off leaves %v", got)
	}
	if got := q.Toggled("group", "x"); got.Page != 0 || len(got.Groups) != 2 || len(q.Groups) != 1 {
		t.Errorf("toggling a group on gives %+v and leaves %+v", got, q)
	}
}
