package boot

import (
	"context"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/nodeapi"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/proxy"
)

// callerLogs lets nodeapi read logs through the proxy's caller.
type callerLogs struct{ caller *proxy.Caller }

// ReadLog implements nodeapi.Logs.
func (l callerLogs) ReadLog(ctx context.Context, w nodeapi.LogWish) ([]wire.LogLine, error) {
	lines, err := l.caller.Log(ctx, proxy.LogCall{Node: w.Node, Location: w.Location, Token: w.Token, Size: w.Size, Offset: w.Offset})
	return lines, faultOf(err)
}

// Caller is the way to nodes for a program that this server is a part of (A24).
func (s *Server) Caller() *proxy.Caller { return s.caller }

// EnsureNode returns the access token of a node, which is created with its group where they are missing.
func (s *Server) EnsureNode(ctx context.Context, n fleet.NewNode, groupName string) (token string, err error) {
	f := s.domain.Fleet
	if n.Group != "" {
		if _, err := f.Groups.ByCode(ctx, n.Group); fault.Is(err, fault.NotFound) {
			if _, err := f.Groups.Create(ctx, fleet.NewGroup{Code: n.Group, Name: groupName, By: n.By}); err != nil {
				return "", err
			}
		} else if err != nil {
			return "", err
		}
	}
	if _, err := f.Nodes.ByName(ctx, n.Name); err == nil {
		return f.Nodes.Token(ctx, n.Name)
	} else if !fault.Is(err, fault.NotFound) {
		return "", err
	}
	_, token, err = f.Nodes.Create(ctx, n)
	return token, err
}
