package proxy

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func decoded(t testing.TB, text []byte) any {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // 9007199254740993 and 1.50 must stay what they are
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%.100s: %v", text, err)
	}
	return v
}

// builds are the places of erupt-wire 2.8, each before and after.
var builds = map[string][2]string{
	"page":          {`{"eruptModel":{"eruptName":"C"}}`, `{"eruptModel":{"eruptName":"n.C"}}`},
	"drills":        {`{"eruptModel":{"eruptJson":{"drills":[{"code":"a","link":{"linkErupt":"P"}},{}]}}}`, `{"eruptModel":{"eruptJson":{"drills":[{"code":"a","link":{"linkErupt":"n.P"}},{}]}}}`},
	"operations":    {`{"operationErupts":{"x":{"eruptName":"F"},"y":null}}`, `{"operationErupts":{"x":{"eruptName":"n.F"},"y":null}}`},
	"tabs":          {`{"tabErupts":{"t":{"eruptModel":{"eruptName":"T"}}}}`, `{"tabErupts":{"t":{"eruptModel":{"eruptName":"n.T"}}}}`},
	"combined":      {`{"combineErupts":{"a":{"eruptName":"A"}}}`, `{"combineErupts":{"a":{"eruptName":"n.A"}}}`},
	"powers":        {`{"power":{"comment":true,"add":true}}`, `{"power":{"comment":false,"add":true}}`},
	"inner powers":  {`{"eruptModel":{"eruptJson":{"power":{"comment":true}}}}`, `{"eruptModel":{"eruptJson":{"power":{"comment":false}}}}`},
	"tab powers":    {`{"tabErupts":{"t":{"power":{"comment":true},"eruptModel":{"eruptJson":{"power":{"comment":1}}}}}}`, `{"tabErupts":{"t":{"power":{"comment":false},"eruptModel":{"eruptJson":{"power":{"comment":false}}}}}}`},
	"no comment":    {`{"power":{"add":true}}`, `{"power":{"add":true}}`},
	"nulls":         {`{"eruptModel":null,"tabErupts":null,"power":null}`, `{"eruptModel":null,"tabErupts":null,"power":null}`},
	"null name":     {`{"eruptModel":{"eruptName":null}}`, `{"eruptModel":{"eruptName":null}}`},
	"other shapes":  {`{"eruptModel":[],"tabErupts":7,"combineErupts":"x"}`, `{"eruptModel":[],"tabErupts":7,"combineErupts":"x"}`},
	"left alone":    {`{"eruptModel":{"eruptFieldModels":[{"fieldReturnName":"C","eruptFieldJson":{"edit":{"x":"C"}}}],"eruptJson":{"rowOperation":[{"eruptClass":"F"}]}}}`, `{"eruptModel":{"eruptFieldModels":[{"fieldReturnName":"C","eruptFieldJson":{"edit":{"x":"C"}}}],"eruptJson":{"rowOperation":[{"eruptClass":"F"}]}}}`},
	"tab drills":    {`{"tabErupts":{"t":{"eruptModel":{"eruptJson":{"drills":[{"link":{"linkErupt":"P"}}]}}}}}`, `{"tabErupts":{"t":{"eruptModel":{"eruptJson":{"drills":[{"link":{"linkErupt":"P"}}]}}}}}`},
	"numbers":       {`{"a":9007199254740993,"b":1.50,"c":1E400,"d":-0}`, `{"a":9007199254740993,"b":1.50,"c":1E400,"d":-0}`},
	"escaped texts": {`{"eruptModel":{"eruptName":"C","x":"\u003cb\u003e & \ud83d"}}`, `{"eruptModel":{"eruptName":"n.C","x":"\u003cb\u003e & \ud83d"}}`},
}

func TestPrefixBuild(t *testing.T) {
	for name, tt := range builds {
		t.Run(name, func(t *testing.T) {
			got, err := PrefixBuild([]byte(tt[0]), "n")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, []byte(tt[1])), decoded(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got, _ := PrefixBuild([]byte(`{"x":"\u003c\ud83d"}`), "n"); string(got) != `{"x":"\u003c\ud83d"}` {
		t.Errorf("texts are written anew: %s", got)
	}
	for _, bad := range []string{"", "{", "{}{}", "<html>", `{"a":01}`} {
		if _, err := PrefixBuild([]byte(bad), "n"); err == nil {
			t.Errorf("PrefixBuild(%q) gives no error", bad)
		}
	}
}

// unprefix undoes the rewriting of one document, by another way than the code under test.
func unprefix(v any, node string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			if text, ok := member.(string); ok && (k == "eruptName" || k == "linkErupt") {
				v[k] = strings.TrimPrefix(text, node+".")
			} else if k == "comment" {
				v[k] = "?"
			} else {
				v[k] = unprefix(member, node)
			}
		}
	case []any:
		for i := range v {
			v[i] = unprefix(v[i], node)
		}
	}
	return v
}

func FuzzPrefixBuild(f *testing.F) {
	for _, b := range builds {
		f.Add([]byte(b[0]))
	}
	f.Add([]byte(`{"eruptModel":{"eruptName":"C","eruptJson":{"drills":{"a":{"link":{"linkErupt":"x"}}}}},"tabErupts":[{}],"a":1.50}`))
	f.Fuzz(func(t *testing.T, model []byte) {
		got, err := PrefixBuild(model, "node")
		if err != nil {
			if json.Valid(model) && json.Unmarshal(model, new(any)) == nil {
				t.Errorf("%q is refused: %v", model, err)
			}
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%q becomes %q, which is no JSON", model, got)
		}
		// Keys that differ only in how they are escaped or repeated are one key to every reader.
		if diff := cmp.Diff(unprefix(decoded(t, model), "node"), unprefix(decoded(t, got), "node")); diff != "" && !strings.Contains(string(model), "node.") {
			t.Errorf("%q (-model +got):\n%s", model, diff)
		}
	})
}

// BenchmarkPrefixBuild rewrites the largest recorded model: budget 4 ms.
func BenchmarkPrefixBuild(b *testing.B) {
	var model []byte
	for _, r := range recordings(b, "erupt-2.0") {
		if r.Name == "120-customer-build" {
			model = []byte(r.Said.Body)
		}
	}
	b.SetBytes(int64(len(model)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := PrefixBuild(model, "shop"); err != nil {
			b.Fatal(err)
		}
	}
}
