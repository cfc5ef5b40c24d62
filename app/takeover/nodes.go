package takeover

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxConfig is the largest configuration that can be saved here, in bytes.
const maxConfig = 10 << 20

// unreadable reports a text that does not read as it is: control characters, or ones that turn the direction of writing.
func unreadable(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) })
}

type nodeNotes struct {
	odd, unusable, noToken, shortToken, sameToken, noJSON, large, nullStatus, disabled []string
}

func (q *reader) nodes() {
	if !q.has("e_cloud_node") {
		return
	}
	const table = "e_cloud_node"
	n := nodeNotes{}
	tokens := map[string]string{}
	query := fmt.Sprintf("SELECT COALESCE(node_name, ''), COALESCE(%s, ''), status, COALESCE(access_token, ''), COALESCE(LENGTH(%s), 0), COALESCE(LEFT(%s, %d), '') FROM %s ORDER BY node_name LIMIT %d",
		q.column(table, "name"), q.column(table, "config"), q.column(table, "config"), maxConfig, table, maxRows)
	q.rows(query, func(rows *sql.Rows) error {
		var name, display, token, config string
		var status flag
		var size int
		if err := rows.Scan(&name, &display, &status, &token, &size, &config); err != nil {
			return err
		}
		q.d.nodeNames = append(q.d.nodeNames, name)
		q.r.Nodes = append(q.r.Nodes, Node{Name: clip(name), Display: clip(display), Enabled: status.set})
		n.note(name, display, status, token, size, config)
		if other, twice := tokens[token]; twice && token != "" {
			n.sameToken = append(n.sameToken, other+" and "+name)
		}
		tokens[token] = name
		return nil
	})
	if twice := doubled(q.d.nodeNames); len(twice) > 0 {
		q.r.add(Refused, "nodes", twice, "several nodes have this name, or differ in case alone: instances of one would be taken for the other's. Rename all but one")
	}
	q.sayNodes(n)
}

func (n *nodeNotes) note(name, display string, status flag, token string, size int, config string) {
	switch {
	case name == "" || unreadable(name) || len(name) > 255 || strings.ContainsAny(name, "/\\%?#;"):
		n.unusable = append(n.unusable, name)
	case !newName.MatchString(name):
		n.odd = append(n.odd, name)
	}
	switch {
	case !status.known:
		n.nullStatus = append(n.nullStatus, name)
	case !status.set:
		n.disabled = append(n.disabled, name)
	}
	switch {
	case token == "":
		n.noToken = append(n.noToken, name)
	case len(token) < 8:
		n.shortToken = append(n.shortToken, name)
	}
	switch {
	case size > maxConfig:
		n.large = append(n.large, name)
	case notJSON(config):
		n.noJSON = append(n.noJSON, name)
	}
	if unreadable(display) && !slices.Contains(n.unusable, name) {
		n.odd = append(n.odd, name)
	}
}

// notJSON reports a configuration that the editor cannot check: it goes to nodes as it is.
func notJSON(config string) bool {
	return strings.TrimSpace(config) != "" && !json.Valid([]byte(config))
}

func (q *reader) sayNodes(n nodeNotes) {
	for _, f := range []struct {
		level Level
		names []string
		text  string
	}{
		{Refused, n.unusable, "the name is empty, holds control characters or ones that no address can hold: no page of the node can be opened"},
		{Care, n.noToken, "the node has no access token: nobody can register as it until it gets one"},
		{Care, n.shortToken, "the access token has less than 8 characters; it counts as it is, and should be rotated"},
		{Care, n.sameToken, "nodes have the same access token: whoever has it can register as any of them"},
		{Care, n.odd, "the name, or the one for people, is none that would be accepted for a new node; it works as it is"},
		{Care, n.noJSON, "the configuration is no JSON: nodes get it as it is, and it has to become JSON before it can be saved here"},
		{Care, n.large, "the configuration is larger than 10 MiB: nodes get it as it is, and it has to shrink before it can be saved here"},
		{Care, n.nullStatus, "status is null: the node counts as disabled"},
		{Note, n.disabled, "disabled nodes stay disabled, and are not routed to either (a Java server goes on until the entry in Redis ends)"},
	} {
		if len(f.names) > 0 {
			q.r.add(f.level, "nodes", f.names, "%s", f.text)
		}
	}
}

func (q *reader) groups() {
	if !q.has("e_cloud_node_group") {
		return
	}
	var odd, noJSON []string
	q.rows(fmt.Sprintf("SELECT COALESCE(code, ''), COALESCE(LEFT(%s, %d), '') FROM e_cloud_node_group ORDER BY code LIMIT %d",
		q.column("e_cloud_node_group", "config"), maxConfig, maxRows), func(rows *sql.Rows) error {
		var code, config string
		if err := rows.Scan(&code, &config); err != nil {
			return err
		}
		if !newName.MatchString(code) {
			odd = append(odd, code)
		}
		if notJSON(config) {
			noJSON = append(noJSON, code)
		}
		return nil
	})
	if len(odd) > 0 {
		q.r.add(Care, "nodes", odd, "the code of the group is none that would be accepted for a new one; it works as it is")
	}
	if len(noJSON) > 0 {
		q.r.add(Care, "nodes", noJSON, "the configuration of the group is no JSON: nodes get it as it is, and it has to become JSON before it can be saved here")
	}
}
