package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/buildmodel"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// saveRecord handles POST of a record's form: it saves, or only shows the form anew where a choice was asked for or a field
// changed that others depend on.
func (v *nodeViews) saveRecord(c *gin.Context) error {
	if err := c.Request.ParseForm(); err != nil {
		return web.BodyFault(err)
	}
	form := c.Request.PostForm
	do := form.Get("do")
	if do != "form" && !strings.HasPrefix(do, "pick:") {
		outcome, err := v.once.do(c.Request.Context(), onceKey(c, form), func() (any, error) {
			// A browser that gives up on the first of two sendings must not stop what the second waits for.
			c.Request = c.Request.WithContext(context.WithoutCancel(c.Request.Context()))
			return v.save(c, form)
		})
		var un *unasked
		switch {
		case errors.As(err, &un):
			return v.renderUnasked(c, un.draft, form)
		case err != nil:
			return err
		}
		d, _ := outcome.(*draft)
		if d == nil {
			return v.saved(c, form)
		}
		return v.renderRecord(c, d, http.StatusUnprocessableEntity)
	}
	d, err := v.sent(c, form)
	if err != nil {
		return err
	}
	d.pick = strings.TrimPrefix(strings.TrimPrefix(do, "pick:"), "f.")
	if do == "form" {
		d.pick = ""
	}
	d.row = d.base
	if d.problem == nil && !d.add {
		if d.row, err = v.read(c, d); err != nil {
			return err
		}
	}
	if d.problem != nil {
		return v.renderUnasked(c, d, form)
	}
	return v.renderRecord(c, d, http.StatusOK)
}

// unasked is a form that could not be shown to the node at all: nothing was sent, and the same form may be sent again.
type unasked struct{ *draft }

func (u *unasked) Error() string { return "the node gave no page: " + u.problem.Code }

