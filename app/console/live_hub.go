package console

import (
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
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

// current returns the present version.
func (h *hub) current() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.version
}
