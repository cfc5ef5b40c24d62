package access

import (
	"net/netip"
	"strings"

	"eruptcloud/app/fault"
	"eruptcloud/ent"
)

// admitted says why somebody who knows the password may not log in.
func (l *Login) admitted(row *ent.User, address string) error {
	if err := l.sessions.people.mayWork(row); err != nil {
		return err
	}
	if !addressAllowed(row.WhiteIP, address) {
		return fault.New(fault.Unauthenticated, "the account %s may not log in from %s", row.Account, address)
	}
	return nil
}

// addressAllowed reports whether address is in a list of addresses and CIDR ranges, one a line. An empty list allows all.
func addressAllowed(list, address string) bool {
	ip, err := netip.ParseAddr(address)
	ip = ip.Unmap().WithZone("")
	empty := true
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		empty = false
		if line == address {
			return true
		}
		if err != nil {
			continue
		}
		if one, bad := netip.ParseAddr(line); bad == nil && one.Unmap().WithZone("") == ip {
			return true
		}
		if many, bad := netip.ParsePrefix(line); bad == nil && many.Contains(ip) {
			return true
		}
	}
	return empty
}
