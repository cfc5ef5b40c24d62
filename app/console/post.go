package console

import (
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

func (p *pages) mountPosts(root *gin.RouterGroup) {
	const posts = access.CodePosts
	p.route(root, http.MethodGet, "/posts", p.listPosts, posts)
	p.route(root, http.MethodGet, "/posts.csv", p.exportPosts, posts)
	p.form(root, http.MethodPost, "/posts", p.createPost, posts+"@ADD")
	p.route(root, http.MethodGet, "/posts/:post", p.oneOrNew("post", p.newPost, p.editPost, posts), posts, posts+"@ADD")
	p.form(root, http.MethodPut, "/posts/:post", p.savePost, posts+"@EDIT")
	p.form(root, http.MethodPost, "/posts/:post/delete", p.deletePost, posts+"@DELETE")
}

// postItem is a post as scripts get it.
type postItem struct {
	Code   string `json:"code"`
	Name   string `json:"name"`
	Weight int    `json:"weight"`
	Users  int    `json:"users"`
}

// listPosts handles GET /console/posts.
func (p *pages) listPosts(c *gin.Context) error {
	all, err := p.Posts.All(c.Request.Context())
	if err != nil {
		return err
	}
	m := views.PostList{Query: strings.TrimSpace(c.Query("q")), All: len(all), Said: said(c)}
	twin := listTwin[postItem]{Items: []postItem{}}
	for _, one := range all {
		if containsFold(m.Query, one.Code, one.Name) {
			m.Rows = append(m.Rows, views.PostRow{Code: one.Code, Name: one.Name, Weight: one.Weight, Users: one.Users})
			twin.Items = append(twin.Items, postItem{one.Code, one.Name, one.Weight, one.Users})
		}
	}
	total := len(twin.Items)
	twin.Total = &total
	return web.Twin(c, twin, views.PostListPage(m))
}

// exportPosts handles GET /console/posts.csv.
func (p *pages) exportPosts(c *gin.Context) error {
	ctx := c.Request.Context()
	all, err := p.Posts.All(ctx)
	if err != nil {
		return err
	}
	query := strings.TrimSpace(c.Query("q"))
	rows := func(yield func([]any, error) bool) {
		for _, one := range all {
			if containsFold(query, one.Code, one.Name) && !yield([]any{one.Code, one.Name, one.Weight, one.Users}, nil) {
				return
			}
		}
	}
	return web.CSV(c, "posts", titles(ctx, "groups.code", "groups.name", "posts.weight", "roles.users"), iter.Seq2[[]any, error](rows))
}

// newPost handles GET /console/posts/new.
func (p *pages) newPost(c *gin.Context) error {
	return p.postForm(c, views.PostForm{New: true, Weight: "0"}, nil)
}

func postFields(c *gin.Context) views.PostForm {
	return views.PostForm{Name: text(c, "name"), Weight: text(c, "weight")}
}

// postFacts is what the trail keeps of a form.
func postFacts(m views.PostForm) map[string]any {
	return map[string]any{"name": m.Name, "weight": m.Weight}
}

func formOfPost(one access.Post) views.PostForm {
	return views.PostForm{Code: one.Code, Name: one.Name, Weight: strconv.Itoa(one.Weight), Users: one.Users}
}

// weightNumber reads a weight; an empty one is zero.
func weightNumber(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 32) // what the column holds
	if err != nil {
		return 0, fault.New(fault.Invalid, "the weight must be a whole number").Field("weight", "the weight must be a whole number").Because(err)
	}
	return int(n), nil
}

// createPost handles POST /console/posts.
func (p *pages) createPost(c *gin.Context) error {
	m := postFields(c)
	m.New, m.Code = true, text(c, "code")
	weight, err := weightNumber(m.Weight)
	if err == nil {
		_, err = p.Posts.Create(c.Request.Context(), access.NewPost{Code: m.Code, Name: m.Name, Weight: weight})
	}
	if err := p.recordChange(c, "post.create", m.Code, nil, postFacts(m), err); err != nil {
		return p.postForm(c, m, err)
	}
	return web.Redirect(c, views.PostsPath, "said", "created")
}

// editPost handles GET /console/posts/:post.
func (p *pages) editPost(c *gin.Context) error {
	one, err := p.Posts.ByCode(c.Request.Context(), web.Param(c, "post"))
	if err != nil {
		return err
	}
	if web.PrefersJSON(c.Request) {
		return web.Twin(c, postItem{one.Code, one.Name, one.Weight, one.Users}, nil)
	}
	return p.postForm(c, formOfPost(one), nil)
}

// savePost handles PUT /console/posts/:post.
func (p *pages) savePost(c *gin.Context) error {
	if err := complete(c, "name", "weight"); err != nil {
		return err
	}
	ctx, m := c.Request.Context(), postFields(c)
	m.Code = web.Param(c, "post")
	before, err := p.Posts.ByCode(ctx, m.Code)
	if err != nil {
		return err
	}
	m.Users = before.Users
	weight, err := weightNumber(m.Weight)
	if err == nil {
		_, err = p.Posts.Update(ctx, m.Code, access.PostPatch{Name: &m.Name, Weight: &weight})
	}
	if err := p.recordChange(c, "post.update", m.Code, postFacts(formOfPost(before)), postFacts(m), err); err != nil {
		return p.postForm(c, m, err)
	}
	return p.back(c, views.PostPath(m.Code), "saved")
}

// deletePost handles POST /console/posts/:post/delete.
func (p *pages) deletePost(c *gin.Context) error {
	ctx, code := c.Request.Context(), web.Param(c, "post")
	before, err := p.Posts.ByCode(ctx, code)
	if err != nil {
		return err
	}
	err = p.Posts.Delete(ctx, code)
	if err := p.recordChange(c, "post.delete", code, postFacts(formOfPost(before)), nil, err); err != nil {
		return err
	}
	return web.Redirect(c, views.PostsPath, "said", "deleted")
}

func (p *pages) postForm(c *gin.Context, m views.PostForm, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	m.Fields, m.Said = fields, said(c)
	return web.Render(c, views.PostFormPage(m))
}
