package console

import (
	"context"

	"eruptcloud/app/access"
	"eruptcloud/views"
)

// addOrgsAndPosts adds the organisations and posts to choose from.
func (p *pages) addOrgsAndPosts(ctx context.Context, orgs, posts *[]views.GroupOption) error {
	if p.Orgs == nil || p.Posts == nil {
		return nil
	}
	all, err := p.Orgs.All(ctx)
	if err != nil {
		return err
	}
	*orgs = orgOptions(all)
	held, err := p.Posts.All(ctx)
	if err != nil {
		return err
	}
	for _, one := range held {
		if one.Code != "" {
			*posts = append(*posts, views.GroupOption{Code: one.Code, Name: one.Name})
		}
	}
	return nil
}

// addUserPlaces adds to a form where a user can belong, and which pages he can start with: those that a menu opens.
func (p *pages) addUserPlaces(ctx context.Context, m *views.UserForm) error {
	if m.Places = p.Orgs != nil && p.Posts != nil; !m.Places {
		return nil
	}
	if err := p.addOrgsAndPosts(ctx, &m.Orgs, &m.Posts); err != nil {
		return err
	}
	menus, err := p.Menus.All(ctx)
	if err != nil {
		return err
	}
	for _, one := range menuTree(menus) {
		if one.Opens() && (one.Status != access.MenuDisabled || one.Code == m.Home) {
			m.Homes = append(m.Homes, views.GroupOption{Code: one.Code, Name: one.Name, Depth: max(one.depth-1, 0)})
		}
	}
	return nil
}
