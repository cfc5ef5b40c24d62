package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// How much of a log is read. A node answers a request without offset from its oldest line on (erupt-wire 2.9), so the tail
// is only seen by asking for more than its buffer holds.
const (
	logBuffer = 2000 // asked for at first
	logShown  = 500  // of that, shown at first
	logPoll   = 500  // asked for by each poll
)

// nodeLog handles GET /console/nodes/:node/log: the drawer for htmx, a page for everybody else.
func (p *pages) nodeLog(c *gin.Context) error {
	n, err := p.nodePage(c, views.TabLog)
	if err != nil {
		return err
	}
	m := views.LogPanelModel{Node: n.state.node.Name, Drawer: isFragment(c)}
	instances := n.state.instances
	for _, i := range instances {
		m.Instances = append(m.Instances, views.LogInstance{ID: i.ID, Location: first(i.Locations), State: i.kind})
	}
	if len(instances) > 0 {
		i := chosen(instances, c.Query("instance"))
		m.Instance = i.ID
		m.Lines = p.tail(c, n.state.node.Name, i.Instance)
	}
	if m.Drawer {
		return web.Render(c, views.LogDrawer(m), views.LogDrawerFragment)
	}
	return web.Render(c, views.LogPage(n.head, m), views.NodeHeadFragment, views.SideFragment, views.NavNodesFragment)
}

// logLines handles GET /console/nodes/:node/log/lines?instance=&offset=: what was logged after the line with that number.
func (p *pages) logLines(c *gin.Context) error {
	name := c.Param("node")
	in, err := p.instance(name, c.Query("instance"))
	if err != nil {
		return err
	}
	offset, err := strconv.ParseInt(c.DefaultQuery("offset", "0"), 10, 64)
	if err != nil || offset < 0 {
		return fault.New(fault.Invalid, "offset must be a whole number, 0 or more").Because(err)
	}
	if offset == 0 {
		return web.Render(c, views.LogItems(p.tail(c, name, in)))
	}
	chunk, err := p.linesAfter(c, name, in, offset)
	if err != nil {
		return err
	}
	if len(chunk.Lines) == 0 && !chunk.Restarted {
		c.Status(http.StatusNoContent)
		c.Writer.WriteHeaderNow()
		return nil
	}
	return web.Render(c, views.LogItems(chunk))
}

// linesAfter asks for the line before the last known one as well: an instance that still has it has not restarted. Asked
// for its newest line a node answers nothing, as does one whose counter began anew (erupt-wire 2.9).
func (p *pages) linesAfter(c *gin.Context, node string, in registry.Instance, last int64) (views.LogChunk, error) {
	from := max(last-1, 0)
	lines, err := p.readLog(c.Request.Context(), viewer(c).Token, node, in, logPoll, &from)
	if err != nil {
		return views.LogChunk{}, err
	}
	if len(lines) == 0 && last > 1 {
		chunk := p.tail(c, node, in)
		chunk.Restarted = len(chunk.Lines) > 0 && chunk.Last < last
		if chunk.Restarted || chunk.Failed != "" {
			return chunk, nil
		}
		lines = nil // the buffer was emptied or turned over; the next poll goes on from what is there
		return views.LogChunk{Lines: after(chunk.Lines, last), Last: chunk.Last}, nil
	}
	return views.LogChunk{Lines: after(parseLog(lines), last), Last: max(last, newest(lines))}, nil
}

// tail reads the newest lines. What goes wrong is part of the panel: the node, not the page, is broken.
func (p *pages) tail(c *gin.Context, node string, in registry.Instance) views.LogChunk {
	lines, err := p.readLog(c.Request.Context(), viewer(c).Token, node, in, logBuffer, nil)
	if err != nil {
		return views.LogChunk{Failed: message(views.FrameOf(c.Request.Context()).Lang, err)}
	}
	last := newest(lines)
	if len(lines) > logShown {
		lines = lines[len(lines)-logShown:]
	}
	return views.LogChunk{Lines: parseLog(lines), Last: last}
}

// message is what an error of the proxy or of ours says to people.
func message(lang string, err error) string {
	var f *proxy.Failure
	if errors.As(err, &f) {
		return views.Translate(lang, f.Format, f.Args...)
	}
	own := fault.Of(err)
	return views.Translate(lang, own.Format, own.Args...)
}

func (p *pages) readLog(ctx context.Context, token, node string, in registry.Instance, size int, offset *int64) ([]wire.LogLine, error) {
	lines, err := p.Caller.Log(ctx, proxy.LogCall{Node: node, Location: first(in.Locations), Token: token, Size: size, Offset: offset})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(lines, func(a, b wire.LogLine) int { return int(min(max(a.Num-b.Num, -1), 1)) })
	return lines, nil
}

// logText handles GET /console/nodes/:node/log/text: what the node has buffered, as a file without colours.
func (p *pages) logText(c *gin.Context) error {
	name := c.Param("node")
	in, err := p.instance(name, c.Query("instance"))
	if err != nil {
		return err
	}
	lines, err := p.readLog(c.Request.Context(), viewer(c).Token, name, in, logBuffer, nil)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, l := range parseLog(lines) {
		for _, s := range l.Spans {
			b.WriteString(s.Text)
		}
		b.WriteByte('\n')
	}
	c.Header("Cache-Control", "no-store")
	c.Header("Content-Disposition", `attachment; filename="`+fileName(name)+`.log"`)
	c.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(b.String()))
	return nil
}

func parseLog(lines []wire.LogLine) []views.LogLine {
	out := make([]views.LogLine, 0, len(lines))
	for _, l := range lines {
		out = append(out, views.ParseLogLine(l.Num, l.Content))
	}
	return out
}

// after drops lines up to a number.
func after(lines []views.LogLine, last int64) []views.LogLine {
	return slices.DeleteFunc(lines, func(l views.LogLine) bool { return l.Num <= last })
}

func newest(lines []wire.LogLine) int64 {
	var n int64
	for _, l := range lines {
		n = max(n, l.Num)
	}
	return n
}

// chosen is the instance that was asked for, else the first in routing, else the first.
func chosen(all []instanceState, id string) instanceState {
	if i := slices.IndexFunc(all, func(i instanceState) bool { return i.ID == id }); i >= 0 {
		return all[i]
	}
	if i := slices.IndexFunc(all, func(i instanceState) bool { return i.kind == views.StateUp }); i >= 0 {
		return all[i]
	}
	return all[0]
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// fileName keeps what is safe in a header and on every file system.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, s)
}
