package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// malformed are bodies that are not what an endpoint expects. %s is its own example where one is needed.
type malformed struct {
	name, kind string
	body       func(example string) string
}

func fixed(body string) func(string) string { return func(string) string { return body } }

const (
	jsonKind = "application/json"
	formKind = "application/x-www-form-urlencoded"
)

// badDocuments are for endpoints that read JSON.
var badDocuments = []malformed{
	{"nothing", jsonKind, fixed("")},
	{"blanks", jsonKind, fixed(" \r\n\t ")},
	{"half of it", jsonKind, func(e string) string { return e[:len(e)/2] }},
	{"all but the end", jsonKind, func(e string) string { return e[:len(e)-1] }},
	{"more behind it", jsonKind, func(e string) string { return e + "{}" }},
	{"garbage behind it", jsonKind, func(e string) string { return e + "\x00" }},
	{"null", jsonKind, fixed("null")},
	{"a list", jsonKind, func(e string) string { return "[" + e + "]" }},
	{"a text", jsonKind, fixed(`"x"`)},
	{"a number", jsonKind, fixed("1e999999")},
	{"true", jsonKind, fixed("true")},
	{"other types", jsonKind, retyped},
	{"a key twice", jsonKind, func(e string) string { return e[:len(e)-1] + "," + e[1:] }},
	{"a key twice, in another case", jsonKind, func(e string) string { return e[:len(e)-1] + "," + strings.ToUpper(e[1:2]) + upperKey(e) }},
	{"a byte order mark twice", jsonKind, func(e string) string { return "\xef\xbb\xbf\xef\xbb\xbf" + e }},
	{"UTF-16", jsonKind, func(e string) string { return "\xff\xfe" + strings.Join(strings.Split(e, ""), "\x00") + "\x00" }},
	{"no UTF-8", jsonKind, func(e string) string { return strings.Replace(e, `":"`, "\":\"\xff\xfe", 1) }},
	{"NUL in a text", jsonKind, func(e string) string { return strings.Replace(e, `":"`, "\":\"\x00", 1) }},
	{"escaped NUL", jsonKind, func(e string) string { return strings.Replace(e, `":"`, `":"\u0000`, 1) }},
	{"comments", jsonKind, func(e string) string { return "/* x */" + e }},
	{"single quotes", jsonKind, func(e string) string { return strings.ReplaceAll(e, `"`, `'`) }},
	{"NaN", jsonKind, fixed(`{"nodeName":NaN}`)},
	{"deep lists", jsonKind, fixed(strings.Repeat("[", 30_000))},
	{"deep objects", jsonKind, fixed(strings.Repeat(`{"a":`, 12_000) + "1" + strings.Repeat("}", 12_000))},
	{"a form", formKind, fixed("nodeName=intruder&name=x")},
	{"a form that says it is JSON", jsonKind, fixed("nodeName=intruder&name=x")},
	{"parts without end", "multipart/form-data; boundary=x", fixed("--x\r\nContent-Disposition: form-data; name=\"nodeName\"\r\n\r\nintruder\r\n")},
	{"XML", "application/xml", fixed(`<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>`)},
	{"a name of a mebibyte", jsonKind, func(e string) string { return strings.Replace(e, `":"`, `":"`+strings.Repeat("n", 1<<20), 1) }},
	{"a key of a mebibyte", jsonKind, fixed(`{"` + strings.Repeat("k", 1<<20) + `":1}`)},
}

// badForms are for endpoints that read forms.
var badForms = []malformed{
	{"nothing", formKind, fixed("")},
	{"nothing, of no kind", "", fixed("")},
	{"JSON", jsonKind, fixed(`{"name":"intruder","display":"x","enabled":"1"}`)},
	{"JSON that says it is a form", formKind, fixed(`{"name":"intruder","display":"x"}`)},
	{"bad encoding", formKind, func(e string) string { return e + "&x=%zz" }},
	{"bad encoding first", formKind, func(e string) string { return "%zz=1&" + e }},
	{"semicolons", formKind, func(e string) string { return strings.ReplaceAll(e, "&", ";") }},
	{"no UTF-8", formKind, func(e string) string { return strings.ReplaceAll(e, "=", "=%ff%fe") }},
	{"NUL", formKind, func(e string) string { return strings.ReplaceAll(e, "=", "=%00") }},
	{"parts without end", "multipart/form-data; boundary=x", fixed("--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nintruder\r\n")},
	{"parts without boundary", "multipart/form-data", fixed("--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nintruder\r\n--x--\r\n")},
	{"parts of another boundary", "multipart/form-data; boundary=y", fixed("--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nintruder\r\n--x--\r\n")},
	{"a kind that is none", "form", func(e string) string { return e }},
	{"plain text", "text/plain", func(e string) string { return e }}, // what a form of another site can send without asking
	{"XML", "application/xml", fixed(`<a/>`)},
	{"ten thousand fields without a name", formKind, fixed(strings.Repeat("=1&", 10_000))},
}

