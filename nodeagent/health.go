package nodeagent

import (
	"net/http"
	"net/url"

	"eruptcloud/nodeagent/wire"
)

// health answers the server's probes: the body is exactly the node's name, so that no other service at the address is taken
// for it (A5), and the headers say which instance answered. It does not count as a request in flight.
func (a *Agent) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, r, http.StatusMethodNotAllowed, "a probe is a GET")
		return
	}
	if a.cfg.Healthy != nil {
		if err := a.cfg.Healthy(r); err != nil {
			writeError(w, r, http.StatusServiceUnavailable, printable(err.Error(), maxRefusalText))
			return
		}
	}
	h := w.Header()
	h.Set(wire.HeaderNode, headerText(a.cfg.NodeName))
	h.Set(wire.HeaderInstance, a.cfg.InstanceID)
	h.Set(wire.HeaderAgentVersion, a.version())
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(a.cfg.NodeName)) // the prober is gone if this fails
}

// headerText makes a name fit into a header: names that an admin may choose today are ASCII, older ones may not be.
func headerText(name string) string {
	for _, r := range name {
		if notHeaderSafe(r) {
			return url.PathEscape(name)
		}
	}
	return name
}
