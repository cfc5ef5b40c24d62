package console

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/buildmodel"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// Bounds of looking whether a node hosts the pages that it announces.
const (
	modelsAsked  = 60              // of one node; the rest stay links
	modelsAtOnce = 4               // calls side by side
	modelsWait   = 2 * time.Second // for all of them
)

// markMissing asks a node for the models of the pages that it announces. A Java node announces every class, a process behind a
// sidecar whatever it likes: what has no model is no page, and a link to it would lead nowhere. A node that does not answer in
// time says nothing about its pages.
func (p *pages) markMissing(c *gin.Context, node string, links []views.PageLink) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), modelsWait)
	defer cancel()
	token, address, id := viewer(c).Token, web.ClientIP(c.Request), web.RequestID(ctx)
	slots := make(chan struct{}, modelsAtOnce)
	var all sync.WaitGroup
	for i := range links[:min(len(links), modelsAsked)] {
		if links[i].Path == "" {
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answer, err := p.Pages.Do(ctx, proxy.Call{Full: node + "." + links[i].Erupt, Path: "build/{e}", Token: token, Address: address, RequestID: id})
			links[i].Missing = err == nil && noModel(answer)
		})
	}
	all.Wait()
}

// noModel reports whether a node said clearly that it has no such page. A node that fails has said nothing.
func noModel(a *proxy.Answer) bool {
	switch {
	case a.Status == http.StatusNotFound:
		return true
	case a.Status != http.StatusOK:
		return false
	}
	if _, refused := buildmodel.Refused(a.Status, a.Body); refused {
		return false
	}
	_, err := buildmodel.Parse(a.Body)
	return err != nil
}
