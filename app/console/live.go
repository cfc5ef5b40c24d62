package console

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
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

// hub tells open pages what has changed. It keeps no goroutine: those who change something call it, streams wait on it.
type hub struct {
	boot string // names this process: numbers of another one mean nothing

	mu      sync.Mutex
	version uint64
	recent  []liveChange // oldest first
	streams map[*stream]struct{}
}

// liveChange is one thing that changed, under the number that it made the version.
type liveChange struct {
	version uint64
	topic   string
}

// stream is one open event stream.
type stream struct {
	account string
	wake    chan struct{} // of size one: it coalesces
	pending map[string]bool
}

// liveMessage is what pages get: the version, and what changed since the message before.
type liveMessage struct {
	Version uint64   `json:"v"`
	Boot    string   `json:"boot"`
	Topics  []string `json:"t"`
	// Quiet: something changed that the viewer may not hear of. A newer version without topics otherwise means a message was
	// missed.
	Quiet bool `json:"q,omitempty"`
	// Ping is in how many seconds the next message of a stream comes at the latest: who misses two of them is cut off, though
	// nothing says so.
	Ping int `json:"ping,omitempty"`
}

func newHub() *hub {
	return &hub{boot: rand.Text(), streams: map[*stream]struct{}{}}
}

// registryChanged is a listener of the registry.
func (h *hub) registryChanged(changes []registry.Change) {
	topics := make([]string, 0, len(changes))
	for _, c := range changes {
		if c.In.NodeName != "" {
			topics = append(topics, nodeTopic+c.In.NodeName)
		}
	}
	h.tell(topics...)
}

// fleetChanged is a listener of the fleet.
func (h *hub) fleetChanged(kind, id string) {
	if kind == "group" {
		h.tell(groupTopic + id)
		return
	}
	h.tell(nodeTopic + id)
}

func (h *hub) tell(topics ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		h.version++
		h.recent = append(h.recent, liveChange{h.version, t})
		for s := range h.streams {
			s.pending[t] = true
		}
	}
	if over := len(h.recent) - keptChanges; over > 0 {
		h.recent = slices.Clone(h.recent[over:])
	}
	for s := range h.streams {
		if len(s.pending) > 0 {
			select {
			case s.wake <- struct{}{}:
			default: // it is awake already
			}
		}
	}
}

// open adds a stream. fault.TooMany if the account has too many.
func (h *hub) open(account string) (*stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	own := 0
	for s := range h.streams {
		if s.account == account {
			own++
		}
	}
	if own >= maxStreams {
		return nil, fault.New(fault.TooMany, "more than %d pages of this account are connected", maxStreams).Retry(time.Minute)
	}
	s := &stream{account: account, wake: make(chan struct{}, 1), pending: map[string]bool{}}
	h.streams[s] = struct{}{}
	return s, nil
}

func (h *hub) close(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
}

// take returns what is pending for a stream, and empties it.
func (h *hub) take(s *stream) liveMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := liveMessage{Version: h.version, Boot: h.boot, Topics: sorted(s.pending)}
	clear(s.pending)
	return m
}

// since returns what changed after a version; everything, if that is too long ago or of another process.
func (h *hub) since(boot string, version uint64) liveMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := liveMessage{Version: h.version, Boot: h.boot, Topics: []string{}}
	oldest := h.version + 1
	if len(h.recent) > 0 {
		oldest = h.recent[0].version
	}
	if boot != h.boot || version > h.version || version+1 < oldest {
		m.Topics = []string{topicAll}
		return m
	}
	topics := map[string]bool{}
	for _, c := range h.recent {
		if c.version > version {
			topics[c.topic] = true
		}
	}
	m.Topics = sorted(topics)
	return m
}

func sorted(topics map[string]bool) []string {
	if len(topics) > maxTopics {
		return []string{topicAll}
	}
	out := make([]string, 0, len(topics))
	for t := range topics {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

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

// current returns the present version.
func (h *hub) current() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.version
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
