package console

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/views"
)

func (p *pages) mountServerLog(root *gin.RouterGroup) {
	p.route(root, http.MethodGet, "/server-log", p.serverLog, access.CodeServerLog)
	p.route(root, http.MethodGet, "/server-log/lines", p.serverLogLines, access.CodeServerLog)
	p.route(root, http.MethodGet, "/server-log/text", p.serverLogText, access.CodeServerLog)
}

// ownLog is the log of this process, read as that of a node with one instance is.
type ownLog struct {
	replica string
	lines   func(from int64, size int) []wire.LogLine
}

func (o *ownLog) read(size int, offset *int64) []wire.LogLine {
	if offset == nil {
		return o.lines(-1, size)
	}
	return o.lines(*offset, size)
}

// elsewhere says that the log of another replica was asked for: no replica has the lines of another.
func (o *ownLog) elsewhere(replica string) error {
	return fault.New(fault.Unavailable, "replica %s answers here; the log of %q is on that replica", o.replica, limitedText(replica, 80))
}

// registered are the instances whose lines can be read.
func (v *logView) registered() []registry.Instance {
	if v.own == nil {
		return v.p.Registry.View().Node(v.node)
	}
	var in registry.Instance
	in.ID = v.own.replica
	return []registry.Instance{in}
}

func (v *logView) find(id string) (registry.Instance, error) {
	if v.own == nil {
		return v.p.instance(v.node, id)
	}
	if id != v.own.replica {
		return registry.Instance{}, v.own.elsewhere(id)
	}
	return v.registered()[0], nil
}

// serverLogView reads this replica's log. Where there are several replicas, a load balancer leads each request to any of them: the
// lines say then whose they are.
func (p *pages) serverLogView(c *gin.Context) (v *logView, replicas int, err error) {
	if !viewer(c).Reaches(access.CodeServerLog, nil) { // the log tells of all groups
		return nil, 0, fault.New(fault.Forbidden, "this needs the permission %s", access.CodeServerLog)
	}
	all := []string{p.Replica}
	if p.Replicas != nil {
		all = append(all, p.Replicas()...)
		slices.Sort(all)
		all = slices.Compact(all)
	}
	v = &logView{
		p: p, ctx: c.Request.Context(), charset: "utf-8", instance: limitedText(c.Query("instance"), 200),
		own: &ownLog{p.Replica, p.ServerLog},
	}
	short := views.ShortNames(all, logName)
	for i, id := range all {
		v.all = append(v.all, views.LogInstance{ID: id, Short: short[i], Class: "c" + strconv.Itoa(i%logColors+1), State: views.StateUp})
	}
	at := slices.Index(all, p.Replica)
	switch {
	case v.instance == "" || v.merged() || v.instance == p.Replica:
		v.chosen = v.all[at : at+1]
	default:
		v.chosen = []views.LogInstance{{ID: v.instance, Short: v.instance, Class: "c1"}}
	}
	return v, len(all), nil
}

// serverLog handles GET /console/server-log?instance=&line=&level=&q=: what this server logged, as a page and as JSON.
func (p *pages) serverLog(c *gin.Context) error {
	v, replicas, err := p.serverLogView(c)
	if err != nil {
		return err
	}
	m := views.LogPanelModel{
		Replica: p.Replica, Search: limitedText(c.Query("q"), 200), Level: logLevelOf(c.Query("level")),
	}
	if m.Line, err = wholeNumber(c, "line"); err != nil {
		return err
	}
	if v.instance == "" && replicas > 1 {
		v.instance = views.LogAll
	}
	m.Asked = v.instance
	if m.Instance = v.instance; m.Instance == "" {
		m.Instance = p.Replica
	}
	m.Chunk = p.ownLines(v.start(m.Line))
	return web.Twin(c, logDocumentOf(m.Chunk), views.ServerLogPage(m, replicas))
}

// serverLogLines handles GET /console/server-log/lines: see logLines.
func (p *pages) serverLogLines(c *gin.Context) error {
	v, _, err := p.serverLogView(c)
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
		if _, known := at[p.Replica]; !known && !v.merged() && len(chunk.Sources) == 1 && chunk.Sources[0].Failed == "" {
			chunk.Sources[0].Restarted = true // each start has a name of its own, and numbers
		}
	default:
		chunk = v.start(0)
	}
	chunk = p.ownLines(chunk)
	return web.Twin(c, logDocumentOf(chunk), views.LogItems(chunk))
}

// serverLogText handles GET /console/server-log/text?instance=&line=: what is kept, or one line of it, as a file.
func (p *pages) serverLogText(c *gin.Context) error {
	v, _, err := p.serverLogView(c)
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
	name := "server-" + p.Replica
	if line > 0 {
		name += "-" + strconv.FormatInt(line, 10)
	}
	c.Header("Cache-Control", "no-store")
	c.Header("Content-Disposition", web.Attachment(name+".log"))
	c.Data(http.StatusOK, "text/plain; charset=utf-8", text)
	return nil
}

func (p *pages) ownLines(c views.LogChunk) views.LogChunk {
	c.Replica = p.Replica
	return c
}