// retyped makes a number of the first text, and a text of everything else.
func retyped(e string) string {
	i := strings.Index(e, `:"`)
	if i < 0 {
		return strings.NewReplacer("true", `"true"`, "false", `"false"`).Replace(e)
	}
	end := strings.IndexByte(e[i+2:], '"')
	return e[:i+1] + "12345" + e[i+2+end+1:]
}

// upperKey is the rest of an example with its first key in capitals.
func upperKey(e string) string {
	end := strings.IndexByte(e[2:], '"')
	return strings.ToUpper(e[2:2+end]) + e[2+end:]
}

// F18: what cannot be read is refused, as an admin whose request would else be carried out.
func malformedDocuments(t *testing.T, a *arena) {
	for _, e := range endpoints(t) {
		if e.json == "" || e.surface == onProxy {
			continue // a node reads its own documents
		}
		t.Run(e.method+" "+e.pattern, func(t *testing.T) {
			a := a.at(t)
			a.unchanged("a malformed document", func() {
				for _, m := range badDocuments {
					a.malformed(e, m, e.json, false)
				}
			})
			a.untouched("a malformed document")
		})
	}
}

func malformedForms(t *testing.T, a *arena) {
	for _, e := range endpoints(t) {
		if e.form == "" {
			continue
		}
		t.Run(e.method+" "+e.pattern, func(t *testing.T) {
			a := a.at(t)
			a.unchanged("a malformed form", func() {
				for i, m := range badForms {
					a.malformed(e, m, e.form, i%5 == 0)
				}
			})
			for _, s := range a.reached() {
				// What a form of this page may hold, and which rows it means, is asked; nothing is written.
				if s.Method != http.MethodGet && s.Path != "/erupt-api/data/table/Secret" {
					t.Errorf("the node was asked %s %s", s.Method, s.Path)
				}
			}
			a.forget()
		})
	}
}

func (a *arena) malformed(e endpoint, m malformed, example string, page bool) {
	a.t.Helper()
	s := e.shot(admin)
	if !page { // a page costs more, and says the same
		s.header.Del("Accept")
	}
	s.body, s.kind = []byte(m.body(example)), m.kind
	if string(s.body) == example && (s.kind == jsonKind || s.kind == formKind) {
		return // this one cannot be spoilt in that way
	}
	if len(s.body) == 0 && optional(e) {
		return
	}
	if strings.HasPrefix(e.pattern, "/console/login") {
		s.who = nobody
	}
	g := a.fire(s)
	if g.status == http.StatusTooManyRequests && strings.Contains(e.pattern, "login") {
		return // a limit is a refusal, too
	}
	want := []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}
	switch {
	case strings.HasPrefix(e.pattern, "/erupt-api/login") && g.status == http.StatusOK:
		if !strings.Contains(string(g.body), `"pass":false`) {
			a.t.Errorf("%s: logged in: %s", m.name, digest(g.body))
		}
		return
	case slices.Contains(ownLocal, e.pattern) && g.status == http.StatusOK: // erupt's commands say it in their own envelope
		if !strings.Contains(string(g.body), `"success":false`) {
			a.t.Errorf("%s: %s", m.name, digest(g.body))
		}
		return
	case strings.HasPrefix(e.pattern, "/console/login"), strings.HasSuffix(e.pattern, "register-node"), strings.HasSuffix(e.pattern, "remove-instance-node"):
		want = append(want, http.StatusUnauthorized, http.StatusNotFound)
	case e.pattern == "/console/look" && g.status == http.StatusSeeOther: // only the browser's own cookies
		return
	case e.surface == onConsole:
		want = append(want, http.StatusConflict, http.StatusNotFound)
	}
	if !slices.Contains(want, g.status) {
		a.t.Errorf("%s: %s %s = %d %s, want a refusal", m.name, s.method, s.target, g.status, digest(g.body))
		return
	}
	if problem := misformed(s, g); problem != "" {
		a.t.Errorf("%s: %s %s = %d: %s: %s", m.name, s.method, s.target, g.status, problem, digest(g.body))
	}
}

// optional reports whether an endpoint can do without a body.
func optional(e endpoint) bool {
	return strings.HasSuffix(e.pattern, "/instances/:instanceId/hold") || e.pattern == "/console/look"
}

