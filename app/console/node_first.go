package console

import (
	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/views"
)

// maxStrangers is how many unknown processes an empty installation names.
const maxStrangers = 5

// addFirstRun adds what the page of an empty installation needs: the form of the first node, and who tried to register
// already. Its addresses are nobody's yet, so only those who may create nodes see them.
func (p *pages) addFirstRun(c *gin.Context, m *views.NodeList) {
	m.First.Account = viewer(c).Account
	if !viewer(c).Holds(access.CodeNodes + "@ADD") {
		return
	}
	add := access.CodeNodes + "@ADD"
	if groups, err := p.places(c, add); err == nil { // a first node needs none
		m.First.Groups = groups
	}
	m.First.MustPlace = !p.holds(viewer(c), add, 0)
	if p.Refusals == nil || scoped(c) {
		return
	}
	for _, r := range p.Refusals.All() {
		if r.Reason == fleet.NoSuchNode && len(m.First.Strangers) < maxStrangers {
			m.First.Strangers = append(m.First.Strangers, views.Stranger{Name: r.Node, Address: r.Address, Since: r.Since})
		}
	}
}
