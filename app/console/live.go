package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/views"
)

// Bounds of the event stream.
const (
	pingEvery     = 20 * time.Second       // proxies cut connections that are silent for longer
	settle        = 200 * time.Millisecond // changes that come together are told together
	writeLimit    = 10 * time.Second       // a reader that takes nothing for so long is gone
	maxStreams    = 32                     // of one account; a browser needs one
	maxTopics     = 200                    // named in one message; above that everything has changed
	keptChanges   = 1024                   // for browsers that poll
	topicAll      = "all"
	nodeTopic     = "node:"
	groupTopic    = "group:"
	streamType    = "text/event-stream"
	streamMessage = "event: change\ndata: %s\n\n"
)

// stampVersion notes in the page what the stream was at before anything was read for it. The parts that an open page asks for
// when it has heard of a change are answered from memory.
func (p *pages) stampVersion(c *gin.Context) {
	f := *views.FrameOf(c.Request.Context())
	f.LiveBoot, f.LiveVersion = p.live.boot, p.live.current()
	ctx := views.WithFrame(c.Request.Context(), f)
	if isLive(c) {
		ctx = fleet.FromMemory(ctx)
	}
	c.Request = c.Request.WithContext(ctx)
}

func (p *pages) mountLive(root *gin.RouterGroup) {
	p.route(root, http.MethodGet, "/events", p.events)
	p.route(root, http.MethodGet, "/changes", p.changes)
}

// changes handles GET /console/changes?boot=&v=, for browsers that cannot keep a stream open.
func (p *pages) changes(c *gin.Context) error {
	v, _ := strconv.ParseUint(c.Query("v"), 10, 64) // no number: from the beginning
	c.Header("Cache-Control", "no-store")
	c.JSON(http.StatusOK, p.allowed(c, viewer(c), p.live.since(c.Query("boot"), v)))
	return nil
}

// allowed leaves names out of what viewers hear who may not see these nodes and groups (D21).
func (p *pages) allowed(c *gin.Context, v *access.Session, m liveMessage) (told liveMessage) {
	if len(m.Topics) > 0 {
		defer func() { told.Quiet = len(told.Topics) == 0 }()
	}
	if !v.Holds(access.CodeNodes) && !v.Holds(access.CodeGroups) {
		m.Topics = []string{}
		return m
	}
	if len(v.Scopes) == 0 || len(m.Topics) == 0 {
		return m
	}
	groups := map[string]int64{}                 // topic → the group that it is about
	ctx := fleet.FromMemory(c.Request.Context()) // which heard of the change before the viewer does
	states, err := p.judged(ctx)
	if err == nil {
		for _, s := range states {
			groups[nodeTopic+s.node.Name] = s.node.GroupID
		}
		var all []fleet.Group
		if all, err = p.Groups.List(ctx); err == nil {
			for _, g := range all {
				groups[groupTopic+g.Code] = g.ID
			}
		}
	}
	topics := map[string]bool{}
	for _, t := range m.Topics {
		group, known := groups[t]
		code := access.CodeNodes
		if strings.HasPrefix(t, groupTopic) {
			code = access.CodeGroups
		}
		switch {
		case !known: // it is gone, and may have been his
			topics[topicAll] = true
		case p.holds(v, code, group):
			topics[t] = true
		}
	}
	m.Topics = sorted(topics)
	return m
}

// events handles GET /console/events: one stream for all tabs of a browser. It says what changed, never how; pages ask for
// the fragments that they show. It ends with the process, with the session, and when the reader is gone.
func (p *pages) events(c *gin.Context) error {
	s, err := p.live.open(viewer(c).Account)
	if err != nil {
		return err
	}
	defer p.live.close(s)
	h := c.Writer.Header()
	h.Set("Content-Type", streamType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	c.Status(http.StatusOK)
	out := eventWriter{c: c, rc: http.NewResponseController(c.Writer)}
	session := viewer(c)
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	if !out.send(p.allowed(c, viewer(c), p.live.take(s))) {
		return nil
	}
	for {
		select {
		case <-c.Request.Context().Done():
			return nil
		case <-p.Done:
			return nil
		case <-ping.C:
			// What he may hear can have changed since the stream began.
			if session = p.sessionNow(c, session); session == nil {
				return nil
			}
			if !out.send(liveMessage{Version: p.live.current(), Boot: p.live.boot, Topics: []string{}}) {
				return nil
			}
		case <-s.wake:
			select {
			case <-time.After(settle):
			case <-c.Request.Context().Done():
				return nil
			}
			m := p.live.take(s)
			if len(m.Topics) == 0 {
				continue // told already: the change came while the one before it settled
			}
			if !out.send(p.allowed(c, session, m)) {
				return nil
			}
		}
	}
}

// sessionNow looks among the viewer's logins: asking for the session itself would extend it, and an open page is no sign that
// somebody sits before it. Nil: it has ended. A store that does not answer ends nothing and changes nothing.
func (p *pages) sessionNow(c *gin.Context, was *access.Session) *access.Session {
	all, err := p.Sessions.Of(c.Request.Context(), was.Account)
	if err != nil {
		return was
	}
	if i := slices.IndexFunc(all, func(s access.Session) bool { return s.Token == was.Token }); i >= 0 {
		return &all[i]
	}
	return nil
}

// eventWriter writes events and notices when the reader is gone.
type eventWriter struct {
	c  *gin.Context
	rc *http.ResponseController
}

func (w eventWriter) send(m liveMessage) bool {
	if m.Topics == nil {
		m.Topics = []string{}
	}
	m.Ping = int(pingEvery.Seconds())
	body, err := json.Marshal(m)
	if err != nil {
		return false // numbers and texts always marshal
	}
	_ = w.rc.SetWriteDeadline(time.Now().Add(writeLimit)) // a writer without deadlines only notices later
	if _, err := fmt.Fprintf(w.c.Writer, streamMessage, body); err != nil {
		return false
	}
	return w.rc.Flush() == nil
}
