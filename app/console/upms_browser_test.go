package console

import "testing"

// The pages of organisations, dictionaries, open API and online users fit a phone, and their two steps work in place.
func TestUPMSPagesInABrowser(t *testing.T) { // U4, U22
	w := office(t)
	b := browse(t, w)
	for _, width := range []int64{1280, 390} {
		b.size(width, 844)
		for _, path := range []string{
			"/console/orgs", "/console/orgs/north", "/console/posts", "/console/posts/lead", "/console/users", "/console/users/lin.wei", "/console/dicts", "/console/dicts/level",
			"/console/dicts/level/items/new", "/console/open-api", "/console/open-api/new", "/console/online",
		} {
			b.open(path)
			if got := b.eval(`document.documentElement.scrollWidth <= innerWidth`); got != true {
				t.Errorf("%s scrolls sideways at %d", path, width)
			}
		}
	}
	b.open("/console/posts/new")
	b.keys("#f-code", "night")
	b.keys("#f-weight", "0")
	b.click("[data-testid=post-form] [type=submit]")
	b.until("the post is listed", `document.querySelector("#post-night") !== null`)
	b.open("/console/posts/night")
	b.click("[data-testid=delete] summary")
	b.click("[data-testid=delete-sure]")
	b.until("the post is gone", `location.pathname === "/console/posts" && document.querySelector("#post-night") === null`)
	b.open("/console/online")
	b.click(`tr[data-account="lin.wei"] summary`)
	b.click(`tr[data-account="lin.wei"] [data-testid=end-all]`)
	b.until("the sessions are gone", `document.querySelectorAll("[data-testid=online-row]").length === 1`)
	for _, c := range b.complaints() {
		t.Error(c)
	}
}
