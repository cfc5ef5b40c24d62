package console

import (
	"net/http/httptest"
	"strings"
	"testing"

	"eruptcloud/app/access"
)

func TestChangesOfOthersAreNoMissedMessage(t *testing.T) { // U60, D21
	w := commerce()
	for i := range w.nodes {
		for _, g := range w.groups {
			if g.Code == w.nodes[i].Group {
				w.nodes[i].GroupID = g.ID
			}
		}
	}
	w.login("team", false, access.CodeNodes)
	team := w.sessions["team"]
	team.Scopes = map[string][]int64{strings.ToLower(access.CodeNodes): {1}} // payments
	w.sessions["team"] = team
	s := newSite(t, w)
	server := httptest.NewServer(s.http)
	t.Cleanup(server.Close)
	next, _ := s.listen(t, server, "team")
	hello, _ := next()
	s.changed[0]("node", "order-service")
	if m, _ := next(); len(m.Topics) != 0 || !m.Quiet || m.Version != hello.Version+1 {
		t.Errorf("a change that is not theirs: %+v, want a version and no reason to read everything anew", m)
	}
	s.changed[0]("node", "ledger")
	if m, _ := next(); len(m.Topics) != 1 || m.Topics[0] != "node:ledger" || m.Quiet {
		t.Errorf("a change of theirs: %+v", m)
	}
	close(s.done)
}
