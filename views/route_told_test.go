package views

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// What a trace keeps as a finished sentence is told in the viewer's language, and words that nobody knows stay as they are (D11, U71).
func TestTracesAreToldInTheViewersLanguage(t *testing.T) {
	for _, c := range []struct{ text, lang, want string }{
		{"sign in first", "zh", "请先登录"},
		{"this needs the permission crm.Customer", "zh", "需要权限 crm.Customer"},
		{"'crm' has no available instance", "zh", "“crm”没有可用的实例"},
		{"'100%s' is broken", "zh", "'100%s' is broken"},
		{"this needs the permission crm.Customer", "en", "this needs the permission crm.Customer"},
	} {
		ctx := WithFrame(context.Background(), Frame{Lang: c.lang})
		if got := (RouteTrace{Node: "crm", Required: "crm.Customer"}).told(ctx, c.text); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.text, c.lang, got, c.want)
		}
	}
}

// A node without instances was asked for one: its box and its row say that, not that nobody asked it.
func TestWayWithoutInstancesSaysSo(t *testing.T) {
	ctx := WithFrame(context.Background(), Frame{Lang: "en"})
	trace := RouteTrace{Node: "crm", Method: "GET", Path: "/x", Account: "lin", Allowed: true, Failed: true, Status: 503, At: time.Unix(0, 0)}
	var b bytes.Buffer
	if err := routeWay(trace).Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "no instance takes requests") || strings.Contains(text, "not asked") {
		t.Errorf("the way of a request without an instance: %s", text)
	}
	if why := trace.why(ctx); why != "no instance takes requests" {
		t.Errorf("why: %q", why)
	}
	if own := (RouteTrace{Own: true, Allowed: true, Failed: true, Node: "crm"}); own.nobodyTook() {
		t.Error("the server's own answer needs no instance")
	}
}

// The log of an instance that has left stays chosen, so that the page does not show another's name above it (U21, U80).
func TestChosenInstanceThatLeftStaysChosen(t *testing.T) {
	ctx := WithFrame(context.Background(), Frame{Lang: "en"})
	var b bytes.Buffer
	m := LogPanelModel{Node: "crm", Instance: "left1", Instances: []LogInstance{{ID: "here1"}, {ID: "here2"}}}
	if err := logTools(m).Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, `<option value="left1" selected>left1</option>`) || strings.Count(text, " selected") != 1 {
		t.Errorf("the chooser: %s", text)
	}
}
