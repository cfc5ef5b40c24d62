package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Time limits of a dial by name.
const (
	lookupLimit   = 2 * time.Second        // or half of what the context leaves, whichever is less
	fallbackDelay = 300 * time.Millisecond // head start of the first address family (RFC 8305)
	rememberNames = 4096                   // last known addresses kept
)

// names remembers the address at which each host name last answered, for the time when our own resolver does not.
type names struct {
	mu   sync.Mutex
	last map[string]netip.Addr
}

// DialContext connects to host:port, trying all addresses of a name, both families. If the resolver fails without saying
// that the name does not exist, the address at which the host last answered is tried: a hiccup of our own name
// resolution must not look like the loss of every instance that is known by name.
func (p *Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return p.dial(ctx, network, address)
	}
	addrs, err := p.resolve(ctx, host)
	if err != nil {
		last, ok := p.names.get(host)
		if !ok || definite(err) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		addrs = []netip.Addr{last}
	}
	conn, err := p.dialAny(ctx, network, port, addrs)
	if err != nil {
		return nil, err
	}
	if remote, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		p.names.put(host, remote.Addr().Unmap())
	}
	return conn, nil
}

// definite reports whether a resolver said that there is no such name, as opposed to not saying anything.
func definite(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

func (p *Policy) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	limit := lookupLimit
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	addrs, err := p.lookup(ctx, host)
	var dns *net.DNSError
	switch {
	case err == nil:
	case errors.As(err, &dns):
		return nil, err
	default: // whoever asks for the kind of failure finds a resolver's
		return nil, &net.DNSError{UnwrapErr: err, Err: err.Error(), Name: host, IsTimeout: ctx.Err() != nil, IsTemporary: true}
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return addrs, nil
}

// dialAny starts with the family that the resolver put first and gives the other one a chance after a short delay.
func (p *Policy) dialAny(ctx context.Context, network, port string, addrs []netip.Addr) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first, second := families(addrs)
	if len(second) == 0 {
		return p.dialInTurn(ctx, network, port, first)
	}
	type outcome struct {
		conn net.Conn
		err  error
	}
	results := make(chan outcome, 2)
	firstFailed := make(chan struct{})
	go func() {
		conn, err := p.dialInTurn(ctx, network, port, first)
		if err != nil {
			close(firstFailed)
		}
		results <- outcome{conn, err}
	}()
	go func() {
		delay := time.NewTimer(fallbackDelay)
		defer delay.Stop()
		select {
		case <-delay.C:
		case <-firstFailed:
		case <-ctx.Done():
		}
		conn, err := p.dialInTurn(ctx, network, port, second)
		results <- outcome{conn, err}
	}()
	one := <-results
	if one.err == nil {
		cancel()
		if other := <-results; other.conn != nil { // both answered: keep the faster
			_ = other.conn.Close()
		}
		return one.conn, nil
	}
	other := <-results
	if other.err == nil {
		return other.conn, nil
	}
	return nil, fmt.Errorf("%w; %w", one.err, other.err)
}

func (p *Policy) dialInTurn(ctx context.Context, network, port string, addrs []netip.Addr) (net.Conn, error) {
	var first error
	for i, addr := range addrs {
		conn, err := p.dialOne(ctx, network, net.JoinHostPort(addr.String(), port), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// dialOne gives one of several remaining addresses its share of the time that is left.
func (p *Policy) dialOne(ctx context.Context, network, address string, remaining int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && remaining > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(remaining))
		defer cancel()
	}
	return p.dial(ctx, network, address)
}

// families splits addrs by family; the family of the first address comes first.
func families(addrs []netip.Addr) (first, second []netip.Addr) {
	for _, a := range addrs {
		a = a.Unmap()
		if a.Is4() == addrs[0].Unmap().Is4() {
			first = append(first, a)
		} else {
			second = append(second, a)
		}
	}
	return first, second
}

func (n *names) get(host string) (netip.Addr, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, ok := n.last[host]
	return a, ok
}

func (n *names) put(host string, a netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		n.last = make(map[string]netip.Addr)
	}
	if _, known := n.last[host]; !known && len(n.last) >= rememberNames {
		for victim := range n.last { // any one will do: the map is far larger than a fleet's names
			delete(n.last, victim)
			break
		}
	}
	n.last[host] = a
}
