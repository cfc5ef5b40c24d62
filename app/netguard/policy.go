// Package netguard decides at dial time whether the control plane may connect to an address. Addresses come from nodes,
// so what counts is the address that a name resolved to, at the moment of each connection.
package netguard

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// Options says what is refused beside the built-in rules.
type Options struct {
	// Deny are prefixes (10.0.0.0/8), single addresses or keywords (link-local, metadata, multicast, unspecified, loopback,
	// private). The first four are always refused, so naming them changes nothing.
	Deny []string
	// Allow are prefixes or addresses that are let through although link-local, metadata, private or Deny would refuse
	// them; fe80::/10 for nodes that are reached on a link. Nothing lets multicast and unspecified addresses through.
	Allow []string
	// AllowLoopback lets 127.0.0.0/8 and ::1 through.
	AllowLoopback bool
	// Lookup resolves names; nil: the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// DeniedError is a refusal by a Policy.
type DeniedError struct {
	Addr netip.Addr
	Rule string // name of the rule, or the configured prefix
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("address %s is refused by the address policy (rule %s)", e.Addr, e.Rule)
}

type rule struct {
	name     string
	prefixes []netip.Prefix
}

// The keywords. Metadata are the services by which clouds hand out credentials; most are link-local, these are the others.
var keywords = map[string][]netip.Prefix{
	"unspecified": prefixes("0.0.0.0/8", "::/128"),
	"multicast":   prefixes("224.0.0.0/4", "255.255.255.255/32", "ff00::/8"),
	"link-local":  prefixes("169.254.0.0/16", "fe80::/10"),
	"metadata": prefixes("169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
		"fd00:ec2::254/128", "fd20:ce::254/128"),
	"loopback": prefixes("127.0.0.0/8", "::1/128"),
	"private":  prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"),
}

// Policy is immutable and safe for concurrent use.
type Policy struct {
	always []rule // nothing excepts these
	allow  []netip.Prefix
	deny   []rule
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	names  names
}

// NewPolicy checks o and returns its policy.
func NewPolicy(o Options) (*Policy, error) {
	p := &Policy{
		always: []rule{{"unspecified", keywords["unspecified"]}, {"multicast", keywords["multicast"]}},
		// The exact metadata addresses come before the range that most of them lie in: their name says more.
		deny: []rule{{"metadata", keywords["metadata"]}, {"link-local", keywords["link-local"]}},
	}
	if !o.AllowLoopback {
		p.deny = append(p.deny, rule{"loopback", keywords["loopback"]})
	}
	for _, text := range o.Deny {
		known, isKeyword := keywords[strings.ToLower(strings.TrimSpace(text))]
		if isKeyword {
			p.deny = append(p.deny, rule{strings.ToLower(strings.TrimSpace(text)), known})
			continue
		}
		prefix, err := parsePrefix(text)
		if err != nil {
			return nil, err
		}
		p.deny = append(p.deny, rule{prefix.String(), []netip.Prefix{prefix}})
	}
	for _, text := range o.Allow {
		if known, ok := keywords[strings.ToLower(strings.TrimSpace(text))]; ok {
			p.allow = append(p.allow, known...)
			continue
		}
		prefix, err := parsePrefix(text)
		if err != nil {
			return nil, err
		}
		p.allow = append(p.allow, prefix)
	}
	p.dial = (&net.Dialer{Control: p.Control}).DialContext // it never sees a name
	p.lookup = o.Lookup
	if p.lookup == nil {
		p.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return p, nil
}

// Check returns a *DeniedError if a must not be dialled.
func (p *Policy) Check(a netip.Addr) error {
	for _, form := range forms(a) {
		if name, hit := match(p.always, form); hit {
			return &DeniedError{Addr: a, Rule: name}
		}
	}
	for _, form := range forms(a) {
		name, hit := match(p.deny, form)
		if hit && !contains(p.allow, form) {
			return &DeniedError{Addr: a, Rule: name}
		}
	}
	return nil
}

// Control is for net.Dialer.Control: it sees each address that a name resolved to, just before the connection is made.
func (p *Policy) Control(_, address string, _ syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address policy cannot read %q: %w", address, err) // refuse what we do not understand
	}
	return p.Check(addr.Addr())
}

// forms returns a without zone and, where an IPv4 address is wrapped in it, that address too: a gateway for NAT64 or 6to4
// would carry the packet there.
func forms(a netip.Addr) []netip.Addr {
	a = a.WithZone("").Unmap()
	all := []netip.Addr{a}
	if a.Is4() {
		return all
	}
	b := a.As16()
	switch {
	case contains(nat64, a), contains(compatible, a) && !a.IsUnspecified() && !a.IsLoopback():
		all = append(all, netip.AddrFrom4([4]byte(b[12:16])))
	case contains(sixToFour, a):
		all = append(all, netip.AddrFrom4([4]byte(b[2:6])))
	}
	return all
}

var (
	nat64      = prefixes("64:ff9b::/96")
	sixToFour  = prefixes("2002::/16")
	compatible = prefixes("::/96")
)

func match(rules []rule, a netip.Addr) (string, bool) {
	for _, r := range rules {
		if contains(r.prefixes, a) {
			return r.name, true
		}
	}
	return "", false
}

func contains(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

func parsePrefix(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.WithZone("").Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("address policy: %q is neither a keyword nor a prefix such as 10.0.0.0/8", text)
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}
