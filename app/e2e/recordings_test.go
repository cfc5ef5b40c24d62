package e2e

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	recordingsFile  = "testdata/recordings.txt"
	recordingsOf112 = 342
	recordingsOf20  = 318
)

// erupt-wire 11: each recording of an original server has a place where it is replayed against ours, or a reason why not.
func TestEveryRecordingHasItsPlace(t *testing.T) {
	inLists := replayed(t)
	listed, counts := map[string][]string{}, map[string]int{}
	shape := regexp.MustCompile(`^(1\.12|2\.0)/\d{3}-[A-Za-z0-9.-]+$`)
	for _, line := range lineList(t, recordingsFile) {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		name := parts[0]
		if !shape.MatchString(name) || len(parts) < 2 || len(parts) > 3 {
			t.Errorf("%q is no line of this list", line)
			continue
		}
		if listed[name] != nil {
			t.Errorf("%s is listed twice", name)
		}
		listed[name] = strings.Fields(parts[1])
		version, _, _ := strings.Cut(name, "/")
		counts[version]++
		switch {
		case len(listed[name]) == 0:
			t.Errorf("%s has no place", name)
		case parts[1] == "-" && (len(parts) < 3 || len(parts[2]) < 10):
			t.Errorf("%s is replayed nowhere and nothing says why", name)
		case parts[1] == "-":
			listed[name] = []string{}
		}
		for _, place := range listed[name] {
			if inLists[place] == nil {
				t.Errorf("%s: %s is no place", name, place)
			} else if !inLists[place][name] {
				t.Errorf("%s is not among the recordings of %s", name, place)
			}
		}
	}
	for place, names := range inLists {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !slices.Contains(listed[name], place) {
				t.Errorf("%s replays %s, which the list does not say", place, name)
			}
		}
	}
	if counts["1.12"] != recordingsOf112 || counts["2.0"] != recordingsOf20 {
		t.Errorf("%v recordings are listed, there are %d of 1.12 and %d of 2.0", counts, recordingsOf112, recordingsOf20)
	}
}

// replayed are the recordings that each package replays, read from its own list: place → names.
func replayed(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{"proxy": {}, "boot": {}, "nodeapi": {}, "nodeapi/powers": {}, "eruptapi": {}, "e2e": {}}
	add := func(place, prefix, path, key string) {
		for _, line := range lineList(t, path) {
			var r map[string]any
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			name, _ := r[key].(string)
			name, _, _ = strings.Cut(name, "#") // one request of a recording that has several
			all[place][strings.TrimPrefix(prefix+name, "erupt-")] = true
		}
	}
	for _, version := range []string{"erupt-1.12", "erupt-2.0"} {
		add("proxy", version+"/", "../../proxy/testdata/"+version+".jsonl", "name")
		add("boot", version+"/", "../boot/testdata/replay/"+version+".jsonl", "name")
		add("boot", version+"/", "../../proxy/testdata/"+version+".jsonl", "name")
		files, err := filepath.Glob("../nodeapi/testdata/" + version + "/*.json")
		if err != nil || len(files) == 0 {
			t.Fatalf("recordings of %s in nodeapi: %d, %v", version, len(files), err)
		}
		for _, f := range files {
			all["nodeapi"][strings.TrimPrefix(version, "erupt-")+"/"+strings.TrimSuffix(filepath.Base(f), ".json")] = true
		}
	}
	add("nodeapi/powers", "", "../nodeapi/testdata/powers.jsonl", "recording")
	add("eruptapi", "", "../eruptapi/testdata/recordings.jsonl", "name")
	add("e2e", "1.12/", "testdata/erupt-1.12.jsonl", "name")
	return all
}

func lineList(t *testing.T, path string) (all []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		all = append(all, lines.Text())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
