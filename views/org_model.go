package views

import (
	"context"
	"net/url"
	"strings"
)

// The addresses of organisations and posts; one of them is OrgPath or PostPath.
const (
	OrgsPath  = "/console/orgs"
	PostsPath = "/console/posts"
)

// OrgPath returns the address of an organisation.
func OrgPath(code string) string { return itemPath(OrgsPath, code) }

// PostPath returns the address of a post.
func PostPath(code string) string { return itemPath(PostsPath, code) }

// ItemAction returns where a form about a thing of a list posts to.
func ItemAction(list, code string, more ...string) string {
	return strings.Join(append([]string{list, url.PathEscape(code)}, more...), "/")
}

// OrgList is the page of organisations, as a tree.
type OrgList struct {
	Query string
	Rows  []OrgRow
	All   int
	Said  string
}

// OrgRow is one organisation.
type OrgRow struct {
	Code, Name  string
	Sort, Depth int
	Users       int
	First, Last bool // among those beside it
}

// OrgForm creates or changes an organisation.
type OrgForm struct {
	Fields
	New                      bool
	Code, Name, Parent, Sort string
	Parents                  []GroupOption // where it may lie, in tree order
	Below                    []OrgRow      // right below it
	Users                    int
	Said                     string
}

func (m OrgForm) title(ctx context.Context) string {
	if m.New {
		return T(ctx, "orgs.new")
	}
	return m.Name
}

func (m OrgForm) mayChange(ctx context.Context) bool { return mayKeep(ctx, "EruptOrg", m.New) }

// mayKeep reports whether the viewer may make things of a kind, or change them.
func mayKeep(ctx context.Context, code string, create bool) bool {
	if create {
		return May(ctx, code+"@ADD")
	}
	return May(ctx, code+"@EDIT")
}

// PostList is the page of posts.
type PostList struct {
	Query string
	Rows  []PostRow
	All   int
	Said  string
}

// PostRow is one post.
type PostRow struct {
	Code, Name string
	Weight     int
	Users      int
}

// PostForm creates or changes a post.
type PostForm struct {
	Fields
	New                bool
	Code, Name, Weight string
	Users              int
	Said               string
}

func (m PostForm) title(ctx context.Context) string {
	if m.New {
		return T(ctx, "posts.new")
	}
	return m.Name
}

func (m PostForm) mayChange(ctx context.Context) bool { return mayKeep(ctx, "EruptPost", m.New) }

// listFilter is the search above a simple list and its export.
type listFilter struct {
	Path, Query, Hint string
	Export            string // address of the export; empty: none
	ExportRight       string // that it takes; empty: none but the page's own
	Keep              []string
}

// kept are the parts of the address that a new search keeps, as pairs.
func (f listFilter) kept() [][2]string {
	var out [][2]string
	for i := 0; i+1 < len(f.Keep); i += 2 {
		if f.Keep[i+1] != "" {
			out = append(out, [2]string{f.Keep[i], f.Keep[i+1]})
		}
	}
	return out
}

// formPath is where the form of a thing posts to: the list for a new one.
func formPath(list, code string, create bool) string {
	if create {
		return list
	}
	return ItemAction(list, code)
}
