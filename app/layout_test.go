package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "eruptcloud"

// allowed says for each package which of ours it may import; packages below one count as it unless they have a row.
// "any" stands for the packages that everybody below app may use.
var allowed = map[string][]string{
	"app":                     {"app/boot", "app/config", "app/fault", "app/fleet", "app/access", "app/database", "app/telemetry", "app/sim", "app/takeover"},
	"app/boot":                {"*"},
	"app/config":              {},
	"app/fault":               {},
	"app/loop":                {},
	"app/netguard":            {},
	"app/telemetry":           {"app/loop"},
	"app/database":            {"ent", "app/fault"},
	"app/cluster":             {"app/loop", "app/fault"},
	"app/access":              {"ent", "app/database", "app/cluster", "app/fault", "app/loop"},
	"app/fleet":               {"ent", "app/database", "app/cluster", "app/fault", "app/loop", "nodeagent/wire"},
	"app/registry":            {"app/fault", "app/loop"},
	"app/registry/memstore":   {"app/registry"},
	"app/registry/redisstore": {"app/registry", "app/fault"},
	"app/registry/storetest":  {"app/registry", "app/fault"},
	"app/probe":               {"app/netguard", "nodeagent/wire"},
	"app/dict":                {"ent", "app/database", "app/fault"},
	"app/history":             {"ent", "app/database", "app/fault", "app/loop"},
	"app/takeover":            {"app/config", "app/database", "app/registry/redisstore", "app/fault"},
	"app/sharing":             {"app/probe", "app/registry", "app/loop", "app/fault"},
	"app/reach":               {"app/probe", "app/registry", "app/cluster", "app/loop", "app/fault"},
	"app/buildmodel":          {},
	"app/web":                 {"app/access", "app/fault", "views", "static"},
	"app/nodeapi":             {"app/web", "app/fleet", "app/registry", "app/access", "app/probe", "app/history", "nodeagent/wire", "app/fault"},
	"app/eruptapi":            {"app/web", "app/access", "nodeagent/wire", "app/fault"},
	"app/uploads":             {"app/web", "app/access", "nodeagent/wire", "app/fault"},
	"app/console":             {"app/web", "views", "static", "app/fleet", "app/registry", "app/access", "app/reach", "app/history", "app/dict", "app/buildmodel", "proxy", "nodeagent/wire", "app/fault", "app/loop"},
	"app/restapi":             {"app/web", "app/fleet", "app/registry", "app/access", "app/reach", "app/history", "app/dict", "app/fault", "proxy"},
	"app/sim":                 {"nodeagent", "nodeagent/wire"},
	"app/testbed":             {"*"},
	"ent":                     {"ent"},
	"ent/migrate/diff":        {"ent", "app/database"},
	"views":                   {"static"},
	"static":                  {},
	"proxy":                   {"nodeagent/wire"},
	"nodeagent":               {"nodeagent/wire"},
	"nodeagent/wire":          {},
	"nodeagent/sidecar":       {"nodeagent", "nodeagent/wire"},
}

type listed struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
	Standard                           bool
	GoFiles                            []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// rowOf finds the row of a package: its own, or that of the nearest package above it.
func rowOf(rel string) (string, bool) {
	for r := rel; ; {
		if _, ok := allowed[r]; ok {
			return r, true
		}
		i := strings.LastIndexByte(r, '/')
		if i < 0 {
			return "", false
		}
		r = r[:i]
	}
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		rel := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if rel == "app/e2e" || strings.HasPrefix(rel, "app/e2e/") || len(p.GoFiles) == 0 {
			continue
		}
		row, ok := rowOf(rel)
		if !ok {
			t.Errorf("package %s has no row in the table of allowed imports", rel)
			continue
		}
		for _, imp := range p.Imports {
			other, ours := strings.CutPrefix(imp, module+"/")
			if !ours || slices.Contains(allowed[row], "*") || under(other, rel) || under(rel, other) {
				continue
			}
			if !slices.ContainsFunc(allowed[row], func(a string) bool { return under(other, a) }) {
				t.Errorf("%s imports %s, which its row does not allow", rel, other)
			}
		}
	}
}

// under reports whether p is dir or below it.
func under(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func TestNodeagentStaysOnTheStandardLibrary(t *testing.T) {
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.ImportPath, module+"/nodeagent") {
			continue
		}
		for _, imp := range p.Imports {
			if strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
				t.Errorf("%s imports %s: a node must not take on dependencies", p.ImportPath, imp)
			}
		}
	}
}

func TestTestbedIsForTestsOnly(t *testing.T) {
	for _, p := range packages(t) {
		if strings.HasPrefix(p.ImportPath, module+"/app/testbed") {
			continue
		}
		for _, imp := range p.Imports {
			if under(imp, module+"/app/testbed") || under(imp, module+"/app/registry/storetest") {
				t.Errorf("%s imports %s outside its tests", p.ImportPath, imp)
			}
		}
	}
}

func TestFolders(t *testing.T) {
	top := map[string]bool{"app": true, "ent": true, "views": true, "static": true, "proxy": true, "nodeagent": true,
		"go.mod": true, "go.sum": true, "Taskfile.yml": true, "README.md": true, "LICENSE": true}
	out, err := exec.Command("git", "-C", "..", "ls-files").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for _, f := range strings.Fields(string(out)) {
		first := strings.SplitN(f, "/", 2)[0]
		if !top[first] && !strings.HasPrefix(first, ".") {
			t.Errorf("%s: nothing but the fixed names belongs at the top", f)
		}
	}
	forbidden := regexp.MustCompile(`^(utils?|common|helpers?|managers?|services?|misc|base)$`)
	for _, p := range packages(t) {
		parts := strings.Split(strings.TrimPrefix(p.ImportPath, module+"/"), "/")
		if parts[0] == "app" && len(parts) > 3 {
			t.Errorf("%s lies deeper than two levels under app", p.ImportPath)
		}
		if forbidden.MatchString(parts[len(parts)-1]) {
			t.Errorf("%s is named after nothing", p.ImportPath)
		}
	}
}

func TestOnlyTestbedSkips(t *testing.T) {
	skip := regexp.MustCompile(`\bt\.Skip(f|Now)?\(`)
	out, err := exec.Command("git", "-C", "..", "ls-files", "*_test.go").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for _, f := range strings.Fields(string(out)) {
		if f == "app/layout_test.go" {
			continue
		}
		src, err := os.ReadFile("../" + f)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted and not yet committed
		} else if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(src), "\n") {
			if skip.MatchString(line) && !strings.Contains(line, "fuzz") {
				t.Errorf("%s:%d skips by itself: ask testbed.Require, which fails where services must exist", f, i+1)
			}
		}
	}
}
