package redisstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"eruptcloud/app/registry"
)

// FuzzDecodeValue reads what may stand in Redis: whatever it is, it is an error or an instance that survives a round trip.
func FuzzDecodeValue(f *testing.F) {
	for _, seed := range []string{
		"", "\xac\xed\x00\x05sr", "1-0\n", "1-0\n{}", "1-0\nnull", "1-0\n[]", "x\n{}", "18446744073709551615-0\n{}",
		`1784538902118-3` + "\n" + `{"v":1,"node":"order","origin":"node","locations":["http://a"],"status":"UP","action":"ADDED","registered":1784538902118000,` +
			`"moved":{"from":["http://b"],"at":1},"detail":{"version":"2","addresses":["http://a"],"modules":null,"erupts":[],"resources":{"a":null},"extra":{"x":1}},"later":{"a":1}}`,
		"1-0\n" + `{"v":2,"origin":"node","locations":null,"V":1}`, "1-0\n" + `{"v":1,"origin":"node","up":-1,"intervalMs":9223372036854775807}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		k := registry.Key{App: "A", ID: "1"}
		in, err := decodeValue(k, value)
		if err != nil {
			return
		}
		body, err := encode(in)
		if err != nil {
			t.Fatalf("encode(%+v): %v", in, err)
		}
		again, err := decodeValue(k, positionOf(in.Rev)+"\n"+string(body))
		if err != nil {
			t.Fatalf("decode(%s): %v", body, err)
		}
		if second, err := encode(again); err != nil || string(second) != string(body) {
			t.Errorf("encoded %s, then %s: %s", body, second, cmp.Diff(in, again))
		}
	})
}

func TestPositions(t *testing.T) {
	for _, id := range []string{"0-0", "1784538902118-0", "1784538902118-1048575", "17592186044415-1"} {
		seq, err := parsePosition(id)
		if err != nil || positionOf(seq) != id {
			t.Errorf("parsePosition(%q) = %d, %v, which reads %q", id, seq, err, positionOf(seq))
		}
	}
	for _, id := range []string{"", "-", "1", "1-", "-1", "1-1048576", "17592186044416-0", "a-b", "1-2-3"} {
		if seq, err := parsePosition(id); err == nil {
			t.Errorf("parsePosition(%q) = %d, want an error", id, seq)
		}
	}
	if a, _ := parsePosition("9-5"); a >= mustPosition(t, "10-0") {
		t.Error("positions do not grow with time")
	}
}

func mustPosition(t *testing.T, id string) registry.Seq {
	t.Helper()
	seq, err := parsePosition(id)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}
