package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// The conformance list of erupt-wire 11, items 5 and 7.

// TestWire11_05BuildRewriting: of each model on record, and of one with everything in it, names get their node and all else stays.
func TestWire11_05BuildRewriting(t *testing.T) {
	models := map[string]string{"everything": `{"novel":[1.0,-0,1e400,9007199254740993,"\u003c"],"eruptModel":{"eruptName":"A","later":{"deep":[null]},"eruptJson":{"drills":[{"code":"1","link":{"linkErupt":"B","joinColumn":"x"}},{"link":null},null],
"rowOperation":[{"code":"o","eruptClass":"F"}],"power":{"comment":true,"add":true}},"eruptFieldModels":[{"fieldReturnName":"C"}]},
"tabErupts":{"t":{"eruptModel":{"eruptName":"C","eruptJson":{"power":{"comment":true},"drills":[{"link":{"linkErupt":"stays"}}]}},"power":{"comment":true,"edit":false},"tabErupts":{"deep":{"eruptModel":{"eruptName":"stays"}}}}},
"combineErupts":{"c":{"eruptName":"D"}},"operationErupts":{"o":{"eruptName":"F"},"-17":null},"power":{"comment":true,"export":false}}`}
	for _, r := range recordings(t, "erupt-1.12", "erupt-2.0") {
		if r.Said != nil && r.Said.Status == 200 && strings.HasPrefix(r.Node.Target, "/erupt-api/build/") && strings.Count(r.Node.Target, "/") == 3 && !r.Said.Cut {
			models[r.Name] = r.Said.bytes(t)
		}
	}
	if len(models) < 15 {
		t.Fatalf("only %d models are on record", len(models))
	}
	for name, text := range models {
		full, err := PrefixBuild([]byte(text), "shop")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := decoded(t, []byte(text))
		prefixByHand(want.(map[string]any))
		if got := decoded(t, full); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is rewritten to\n%v, want\n%v", name, got, want)
		}
		if bytes.Contains([]byte(text), []byte("1e400")) && !bytes.Contains(full, []byte(`[1.0,-0,1e400,9007199254740993,"\u003c"]`)) {
			t.Errorf("%s: numbers and texts are not as they were: %s", name, full)
		}
	}
}

// prefixByHand follows the table of erupt-wire 2.8 word for word.
func prefixByHand(doc map[string]any) {
	of := func(v any, key string) map[string]any {
		m, _ := v.(map[string]any)
		found, _ := m[key].(map[string]any)
		return found
	}
	name := func(m map[string]any, key string) {
		if s, ok := m[key].(string); ok && s != "" {
			m[key] = "shop." + s
		}
	}
	hush := func(power map[string]any) {
		if _, ok := power["comment"]; ok {
			power["comment"] = false
		}
	}
	model := of(doc, "eruptModel")
	name(model, "eruptName")
	hush(of(doc, "power"))
	hush(of(of(model, "eruptJson"), "power"))
	drills, _ := of(model, "eruptJson")["drills"].([]any)
	for _, d := range drills {
		name(of(d, "link"), "linkErupt")
	}
	for _, key := range []string{"operationErupts", "combineErupts"} {
		for _, part := range of(doc, key) {
			if m, ok := part.(map[string]any); ok {
				name(m, "eruptName")
			}
		}
	}
	for _, tab := range of(doc, "tabErupts") {
		name(of(tab, "eruptModel"), "eruptName")
		hush(of(tab, "power"))
		hush(of(of(of(tab, "eruptModel"), "eruptJson"), "power"))
	}
}

// TestWire11_07Transfers: what is large is streamed both ways, and what fails says so. Aborts, time limits and dead instances are in
// the tests of streams and failover.
func TestWire11_07Transfers(t *testing.T) {
	const upload, export = 12 << 20, 56 << 20
	node := newBareNode(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/export/") {
			w.Header().Set("Content-Type", "application/x-download;charset=UTF-8")
			w.Header().Set("Content-Disposition", "attachment; filename=Products_2026-07-20T09%3A15%3A02.118.xlsx")
			_, _ = io.Copy(w, io.LimitReader(zeros{}, export))
			return
		}
		file, head, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		n, _ := io.Copy(io.Discard, file)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"name":%q,"bytes":%d}`, head.Filename, n)
	})
	rig := newRig(t)
	rig.dir.set("shop", "http://127.0.0.1:1", node.URL) // the first refuses: the upload is unread then
	body, send := io.Pipe()
	form := multipart.NewWriter(send)
	go func() {
		part, err := form.CreateFormFile("file", "图片 ü.png")
		if err == nil {
			_, err = io.Copy(part, io.LimitReader(zeros{}, upload))
		}
		if err == nil {
			err = form.Close()
		}
		_ = send.CloseWithError(err)
	}()
	req := rig.request("POST", "/erupt-api/file/upload/shop.Customer/photo", "shop.Customer", body, "Content-Type", form.FormDataContentType())
	got := rig.do(req)
	var said struct {
		Name  string
		Bytes int64
	}
	if err := json.Unmarshal([]byte(got.Body), &said); err != nil || got.Status != 200 || said.Bytes != upload || said.Name != "图片 ü.png" {
		t.Errorf("an upload of %d bytes: %d %.200s", upload, got.Status, got.Body)
	}
	res, err := rig.client.Do(rig.request("POST", "/erupt-api/excel/export/shop.Customer", "shop.Customer", strings.NewReader("[]")))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil || n != export || res.Header.Get("Content-Disposition") != "attachment; filename=Products_2026-07-20T09%3A15%3A02.118.xlsx" {
		t.Errorf("an export of %d bytes: %d, %v, %v", export, n, err, res.Header)
	}
	rig.dir.set("shop", "http://127.0.0.1:1", "http://127.0.0.1:2")
	if got := rig.post("/erupt-api/data/table/shop.Customer", "shop.Customer", "{}"); got.Status != 502 || !strings.Contains(got.Body, "no instance of 'shop' can be reached") {
		t.Errorf("with both instances down: %d %s", got.Status, got.Body)
	}
}
