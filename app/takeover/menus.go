package takeover

import (
	"database/sql"
	"regexp"
	"slices"
	"strings"
)

// types are those that are shown here (erupt-wire 5.2).
var types = []string{"", "table", "tree", "form", "button", "api", "link", "newWindow", "selfWindow", "fill", "router", "tpl", "mtpl"}

// local are the Java server's own pages that this program has in its console.
var local = []string{"eruptmenu", "eruptrole", "eruptorg", "eruptpost", "eruptuser", "eruptdict", "eruptdictitem", "eruptopenapi",
	"eruptonline", "eruptloginlog", "eruptoperatelog", "cloudnode", "cloudnodegroup", "erupt-log"}

type menuRow struct {
	id, parent  int64
	code, name  string
	kind, value string
}

func (q *reader) menus() {
	if !q.has("e_upms_menu") {
		return
	}
	var all []menuRow
	q.rows("SELECT id, COALESCE(parent_menu_id, 0), COALESCE(code, ''), COALESCE("+q.column("e_upms_menu", "name")+", ''), COALESCE(`type`, ''), COALESCE(`value`, '') "+
		"FROM e_upms_menu ORDER BY id LIMIT 200000", func(rows *sql.Rows) error {
		var m menuRow
		if err := rows.Scan(&m.id, &m.parent, &m.code, &m.name, &m.kind, &m.value); err != nil {
			return err
		}
		all = append(all, m)
		return nil
	})
	q.sayMenus(all)
}

func (q *reader) sayMenus(all []menuRow) {
	nodes := q.names("e_cloud_node", "node_name")
	var unknown, ownPages, ownTemplates, orphans, doubles []string
	seen := map[string]int{}
	for _, m := range all {
		if seen[m.code]++; m.code != "" && seen[m.code] == 2 {
			doubles = append(doubles, m.code)
		}
		value, _, _ := strings.Cut(m.value, "?")
		dot := strings.LastIndexByte(value, '.')
		isPage := m.kind == "table" || m.kind == "tree" || m.kind == "form"
		switch {
		case !slices.Contains(types, m.kind):
			unknown = append(unknown, m.name+" ("+m.kind+")")
		case isPage && dot < 0 && !slices.Contains(local, strings.ToLower(value)):
			ownPages = append(ownPages, m.name+" ("+m.value+")")
		case isPage && dot >= 0 && !slices.Contains(nodes, value[:dot]):
			orphans = append(orphans, m.name+" ("+m.value+")")
		case (m.kind == "tpl" || m.kind == "mtpl") && !strings.Contains(m.value, "_node=") && !slices.Contains(local, strings.ToLower(value)):
			ownTemplates = append(ownTemplates, m.name+" ("+m.value+")")
		}
	}
	for _, f := range []struct {
		level Level
		names []string
		text  string
	}{
		{Refused, circles(all), "menus lie below themselves; they and what is below them are not shown. Give one of them another parent"},
		{Care, ownPages, "pages of the Java server itself, not of a node: only a Java application can serve them. Move their classes to a node"},
		{Care, ownTemplates, "templates of the Java server itself: only a Java application can serve them. Move them to a node and add _node= to the menu"},
		{Care, unknown, "menus of a type that is shown greyed out here"},
		{Care, orphans, "pages of a node that has no record: they are refused, here as there"},
		{Care, doubles, "several menus have this code; they have to differ before one of them can be saved here"},
	} {
		if len(f.names) > 0 {
			q.r.add(f.level, "menus", f.names, "%s", f.text)
		}
	}
}

// circles returns the menus that lie below themselves.
func circles(all []menuRow) []string {
	parents := make(map[int64]int64, len(all))
	for _, m := range all {
		parents[m.id] = m.parent
	}
	safe := make(map[int64]bool, len(all))
	var out []string
	for _, m := range all {
		var way []int64
		on := map[int64]bool{}
		at := m.id
		for at != 0 && !safe[at] && !on[at] {
			on[at] = true
			way = append(way, at)
			at = parents[at]
		}
		if at != 0 && on[at] {
			if at == m.id {
				out = append(out, m.name+" ("+m.code+")")
			}
			continue
		}
		for _, id := range way {
			safe[id] = true
		}
	}
	return out
}

func (q *reader) names(table, column string) []string {
	var out []string
	if q.has(table) {
		q.rows("SELECT COALESCE(`"+column+"`, '') FROM `"+table+"`", func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			out = append(out, name)
			return err
		})
	}
	return out
}

func (q *reader) dictionaries() {
	for _, table := range []string{"e_dict", "e_upms_org", "e_upms_post", "e_cloud_node_group"} {
		if !q.has(table) {
			continue
		}
		if twice := doubled(q.names(table, "code")); len(twice) > 0 {
			q.r.add(Care, "database", twice, "in %s several rows have this code, or differ in case alone; rename all but one", table)
		}
	}
	if !q.has("e_dict_item") {
		return
	}
	var twice []string
	q.rows("SELECT CONCAT(COALESCE(MAX(d.code), '?'), ' / ', i.code) FROM e_dict_item i LEFT JOIN e_dict d ON d.id = i.erupt_dict_id "+
		"WHERE i.code IS NOT NULL GROUP BY i.erupt_dict_id, i.code HAVING COUNT(*) > 1 ORDER BY 1 LIMIT 1000", func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		twice = append(twice, name)
		return err
	})
	if len(twice) > 0 {
		q.r.add(Care, "database", twice, "a dictionary has several items with this code; rename all but one")
	}
}

// doubled returns the texts that are there more than once, also in another case.
func doubled(all []string) []string {
	seen := map[string]int{}
	var out []string
	for _, s := range all {
		folded := strings.ToLower(s)
		if seen[folded]++; s != "" && seen[folded] == 2 {
			out = append(out, s)
		}
	}
	return out
}

// newName is the rule for new names of nodes and codes of groups.
var newName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
