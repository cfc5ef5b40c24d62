package access_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"eruptcloud/app/access"
	"eruptcloud/app/testbed"
)

// write records entries and lets a run of the trail drain them.
func (w *world) write(t *testing.T, entries ...access.Entry) {
	t.Helper()
	for _, e := range entries {
		w.Audit.Record(e)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Audit.Run(over); err != nil {
		t.Fatal(err)
	}
}

func entry(at time.Time, action string) access.Entry {
	return access.Entry{
		At: at, User: "Lin Yu 林", Account: "lin", Address: "10.0.0.9", Action: action, Subject: "order-service", Method: "POST",
		URL: "https://fleet.example.org/console/nodes", Params: json.RawMessage(`{"name":"订单"}`), OK: true, Took: 12 * time.Millisecond, RequestID: "r-1",
	}
}

func TestAuditKeepsEntries(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		want := entry(w.time(), "node.create")
		failed := entry(w.time().Add(time.Second), "node.delete")
		failed.OK, failed.Error, failed.User, failed.Params = false, "no node is called \"x\"", "", nil
		w.write(t, want, failed)
		got, total, err := w.Audit.List(t.Context(), access.AuditFilter{})
		if err != nil || total != 2 || len(got) != 2 {
			t.Fatalf("List = %d of %d, %v", len(got), total, err)
		}
		failed.User = "lin" // the account stands in for a missing name
		got[0].At, got[1].At = got[0].At.UTC(), got[1].At.UTC()
		got[0].ID, got[1].ID = 0, 0 // of the database
		if d := cmp.Diff([]access.Entry{failed, want}, got); d != "" {
			t.Errorf("newest first (-want +got):\n%s", d)
		}
	})
}

func TestAuditList(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		at := w.time()
		var all []access.Entry
		for i := range 250 {
			e := entry(at.Add(time.Duration(i)*time.Second), fmt.Sprintf("action.%03d", i))
			if i%10 == 0 {
				e.Account, e.Subject, e.Error = "yu", "warehouse", "Something BROKE 100%"
			}
			all = append(all, e)
		}
		w.write(t, all...)
		w.db.Client.OperateLog.Create().SetOperateUser("java").SetCreateTime(at.Add(time.Hour)).SetReqParam("_token=abc&x=1").ExecX(t.Context())
		for name, c := range map[string]struct {
			filter      access.AuditFilter
			first, last string
			n, total    int
		}{
			"second page": {access.AuditFilter{Page: 2, PageSize: 50}, "action.200", "action.151", 50, 251},
			"last page":   {access.AuditFilter{Page: 6, PageSize: 50}, "action.000", "action.000", 1, 251},
			"account":     {access.AuditFilter{Account: "yu", PageSize: 500}, "action.240", "action.000", 25, 25},
			"subject":     {access.AuditFilter{Subject: "warehouse", PageSize: 2}, "action.240", "action.230", 2, 25},
			"both":        {access.AuditFilter{Account: "lin", Subject: "warehouse"}, "", "", 0, 0},
			"query":       {access.AuditFilter{Query: "broke 100%", PageSize: 100}, "action.240", "action.000", 25, 25},
			"time": {
				access.AuditFilter{From: at.Add(10 * time.Second), To: at.Add(13 * time.Second)}, "action.012", "action.010", 3, 3,
			},
		} {
			got, total, err := w.Audit.List(t.Context(), c.filter)
			if err != nil || total != c.total || len(got) != c.n {
				t.Errorf("%s: %d of %d, %v; want %d of %d", name, len(got), total, err, c.n, c.total)
				continue
			}
			if c.n > 0 && (got[0].Action != c.first || got[len(got)-1].Action != c.last) {
				t.Errorf("%s: %s … %s, want %s … %s", name, got[0].Action, got[len(got)-1].Action, c.first, c.last)
			}
		}
		java, _, err := w.Audit.List(t.Context(), access.AuditFilter{Query: "java"})
		if err != nil || len(java) != 1 || java[0].Account != "" || !json.Valid(java[0].Params) {
			t.Errorf("an entry of a Java server = %+v, %v", java, err)
		}
	})
}

