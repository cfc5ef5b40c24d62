package access

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxKept bounds the values of one kind, so that a flood of one, such as captchas, pushes out none of another, such as codes
// that are used up.
const maxKept = 50_000

// memoryVault is the Vault of a single replica.
type memoryVault struct {
	now func() time.Time

	mu    sync.Mutex
	kinds map[string]map[string]kept
}

type kept struct {
	value string
	until time.Time
}

// NewMemoryVault keeps values in this process; (*Access).Run sweeps those that are over.
func NewMemoryVault() Vault { return newMemoryVault(time.Now) }

func newMemoryVault(now func() time.Time) *memoryVault {
	return &memoryVault{now: now, kinds: map[string]map[string]kept{}}
}

func (m *memoryVault) find(key string) (value string, ok bool) {
	k, ok := m.kinds[kindOf(key)][key]
	return k.value, ok && k.until.After(m.now())
}

func (m *memoryVault) put(key, value string, ttl time.Duration) {
	kind := kindOf(key)
	all := m.kinds[kind]
	if all == nil {
		all = map[string]kept{}
		m.kinds[kind] = all
	}
	if _, old := all[key]; !old && len(all) >= maxKept {
		m.makeRoom(all)
	}
	all[key] = kept{value, m.now().Add(ttl)}
}

// makeRoom forgets what is over, and the one that ends first if nothing is.
func (m *memoryVault) makeRoom(all map[string]kept) {
	now, first := m.now(), ""
	for key, k := range all {
		switch {
		case !k.until.After(now):
			delete(all, key)
		case first == "" || k.until.Before(all[first].until):
			first = key
		}
	}
	if len(all) >= maxKept {
		delete(all, first)
	}
}

func kindOf(key string) string {
	kind, _, _ := strings.Cut(key, ":")
	return kind
}

// Put implements Vault.
func (m *memoryVault) Put(_ context.Context, key, value string, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, value, ttl)
	return nil
}

// Get implements Vault.
func (m *memoryVault) Get(_ context.Context, key string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.find(key)
	if !ok {
		return "", errGone()
	}
	return value, nil
}

// Take implements Vault.
func (m *memoryVault) Take(_ context.Context, key string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.find(key)
	if !ok {
		return "", errGone()
	}
	delete(m.kinds[kindOf(key)], key)
	return value, nil
}

// Swap implements Vault.
func (m *memoryVault) Swap(_ context.Context, key, value string, ttl time.Duration) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, ok := m.find(key)
	if !ok {
		before = ""
	}
	m.put(key, value, ttl)
	return before, nil
}

// Add implements Vault.
func (m *memoryVault) Add(_ context.Context, key string, ttl time.Duration) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := int64(0)
	if value, ok := m.find(key); ok {
		count, _ = strconv.ParseInt(value, 10, 64) // what is no number counts from zero
	}
	count++
	m.put(key, strconv.FormatInt(count, 10), ttl)
	return count, nil
}

// Delete implements Vault.
func (m *memoryVault) Delete(_ context.Context, keys ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		delete(m.kinds[kindOf(key)], key)
	}
	return nil
}

func (m *memoryVault) sweepOnce(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	for _, all := range m.kinds {
		for key, k := range all {
			if !k.until.After(now) {
				delete(all, key)
			}
		}
	}
	return nil
}
