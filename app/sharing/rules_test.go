package sharing

import (
	"fmt"
	"testing"
)

func TestLocationsOfAnEntryHaveABound(t *testing.T) {
	var many []string
	for i := range 2000 {
		many = append(many, fmt.Sprintf("http://10.0.0.1:8080/%d", i))
	}
	if got := canonicals(many); len(got) != maxLocations || got[0] != many[0] {
		t.Errorf("%d locations are looked at, want the first %d", len(got), maxLocations)
	}
}
