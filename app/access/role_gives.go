package access

// Gives reports whether the role, as far as it is limited, gives the right of a menu that it bundles (D21).
func (r Role) Gives(m Menu) bool {
	return r.Enabled && m.Status != MenuDisabled && m.Value != "" && !(r.ReadOnly && m.changes()) && (len(r.Groups) == 0 || m.ofNodes())
}
