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
	return May(ctx, "CloudNodeGroup@EDIT")
}

func queryEscape(s string) string { return url.QueryEscape(s) }