func TestAuditMasks(t *testing.T) {
	for in, want := range map[string]string{
		``:     ``,
		`null`: `null`,
		`{"pwd":"x","Password":"x","SECRET":"x","token":"x","accessToken":"x","name":"n"}`:         `{"Password":"******","SECRET":"******","accessToken":"******","name":"n","pwd":"******","token":"******"}`,
		`{"a":[{"newPwd2":"x"},{"Access-Token":"x"},{"_token":"x"},{"client_secret":{"deep":1}}]}`: `{"a":[{"newPwd2":"******"},{"Access-Token":"******"},{"_token":"******"},{"client_secret":"******"}]}`,
		`{"config":"{\"db\":{\"password\":\"x\",\"port\":1}}"}`:                                    `{"config":"{\"db\":{\"password\":\"******\",\"port\":1}}"}`,
		`{"id":9007199254740993,"price":1.10}`:                                                     `{"id":9007199254740993,"price":1.10}`,
		`{"password":"","token":null,"tokenCount":3,"passwords":["x"]}`:                            `{"password":"","passwords":"******","token":null,"tokenCount":3}`,
		`{"a":1} {"pwd":"x"}`: `{"omitted":"not JSON"}`,
		`pwd=x`:               `{"omitted":"not JSON"}`,
		`{"a":"` + strings.Repeat("x", 1<<20) + `"}`: `{"omitted":"larger than 1 MiB"}`,
	} {
		if got := access.MaskParams(json.RawMessage(in)); got != want {
			t.Errorf("MaskParams(%.80s) = %.200s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"":                                     "",
		"/erupt-api/x":                         "/erupt-api/x",
		"/x?_token=abc&a=1&%5Ftoken=abc":       "/x?_token=******&a=1&%5Ftoken=******",
		"https://lin:pw@example.org/x?PWD=abc": "https://example.org/x?PWD=******",
		"/x?a=1;token=abc&%zz=secret":          "/x?a=1;token=abc&%zz=******",
		"http://[broken?token=abc":             "http://[broken",
	} {
		if got := access.MaskURL(in); got != want {
			t.Errorf("MaskURL(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAuditStoresNoSecrets(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	e := entry(w.time(), "node.token")
	e.URL, e.Params = "/x?_token=SECRETVALUE", json.RawMessage(`{"pwd":"SECRETVALUE"}`)
	w.write(t, e)
	row := w.db.Client.OperateLog.Query().OnlyX(t.Context())
	if text := fmt.Sprintf("%+v", row); strings.Contains(text, "SECRETVALUE") {
		t.Errorf("the row holds the secret: %s", text)
	}
}

func TestAuditCutsWhatIsTooLong(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		long := strings.Repeat("林", 5000)
		w.write(t, access.Entry{
			User: long, Account: long, Address: long, Action: long, Subject: long, Method: long, URL: "/" + long, Error: long + "\xff", RequestID: long,
			Params: json.RawMessage("{\"a\":\"\xff\"}"),
		})
		got, _, err := w.Audit.List(t.Context(), access.AuditFilter{})
		if err != nil || len(got) != 1 {
			t.Fatalf("List = %d, %v", len(got), err)
		}
		for name, n := range map[string]int{
			"user": len([]rune(got[0].User)) - 255, "action": len([]rune(got[0].Action)) - 255, "method": len([]rune(got[0].Method)) - 64,
			"error": len([]rune(got[0].Error)) - 4000, "subject": len([]rune(got[0].Subject)) - 255,
		} {
			if n != 0 {
				t.Errorf("%s is %d characters off its limit", name, n)
			}
		}
		if !got[0].At.Equal(w.time()) {
			t.Errorf("an entry without time got %s, want %s", got[0].At, w.time())
		}
	})
}

func TestAuditNeverBlocks(t *testing.T) {
	reg := prometheus.NewRegistry()
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Metrics = reg })
	access.HurryAudit(w.Audit, time.Minute, time.Second) // a busy machine may take longer than a server that ends
	for i := range access.AuditQueue + 7 {
		w.Audit.Record(access.Entry{Action: fmt.Sprint(i)})
	}
	if got := gathered(t, reg, "ec_audit_dropped_total", "")[""]; got != 7 {
		t.Errorf("%v entries counted as dropped, want 7", got)
	}
	w.write(t)
	if n := w.db.Client.OperateLog.Query().CountX(t.Context()); n != access.AuditQueue {
		t.Errorf("%d entries written at the end, want %d", n, access.AuditQueue)
	}
}

func TestAuditWritesWhileItRuns(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Access.Run(ctx) }()
		w.Audit.Record(entry(w.time(), "live"))
		eventually(t, "the entry is written", func() bool {
			n, err := w.db.Client.OperateLog.Query().Count(t.Context())
			return err == nil && n == 1
		})
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v at its context's end", err)
		}
	})
}

func TestAuditSurvivesAnOutage(t *testing.T) {
	reg := prometheus.NewRegistry()
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Metrics = reg })
	access.HurryAudit(w.Audit, 100*time.Millisecond, time.Millisecond)
	exec := func(sql string) {
		t.Helper()
		if _, err := w.db.SQL.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TRIGGER refuse BEFORE INSERT ON e_upms_operate_log WHEN NEW.api_name = 'bad' BEGIN SELECT RAISE(ABORT, 'refused'); END`)
	w.write(t, entry(w.time(), "one"), entry(w.time(), "bad"), entry(w.time(), "two"))
	got, _, err := w.Audit.List(t.Context(), access.AuditFilter{})
	if err != nil || len(got) != 2 || slices.ContainsFunc(got, func(e access.Entry) bool { return e.Action == "bad" }) {
		t.Errorf("List = %+v, %v; want the two that the database takes", got, err)
	}
	if n := gathered(t, reg, "ec_audit_dropped_total", "")[""]; n != 1 {
		t.Errorf("%v entries counted as dropped, want 1", n)
	}
}

func TestAuditGivesUpAtTheEnd(t *testing.T) {
	reg := prometheus.NewRegistry()
	db := testbed.MySQL(t)
	w := newWorld(t, db, func(o *access.Options) { o.Metrics = reg })
	access.HurryAudit(w.Audit, 50*time.Millisecond, time.Millisecond)
	lock, err := db.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(t.Context(), "LOCK TABLES e_upms_operate_log WRITE"); err != nil {
		t.Fatal(err)
	}
	w.write(t, entry(w.time(), "one"), entry(w.time(), "two"))
	if n := gathered(t, reg, "ec_audit_dropped_total", "")[""]; n != 2 {
		t.Errorf("%v entries counted as dropped, want 2", n)
	}
	if _, err := lock.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); ; {
		if ok() {
			return
		}
		select {
		case <-end:
			t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}
