package eruptapi

import (
	"sync"

	"eruptcloud/app/fault"
)

// maxHandles bounds how many handles are remembered with their node.
const maxHandles = 10_000

// handles opens handles whose node the caller does not name: it tries all nodes, once, and remembers which one it was.
// A handle is the same for as long as its session lives, and forged ones are not remembered.
type handles struct {
	openFor func(handle, node string) (string, error)
	nodes   func() []string

	mu          sync.Mutex
	young, aged map[string]string // handle → node; young fills up, then becomes aged
}

func newHandles(openFor func(handle, node string) (string, error), nodes func() []string) *handles {
	return &handles{openFor: openFor, nodes: nodes, young: map[string]string{}}
}

// open returns the session token in handle. fault.Unauthenticated if no node has it.
func (h *handles) open(handle string) (string, error) {
	unknown := fault.New(fault.Unauthenticated, "the token does not stand for a session at any node")
	if h.openFor == nil || h.nodes == nil || len(handle) > 255 {
		return "", unknown
	}
	if node, ok := h.recall(handle); ok {
		return h.openFor(handle, node)
	}
	for _, node := range h.nodes() {
		if token, err := h.openFor(handle, node); err == nil {
			h.remember(handle, node)
			return token, nil
		}
	}
	return "", unknown
}

func (h *handles) recall(handle string) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if node, ok := h.young[handle]; ok {
		return node, true
	}
	node, ok := h.aged[handle]
	return node, ok
}

func (h *handles) remember(handle, node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.young) >= maxHandles/2 {
		h.aged, h.young = h.young, map[string]string{}
	}
	h.young[handle] = node
}
