// Package takeover reads an installation of erupt and says what this program would take over of it, what it would refuse and
// why, and what to change on the nodes. It changes nothing (erupt-wire 5 to 8, 10.8).
package takeover

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Level says how much a finding weighs.
type Level string

// The levels, heaviest first.
const (
	Refused Level = "refused" // would not work here: put it right before
	Care    Level = "care"    // works, but somebody should know or do something
	Note    Level = "note"
)

var levels = []Level{Refused, Care, Note}

// Finding is one thing to know. What it says comes in part from the installation: it is hostile text.
type Finding struct {
	Level Level  `json:"level"`
	Area  string `json:"area"` // database, accounts, menus, nodes, redis, settings
	Text  string `json:"text"`
	// Names are what it is about, the first of them if there are many.
	Names []string `json:"names,omitempty"`
	Count int      `json:"count,omitempty"`
}

// Report is what was found.
type Report struct {
	CanBeTakenOver bool      `json:"canBeTakenOver"`
	Database       *Database `json:"database,omitempty"`
	Redis          *Redis    `json:"redis,omitempty"`
	Findings       []Finding `json:"findings"`
	Nodes          []Node    `json:"nodes"`
	Config         string    `json:"config"`  // a config.toml, without secrets
	Secrets        []string  `json:"secrets"` // variables that have to be set beside it
	Steps          []string  `json:"steps"`   // what to do
}

// Node is one node, and what to change there.
type Node struct {
	Name      string   `json:"name"`
	Display   string   `json:"display,omitempty"`
	Enabled   bool     `json:"enabled"`
	Version   string   `json:"version,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Change    []string `json:"change,omitempty"` // lines of its configuration
}

// Options say what to read.
type Options struct {
	DSN          string // of the MySQL of the installation; empty: what the settings say
	RedisURL     string
	Namespace    string   // prefix of its keys; empty: what the settings say
	Applications []string // settings of the server and of nodes
	Profiles     []string
	URL          string // where nodes will find this program; empty: made from the settings
	Now          func() time.Time
}

// Read makes the report.
func Read(ctx context.Context, o Options) (*Report, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	server, nodes, err := o.settings()
	if err != nil {
		return nil, err
	}
	r := &Report{}
	p := planOf(server, o)
	if o.DSN == "" {
		o.DSN = p.dsn
	}
	if o.RedisURL == "" {
		o.RedisURL = p.redisURL
	}
	if o.DSN != "" {
		if err := r.readDatabase(ctx, o); err != nil {
			return nil, err
		}
	}
	if o.RedisURL != "" {
		if err := r.readRedis(ctx, o, p); err != nil {
			return nil, err
		}
	}
	if r.Database == nil && r.Redis == nil && server == nil {
		return nil, fmt.Errorf("%w: nothing to read: give --dsn, --redis or --application", ErrUsage)
	}
	r.plan(p, server, o)
	r.changes(p, nodes)
	r.conclude()
	return r, nil
}

func (r *Report) add(level Level, area string, names []string, format string, args ...any) {
	const most = 10
	shown := names
	if len(shown) > most {
		shown = shown[:most]
	}
	r.Findings = append(r.Findings, Finding{Level: level, Area: area, Text: fmt.Sprintf(format, args...), Names: clipAll(shown), Count: len(names)})
}

// conclude orders the findings and says whether all can be taken over.
func (r *Report) conclude() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level))
	})
	r.CanBeTakenOver = !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == Refused })
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	if r.Nodes == nil {
		r.Nodes = []Node{}
	}
}

// longest is how much of a text from the installation a report repeats.
const longest = 120

func clip(s string) string {
	runes := 0
	for i := range s {
		if runes++; runes > longest {
			return s[:i] + "…"
		}
	}
	return s
}

func clipAll(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = clip(s)
	}
	return out
}
