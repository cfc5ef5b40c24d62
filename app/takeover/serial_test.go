package takeover

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// entries are those of real servers.
func recorded(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for name, file := range map[string]string{"warehouse": "redis-1.12.json", "shop": "redis-2.0.json"} {
		raw, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				if s, ok := v["value_base64"].(string); ok {
					found = append(found, s)
				}
				for _, below := range v {
					walk(below)
				}
			case []any:
				for _, below := range v {
					walk(below)
				}
			}
		}
		var all any
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
		walk(all)
		value, err := base64.StdEncoding.DecodeString(found[0])
		if err != nil {
			t.Fatal(err)
		}
		out[name] = value
	}
	return out
}

// erupt-wire 7.1, erupt 1.12: what a real server up to 2.0.4 wrote.
func TestReadSerialized(t *testing.T) {
	want := map[string]struct{ version, location string }{
		"warehouse": {"1.12.23", "http://127.0.0.1:18111"}, "shop": {"2.0.4", "http://127.0.0.1:19301"},
	}
	for name, value := range recorded(t) {
		obj, err := readSerialized(value)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f := obj.fields
		if text(f["nodeName"]) != name || text(f["version"]) != want[name].version || !slices.Equal(texts(f["locations"]), []string{want[name].location}) ||
			!slices.Equal(texts(f["nodeAddress"]), []string{want[name].location}) || !slices.Equal(texts(f["eruptModules"]), []string{"erupt-jpa", "erupt-tpl"}) {
			t.Errorf("%s reads as %+v", name, f)
		}
	}
}

func TestDamagedSerialization(t *testing.T) {
	for name, value := range recorded(t) {
		for n := range value {
			if _, err := readSerialized(value[:n]); err == nil && n < len(value) {
				t.Fatalf("%s: the first %d of %d bytes are an object", name, n, len(value))
			}
		}
	}
	for name, value := range map[string]string{
		"nothing":            "",
		"JSON":               `{"a":1}`,
		"a text":             "\xac\xed\x00\x05t\x00\x01a",
		"an endless array":   "\xac\xed\x00\x05ur\x00\x02[I\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00xp\x7f\xff\xff\xff",
		"a deep one":         "\xac\xed\x00\x05" + strings.Repeat("sr\x00\x01a\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01L\x00\x01ft\x00\x01Lxp", 1000),
		"a reference ahead":  "\xac\xed\x00\x05q\x00\x7e\x00\x05",
		"a class of itself":  "\xac\xed\x00\x05sr\x00\x01a\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00xq\x00\x7e\x00\x00",
		"more than is taken": "\xac\xed\x00\x05" + strings.Repeat("x", serialBytes),
	} {
		if obj, err := readSerialized([]byte(value)); err == nil {
			t.Errorf("%s reads as %+v", name, obj)
		}
	}
}

// FuzzSerialized: whatever is in Redis, reading it ends and does not panic.
func FuzzSerialized(f *testing.F) {
	for _, value := range recorded(f) {
		f.Add(value)
	}
	f.Add([]byte("\xac\xed\x00\x05sr\x00\x01a\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00xq\x00\x7e\x00\x00"))
	f.Fuzz(func(t *testing.T, value []byte) {
		obj, err := readSerialized(value)
		if (obj == nil) == (err == nil) {
			t.Errorf("readSerialized(%x) = %v, %v", value, obj, err)
		}
		if obj != nil {
			_ = texts(obj.fields["locations"])
		}
	})
}