// renderUnasked says why, and keeps what was typed: in place where the form still stands, else as hidden inputs behind a button.
func (v *nodeViews) renderUnasked(c *gin.Context, d *draft, form url.Values) error {
	d.problem.Retry = ""
	if isFragment(c) {
		h := c.Writer.Header()
		h.Set("HX-Retarget", "#record-alert")
		h.Set("HX-Reswap", "innerHTML")
		c.Status(http.StatusUnprocessableEntity)
		return web.Render(c, views.PageProblemBox(d.PageHead, *d.problem))
	}
	m := views.PageRecordModel{PageHead: d.PageHead, Problem: d.problem, ID: d.id, Add: d.add, Back: d.back, Action: v.here(c)}
	for name, values := range form {
		for _, value := range values {
			m.Kept = append(m.Kept, views.PageParam{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(m.Kept, func(a, b views.PageParam) int { return cmp.Compare(a.Name, b.Name) })
	c.Status(d.status(c))
	return web.Render(c, views.PageRecord(m))
}

// onceKey names one filled-in form of one session.
func onceKey(c *gin.Context, form url.Values) string {
	nonce := form.Get("nonce")
	if nonce == "" || len(nonce) > 64 {
		return ""
	}
	return viewer(c).Token + "\x00" + c.Request.URL.Path + "\x00" + nonce
}

// sent reads a form into a draft.
func (v *nodeViews) sent(c *gin.Context, form url.Values) (*draft, error) {
	o, err := v.open(c)
	if err != nil {
		return nil, err
	}
	d := v.newDraft(c, o, form.Get("back"))
	d.add, d.id = strings.HasSuffix(c.Request.URL.Path, "/new"), c.Query("id")
	d.drawer, d.link, d.finds, d.dirty = form.Get("in") == "drawer", form.Get("link"), form, true
	if d.base, err = buildmodel.ParseRow([]byte(form.Get("base"))); err != nil || !form.Has("base") {
		return nil, fault.New(fault.Invalid, "the form is damaged, open the record again").Because(err)
	}
	if !d.add && d.id == "" {
		return nil, fault.New(fault.Invalid, "the address names no record")
	}
	if o.model != nil {
		d.typed = entries(d, form)
	}
	return d, nil
}

// save writes the record to the node. It returns nil for success, else the draft with everything that was typed and what is
// wrong with it.
func (v *nodeViews) save(c *gin.Context, form url.Values) (any, error) {
	d, err := v.sent(c, form)
	if err != nil {
		return nil, err
	}
	if d.model == nil {
		return nil, &unasked{d}
	}
	d.row = d.base
	if !d.add {
		if d.row, err = v.read(c, d); err != nil {
			return nil, err
		}
		if d.problem != nil {
			d.notice = views.PageNotice{
				Kind: "down", Code: d.problem.Code, Title: views.Sayf("page.not_saved"),
				Message: strings.TrimSpace(d.problem.Title.Text(c.Request.Context()) + " " + d.problem.Message),
			}
			d.problem, d.row = nil, d.base
			return d, nil
		}
	}
	changed, conflicts := d.model.Merge(d.base, d.row, d.typed)
	if len(conflicts) > 0 {
		v.conflict(c, d, conflicts)
		return d, nil
	}
	body, problems := d.model.Payload(d.row, changed, d.add)
	if len(problems) > 0 {
		v.wrong(c, d, problems)
		return d, nil
	}
	ok, err := v.send(c, d, body)
	if ok || err != nil {
		return nil, err
	}
	return d, nil
}

// conflict shows what somebody else saved meanwhile. The form starts from that now: saving again overwrites it knowingly.
func (v *nodeViews) conflict(c *gin.Context, d *draft, fields []string) {
	ctx := c.Request.Context()
	for _, name := range fields {
		f := d.model.Field(name)
		now := cmp.Or(f.Show(d.row[name]).Text, "–")
		d.errors[name] = views.T(ctx, "page.conflict_field", "value", now)
	}
	d.base = d.row
	d.notice = views.PageNotice{Kind: "slow", Code: "conflict", Title: views.Sayf("page.conflict"), Message: views.T(ctx, "page.conflict_hint")}
}

func (v *nodeViews) wrong(c *gin.Context, d *draft, problems map[string]buildmodel.Problem) {
	for name, p := range problems {
		d.errors[name] = views.T(c.Request.Context(), "page.wrong."+p.Kind, "bound", p.Arg)
	}
	d.notice = views.PageNotice{Kind: "down", Code: "invalid", Title: views.Sayf("page.not_saved")}
	d.pointTo()
}

// pointTo leads from the notice to the first field that is wrong, in the form's order.
func (d *draft) pointTo() {
	for i := range d.model.Fields {
		f := &d.model.Fields[i]
		if d.errors[f.Name] != "" {
			d.notice.Field, d.notice.FieldLabel = "f-"+f.Name, f.Edit.Title
			return
		}
	}
}

// send asks the node to save and turns its answer into a notice.
func (v *nodeViews) send(c *gin.Context, d *draft, body []byte) (bool, error) {
	call := proxy.Call{Full: d.Full, Method: http.MethodPost, Path: "data/modify/{e}/update", Body: bytes.NewReader(body)}
	if d.add {
		call.Path = "data/modify/{e}"
		if d.link != "" {
			call.Header = http.Header{"Link": {d.link}}
		}
	}
	answer, err := v.call(c, call)
	ctx := c.Request.Context()
	if err != nil {
		switch kind := proxy.KindOf(err); kind {
		case proxy.UpstreamTimeout, proxy.UpstreamUnreachable, proxy.NodeNotReady, proxy.Broken:
			d.notice = views.PageNotice{Kind: "down", Code: string(kind), Title: views.Sayf("page.not_saved"), Message: spoken(c, err)}
			if kind == proxy.UpstreamTimeout { // the node may be at it still
				d.notice.Kind, d.notice.Title = "slow", views.Sayf("page.unknown_outcome")
			}
			return false, nil
		}
		return false, err
	}
	r := buildmodel.ReadResult(answer.Status, answer.Body)
	if r.OK {
		return true, nil
	}
	d.notice = views.PageNotice{Kind: noticeKind(r), Code: "refused", Title: views.Sayf("page.not_saved"), Message: orElse(r.Message, views.T(ctx, "page.no_reason"))}
	if v.blame(d, r) {
		d.notice.Message = views.T(ctx, "page.refused_fields", "count", len(d.errors), "node", d.NodeLabel)
		d.pointTo()
	}
	return false, nil
}

// blame puts a refusal at the fields that it names: those that the node lists, else the one that its message begins with.
func (v *nodeViews) blame(d *draft, r buildmodel.Result) bool {
	if r.Crashed {
		return false
	}
	for name, message := range r.Fields {
		if f := d.model.Field(name); f != nil && isEditable(d.model.Control(f, d.row[name], d.add)) {
			d.errors[name] = message
		}
	}
	if f := d.model.Blames(r.Message); len(d.errors) == 0 && f != nil && isEditable(d.model.Control(f, d.row[f.Name], d.add)) {
		d.errors[f.Name] = r.Message
	}
	return len(d.errors) > 0
}

func noticeKind(r buildmodel.Result) string {
	if r.Status == "INFO" || r.Status == "WARNING" {
		return "slow"
	}
	return "down"
}

// saved answers a form that worked out: a drawer closes and the table behind it reloads, a page goes back to the list.
func (v *nodeViews) saved(c *gin.Context, form url.Values) error {
	word := "saved"
	if strings.HasSuffix(c.Request.URL.Path, "/new") {
		word = "added"
	}
	if isFragment(c) && form.Get("in") == "drawer" {
		return v.done(c, word)
	}
	return v.backTo(c, form.Get("back"), word)
}

// done empties the drawer, says what happened, and tells the table to reload.
func (v *nodeViews) done(c *gin.Context, word string) error {
	h := c.Writer.Header()
	h.Set("HX-Retarget", "#"+views.DrawerID)
	h.Set("HX-Reswap", "innerHTML")
	h.Set("HX-Trigger", "page-changed")
	return web.Render(c, views.PageDone(views.T(c.Request.Context(), "page.said."+word)))
}

func (v *nodeViews) backTo(c *gin.Context, back, word string) error {
	if back == "" {
		back = views.PagePath(c.Param("page"))
	}
	u, err := url.Parse(views.BackPath(back))
	if err != nil {
		return web.Redirect(c, views.PagesPath)
	}
	q := u.Query()
	q.Set("said", word)
	var params []string
	for name, values := range q {
		for _, value := range values {
			params = append(params, name, value)
		}
	}
	return web.Redirect(c, u.EscapedPath(), params...)
}
