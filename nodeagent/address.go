package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
)

// hasAddress reports whether the node can know where it is reached.
func (a *Agent) hasAddress() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.cfg.HostAddress) > 0 || a.cfg.Port > 0 || a.bound.IsValid()
}

// addresses returns what to register: HostAddress as it stands, or {schema}://{own IPv4}:{port}{context path}. The own IPv4 is
// looked up each time, since a laptop or a container may get a new one while it runs.
func (a *Agent) addresses(ctx context.Context, server string) ([]string, error) {
	if len(a.cfg.HostAddress) > 0 {
		return a.cfg.HostAddress, nil
	}
	a.mu.Lock()
	bound := a.bound
	a.mu.Unlock()
	port := a.cfg.Port
	if port == 0 {
		port = int(bound.Port())
	}
	host := bound.Addr()
	if !host.IsValid() || host.IsUnspecified() {
		var err error
		if host, err = ownIPv4(ctx, server); err != nil {
			return nil, err
		}
	}
	location := url.URL{Scheme: a.cfg.Schema, Host: net.JoinHostPort(host.String(), strconv.Itoa(port)), Path: a.cfg.ContextPath}
	return []string{location.String()}, nil
}

// ownIPv4 returns the IPv4 address of this host from which it would speak to server. No packet is sent for it.
func ownIPv4(ctx context.Context, server string) (netip.Addr, error) {
	u, err := url.Parse(server)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("own address: %w", err)
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	var dialer net.Dialer
	if conn, err := dialer.DialContext(ctx, "udp4", net.JoinHostPort(u.Hostname(), port)); err == nil {
		defer conn.Close()
		if local, ok := conn.LocalAddr().(*net.UDPAddr); ok {
			if ip, ok := netip.AddrFromSlice(local.IP.To4()); ok && !ip.IsUnspecified() {
				return ip, nil
			}
		}
	}
	return interfaceIPv4()
}

// interfaceIPv4 returns the first IPv4 address of an interface that is up and leads outside.
func interfaceIPv4() (netip.Addr, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("own address: %w", err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			continue // an interface that vanished meanwhile
		}
		for _, addr := range addrs {
			prefix, err := netip.ParsePrefix(addr.String())
			if err == nil && prefix.Addr().Is4() && !prefix.Addr().IsLinkLocalUnicast() {
				return prefix.Addr(), nil
			}
		}
	}
	return netip.Addr{}, errors.New("own address: this host has no IPv4 address that leads outside; set HostAddress")
}
