package web

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"

	"github.com/a-h/templ"
	"github.com/gin-gonic/gin"

	"eruptcloud/views"
)

// Render answers with a component, with the status set by c.Status or 200. A request of htmx gets only the named fragments
// (the ids of templ.Fragment): of several the one named like its target element, or all of them if none is. Without
// fragments, and for a browser that asks for a page, the whole component goes out.
func Render(c *gin.Context, page templ.Component, fragments ...any) error {
	var b bytes.Buffer
	ctx := c.Request.Context()
	var err error
	if len(fragments) > 0 && isFragment(c.Request) {
		f := *views.FrameOf(ctx)
		f.Partial = true
		ctx = views.WithFrame(ctx, f)
		err = templ.RenderFragments(ctx, &b, page, wanted(c.Request, fragments)...)
	} else {
		err = page.Render(ctx, &b)
	}
	if err != nil {
		return fmt.Errorf("render: %w", err)
	}
	h := c.Writer.Header()
	h.Add("Vary", "HX-Request")
	if h.Get("Cache-Control") == "" {
		// A page behind a login must not come back from a cache after the logout, nor a fragment in a page's place.
		h.Set("Cache-Control", "no-store")
	}
	c.Data(c.Writer.Status(), "text/html; charset=utf-8", b.Bytes())
	return nil
}

func wanted(r *http.Request, fragments []any) []any {
	target := r.Header.Get("HX-Target")
	for _, f := range fragments {
		if len(fragments) > 1 && fmt.Sprint(f) == target {
			return []any{f}
		}
	}
	return fragments
}

// Redirect sends the browser to a page below the base path. params are pairs of a name and a value for its query.
func Redirect(c *gin.Context, path string, params ...string) error {
	target := views.URL(c.Request.Context(), path)
	if len(params) > 0 {
		query := make(url.Values, len(params)/2)
		for i := 0; i+1 < len(params); i += 2 {
			query.Add(params[i], params[i+1])
		}
		target += "?" + query.Encode()
	}
	c.Header("Cache-Control", "no-store")
	if isFragment(c.Request) {
		c.Header("HX-Redirect", target) // a 303 would be followed unseen and swapped into the target
		c.Status(http.StatusOK)
		c.Writer.WriteHeaderNow()
		return nil
	}
	c.Redirect(http.StatusSeeOther, target)
	return nil
}
