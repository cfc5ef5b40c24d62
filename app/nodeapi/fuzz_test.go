package nodeapi

import (
	"encoding/json"
	"strings"
	"testing"
)

func FuzzDecodeInfo(f *testing.F) {
	for _, seed := range []string{
		`{"instanceId":"a","nodeName":"n","nodeAddress":["http://a"],"erupts":["X"],"resources":{"flow":["y"]},"novel":1}`,
		`{"instanceId":null,"nodeName":{}}`, `null`, `[]`, "\xef\xbb\xbf{}", `{"nodeName":"\ud800"}`, `{"nodeName":"n","nodeName":"m"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := decodeInfo(body)
		if err != nil {
			return
		}
		if in.NodeName == "" || in.InstanceID == "" || len(in.NodeAddress) == 0 || len(in.NodeAddress) > maxAddresses || len(in.Erupts) > maxErupts {
			t.Errorf("accepted %+v", in)
		}
		if strings.ContainsAny(in.NodeName+in.InstanceID+in.Version, "\x00\r\n") {
			t.Errorf("accepted control characters in %+v", in)
		}
		for _, own := range []string{"registerTime", "locations", "nodeName", "accessToken"} {
			if _, ok := in.Extra[own]; ok {
				t.Errorf("%s was kept as an unknown field", own)
			}
		}
		if _, err := json.Marshal(in.Extra); err != nil {
			t.Errorf("unknown fields cannot be written again: %v", err)
		}
	})
}

func FuzzDecodeLeaving(f *testing.F) {
	for _, seed := range []string{"nodeName=a&accessToken=b&locations=http://a,http://b&drain=5", "nodeName=%zz", ";", "nodeName=a&drain=-1", "a=b&&&=", "nodeName=a;b=c"} {
		f.Add(seed, "nodeName=q")
	}
	f.Fuzz(func(t *testing.T, body, query string) {
		l, err := decodeLeaving(body, query)
		if err != nil {
			return
		}
		if l.node == "" || len(l.locations) > maxLeaving || l.drain < 0 || l.drain > maxDrain {
			t.Errorf("accepted %+v", l)
		}
		for _, loc := range l.locations {
			if loc == "" || strings.Contains(loc, ",") || loc != strings.TrimSpace(loc) {
				t.Errorf("location %q of %q", loc, body)
			}
		}
	})
}
