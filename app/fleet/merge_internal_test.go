package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"eruptcloud/app/fault"
)

// TestMergePatch holds the examples of RFC 7396, appendix A, whose documents are objects.
func TestMergePatch(t *testing.T) {
	for _, tt := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		target, err := parseObject(tt[0])
		if err != nil {
			t.Fatal(err)
		}
		patch, err := parseObject(tt[1])
		if err != nil {
			t.Fatal(err)
		}
		var got, untouched bytes.Buffer
		merge(target, patch).write(&got)
		target.write(&untouched)
		if got.String() != tt[2] || untouched.String() != tt[0] {
			t.Errorf("merge(%s, %s) = %s, want %s; the target is now %s", tt[0], tt[1], got.String(), tt[2], untouched.String())
		}
	}
}

// reference is RFC 7396's own pseudo code.
func reference(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if t, ok := target.(map[string]any); ok {
		for k, v := range t {
			out[k] = v
		}
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = reference(out[k], v)
		}
	}
	return out
}

func decode(t *testing.T, text string) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q is not JSON: %v", text, err)
	}
	return v
}

// FuzzConfig feeds foreign texts: what is accepted is JSON for the standard library too and merges as RFC 7396 says, what is
// refused is refused as invalid or too large.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"b":{"c":null}}`, `{"a":{"b":[{"x":1e400}]}}`, `{"a":1,"a":2}`, `[`, "\ufeff{}", "{\"\\ud800\":1}", ``, `{"a":"\u2028<"}`} {
		f.Add(s, `{"a":null,"b":{"d":12345678901234567890}}`)
	}
	f.Fuzz(func(t *testing.T, base, patch string) {
		var parsed [2]object
		for i, text := range []string{base, patch} {
			kept, err := checkConfig(text)
			if err != nil {
				if code := fault.CodeOf(err); code != fault.Invalid && code != fault.TooLarge {
					t.Fatalf("checkConfig(%q) = %v", text, err)
				}
				return
			}
			if kept == "" {
				kept = "{}"
			}
			if parsed[i], err = parseObject(kept); err != nil {
				t.Fatalf("accepted %q and then did not parse it: %v", text, err)
			}
			if i == 0 {
				base = kept
			} else {
				patch = kept
			}
		}
		var got bytes.Buffer
		merge(parsed[0], parsed[1]).write(&got)
		want, err := json.Marshal(reference(decode(t, base), decode(t, patch)))
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(decode(t, got.String()))
		if err != nil || !bytes.Equal(again, want) {
			t.Errorf("merge(%s, %s) = %s, want %s", base, patch, got.Bytes(), want)
		}
	})
}

// BenchmarkMerge guards the effective config, which the first beat after a change asks for: budget 10 ms for 10,000 keys.
func BenchmarkMerge(b *testing.B) {
	values := map[string]int{}
	for i := range 10_000 {
		values[fmt.Sprint("key", i)] = i
	}
	text, err := json.Marshal(values)
	if err != nil {
		b.Fatal(err)
	}
	parsed, err := parseObject(string(text))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		merge(parsed, parsed)
	}
}
