package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	javaName = "warehouse"
	// Two instances of one node differ after the first write unless they share a database.
	sharedH2 = "jdbc:h2:file:%s;MODE=MySQL;AUTO_SERVER=TRUE"
)

// javaFleet is a server with two instances of one real Java node, and an admin's browser.
type javaFleet struct {
	*server
	one, two *javaNode
	tab      *tab
}

func TestJavaNode(t *testing.T) { // F15
	s := serve(t, []string{"EC_CLOUD_SERVER_NODE_SURVIVE_CHECK_TIME=2s"})
	f := &javaFleet{server: s, tab: browse(t, s)}
	token := s.node(javaName)
	f.tab.login("erupt", adminPassword)
	f.tab.open("/console/nodes/" + javaName)
	f.tab.eval("window.sinceThen = true")
	db := strings.Replace(sharedH2, "%s", filepath.Join(t.TempDir(), "db"), 1)
	f.one = java(t, s, javaName, token, db)
	f.two = java(t, s, javaName, token, db)
	// Each step goes on from the one before.
	for _, step := range []func(*testing.T, *javaFleet){
		javaLive, javaEdit, javaAddAndDelete, javaUpload, javaConfig, javaLog, javaDenied, javaLeave,
	} {
		step(t, f)
	}
}

func javaLive(t *testing.T, f *javaFleet) {
	got := f.awaitInstances(javaName, 2, 20*time.Second)
	for _, in := range got {
		if in.Version != "1.12.23" || in.Location != f.one.URL && in.Location != f.two.URL {
			t.Errorf("instance %+v, want version 1.12.23 at %s or %s", in, f.one.URL, f.two.URL)
		}
	}
	f.tab.until("the open page does not show both", `document.querySelectorAll("[data-testid=instance-row][data-state=up]").length === 2`)
	f.tab.says("[data-testid=instance-table]", f.one.URL)
	f.tab.says("[data-testid=instance-table]", f.two.URL)
	f.tab.says("[data-testid=pages]", "Customer")
	f.tab.says("#node-tabs", "17")
	if f.tab.eval("window.sinceThen") != "true" {
		t.Error("the page was loaded anew, want it live")
	}
	f.tab.shoot("node")
	f.tab.open("/console/pages")
	f.tab.shows(`[data-testid=page-link][title="warehouse.Customer"]`)
	f.tab.shoot("menu")
}

func javaEdit(t *testing.T, f *javaFleet) {
	before := f.one.row("customer", "1")
	if before == nil {
		t.Fatal("the node has no customer 1")
	}
	b := f.tab
	b.open("/console/pages/warehouse.Customer")
	b.says("[data-testid=page-count]", "119") // one of 120 fails the page's own condition
	b.fits("the table")
	b.shoot("table")
	b.click(`[data-testid=view-row][data-id="1"] a`)
	b.fill(`#record-form [name="f.name"]`, "Ada & Söhne 有限公司")
	b.click(`#record-form [name="f.level"][value=VIP]`)
	b.shoot("record")
	b.click("[data-testid=record-save]")
	b.until("the drawer stays open", `!document.querySelector("#record")`)
	b.says(`[data-testid=view-row][data-id="1"]`, "Ada & Söhne 有限公司")
	for _, n := range []*javaNode{f.one, f.two} {
		after := n.row("customer", "1")
		if show(after["name"]) != "Ada & Söhne 有限公司" || show(after["level"]) != "VIP" {
			t.Errorf("the node's row is %s, %s; want what was typed", show(after["name"]), show(after["level"]))
		}
		if got := changed(before, after); !slices.Equal(got, []string{"level", "name"}) {
			t.Errorf("columns %v changed, want level and name alone", got)
		}
	}
}

func javaAddAndDelete(t *testing.T, f *javaFleet) {
	b := f.tab
	b.open("/console/pages/warehouse.Customer")
	b.click("[data-testid=page-new]")
	b.fill(`#record-form [name="f.name"]`, "Zoë, new here")
	b.fill(`#record-form [name="f.code"]`, "C-9001")
	b.click(`#record-form [name="f.level"][value=STD]`)
	b.click("[data-testid=record-save]")
	b.until("the drawer stays open", `!document.querySelector("#record")`)
	b.says("[data-testid=page-count]", "120")
	rows := f.one.rows("customer")
	i := slices.IndexFunc(rows, func(r map[string]*string) bool { return show(r["code"]) == "C-9001" })
	if i < 0 || show(rows[i]["name"]) != "Zoë, new here" || show(rows[i]["level"]) != "STD" {
		t.Fatalf("%d rows, and not the new one as it was typed", len(rows))
	}
	id := show(rows[i]["id"])
	b.open("/console/pages/warehouse.Customer?" + url.Values{"q.code": {"C-9001"}}.Encode())
	b.click(`[data-testid=view-row][data-id="` + id + `"] [data-row]`)
	b.click("[data-testid=page-delete]")
	b.says("[data-testid=page-confirm]", "Zoë, new here")
	b.shoot("delete")
	if f.one.row("customer", id) == nil {
		t.Fatal("the first step deleted already")
	}
	b.click("[data-testid=page-delete-sure]")
	b.shows("[data-testid=page-empty]")
	if f.one.row("customer", id) != nil {
		t.Error("the row is still in the node's database")
	}
}

