package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSimulatedFleet plays a small crowd with faults against the built server, ends it as Ctrl-C does, and finds nothing of it
// afterwards (D19).
func TestSimulatedFleet(t *testing.T) {
	s := serve(t, nil)
	s.node("bystander")
	pw := filepath.Join(t.TempDir(), "pw")
	if err := os.WriteFile(pw, []byte(adminPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	sim := start(t, nil, program, "sim", "--server", s.URL, "--password-file", pw, "--nodes", "3", "--groups", "1", "--churn", "2s", "--last", "300ms",
		"--ramp", "0s", "--visits", "10", "--seed", "5", "--clean")
	for _, node := range []string{"sim-0001", "sim-0002", "sim-0003"} {
		sim.await(`"event":"start"`, patience)
		eventually(t, patience, func() bool { return len(s.instances(node)) > 0 }, func() string { return node + " did not register" })
	}
	for _, word := range []string{`"event":"begin"`, `"event":"end"`} {
		sim.await(word, patience)
	}
	versions := map[string]bool{}
	for _, in := range s.instances("sim-0001") {
		versions[in.Version] = true
	}
	if len(versions) == 0 || versions["go-1.0.0"] && len(versions) == 1 {
		t.Errorf("its instances report %v, want versions of the simulation", versions)
	}
	if code := sim.stop(time.Minute); code != 0 {
		t.Errorf("it ended with code %d", code)
	}
	if summary := sim.await(`"event":"summary"`, patience); !json.Valid([]byte(summary)) || !strings.Contains(summary, `"200":`) {
		t.Errorf("its last line is %s, want the visits that were answered", summary)
	}
	var left struct {
		Items []struct{ NodeName string }
	}
	s.must(http.MethodGet, "/api/v1/nodes", nil, http.StatusOK, &left)
	if len(left.Items) != 1 || left.Items[0].NodeName != "bystander" {
		t.Errorf("afterwards there are %v, want the bystander alone", left.Items)
	}
	s.must(http.MethodGet, "/api/v1/groups/sim-g1", nil, http.StatusNotFound, nil)
}