// F18, erupt-wire 10.4: each stated limit holds, and the server's memory with it.
func oversized(t *testing.T, a *arena) {
	memory := watchMemory(t, a.cmd.Process.Pid)
	names := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("E%d", i)
		}
		return out
	}
	register := func(change func(map[string]any)) func() (int, string) {
		return func() (int, string) {
			r := registration("orders", a.access["orders"], a.orders.URL())
			r["instanceId"] = "EVIL{n}"
			change(r)
			return a.register(r)
		}
	}
	set := func(key string, value any) func() (int, string) {
		return register(func(r map[string]any) { r[key] = value })
	}
	long := strings.Repeat("n", 256)
	tests := map[string]func() (int, string){
		"a registration of a mebibyte": set("version", strings.Repeat("v", 1<<20)),
		"17 addresses": set("nodeAddress", slices.Collect(func(yield func(string) bool) {
			for i := range 17 {
				if !yield(fmt.Sprintf("http://127.0.0.1:%d", 20000+i)) {
					return
				}
			}
		})),
		"5,001 erupts":                   set("erupts", names(5001)),
		"1,001 modules":                  set("eruptModules", names(1001)),
		"an erupt of 256 characters":     set("erupts", []string{long}),
		"a module of 256 characters":     set("eruptModules", []string{long}),
		"a version of 256 characters":    set("version", long),
		"an instance of 256 characters":  set("instanceId", long),
		"a node of 256 characters":       set("nodeName", long),
		"a token of 256 characters":      set("accessToken", long),
		"64 KiB of resources":            set("resources", map[string][]string{"x": names(12_000)}),
		"256 KiB of unknown fields":      set("unknown", strings.Repeat("u", 300<<10)),
		"an address of 256 characters":   set("nodeAddress", []string{"http://127.0.0.1:1/" + long}),
		"65 locations leaving":           a.leaving("locations=" + strings.Repeat("http://127.0.0.1:1,", 65)),
		"64 KiB of a leaving node":       a.leaving("x=" + strings.Repeat("x", 64<<10)),
		"a page size of 501":             a.reading("/api/v1/nodes?pageSize=501"),
		"a page size beyond all numbers": a.reading("/api/v1/nodes?pageSize=99999999999999999999"),
		"a negative page":                a.reading("/api/v1/users?page=-1"),
		"page zero":                      a.reading("/api/v1/nodes/orders/instances?page=0"),
		"a page that is no number":       a.reading("/api/v1/nodes?page=1e3"),
		"an address of 17 KiB":           a.reading("/api/v1/nodes?q=" + strings.Repeat("q", 17<<10)),
	}
	a.unchanged("too much", func() {
		for name, do := range tests {
			if status, body := do(); status != http.StatusRequestEntityTooLarge && status != http.StatusBadRequest && status != http.StatusNotFound && status != http.StatusUnauthorized {
				t.Errorf("%s = %d %s, want a refusal", name, status, body)
			}
		}
		for _, e := range endpoints(t) {
			if e.json == "" && e.form == "" || e.surface == onProxy {
				continue
			}
			a.tooMuch(e)
		}
	})
	a.untouched("too much")
	if mib := memory.end(); mib > 192 {
		t.Errorf("resident memory grew by %d MiB", mib)
	} else {
		t.Logf("resident memory grew by %d MiB", mib)
	}
}

// tooMuch sends a body of 33 MiB, more than anything but a node may get.
func (a *arena) tooMuch(e endpoint) {
	a.t.Helper()
	s := e.shot(admin)
	if e.pattern == "/console/login" || e.pattern == "/erupt-api/login" {
		s.who = nobody
	}
	fill := strings.Repeat("x", 33<<20)
	if e.form != "" {
		s.body = []byte(e.form + "&filler=" + fill)
	} else {
		s.body = []byte(e.json[:len(e.json)-1] + `,"filler":"` + fill + `"}`)
	}
	a.refused(s, a.fire(s), http.StatusRequestEntityTooLarge, http.StatusTooManyRequests)
}

func (a *arena) leaving(form string) func() (int, string) {
	return func() (int, string) {
		g := a.fire(shot{
			method: http.MethodPost, target: "/erupt-cloud-api/remove-instance-node", kind: formKind,
			body: []byte("nodeName=orders&accessToken=" + a.access["orders"] + "&instanceId=EVIL{n}&" + form),
		})
		return g.status, string(g.body)
	}
}

func (a *arena) reading(target string) func() (int, string) {
	return func() (int, string) {
		g := a.fire(shot{method: http.MethodGet, target: target, who: admin})
		return g.status, digest(g.body)
	}
}
