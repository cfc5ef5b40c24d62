package access_test

import (
	"crypto/md5"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func thrice(s string) string {
	for range 3 {
		s = base64.StdEncoding.EncodeToString([]byte(s))
	}
	return s
}

func queryEscape(s string) string { return url.QueryEscape(s) }

func md5hex(s string) string { sum := md5.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }

func sha512hex(s string) string { sum := sha512.Sum512([]byte(s)); return hex.EncodeToString(sum[:]) }

// gathered returns the values of a counter by one of its labels; without a label under "".
func gathered(t *testing.T, g prometheus.Gatherer, name, label string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			key := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == label {
					key = l.GetValue()
				}
			}
			out[key] = m.GetCounter().GetValue()
		}
	}
	return out
}
