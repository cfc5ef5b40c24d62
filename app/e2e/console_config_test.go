package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// published is what a node gets from the server as its configuration.
func (s *server) published(node, token string) string {
	s.t.Helper()
	resp, raw := s.call(http.MethodGet, "/erupt-cloud-api/node-config/"+node+"?"+url.Values{"accessToken": {token}}.Encode(), nil, http.Header{"Access-Token": {token}})
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("node-config = %d %s", resp.StatusCode, raw)
	}
	return string(raw)
}

func TestConfigEditor(t *testing.T) { // F13, U40, U41
	s := serve(t, nil)
	token := s.node("crm")
	b := browse(t, s)
	b.login("erupt", adminPassword)
	b.open("/console/nodes/crm/config")
	b.fill("#config-text", "{\n  \"limit\": 5,\n  \"name\": oops\n}")
	b.until("the error is not shown while typing", `document.querySelector("[data-json-bad]").checkVisibility() && document.querySelector("[data-testid=review]").disabled`)
	b.says("[data-json-where]", "Line 3, column 11")
	b.shoot("syntax")

	// Without the script's check the server says the same.
	b.expect("status of 422")
	b.eval(`document.querySelector("#config-editor").submit()`)
	b.shows("[data-testid=config-problem]")
	if got := b.eval(`document.querySelector("[data-testid=config-problem]").dataset.line + ":" + document.querySelector("[data-testid=config-problem]").dataset.column`); got != "3:11" {
		t.Errorf("the server puts the error at %s, want 3:11", got)
	}
	if got := b.eval(`document.querySelector("#config-text").value`); !strings.Contains(got, "oops") {
		t.Errorf("the text is lost: %q", got)
	}

	b.fill("#config-text", `{"limit": 5, "name": "Kaffee & Tee"}`)
	b.click("[data-do=json-format]")
	b.click("[data-testid=review]")
	b.says(".diff", "Kaffee & Tee")
	b.shoot("review")
	if got := s.published("crm", token); strings.Contains(got, "Kaffee") {
		t.Error("the review published already")
	}
	b.fill("[data-testid=publish] [name=note]", "opening hours")
	b.click("[data-testid=publish-now]")
	b.at("/console/nodes/crm/config")
	b.says("[data-testid=history]", "opening hours")
	b.says("[data-testid=effective]", "limit")
	b.shoot("published")
	if got := s.published("crm", token); !strings.Contains(got, "Kaffee & Tee") {
		t.Errorf("the node gets %q, want what was published", got)
	}
}

func TestConfigConflict(t *testing.T) { // S28, U41
	s := serve(t, nil)
	token := s.node("crm")
	publish := func(b *tab, note string) {
		b.t.Helper()
		b.fill("[data-testid=publish] [name=note]", note)
		b.click("[data-testid=publish-now]")
		b.at("/console/nodes/crm/config")
		b.says("[data-testid=history]", note)
	}
	first := browse(t, s)
	first.login("erupt", adminPassword)
	first.open("/console/nodes/crm/config")
	first.fill("#config-text", `{"a": 1, "b": 1}`)
	first.click("[data-testid=review]")
	publish(first, "base")

	second := browse(t, s)
	second.login("erupt", adminPassword)
	second.expect("status of 409")
	second.open("/console/nodes/crm/config")
	second.fill("#config-text", `{"a": 1, "b": 3}`)
	second.click("[data-testid=review]")
	second.shows("[data-testid=publish-now]")

	first.fill("#config-text", `{"a": 2, "b": 1}`)
	first.click("[data-testid=review]")
	publish(first, "theirs")

	second.fill("[data-testid=publish] [name=note]", "mine")
	second.click("[data-testid=publish-now]")
	second.shows("[data-testid=conflict]")
	for part, want := range map[string]string{"base": `"a": 1`, "theirs": `"a": 2`, "mine": `"b": 3`} {
		second.says("[data-testid=three-"+part+"]", want)
	}
	second.shoot("conflict")
	if got := s.published("crm", token); !strings.Contains(got, `2`) || strings.Contains(got, "3") {
		t.Errorf("the node gets %q, want the first editor's text until the second has decided", got)
	}
	// What both changed apart from each other is merged, and goes on from their revision.
	second.click("form[data-unsaved] button.primary")
	second.shows("[data-testid=publish-now]")
	publish(second, "both")
	if got := s.published("crm", token); !strings.Contains(got, `"a": 2`) && !strings.Contains(got, `"a":2`) || !strings.Contains(got, "3") {
		t.Errorf("the node gets %q, want both changes", got)
	}
}
