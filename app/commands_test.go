package main

import (
	"encoding/json"
	"strings"
	"testing"

	"eruptcloud/app/fleet"
)

func TestNodesArePrintedAsTheAPIWritesThem(t *testing.T) {
	for group, want := range map[string]any{"": nil, "shop": "shop"} {
		var out strings.Builder
		if err := printNode(&out, "json", fleet.Node{Name: "crm", Display: "CRM", Group: group}, "TOKEN"); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Fatal(err)
		}
		if value, there := got["group"]; !there || value != want || got["nodeName"] != "crm" || got["accessToken"] != "TOKEN" {
			t.Errorf("group %q: printed %s, want the group as %v", group, out.String(), want)
		}
	}
}
