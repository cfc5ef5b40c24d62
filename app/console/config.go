package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// maxHistory is how many revisions the editor lists; older ones stay in the database.
const maxHistory = 100

// configOwner is a node or a group whose configuration is edited; both have the same pages.
type configOwner struct {
	views.ConfigTarget
	subject          string // for the audit trail
	text             string
	revision         int64
	set              func(context.Context, fleet.ConfigEdit) error
	revisions        func(ctx context.Context, limit int) ([]fleet.Revision, error)
	effective        func(context.Context) ([]views.EffectiveRow, error) // nil for a group
	nodes, instances int                                                 // that a change concerns
	may              func(code string) error                             // fault.Forbidden unless the viewer holds code for it
}

type ownerOf func(*gin.Context) (configOwner, error)

// mountConfig adds the pages of a configuration below path.
func (p *pages) mountConfig(root *gin.RouterGroup, path, view, edit string, owner ownerOf) {
	with := func(h func(*gin.Context, configOwner) error) func(*gin.Context) error {
		return func(c *gin.Context) error {
			o, err := owner(c)
			if err != nil {
				return err
			}
			o.Edit = o.may(edit) == nil
			if c.Request.Method != http.MethodGet && !o.Edit {
				return o.may(edit)
			}
			return h(c, o)
		}
	}
	p.route(root, http.MethodGet, path, with(p.editConfig), view)
	p.route(root, http.MethodGet, path+"/compare", with(p.compareConfig), view)
	p.route(root, http.MethodPost, path+"/review", with(p.reviewConfig), edit)
	p.route(root, http.MethodPost, path+"/edit", with(p.resumeConfig), edit)
	p.form(root, http.MethodPut, path, with(p.publishConfig), edit)
}

// editConfig handles GET …/config; ?from=N starts from the text of an older revision.
func (p *pages) editConfig(c *gin.Context, o configOwner) error {
	m := views.ConfigEditor{ConfigTarget: o.ConfigTarget, Text: o.text, Revision: o.revision, Said: said(c)}
	if from := c.Query("from"); from != "" && o.Edit {
		r, err := revision(c.Request.Context(), o, from)
		if err != nil {
			return err
		}
		m.Text, m.Based = r.Config, views.Sayf("config.copy_of", "rev", "r"+views.Num(r.Number), "now", "r"+views.Num(o.revision))
		m.Note = views.T(c.Request.Context(), "config.rollback_note", "rev", "r"+views.Num(r.Number))
	}
	return p.showEditor(c, o, m)
}

// resumeConfig handles POST …/config/edit: back from the review, with the text as it was.
func (p *pages) resumeConfig(c *gin.Context, o configOwner) error {
	if err := complete(c, "config", "revision"); err != nil {
		return err
	}
	return p.showEditor(c, o, views.ConfigEditor{
		ConfigTarget: o.ConfigTarget, Text: draftText(c), Revision: formRevision(c), Note: text(c, "note"),
	})
}

func (p *pages) showEditor(c *gin.Context, o configOwner, m views.ConfigEditor) error {
	ctx := c.Request.Context()
	history, err := o.revisions(ctx, maxHistory)
	if err != nil {
		return err
	}
	for _, r := range history {
		m.History = append(m.History, revisionRow(r, o.revision))
	}
	if o.effective != nil {
		if m.Effective, err = o.effective(ctx); err != nil {
			return err
		}
	}
	if !o.Edit {
		m.Text = shownTo(m.Text, false)
	}
	return web.Twin(c, configDocumentOf(m), views.ConfigEditorPage(m), views.ConfigEditFragment, views.NodeHeadFragment, views.SideFragment,
		views.NavNodesFragment)
}

// reviewConfig handles POST …/config/review: what publishing would change. Nothing is stored yet.
func (p *pages) reviewConfig(c *gin.Context, o configOwner) error {
	if err := complete(c, "config", "revision"); err != nil {
		return err
	}
	draft := draftText(c)
	if problem := problemOf(views.FrameOf(c.Request.Context()).Lang, draft); problem.Line > 0 {
		c.Status(http.StatusUnprocessableEntity)
		return p.showEditor(c, o, views.ConfigEditor{
			ConfigTarget: o.ConfigTarget, Text: draft, Revision: formRevision(c), Problem: problem, Note: text(c, "note"),
		})
	}
	if formRevision(c) != o.revision {
		return p.showConflict(c, o, draft)
	}
	return p.showReview(c, o, draft, views.Fields{})
}

func (p *pages) showReview(c *gin.Context, o configOwner, draft string, fields views.Fields) error {
	now, _ := parseTree(o.text) // a text from before anybody checked counts as nothing: everything is new
	next, _ := parseTree(draft)
	return web.Render(c, views.ConfigReviewPage(views.ConfigReview{
		ConfigTarget: o.ConfigTarget, Text: draft, Revision: o.revision, Note: text(c, "note"), Fields: fields,
		Diff: diff(prettyOf(o.text), prettyOf(draft)), Changed: changedKeys(now, next), Nodes: o.nodes, Instances: o.instances,
	}))
}

