package access

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of the memory store, and of one account in both stores: a script that logs in for every call must neither fill the
// memory nor push out the sessions of everybody else.
const (
	maxSessions        = 50_000
	maxAccountSessions = 500
	maxTries           = 100_000
)

// memorySessions is the SessionStore of a single replica.
type memorySessions struct {
	now func() time.Time

	mu       sync.Mutex
	sessions map[string]Session         // by token
	accounts map[string]map[string]bool // tokens by account
	tries    map[string]tries
}

type tries struct {
	count  int
	until  time.Time
	locked bool
}

// NewMemorySessions keeps sessions in this process; (*Access).Run sweeps those that are over.
func NewMemorySessions() SessionStore { return newMemorySessions(time.Now) }

func newMemorySessions(now func() time.Time) *memorySessions {
	return &memorySessions{
		now: now, sessions: map[string]Session{}, accounts: map[string]map[string]bool{}, tries: map[string]tries{},
	}
}

// Create implements SessionStore.
func (m *memorySessions) Create(_ context.Context, s Session, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Expires = m.now().Add(ttl)
	s.Used = m.now()
	if own := m.accounts[s.Account]; len(own) >= maxAccountSessions {
		m.drop(m.firstToEnd(func(t string) bool { return own[t] }))
	}
	if len(m.sessions) >= maxSessions {
		m.sweep()
	}
	if len(m.sessions) >= maxSessions {
		m.drop(m.firstToEnd(func(string) bool { return true }))
	}
	m.sessions[s.Token] = s
	if m.accounts[s.Account] == nil {
		m.accounts[s.Account] = map[string]bool{}
	}
	m.accounts[s.Account][s.Token] = true
	return nil
}

// Get implements SessionStore.
func (m *memorySessions) Get(_ context.Context, token string) (Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live(token)
}

// Check implements SessionStore.
func (m *memorySessions) Check(_ context.Context, token string, codes ...string) (Session, []bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.live(token)
	if err != nil {
		return Session{}, nil, err
	}
	held := make([]bool, len(codes))
	scopes, writes := map[string][]int64{}, map[string][]int64{}
	for i, c := range codes {
		held[i] = s.Holds(c)
		c = strings.ToLower(c)
		if in, limited := s.Scopes[c]; limited {
			scopes[c] = in
		}
		if in, limited := s.Writes[c]; limited {
			writes[c] = in
		}
	}
	s.Scopes, s.Writes = scopes, writes
	s.Menus, s.Values, s.Above = nil, nil, nil // as the other store: nobody may come to rely on them
	return s, held, nil
}

// Replace implements SessionStore.
func (m *memorySessions) Replace(_ context.Context, s Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, err := m.live(s.Token)
	if err != nil {
		return err
	}
	s.Account, s.Created, s.Expires, s.Used, s.Address, s.Agent = old.Account, old.Created, old.Expires, old.Used, old.Address, old.Agent
	m.sessions[s.Token] = s
	return nil
}

// Touch implements SessionStore.
func (m *memorySessions) Touch(_ context.Context, token string, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.live(token)
	if err != nil {
		return err
	}
	s.Used = m.now()
	if ttl > 0 {
		s.Expires = s.Used.Add(ttl)
	}
	m.sessions[token] = s
	return nil
}

// Delete implements SessionStore.
func (m *memorySessions) Delete(_ context.Context, token string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(token)
	return nil
}

// Tokens implements SessionStore.
func (m *memorySessions) Tokens(_ context.Context, account string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var live []string
	for t := range m.accounts[account] {
		if _, err := m.live(t); err == nil {
			live = append(live, t)
		}
	}
	slices.Sort(live)
	return live, nil
}

// Accounts implements SessionStore.
func (m *memorySessions) Accounts(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var live []string
	for a, tokens := range m.accounts {
		for t := range tokens {
			if _, err := m.live(t); err == nil {
				live = append(live, a)
				break
			}
		}
	}
	slices.Sort(live)
	return live, nil
}

// CountTry implements SessionStore.
func (m *memorySessions) CountTry(_ context.Context, account, address string, l TryLimit) (int, time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, now := tryKey(account, address), m.now()
	t := m.tries[key]
	switch {
	case !t.until.After(now):
		t = tries{}
	case t.locked:
		return 0, t.until.Sub(now), nil
	}
	if t.count == 0 && len(m.tries) >= maxTries {
		m.sweepTries(true)
	}
	t = tries{count: t.count + 1, until: now.Add(l.Life)}
	count := t.count
	if l.Max > 0 && count >= l.Max {
		t = tries{locked: true, until: now.Add(l.Lock)}
	}
	m.tries[key] = t
	return count, 0, nil
}

// ForgetTries implements SessionStore.
func (m *memorySessions) ForgetTries(_ context.Context, account, address string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tries, tryKey(account, address))
	return nil
}

// tryKey ignores case: where the database does too, "LIN" must not have ten tries more than "lin".
func tryKey(account, address string) string { return strings.ToLower(account) + ":" + address }

func (m *memorySessions) live(token string) (Session, error) {
	s, ok := m.sessions[token]
	if !ok || !s.Expires.After(m.now()) {
		return Session{}, errOver()
	}
	return s, nil
}

func (m *memorySessions) drop(token string) {
	s, ok := m.sessions[token]
	if !ok {
		return
	}
	delete(m.sessions, token)
	delete(m.accounts[s.Account], token)
	if len(m.accounts[s.Account]) == 0 {
		delete(m.accounts, s.Account)
	}
}

func (m *memorySessions) firstToEnd(of func(token string) bool) (first string) {
	for t, s := range m.sessions {
		if of(t) && (first == "" || s.Expires.Before(m.sessions[first].Expires)) {
			first = t
		}
	}
	return first
}

func (m *memorySessions) sweepOnce(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	m.sweepTries(false)
	return nil
}

func (m *memorySessions) sweep() {
	now := m.now()
	for t, s := range m.sessions {
		if !s.Expires.After(now) {
			m.drop(t)
		}
	}
}

// sweepTries forgets counts that are over and, if asked to make room, the one that ends first.
func (m *memorySessions) sweepTries(room bool) {
	now, first := m.now(), ""
	for k, t := range m.tries {
		switch {
		case !t.until.After(now):
			delete(m.tries, k)
		case first == "" || t.until.Before(m.tries[first].until):
			first = k
		}
	}
	if room && len(m.tries) >= maxTries {
		delete(m.tries, first)
	}
}
