package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// What the console offers to paste works as it stands; only addresses of this test replace the example's.
func TestSnippets(t *testing.T) { // U23
	s := serve(t, nil)
	s.node("crm")
	b := browse(t, s)
	b.login("erupt", adminPassword)
	b.open("/console/nodes/crm")
	b.click("[data-testid=show-token]")
	b.shows("[data-testid=token]")
	snippet := func(id string) string {
		t.Helper()
		text := b.eval(`document.querySelector("#snippet-` + id + `").textContent`)
		if !strings.Contains(text, "crm") {
			t.Fatalf("the snippet %s is %q", id, text)
		}
		return text
	}
	leave := func(p *process) {
		t.Helper()
		s.awaitInstances("crm", 1, patience)
		if code := p.stop(40 * time.Second); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.output())
		}
		s.awaitInstances("crm", 0, patience)
	}

	t.Log("curl")
	testbed.Require(t, "curl")
	text := replace(t, snippet("curl"), "http://10.0.0.5:8080", testbed.NewFakeNode(t, "crm").URL()) // the server looks who is there
	if out, err := exec.Command("sh", "-c", text).CombinedOutput(); err != nil {
		t.Fatalf("curl: %v\n%s", err, out)
	}
	in := s.awaitInstances("crm", 1, patience)[0]
	s.must(http.MethodDelete, "/api/v1/nodes/crm/instances/"+in.InstanceID, nil, http.StatusNoContent, nil)

	t.Log("sidecar")
	upstream := httptest.NewServer(http.NotFoundHandler())
	defer upstream.Close()
	sidecar, err := build("./nodeagent/sidecar")
	if err != nil {
		t.Fatal(err)
	}
	text = replace(t, snippet("sidecar"), " sidecar ", " exec "+sidecar+" ", ":9080", freeAddr(t), "http://127.0.0.1:8000", upstream.URL)
	leave(start(t, nil, "sh", "-c", text))

	t.Log("Go")
	_, port, err := net.SplitHostPort(freeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	program := goProgram(t, replace(t, snippet("go"), ":8081", ":"+port))
	leave(start(t, nil, program))
}

// replace swaps pairs, each of which must be there.
func replace(t testing.TB, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the snippet has no %q: %s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// goProgram compiles statements as the body of a program inside this module, without leaving a file in it.
func goProgram(t testing.TB, body string) string {
	t.Helper()
	dir := t.TempDir()
	source := "package main\n\nimport (\n\t\"context\"\n\t\"log\"\n\t\"net/http\"\n\t\"os\"\n\t\"os/signal\"\n\t\"syscall\"\n\n\t\"eruptcloud/nodeagent\"\n)\n\nfunc main() {\n" +
		"\tctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)\n\tdefer stop()\n" + body + "\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n"
	main, overlay, out := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program")
	module, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	place, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(module, "snippetprogram", "main.go"): main}})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{main: []byte(source), overlay: place} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", out, "./snippetprogram")
	cmd.Dir = module
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the Go snippet does not compile: %v\n%s\n%s", err, text, source)
	}
	return out
}