// publishConfig handles PUT …/config.
func (p *pages) publishConfig(c *gin.Context, o configOwner) error {
	if err := complete(c, "config", "revision"); err != nil {
		return err
	}
	draft, note := draftText(c), text(c, "note")
	lang := views.FrameOf(c.Request.Context()).Lang
	if problemOf(lang, draft).Line > 0 {
		return p.reviewConfig(c, o)
	}
	if note == "" {
		c.Status(http.StatusUnprocessableEntity)
		return p.showReview(c, o, draft, views.Fields{Errors: map[string]string{"note": views.Text(lang, "config.note_missing")}})
	}
	err := o.set(c.Request.Context(), fleet.ConfigEdit{
		JSON: draft, BaseRevision: formRevision(c), Editor: viewer(c).Account, Address: web.ClientIP(c.Request), Note: note,
	})
	if err := p.record(c, "config.publish", o.subject, err); err != nil {
		if fault.Is(err, fault.Conflict) {
			return p.conflictNow(c, draft)
		}
		return err
	}
	if o.Group == "" {
		p.tell(history.Event{Node: o.subject, Kind: history.Published, Reason: note, Account: viewer(c).Account})
	}
	return web.Redirect(c, o.Path, "said", "published")
}

// conflictNow reads the owner again, as whoever was faster left it.
func (p *pages) conflictNow(c *gin.Context, draft string) error {
	read := p.groupConfig
	if c.Param("node") != "" {
		read = p.nodeConfig
	}
	o, err := read(c)
	if err != nil {
		return err
	}
	o.Edit = true // the route let the viewer in
	return p.showConflict(c, o, draft)
}

// showConflict shows base, theirs and mine, and a merge of both to go on from; nothing of mine is lost (S28).
func (p *pages) showConflict(c *gin.Context, o configOwner, mine string) error {
	history, err := o.revisions(c.Request.Context(), maxHistory)
	if err != nil {
		return err
	}
	m := views.ConfigConflict{
		ConfigTarget: o.ConfigTarget, BaseRevision: formRevision(c), Theirs: prettyOf(o.text), Mine: prettyOf(mine), Note: text(c, "note"),
		Their: views.RevisionRow{Number: o.revision},
	}
	for _, r := range history {
		switch r.Number {
		case m.BaseRevision:
			m.Base = prettyOf(r.Config)
		case o.revision:
			m.Their = revisionRow(r, o.revision)
		}
	}
	base, _ := parseTree(m.Base)
	theirs, okTheirs := parseTree(o.text)
	own, okMine := parseTree(mine)
	m.Merged = mine
	if okTheirs && okMine {
		merged, clashes := merge(base, theirs, own, "")
		m.Merged, m.Clashes = merged.pretty(), clashes
	}
	c.Status(http.StatusConflict)
	return web.Render(c, views.ConfigConflictPage(m))
}

// compareConfig handles GET …/config/compare?rev=A&rev=B.
func (p *pages) compareConfig(c *gin.Context, o configOwner) error {
	wanted := c.QueryArray("rev")
	if len(wanted) != 2 {
		return fault.New(fault.Invalid, "choose exactly two revisions to compare")
	}
	var found []fleet.Revision
	for _, w := range wanted {
		r, err := revision(c.Request.Context(), o, w)
		if err != nil {
			return err
		}
		found = append(found, r)
	}
	slices.SortFunc(found, func(a, b fleet.Revision) int { return int(min(max(a.Number-b.Number, -1), 1)) })
	old, new := found[0], found[1]
	m := views.ConfigCompare{
		ConfigTarget: o.ConfigTarget, From: revisionRow(old, o.revision), To: revisionRow(new, o.revision),
		Diff: diff(prettyOf(shownTo(old.Config, o.Edit)), prettyOf(shownTo(new.Config, o.Edit))),
	}
	a, _ := parseTree(old.Config)
	b, _ := parseTree(new.Config)
	m.Changed = changedKeys(a, b)
	return web.Twin(c, compareDocumentOf(m, shownTo(old.Config, o.Edit), shownTo(new.Config, o.Edit)), views.ConfigComparePage(m))
}

func revision(ctx context.Context, o configOwner, number string) (fleet.Revision, error) {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return fleet.Revision{}, fault.New(fault.Invalid, "revision must be a whole number").Because(err)
	}
	history, err := o.revisions(ctx, 0)
	if err != nil {
		return fleet.Revision{}, err
	}
	i := slices.IndexFunc(history, func(r fleet.Revision) bool { return r.Number == n })
	if i < 0 {
		return fleet.Revision{}, fault.New(fault.NotFound, "there is no revision %d", n)
	}
	return history[i], nil
}

// draftText is the text of the form; browsers send line ends of two characters, which nobody typed.
func draftText(c *gin.Context) string { return strings.ReplaceAll(c.PostForm("config"), "\r\n", "\n") }

// formRevision is the revision that the text in the form started from. What is no number was made up: it matches none.
func formRevision(c *gin.Context) int64 {
	n, err := strconv.ParseInt(c.PostForm("revision"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func revisionRow(r fleet.Revision, current int64) views.RevisionRow {
	return views.RevisionRow{
		Number: r.Number, Author: r.Author, Address: r.Address, Note: r.Note, Created: r.Created, Size: len(r.Config),
		Current: r.Number == current,
	}
}

// prettyOf formats a text for comparison; one that is no JSON stays as it is.
func prettyOf(text string) string {
	t, ok := parseTree(text)
	switch {
	case !ok:
		return text
	case strings.TrimSpace(text) == "":
		return ""
	}
	return t.pretty()
}

// shownTo is the text for a viewer: who may not edit sees secrets masked.
func shownTo(text string, edit bool) string {
	if edit || strings.TrimSpace(text) == "" {
		return text
	}
	t, ok := parseTree(fleet.MaskConfig(text))
	if !ok {
		return ""
	}
	return t.pretty()
}
