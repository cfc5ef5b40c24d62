package views

import (
	"context"
	"net/url"
)

func (m UserForm) title(ctx context.Context) string {
	if m.New {
		return T(ctx, "users.new")
	}
	return m.Account
}

func (m UserForm) mayChange(ctx context.Context) bool {
	if m.New {
		return May(ctx, "EruptUser@ADD")
	}
	return May(ctx, "EruptUser@EDIT")
}

func (m UserForm) passwordLabel(ctx context.Context) string {
	if m.New {
		return T(ctx, "users.password")
	}
	return T(ctx, "users.password_new")
}

func (m UserForm) passwordHint(ctx context.Context) string {
	if m.New {
		return ""
	}
	return T(ctx, "users.password_hint")
}

func (m RoleForm) title(ctx context.Context) string {
	if m.New {
		return T(ctx, "roles.new")
	}
	return m.Name
}

func (m RoleForm) mayChange(ctx context.Context) bool {
	if m.New {
		return May(ctx, "EruptRole@ADD")
	}
	return May(ctx, "EruptRole@EDIT")
}

func pathEscape(s string) string { return url.PathEscape(s) }
