package console

import (
	"context"
	"testing"
	"time"

	"eruptcloud/app/history"
	"eruptcloud/app/registry"
)

func TestSelectingNodesInABrowser(t *testing.T) { // U11, U13
	w := commerce()
	w.deepen()
	b := browse(t, w)
	b.open("/console/nodes")
	b.until("no bar before a selection", `getComputedStyle(document.querySelector("#bulk")).display === "none"`)
	b.click("#node-ledger [data-testid=select]")
	b.click("#node-payment-gateway [data-testid=select]")
	b.until("the bar", `document.querySelector("[data-bulk-count]").textContent === "2 selected" && document.querySelector("#node-ledger").classList.contains("on")`)
	// A change around a selection takes nothing of it away.
	b.change(func() { _ = fakeRegistry{w}.Remove(context.Background(), w.instances[0].Key, registry.Leave) })
	b.until("the headline", `document.querySelector("[data-testid=headline]").textContent.startsWith("Two nodes are offline")`)
	b.until("the selection", `document.querySelectorAll("[data-testid=select]:checked").length === 2`)
	b.click("[data-testid=bulk-disable]")
	b.click("[data-testid=bulk-disable-now]")
	b.until("the outcome", `document.querySelector("[data-testid=bulk-outcome] b")?.textContent === "2 of 2 nodes disabled" && !document.querySelector("[data-testid=select]:checked")`)
	b.until("the rows", `document.querySelector("#node-ledger .state").textContent.trim() === "Disabled"`)

	b.click("[data-testid=group-commerce] [data-testid=fold]")
	b.until("the collapsed group", `!document.querySelector("#node-order-service") && document.activeElement.id === "fold-commerce"`)
	b.open("/console/nodes")
	b.until("still collapsed", `!document.querySelector("#node-order-service") && document.querySelector("#fold-commerce").getAttribute("aria-expanded") === "false"`)
	b.click("#fold-commerce")
	b.until("open again", `document.querySelector("#node-order-service")`)

	b.keys("#node-q", "cart")
	b.until("the search", `document.querySelectorAll("[data-testid=node-row]").length === 1`)
	b.click("[data-do=clear-search]")
	b.until("cleared", `document.querySelectorAll("[data-testid=node-row]").length === 8 && !location.search.includes("cart") && document.activeElement.id === "node-q"`)
	b.eval(`document.querySelector("#node-cart-service [data-l=Instances]").click(); 0`)
	b.until("the row opens its node", `location.pathname === "/console/nodes/cart-service"`)
	for _, c := range b.complaints() {
		t.Error(c)
	}
}

func TestDrainGoesToZeroInABrowser(t *testing.T) { // D12
	w := commerce()
	d := w.deepen()
	b := browse(t, w)
	b.open(orderPage)
	load := func(n int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.loads["http://10.20.4.12:8080"] = InFlight{Count: n, Oldest: now.Add(-time.Duration(n) * time.Second), Known: true}
	}
	load(3)
	b.click(`[data-instance="i-2"] [data-testid=drain]`)
	b.eval(`document.querySelector('[data-instance="i-2"] [data-testid=drain-now]').click(); 0`)
	b.until("the row", `document.querySelector('[data-testid=instance-row][data-instance="i-2"]').dataset.state === "drain"`)
	b.change(func() { w.changed[0]("drain", "order-service") })
	b.until("the panel", `document.querySelector("[data-testid=in-flight]")?.textContent.trim() === "3"`)
	load(1)
	b.until("fewer", `document.querySelector("[data-testid=in-flight]").textContent.trim() === "1"`)
	load(0)
	b.until("safe", `document.querySelector("[data-testid=safe-to-stop]")`)
	b.click("[data-testid=drains] [data-testid=call-off]")
	b.until("called off", `document.querySelector('[data-testid=instance-row][data-instance="i-2"]').dataset.state === "up"`)
	b.until("the panel is gone and asks no more", `!document.querySelector("[data-testid=drains]") && !document.querySelector("#node-drains[hx-get]")`)
	for _, c := range b.complaints() {
		t.Error(c)
	}
}

func TestWaitingPagesTickThemselvesOff(t *testing.T) { // U14, U23, U61
	w := newWorld()
	d := w.deepen()
	b := browse(t, w)
	b.open("/console/nodes")
	b.keys("#f-name", "fresh")
	b.click("[data-testid=node-form] [type=submit]")
	b.until("waiting", `document.querySelector("#node-arrival")?.dataset.here === "false" && document.querySelector("#live[data-on]")`)
	b.change(func() {
		w.instance("fresh", "f-1", "http://10.7.7.8:80", "1")
		for _, l := range w.listeners {
			l([]registry.Change{{Action: registry.Added, In: w.instances[0], At: now}})
		}
	})
	b.until("here", `document.querySelector("#node-arrival")?.dataset.here === "true" && document.querySelector("[data-testid=arrived]")`)
	b.until("the state beside the title, and one way on", `document.querySelector(".title .state").textContent.trim() === "Reachable" && document.querySelectorAll("#main a.primary").length === 1`)
	b.click("[data-testid=arrived]")
	b.until("its page", `location.pathname === "/console/nodes/fresh"`)
	b.open("/console/nodes/fresh/events")
	b.until("one event", `document.querySelectorAll("[data-testid=event-row]").length === 1 && document.querySelector("#live[data-on]")`)
	b.change(func() {
		fakeHistory{d}.Record(history.Event{At: now, Node: "fresh", Kind: history.Registered, Instance: "f-1"})
		w.changed[0]("node", "fresh")
	})
	b.until("it is said and nothing moves", `document.querySelector("[data-testid=events-new]")?.textContent === "1 new, show" && document.querySelectorAll("[data-testid=event-row]").length === 1`)
	b.click("[data-testid=events-new]")
	b.until("shown", `document.querySelectorAll("[data-testid=event-row]").length === 2`)
	for _, c := range b.complaints() {
		t.Error(c)
	}
}
