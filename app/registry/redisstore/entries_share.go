package redisstore

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/registry"
)

//go:embed entry_drop.lua
var entryDropLua string

var dropScript = redis.NewScript(entryDropLua)

// Bounds of what is taken from an entry that somebody else wrote.
const (
	maxEntry     = 4 << 20 // bytes; a larger one is not read
	maxLocations = 256
)

// oldServer is how the entries of servers up to 2.0.4 begin: Java's serialization.
const oldServer = "\xac\xed"

func isOld(value string) bool { return strings.HasPrefix(value, oldServer) }

// saidOf is what is kept of what we wrote: a hash of the entry, by which we know it again, and the locations that were ours.
func saidOf(value []byte, mine []string) string {
	if len(mine) == 0 {
		return ""
	}
	list, err := json.Marshal(mine)
	if err != nil {
		return "" // texts can be written
	}
	return sumOf(string(value)) + "\n" + string(list)
}

func readSaid(said string) (sum string, mine []string) {
	sum, list, _ := strings.Cut(said, "\n")
	if json.Unmarshal([]byte(list), &mine) != nil {
		return "", nil
	}
	return sum, mine
}

func sumOf(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:8])
}

// entryOf reads the fields of an entry that can be read; what is of another type is left out.
func entryOf(fields map[string]json.RawMessage) entry {
	var out entry
	for name, to := range map[string]any{
		"registerTime": &out.RegisterTime, "locations": &out.Locations, "instanceId": &out.InstanceID, "version": &out.Version,
		"nodeName": &out.NodeName, "accessToken": &out.AccessToken, "nodeAddress": &out.NodeAddress, "eruptModules": &out.EruptModules,
		"erupts": &out.Erupts, "resources": &out.Resources,
	} {
		if raw, ok := fields[name]; ok && json.Unmarshal(raw, to) != nil {
			clearField(to)
		}
	}
	return out
}

// clearField empties what a failed decoding has filled in part.
func clearField(to any) {
	switch v := to.(type) {
	case *string:
		*v = ""
	case **string:
		*v = nil
	case *[]string:
		*v = nil
	case *map[string][]string:
		*v = nil
	}
}

// spelled is a location as an entry has it and in our spelling.
type spelled struct{ raw, canonical string }

func (e *NodeEntries) spell(locations []string) []spelled {
	out := make([]spelled, 0, len(locations))
	for _, raw := range locations[:min(len(locations), maxLocations)] {
		canonical, err := e.Canonical(raw)
		if err != nil {
			canonical = raw // not ours to judge here: it stays as it is
		}
		out = append(out, spelled{raw, canonical})
	}
	return out
}

// merged returns what a shared entry should name: what we know of, and what a Java server has added since we last wrote. What
// it has removed since stays out until the instance beats through us: a process that said goodbye there does not, while one
// that was lost because two servers wrote at once is back with its next beat.
func (e *NodeEntries) merged(node string, v *registry.View, fields map[string]json.RawMessage, said string, beats []string) []string {
	theirs := e.spell(entryOf(fields).Locations)
	_, mine := readSaid(said)
	var known, named []string
	for _, in := range v.Node(node) {
		known = append(known, in.Locations...)
	}
	for _, l := range e.locations(node, v) {
		i := slices.IndexFunc(theirs, func(s spelled) bool { return s.canonical == l })
		switch {
		case i >= 0:
			named = append(named, theirs[i].raw) // a Java server removes it by this spelling
		case !slices.Contains(mine, l) || slices.Contains(beats, l):
			named = append(named, l)
		}
	}
	for _, s := range theirs {
		if !slices.Contains(mine, s.canonical) && !slices.Contains(known, s.canonical) && !slices.Contains(named, s.raw) {
			named = append(named, s.raw)
		}
	}
	return named
}

// lacks reports whether an entry does not name one of the locations that just beat.
func (e *NodeEntries) lacks(node, value string, beats []string) bool {
	fields, ok := parse(value)
	if !ok {
		return true
	}
	theirs := e.spell(entryOf(fields).Locations)
	for _, l := range beats {
		if !slices.ContainsFunc(theirs, func(s spelled) bool { return s.canonical == l }) {
			return true
		}
	}
	return false
}

// Entry is a node's entry as it is stored, whoever wrote it. All of it is hostile until checked.
type Entry struct {
	Node string
	// Old: a server up to 2.0.4 wrote it, in a form that is not read.
	Old  bool
	Left time.Duration // of its life; negative: it has no end

	Sum  string // of the value; empty: there is no entry
	Ours bool   // it is as we wrote it
	// Mine are the locations that we named when we last wrote it.
	Mine []string

	Instance, Version, Token string
	Locations, Addresses     []string
	Modules, Erupts          []string
	Resources                map[string][]string
	Extra                    map[string]json.RawMessage
}

// Read returns the entries of nodes, in their order.
func (e *NodeEntries) Read(ctx context.Context, nodes []string) ([]Entry, error) {
	all, err := e.readAll(ctx, nodes)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(nodes))
	var old []int
	for i, node := range nodes {
		out[i] = entryFrom(node, all[i])
		if out[i].Old {
			old = append(old, i)
		}
	}
	lefts, err := e.lefts(ctx, nodes, old)
	for k, i := range old {
		if err == nil {
			out[i].Left = lefts[k]
		}
	}
	return out, err
}

// lefts asks how long entries live, of those that matter.
func (e *NodeEntries) lefts(ctx context.Context, nodes []string, which []int) ([]time.Duration, error) {
	if len(which) == 0 {
		return nil, nil
	}
	asked := make([]*redis.DurationCmd, len(which))
	_, err := e.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for k, i := range which {
			asked[k] = p.PTTL(ctx, e.key(nodes[i]))
		}
		return nil
	})
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	out := make([]time.Duration, len(which))
	for k, cmd := range asked {
		out[k] = cmd.Val()
	}
	return out, nil
}

func entryFrom(node string, s stored) Entry {
	out := Entry{Node: node, Old: isOld(s.value)}
	sum := ""
	sum, out.Mine = readSaid(s.said)
	fields, ok := parse(s.value)
	if !ok {
		return out
	}
	out.Sum = sumOf(s.value)
	out.Ours = out.Sum == sum
	read := entryOf(fields)
	if read.NodeName != node {
		return out // somebody else's, by whatever mistake: nothing of it counts
	}
	out.Instance, out.Version, out.Locations, out.Addresses = read.InstanceID, read.Version, read.Locations, read.NodeAddress
	out.Modules, out.Erupts, out.Resources = read.EruptModules, read.Erupts, read.Resources
	if read.AccessToken != nil {
		out.Token = *read.AccessToken
	}
	for _, name := range entryFields {
		delete(fields, name)
	}
	if len(fields) > 0 {
		out.Extra = fields
	}
	return out
}

// Withhold keeps all replicas from writing entries for a while and deletes those of nodes that are not an old server's: such a
// server cannot read ours, and stops its survival check over them.
func (e *NodeEntries) Withhold(ctx context.Context, nodes []string, life time.Duration) error {
	if err := e.Client.Set(ctx, e.withheldKey(), "a server up to 2.0.4 uses this namespace", life).Err(); err != nil {
		return unavailable(ctx, err)
	}
	for _, node := range nodes {
		if err := e.Drop(ctx, node); err != nil {
			return err
		}
	}
	return nil
}
