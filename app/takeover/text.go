package takeover

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// show makes text of an installation safe for a terminal: what is not printed as itself becomes visible.
func show(s string) string {
	var out strings.Builder
	for _, r := range strings.ToValidUTF8(s, "�") {
		if r == ' ' || unicode.IsPrint(r) && !unicode.Is(unicode.Bidi_Control, r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
	}
	return out.String()
}

func showAll(all []string) string {
	out := make([]string, len(all))
	for i, s := range all {
		if out[i] = show(s); strings.TrimSpace(s) == "" {
			out[i] = "(empty)"
		}
	}
	return strings.Join(out, ", ")
}

// page writes lines and keeps the first error.
type page struct {
	w   io.Writer
	err error
}

func (p *page) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	p := &page{w: w}
	if r.Database != nil {
		r.Database.text(p)
	}
	if r.Redis != nil {
		r.Redis.text(p)
	}
	for _, level := range levels {
		r.findings(p, level)
	}
	r.nodes(p)
	p.line("Steps")
	for i, s := range r.Steps {
		p.line("  %d. %s", i+1, show(s))
	}
	p.line("\nconfig.toml")
	for line := range strings.SplitSeq(strings.TrimRight(r.Config, "\n"), "\n") {
		p.line("  %s", show(line))
	}
	for _, s := range r.Secrets {
		p.line("  # %s", show(s))
	}
	if r.CanBeTakenOver {
		p.line("\nIt can be taken over. Nothing was changed.")
	} else {
		p.line("\nSomething has to be put right first, see \"Refused\". Nothing was changed.")
	}
	return p.err
}

func (d *Database) text(p *page) {
	generation := show(d.Generation)
	if generation == "" {
		generation = "unknown"
	}
	p.line("Database: %s, erupt %s", show(d.Version), generation)
	p.line("  %s, %s; %s", count(d.Users, "user"), count(d.Admins, "administrator"), passwords(d.Passwords))
	p.line("  %s, %s, %s, %s", count(d.Roles, "role"), count(d.Menus, "menu"), count(d.Orgs, "org"), count(d.Posts, "post"))
	p.line("  %s, %s", count(d.Nodes, "node"), count(d.Groups, "group"))
	p.line("  %s with %s, %s", count(d.Dictionaries, "dictionary"), count(d.DictItems, "item"), count(d.OpenAPIs, "open API"))
	p.line("  %s and %s in the logs", count(d.OperateLogs, "operation"), count(d.LoginLogs, "login"))
	if len(d.Absent) > 0 {
		p.line("  tables that erupt of this generation lacks: %s", showAll(d.Absent))
	}
	if len(d.Missing) > 0 {
		p.line("  columns that it lacks: %s", showAll(d.Missing))
	}
	p.line("")
}

func passwords(forms map[string]int) string {
	var out []string
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		out = append(out, fmt.Sprintf("%d %s", forms[form], form))
	}
	return "passwords: " + strings.Join(out, ", ")
}

func count(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "y"):
		what = what[:len(what)-1] + "ies"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func (d *Redis) text(p *page) {
	p.line("Redis: %s, namespace %s", show(d.Version), show(d.Namespace))
	p.line("  node entries: %d of servers up to 2.0.4, %d of newer ones, %d unreadable", d.OldEntries, d.NewEntries, d.Unreadable)
	p.line("  %s", count(d.Sessions, "session"))
	p.line("")
}

// titles of the levels.
var titles = map[Level]string{Refused: "Refused", Care: "Needs care", Note: "Good to know"}

func (r *Report) findings(p *page, level Level) {
	first := true
	for _, f := range r.Findings {
		if f.Level != level {
			continue
		}
		if first {
			p.line("%s", titles[level])
			first = false
		}
		p.line("  - %s: %s", f.Area, show(f.Text))
		if len(f.Names) > 0 {
			more := ""
			if n := f.Count - len(f.Names); n > 0 {
				more = fmt.Sprintf(" and %d more", n)
			}
			p.line("    %s%s", showAll(f.Names), more)
		}
	}
	if !first {
		p.line("")
	}
}

func (r *Report) nodes(p *page) {
	if len(r.Nodes) == 0 {
		return
	}
	p.line("Nodes, and what to change there if this program gets another address than the Java server had")
	for _, n := range r.Nodes {
		state := ""
		if !n.Enabled {
			state = ", disabled"
		}
		version := "not seen"
		if n.Version != "" {
			version = n.Version
		}
		p.line("  %s (%s%s)", show(n.Name), show(version), state)
		if len(n.Addresses) > 0 {
			p.line("    at %s", showAll(n.Addresses))
		}
		for _, c := range n.Change {
			p.line("    %s", show(c))
		}
	}
	p.line("")
}