func javaUpload(t *testing.T, f *javaFleet) {
	const content = "how to hold a hammer\n"
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "manual.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(part, content); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	resp, raw := f.call(http.MethodPost, "/erupt-api/file/upload/warehouse.Widget/manual", &body, http.Header{
		"erupt": {"warehouse.Widget"}, "Content-Type": {form.FormDataContentType()},
	})
	var out struct{ Status, Data string }
	if err := json.Unmarshal(raw, &out); resp.StatusCode != http.StatusOK || err != nil || out.Status != "SUCCESS" || !strings.HasSuffix(out.Data, ".txt") {
		t.Fatalf("upload = %d %s, want the file's path", resp.StatusCode, raw)
	}
	if !strings.HasPrefix(out.Data, "/") {
		t.Fatalf("the path is %q", out.Data)
	}
	// Attachments lie on the disk of the instance that took them, so one of the two knows it; ours are two directories.
	found := false
	for range 4 {
		resp, raw = f.call(http.MethodGet, "/erupt-attachment"+out.Data+"?_node="+javaName, nil, nil)
		found = found || resp.StatusCode == http.StatusOK && string(raw) == content
	}
	if !found {
		t.Errorf("reading %s back = %d %q, want the content", out.Data, resp.StatusCode, raw)
	}
}

func javaConfig(t *testing.T, f *javaFleet) {
	b := f.tab
	b.open("/console/nodes/" + javaName + "/config")
	b.fill("#config-text", `{"greeting": "你好", "limit": 9007199254740993}`)
	b.click("[data-testid=review]")
	b.fill("[data-testid=publish] [name=note]", "first words")
	b.shoot("review")
	b.click("[data-testid=publish-now]")
	b.at("/console/nodes/" + javaName + "/config")
	b.says("[data-testid=history]", "first words")
	for _, n := range []*javaNode{f.one, f.two} {
		got := n.get("/test/config", nil)
		if !strings.Contains(got, "你好") || !strings.Contains(got, "9007199254740993") {
			t.Errorf("the node reads %q, want the configuration as it was published", got)
		}
	}
}

func javaLog(t *testing.T, f *javaFleet) {
	var lines []struct {
		Num     int64
		Content string
	}
	f.must(http.MethodGet, "/erupt-cloud-api/erupt-cloud-node-log?"+url.Values{"nodeName": {javaName}, "instance": {f.one.URL}, "size": {"1000"}}.Encode(), nil, http.StatusOK, &lines)
	if len(lines) == 0 {
		t.Fatal("the log is empty")
	}
	b := f.tab
	b.open("/console/nodes/" + javaName)
	b.click("[data-testid=open-log]")
	b.shows("[data-testid=log-lines] li[data-num]")
	b.says("[data-log-status]", "Following")
	b.shoot("log")
	b.open("/console/nodes") // an open log asks the node every two seconds
}

func javaDenied(t *testing.T, f *javaFleet) {
	f.hires("guest", "Guest", "a-guest-of-the-house", nil)
	guest := *f.server
	guest.Token = f.login("guest", "a-guest-of-the-house")
	f.one.forget()
	f.two.forget()
	header := http.Header{"erupt": {"warehouse.Customer"}, "Content-Type": {"application/json"}}
	for _, path := range []string{"/erupt-api/data/table/warehouse.Customer", "/erupt-api/data/modify/warehouse.Customer/delete"} {
		if resp, raw := guest.call(http.MethodPost, path, tableQuery(), header); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s without the menu = %d %s, want 403", path, resp.StatusCode, raw)
		}
	}
	b := browse(t, f.server)
	b.expect("status of 403")
	b.login("guest", "a-guest-of-the-house")
	b.open("/console/pages/warehouse.Customer")
	b.says("main", "warehouse.Customer") // which right is missing
	b.until("no refusal", `document.querySelector("[data-testid=failure]")?.dataset.code === "forbidden"`)
	b.shoot("forbidden")
	if seen := append(f.one.seen(), f.two.seen()...); len(seen) > 0 {
		t.Errorf("the node saw %v, want nothing", seen)
	}
}

func javaLeave(t *testing.T, f *javaFleet) {
	f.tab.until("not both in the list", `document.querySelector("[data-node=warehouse]")?.innerText.includes("2/2")`)
	_ = f.one.cmd.Process.Signal(syscall.SIGTERM)
	left := f.awaitInstances(javaName, 1, 15*time.Second)
	if left[0].Location != f.two.URL {
		t.Errorf("%s is left, want %s", left[0].Location, f.two.URL)
	}
	f.tab.until("the list still counts two", `document.querySelector("[data-node=warehouse]")?.innerText.includes("1/1")`)
	f.two.kill() // says nothing to anybody: the survival check must find out
	f.awaitInstances(javaName, 0, 15*time.Second)
	f.tab.until("the list does not show it offline", `document.querySelector("[data-node=warehouse]")?.dataset.state === "down"`)
	f.tab.shoot("gone")
}
