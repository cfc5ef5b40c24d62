package cluster

import (
	"context"
	"slices"
	"sync"
)

// queueLength is how many messages may wait for one subscriber before it hears of a loss instead.
const queueLength = 256

// Solo is the only replica: it leads, owns everything, and its bus stays in the process.
type Solo struct {
	id string

	mu     sync.Mutex
	topics map[string][]*queue
}

// queue holds what one subscriber has not handled yet.
type queue struct {
	mu      sync.Mutex
	waiting [][]byte
	lost    bool
	wake    chan struct{} // size one: a signal, not a message
}

// NewSolo returns the only replica.
func NewSolo(id string) *Solo { return &Solo{id: id, topics: map[string][]*queue{}} }

// ID implements Member.
func (s *Solo) ID() string { return s.id }

// Leads reports that it leads.
func (s *Solo) Leads() bool { return true }

// Replicas returns its own id.
func (s *Solo) Replicas() []string { return []string{s.id} }

// Owns implements Member.
func (s *Solo) Owns(string) bool { return true }

// AsLeader implements Member.
func (s *Solo) AsLeader(ctx context.Context, run func(context.Context) error) error {
	err := run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Publish implements Bus. It never blocks.
func (s *Solo) Publish(_ context.Context, topic string, msg []byte) error {
	msg = append([]byte{}, msg...) // the caller may reuse its buffer; never nil, which means a loss
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.topics[topic] {
		q.put(msg)
	}
	return nil
}

// Subscribe implements Bus.
func (s *Solo) Subscribe(ctx context.Context, topic string, handle func([]byte)) error {
	q := &queue{wake: make(chan struct{}, 1)}
	s.mu.Lock()
	s.topics[topic] = append(s.topics[topic], q)
	s.mu.Unlock()
	defer s.drop(topic, q)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-q.wake:
		}
		waiting, lost := q.take()
		if lost {
			deliver(ctx, topic, handle, nil)
		}
		for _, msg := range waiting {
			if ctx.Err() != nil {
				return nil
			}
			deliver(ctx, topic, handle, msg)
		}
	}
}

func (s *Solo) drop(topic string, q *queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.topics[topic] = slices.DeleteFunc(s.topics[topic], func(o *queue) bool { return o == q })
	if len(s.topics[topic]) == 0 {
		delete(s.topics, topic)
	}
}

func (q *queue) put(msg []byte) {
	q.mu.Lock()
	if len(q.waiting) == queueLength {
		// What waits is older than the reading anew that a loss leads to, so it can go.
		q.waiting, q.lost = nil, true
	}
	q.waiting = append(q.waiting, msg)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) take() (waiting [][]byte, lost bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, lost = q.waiting, q.lost
	q.waiting, q.lost = nil, false
	return waiting, lost
}
