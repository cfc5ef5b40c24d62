package views

import (
	"context"
	"net/url"
)

func (m GroupForm) title(ctx context.Context) string {
	if m.New {
		return T(ctx, "groups.new")
	}
	if m.Name != "" {
		return m.Name
	}
	return m.Code
}

func (m GroupForm) mayChange(ctx context.Context) bool {
	if m.New {
		return May(ctx, "CloudNodeGroup@ADD")
	}
	return m.may(ctx, "CloudNodeGroup@EDIT")
}

func queryEscape(s string) string { return url.QueryEscape(s) }

// may reports whether the viewer holds a code for this very group.
func (m GroupForm) may(ctx context.Context, code string) bool {
	if m.Can != nil {
		return m.Can(code)
	}
	return May(ctx, code)
}

// root is the choice to make it a root; empty if the viewer may not.
func (m GroupForm) root(ctx context.Context) string {
	if m.MustHang {
		return ""
	}
	return T(ctx, "groups.root")
}

// noGroup is the choice of no group; empty if the viewer may not make it.
func noGroup(ctx context.Context, mustPlace bool) string {
	if mustPlace {
		return ""
	}
	return T(ctx, "nodes.no_group")
}
