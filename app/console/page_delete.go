package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/buildmodel"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// maxDeleted bounds how many records one press may delete.
const maxDeleted = 500

// deleteRecords handles POST /console/pages/:page/delete. The first step asks, the second, with confirm, deletes.
func (v *nodeViews) deleteRecords(c *gin.Context) error {
	if err := c.Request.ParseForm(); err != nil {
		return web.BodyFault(err)
	}
	form := c.Request.PostForm
	if err := v.mayDelete(c); err != nil {
		return err
	}
	ask := views.PageConfirm{
		Path: views.PagePath(c.Param("page"), "delete"), Back: views.BackPath(form.Get("back")), Nonce: rand.Text(),
		Record: form.Get("from") == "record",
	}
	names := form["id"]
	if form.Get("confirm") != "" {
		names = form["sure"]
	}
	for _, value := range names {
		id, label := views.ParseRefValue(value)
		if form.Get("label") != "" && len(names) == 1 {
			label = form.Get("label")
		}
		ask.IDs, ask.Labels = append(ask.IDs, id), append(ask.Labels, label)
	}
	switch {
	case len(ask.IDs) == 0:
		ask.Error = views.T(c.Request.Context(), "page.nothing_selected")
		return v.renderConfirm(c, ask)
	case len(ask.IDs) > maxDeleted:
		return fault.New(fault.Invalid, "at most %d records can be deleted at once", maxDeleted)
	case form.Get("confirm") == "":
		return v.renderConfirm(c, ask)
	}
	outcome, err := v.once.do(c.Request.Context(), onceKey(c, form), func() (any, error) {
		c.Request = c.Request.WithContext(context.WithoutCancel(c.Request.Context()))
		return v.remove(c, ask.IDs)
	})
	if err != nil {
		return err
	}
	if message, _ := outcome.(string); message != "" {
		ask.Error, ask.IDs = message, nil
		return v.renderConfirm(c, ask)
	}
	return v.deleted(c, form)
}

// remove deletes on the node and returns the node's words if it refused. A node deletes all of them or none.
func (v *nodeViews) remove(c *gin.Context, ids []string) (string, error) {
	body, err := json.Marshal(ids) // as text: nodes take that for every kind of key, and nothing is rounded
	if err != nil {
		return "", err
	}
	answer, err := v.call(c, proxy.Call{Full: c.Param("page"), Method: http.MethodPost, Path: "data/modify/{e}/delete", Body: bytes.NewReader(body)})
	if err != nil {
		switch proxy.KindOf(err) {
		case proxy.UpstreamTimeout, proxy.UpstreamUnreachable, proxy.NodeNotReady, proxy.Broken:
			return spoken(c, err), nil
		}
		return "", err
	}
	if r := buildmodel.ReadResult(answer.Status, answer.Body); !r.OK {
		return orElse(r.Message, views.T(c.Request.Context(), "page.no_reason")), nil
	}
	return "", nil
}

// renderConfirm shows the question in place, or without script on the list that it came from.
func (v *nodeViews) renderConfirm(c *gin.Context, ask views.PageConfirm) error {
	c.Status(http.StatusUnprocessableEntity)
	if ask.Error == "" {
		c.Status(http.StatusOK)
	}
	if isFragment(c) {
		return web.Render(c, views.PageConfirmBox(ask), views.PageConfirmFragment)
	}
	status := c.Writer.Status()
	o, err := v.open(c)
	if err != nil {
		return err
	}
	q := url.Values{}
	if u, err := url.Parse(ask.Back); err == nil && u.Path == views.PagePath(o.Full) {
		q = u.Query()
	}
	m, err := v.tableModel(c, o, q)
	if err != nil {
		return err
	}
	ask.Record = false
	m.Confirm = &ask
	c.Status(status)
	return web.Render(c, views.PageTable(m))
}

func (v *nodeViews) deleted(c *gin.Context, form url.Values) error {
	if !isFragment(c) || form.Get("from") == "record" && form.Get("in") != "drawer" {
		return v.backTo(c, form.Get("back"), "deleted")
	}
	return v.done(c, "deleted")
}

// mayDelete asks for the right before anything is shown: a question whose answer would be refused is none.
func (v *nodeViews) mayDelete(c *gin.Context) error {
	node, erupt, ok := v.caller.ResolveErupt(c.Param("page"))
	if !ok {
		return nil // there is no such page, which is said below
	}
	groups, err := v.groupsOf(c.Request.Context(), node)
	if err != nil {
		return err
	}
	return permit(c, node, node+"."+erupt+"@"+string(proxy.Delete), groups)
}
