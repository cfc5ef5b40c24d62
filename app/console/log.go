package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// How much of a log is read and shown. A node answers a request without offset from its oldest line on (erupt-wire 2.9), so
// the tail is only seen by asking for more than its buffer holds.
const (
	logBuffer  = 2000 // lines of one instance asked for at first
	logShown   = 500  // of those, shown at first and with each older page
	logPoll    = 500  // asked for by each poll, of one instance
	logContext = 200  // lines before the one that a link points at
	logMerged  = 16   // instances whose lines are merged
	logColors  = 8    // that instances have in the merged view
	logName    = 12   // characters of an instance's name in its column
)

// nodeLog handles GET /console/nodes/:node/log?instance=&line=&level=&q=&charset=: the drawer for htmx, a page for everybody
// else, and the lines as JSON for scripts. The instance "*" is all of them.
func (p *pages) nodeLog(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeNodeLog)
	if err != nil {
		return err
	}
	v, err := p.logView(c, node)
	if err != nil {
		return err
	}
	m := views.LogPanelModel{
		Node: node.Name, Instance: v.instance, Instances: v.all, Drawer: isFragment(c), Search: limitedText(c.Query("q"), 200),
		Level: logLevelOf(c.Query("level")), Charset: v.charset, More: max(len(v.all)-logMerged, 0),
	}
	if m.Line, err = wholeNumber(c, "line"); err != nil {
		return err
	}
	m.Chunk = views.LogChunk{Node: node.Name}
	if v.instance != "" {
		m.Chunk = v.start(m.Line)
	}
	if m.Drawer {
		return web.Twin(c, logDocumentOf(m.Chunk), views.LogDrawer(m), views.LogDrawerFragment)
	}
	n, err := p.nodePage(c, views.TabLog)
	if err != nil {
		return err
	}
	if c.Query("instance") == v.instance && !v.merged() {
		n.head.Instance = v.instance
	}
	return web.Twin(c, logDocumentOf(m.Chunk), views.LogPage(n.head, m), views.NodeHeadFragment, views.SideFragment, views.NavNodesFragment)
}

// logLines handles GET /console/nodes/:node/log/lines?instance=&charset=: with at=NUM@INSTANCE what was logged after the line
// with that number, with before=NUM@INSTANCE what was logged before it, without either the newest lines. In the merged view
// each instance has its own number.
func (p *pages) logLines(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeNodeLog)
	if err != nil {
		return err
	}
	v, err := p.logView(c, node)
	if err != nil {
		return err
	}
	at, err := cursors(c.QueryArray("at"))
	if err != nil {
		return err
	}
	before, err := cursors(c.QueryArray("before"))
	if err != nil {
		return err
	}
	var chunk views.LogChunk
	switch {
	case len(before) > 0:
		chunk = v.older(before)
	case len(at) > 0:
		chunk = v.newer(at)
	default:
		chunk = v.start(0)
	}
	return web.Twin(c, logDocumentOf(chunk), views.LogItems(chunk))
}

// logView chooses whose lines a request is about.
func (p *pages) logView(c *gin.Context, node fleet.Node) (*logView, error) {
	v := &logView{p: p, ctx: c.Request.Context(), token: viewer(c).Token, node: node.Name, charset: c.Query("charset"), instance: c.Query("instance")}
	if !slices.Contains(views.LogCharsets, v.charset) {
		return nil, fault.New(fault.Invalid, "charset must be one of %s", strings.Join(views.LogCharsets[1:], ", "))
	}
	state := judgeBy([]fleet.Node{node}, p.Registry.View(), p.orders())[0]
	ids := make([]string, len(state.instances))
	for i, in := range state.instances {
		ids[i] = in.ID
	}
	short := views.ShortNames(ids, logName)
	for i, in := range state.instances {
		v.all = append(v.all, views.LogInstance{
			ID: in.ID, Location: first(in.Locations), State: in.kind, Short: short[i], Class: "c" + strconv.Itoa(i%logColors+1),
		})
	}
	if v.instance == "" {
		v.instance = usualInstance(state.instances)
	}
	for i := range v.all {
		if v.merged() && len(v.chosen) < logMerged || v.all[i].ID == v.instance {
			v.chosen = append(v.chosen, v.all[i])
		}
	}
	if len(v.chosen) == 0 && v.instance != "" && !v.merged() {
		v.chosen = []views.LogInstance{{ID: v.instance, Short: v.instance, Class: "c1"}} // it has left: said in the panel
	}
	if v.merged() && len(v.all) == 0 {
		v.instance = ""
	}
	return v, nil
}

// usualInstance is what is shown when nobody chose: all of a few instances, else the first in routing.
func usualInstance(all []instanceState) string {
	switch {
	case len(all) == 0:
		return ""
	case len(all) > 1 && len(all) <= logMerged:
		return views.LogAll
	}
	if i := slices.IndexFunc(all, func(i instanceState) bool { return i.kind == views.StateUp }); i >= 0 {
		return all[i].ID
	}
	return all[0].ID
}

// cursors reads positions of the form NUM@INSTANCE.
func cursors(texts []string) (map[string]int64, error) {
	if len(texts) > 4*logMerged {
		return nil, fault.New(fault.Invalid, "at most %d positions may be named", 4*logMerged)
	}
	out := make(map[string]int64, len(texts))
	for _, text := range texts {
		number, id, found := strings.Cut(text, "@")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || !found {
			return nil, fault.New(fault.Invalid, "a position must be a whole number, @ and an instance").Because(err)
		}
		out[id] = n
	}
	return out, nil
}

// wholeNumber reads a parameter that may be missing: 0.
func wholeNumber(c *gin.Context, name string) (int64, error) {
	text := c.Query(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fault.New(fault.Invalid, "%s must be a whole number, 0 or more", name).Because(err)
	}
	return n, nil
}

func logLevelOf(text string) string {
	if level := strings.ToUpper(text); slices.Contains([]string{"DEBUG", "INFO", "WARN", "ERROR"}, level) {
		return level
	}
	return ""
}

// limitedText keeps at most n characters.
func limitedText(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// logText handles GET /console/nodes/:node/log/text?instance=&line=: what the node has buffered, or one line of it, as a file
// without colours.
func (p *pages) logText(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeNodeLog)
	if err != nil {
		return err
	}
	v, err := p.logView(c, node)
	if err != nil {
		return err
	}
	line, err := wholeNumber(c, "line")
	if err != nil {
		return err
	}
	text, err := v.text(line)
	if err != nil {
		return err
	}
	name := node.Name
	if line > 0 {
		name += "-" + strconv.FormatInt(line, 10)
	}
	c.Header("Cache-Control", "no-store")
	c.Header("Content-Disposition", web.Attachment(name+".log"))
	c.Data(http.StatusOK, "text/plain; charset=utf-8", text)
	return nil
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}
