package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/testbed"
)

// javaNode is a real erupt-cloud-node application in a process of its own.
type javaNode struct {
	*process
	URL string // with its context path, without a slash at the end, as the server writes locations
}

// java starts an instance of a node and waits until it answers. db is a URL of H2, empty for a database of its own in memory.
func java(t testing.TB, s *server, name, token, db string) *javaNode {
	t.Helper()
	testbed.Require(t, "java")
	testbed.Require(t, "mvn")
	n := launchJava(t, javaSettings{name: name, token: token, servers: s.URL, db: db})
	n.ready()
	return n
}

// javaBuildDir is where the jar is kept between runs, outside the tree. Its name tells the sources, so that nobody builds
// anew what another checkout of this project is running; run.sh builds under a lock.
func javaBuildDir(t testing.TB, dir string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(raw), raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "eruptcloud-testbed", filepath.Base(dir)+"-"+hex.EncodeToString(sum.Sum(nil)[:6]))
}

// get asks one of the node's doors for tests and decodes the answer unless out is nil.
func (n *javaNode) get(path string, out any) string {
	n.t.Helper()
	resp, err := http.Get(n.URL + path)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		n.t.Fatalf("GET %s of the node = %d %s %v", path, resp.StatusCode, raw, err)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			n.t.Fatalf("GET %s of the node answered %q: %v", path, raw, err)
		}
	}
	return string(raw)
}

// rows returns a table of the node's database, every column as text, nil for null.
func (n *javaNode) rows(table string) []map[string]*string {
	n.t.Helper()
	var out []map[string]*string
	n.get("/test/rows?table="+table, &out)
	return out
}

// row returns the row with an id; nil if there is none.
func (n *javaNode) row(table, id string) map[string]*string {
	n.t.Helper()
	all := n.rows(table)
	if i := slices.IndexFunc(all, func(r map[string]*string) bool { return r["id"] != nil && *r["id"] == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// forget makes the node forget which requests it has seen.
func (n *javaNode) forget() {
	n.t.Helper()
	resp, err := http.Post(n.URL+"/test/clear", "", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	resp.Body.Close()
}

// seen returns the requests since forget, probes left out.
func (n *javaNode) seen() []string {
	n.t.Helper()
	var all []struct{ Method, URI string }
	n.get("/test/requests", &all)
	var out []string
	for _, r := range all {
		if !strings.HasSuffix(r.URI, "/node-health") {
			out = append(out, r.Method+" "+r.URI)
		}
	}
	return out
}

// changed lists the columns in which two rows differ.
func changed(a, b map[string]*string) []string {
	var out []string
	for k := range b {
		if show(a[k]) != show(b[k]) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func show(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}
