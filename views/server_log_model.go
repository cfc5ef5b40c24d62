package views

import "context"

// ServerLogPath is where the server's own log is.
const ServerLogPath = "/console/server-log"

// serverTexts are those that say something else of the server than of a node.
var serverTexts = map[string]string{
	"log.restarted": "log.server.restarted", "log.start": "log.server.start", "log.cleared": "log.server.cleared", "log.missing": "log.server.missing",
}

// logKey is the text for a node's log, or for a replica's own.
func logKey(replica, key string) string {
	if replica == "" {
		return key
	}
	return serverTexts[key]
}

func (m LogPanelModel) title(ctx context.Context) string {
	if m.Replica != "" {
		return T(ctx, "serverlog.panel", "id", m.Replica)
	}
	return T(ctx, "nodes.log_of", "node", m.Node)
}
