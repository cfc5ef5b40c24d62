package proxy

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestLog(t *testing.T) { // A28, erupt-wire 2.9
	type asked struct{ path, query string }
	line := func(n int) string { return `{"num":` + strconv.Itoa(n) + `,"content":"line ` + strconv.Itoa(n) + `"}` }
	list := func(from, to int) string {
		var all []string
		for i := from; i <= to; i++ {
			all = append(all, line(i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	five := int64(5)
	tests := map[string]struct {
		call   LogCall
		bodies map[string]string // by path; absent: 404
		want   []int64
		first  asked
		kind   Kind
	}{
		"the end of the log": {LogCall{Size: 3}, map[string]string{"/erupt-api/tool/erupt-log": list(1, 1000)}, []int64{998, 999, 1000},
			asked{"/erupt-api/tool/erupt-log", "size=1000"}, ""},
		"going on": {LogCall{Size: 500, Offset: &five}, map[string]string{"/erupt-api/tool/erupt-log": list(5, 7)}, []int64{5, 6, 7},
			asked{"/erupt-api/tool/erupt-log", "size=500&offset=5"}, ""},
		"one more than asked": {LogCall{Size: 2, Offset: &five}, map[string]string{"/erupt-api/tool/erupt-log": list(5, 7)}, []int64{5, 6},
			asked{"/erupt-api/tool/erupt-log", "size=2&offset=5"}, ""},
		"other path": {LogCall{}, map[string]string{"/erupt-api/tool/log": list(1, 2)}, []int64{1, 2},
			asked{"/erupt-api/tool/erupt-log", "size=2000"}, ""},
		"nowhere":      {LogCall{}, nil, nil, asked{"/erupt-api/tool/erupt-log", "size=2000"}, NotFound},
		"nothing yet":  {LogCall{Size: 9}, map[string]string{"/erupt-api/tool/erupt-log": "[]"}, nil, asked{"/erupt-api/tool/erupt-log", "size=1000"}, ""},
		"null":         {LogCall{Size: 9}, map[string]string{"/erupt-api/tool/erupt-log": "null"}, nil, asked{"/erupt-api/tool/erupt-log", "size=1000"}, ""},
		"no JSON":      {LogCall{Size: 9}, map[string]string{"/erupt-api/tool/erupt-log": "<html>"}, nil, asked{"/erupt-api/tool/erupt-log", "size=1000"}, UpstreamUnreachable},
		"object":       {LogCall{Size: 9}, map[string]string{"/erupt-api/tool/erupt-log": `{"status":500}`}, nil, asked{"/erupt-api/tool/erupt-log", "size=1000"}, UpstreamUnreachable},
		"cut":          {LogCall{Size: 9}, map[string]string{"/erupt-api/tool/erupt-log": `[` + line(1) + `,{"num`}, []int64{1}, asked{"/erupt-api/tool/erupt-log", "size=1000"}, ""},
		"size too big": {LogCall{Size: 1 << 30}, map[string]string{"/erupt-api/tool/erupt-log": list(1, 2500)}, nil, asked{"/erupt-api/tool/erupt-log", "size=2000"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			node := newFakeNode(t, func(w http.ResponseWriter, r *http.Request) {
				body, ok := tt.bodies[r.URL.Path]
				if !ok {
					w.WriteHeader(404)
				}
				_, _ = io.WriteString(w, body)
			})
			rig := newRig(t)
			rig.dir.set("shop", node.URL)
			tt.call.Node, tt.call.Token = "shop", sessionToken
			lines, err := rig.proxy.Caller().Log(t.Context(), tt.call)
			if tt.kind != "" && (err == nil || KindOf(err) != tt.kind) || tt.kind == "" && err != nil {
				t.Fatalf("%v, want %q", err, tt.kind)
			}
			var got []int64
			for _, l := range lines {
				got = append(got, l.Num)
			}
			if name == "size too big" {
				if len(got) != maxLogLines || got[maxLogLines-1] != 2500 {
					t.Errorf("%d lines up to %d", len(got), got[len(got)-1])
				}
			} else if !slices.Equal(got, tt.want) {
				t.Errorf("lines %v, want %v", got, tt.want)
			}
			first := node.requests()[0]
			if first.Target != tt.first.path+"?"+tt.first.query {
				t.Errorf("asked %s, want %+v", first.Target, tt.first)
			}
			if first.Header.Get("Access-Token") != accessToken || first.Header.Get("token") != delegatedToken || first.Header.Get("user") != "" || first.Header.Get("erupt") != "" {
				t.Errorf("headers %v", first.Header)
			}
			if w := rig.gate.last(); !w.Log || w.Node != "shop" || w.Erupt != "" {
				t.Errorf("wish %+v", w)
			}
		})
	}
}

func TestLogOfOneInstance(t *testing.T) {
	a := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[{"num":1,"content":"a"}]`) })
	b := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	rig := newRig(t)
	rig.dir.set("shop", b.URL, a.URL)
	c := rig.proxy.Caller()
	if lines, err := c.Log(t.Context(), LogCall{Node: "shop", Location: a.URL, Token: sessionToken}); err != nil || len(lines) != 1 {
		t.Errorf("%v, %v", lines, err)
	}
	if _, err := c.Log(t.Context(), LogCall{Node: "shop", Token: sessionToken}); err == nil || !strings.Contains(err.Error(), "status 500") {
		t.Errorf("a refusal: %v", err)
	}
	if _, err := c.Log(t.Context(), LogCall{Node: "ghost", Token: sessionToken}); KindOf(err) != NodeNotReady {
		t.Errorf("an unknown node: %v", err)
	}
	if _, err := c.Log(t.Context(), LogCall{Node: "shop"}); KindOf(err) != Unauthenticated {
		t.Errorf("without a session: %v", err)
	}
	rig.proxy.o.Directory = located{rig.dir, a.URL} // held or draining: not among those routed to
	rig.dir.set("shop")
	if lines, err := c.Log(t.Context(), LogCall{Node: "shop", Location: a.URL, Token: sessionToken}); err != nil || len(lines) != 1 {
		t.Errorf("the log of an instance that is held: %v, %v", lines, err)
	}
}

type located struct {
	*fakeDirectory
	location string
}

func (l located) At(node, location string) (Target, error) {
	if location != l.location {
		return Target{}, Fail(NodeNotReady, "not here")
	}
	return Target{Node: node, Upstreams: []Upstream{{Location: location, Token: accessToken}}}, nil
}

func TestReadLogIsBounded(t *testing.T) { // S82
	long := strings.Repeat("x", 5<<20)
	lines, err := readLog(strings.NewReader(`[{"num":1,"content":"`+long+`"},{"num":2,"content":"short"}]`), 10, true)
	if err != nil || len(lines) != 2 || len(lines[0].Content) != maxLogBytes/2 || lines[0].Size != 5<<20 || lines[1].Content != "short" {
		t.Errorf("a line of 5 MB: %d lines, %v", len(lines), err)
	}
	medium := `{"num":1,"content":"` + strings.Repeat("y", 900<<10) + `"}`
	all := "[" + strings.Join([]string{medium, medium, medium, medium}, ",") + "]"
	if lines, err := readLog(strings.NewReader(all), 10, true); err != nil || len(lines) != 2 {
		t.Errorf("the end of 3.6 MB: %d lines, %v", len(lines), err)
	}
	if lines, err := readLog(strings.NewReader(all), 10, false); err != nil || len(lines) != 2 {
		t.Errorf("the beginning of 3.6 MB: %d lines, %v", len(lines), err)
	}
	wide := `[{"num":1,"content":"` + strings.Repeat("盘", maxLogBytes) + `"}]`
	if lines, err := readLog(strings.NewReader(wide), 10, true); err != nil || strings.ContainsRune(lines[0].Content, '\ufffd') || !strings.HasSuffix(lines[0].Content, "盘") {
		t.Errorf("a line is cut inside a character: %v", err)
	}
}

func TestLogKeepsBytesOfOtherCharacterSets(t *testing.T) { // S98
	gbk := "\xb6\xa9\xb5\xa5" // 订单
	tests := map[string]struct {
		kind, body, want string
	}{
		"UTF-8":                     {"application/json", `"订单 \u8ba2 \ud83d\ude80 \"x\" \/"`, `订单 订 🚀 "x" /`},
		"GBK without a name":        {"application/json", `"` + gbk + ` a\n\tb\u8ba2\ud83d\ude80\\"`, gbk + " a\n\tb订🚀\\"},
		"GBK by name":               {"application/json;charset=GBK", `"` + gbk + `"`, "订单"},
		"Latin-1 without a name":    {"application/json", "\"Z\xfcrich\"", "Z\xfcrich"},
		"Latin-1 by name":           {"text/plain; charset=iso-8859-1", "\"Z\xfcrich\"", "Zürich"},
		"a name that is none":       {"text/plain; charset=klingon", `"订"`, "订"},
		"UTF-8 that is none":        {"text/plain; charset=utf-8", "\"a\xff\"", "a\xff"},
		"half a pair of surrogates": {"application/json", `"\ud83d x"`, "\ufffd x"},
		"no text":                   {"application/json", `null`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			node := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.kind)
				_, _ = io.WriteString(w, `[{"num":1,"content":`+tt.body+`}]`)
			})
			rig := newRig(t)
			rig.dir.set("shop", node.URL)
			lines, err := rig.proxy.Caller().Log(t.Context(), LogCall{Node: "shop", Token: sessionToken})
			if err != nil || len(lines) != 1 || lines[0].Content != tt.want {
				t.Errorf("%s as %s: %+v, %v; want %q", tt.body, tt.kind, lines, err, tt.want)
			}
		})
	}
}
