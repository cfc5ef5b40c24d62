package redisstore

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
)

//go:embed entry.lua
var entryLua string

//go:embed entry_touch.lua
var entryTouchLua string

var (
	entryScript      = redis.NewScript(entryLua)
	entryTouchScript = redis.NewScript(entryTouchLua)
)

// entryTries bounds how often an entry is made again because somebody else wrote it meanwhile.
const entryTries = 5

// entryTime is how Java writes a time in an entry: local time of the server without a zone.
const entryTime = "2006-01-02T15:04:05.000"

// EntryOptions configures NodeEntries.
type EntryOptions struct {
	Client redis.UniversalClient
	Prefix string
	TTL    time.Duration // life of an entry (A1)
	// Hidden tells which locations of an instance an entry does not name although it is up: held and draining ones. May be nil.
	Hidden func(node string, in *registry.Instance, location string) bool
	// Token gives the plain access token, by the digest of the one that the instance showed, that an entry carries if Java
	// servers share the namespace. Nil: nobody shares it, and entries carry none.
	Token func(node, digest string) string
	// Canonical returns the one spelling of a location, of which a Java server keeps what its node reported. Needed with Token.
	Canonical func(location string) (string, error)
	// TakeOver lets entries of servers up to 2.0.4 be replaced: that server has been stopped.
	TakeOver bool
}

// NodeEntries writes each node's state as node:NAME, in the form that erupt's servers use (erupt-wire 7.1). No routing of
// ours reads it: it is for Java servers, scripts and people.
type NodeEntries struct {
	EntryOptions
}

// NewNodeEntries returns a writer of entries.
func NewNodeEntries(o EntryOptions) *NodeEntries { return &NodeEntries{o} }

func (e *NodeEntries) shared() bool { return e.Token != nil }

// entry has its fields in the order in which Java writes them. Lists and maps that nobody sent are null.
type entry struct {
	RegisterTime string              `json:"registerTime"`
	Locations    []string            `json:"locations"`
	InstanceID   string              `json:"instanceId"`
	Version      string              `json:"version"`
	NodeName     string              `json:"nodeName"`
	AccessToken  *string             `json:"accessToken"`
	NodeAddress  []string            `json:"nodeAddress"`
	EruptModules []string            `json:"eruptModules"`
	Erupts       []string            `json:"erupts"`
	Resources    map[string][]string `json:"resources"`
}

var entryFields = []string{"registerTime", "locations", "instanceId", "version", "nodeName", "accessToken", "nodeAddress", "eruptModules",
	"erupts", "resources"}

func (e *NodeEntries) key(node string) string { return e.Prefix + "node:" + node }

// The keys of entries beside node:NAME: positions of the log at which each was written, what was written, and the mark of a
// namespace that a server up to 2.0.4 uses, where nothing is written.
func (e *NodeEntries) seqKey() string      { return e.Prefix + "nodeseq" }
func (e *NodeEntries) saidKey() string     { return e.Prefix + "nodesaid" }
func (e *NodeEntries) withheldKey() string { return e.Prefix + "withheld" }

// stored is a node's entry, and what we last wrote of it.
type stored struct{ value, said string }

// What entryScript answers.
const (
	entryOther    = 0 // the entry is another than the writer read
	entryWithheld = 3 // a server up to 2.0.4 uses the namespace
)

// Write implements registry.EntryWriter.
func (e *NodeEntries) Write(ctx context.Context, node string, v *registry.View, beats ...string) error {
	keys := []string{e.key(node), e.seqKey(), e.saidKey(), e.withheldKey()}
	old, err := e.read(ctx, node)
	if err != nil {
		return err
	}
	for range entryTries {
		next, err := e.next(node, v, old, beats)
		if err != nil {
			return err
		}
		reply, err := entryScript.Run(ctx, e.Client, keys, node, fmt.Sprintf("%020d", v.Seq()), old.value, next.value,
			e.TTL.Milliseconds(), next.said, e.TakeOver).Slice()
		if err != nil {
			return unavailable(ctx, err)
		}
		if outcome, _ := reply[0].(int64); outcome != entryOther {
			return nil // written, or a later view was, or none may be
		}
		old.value, _ = reply[1].(string)
		old.said, _ = reply[2].(string)
	}
	return fault.New(fault.Unavailable, "too many writers change the entry of node %s at once", node).Retry(time.Second)
}

// read returns what is stored, empty if there is nothing or something that is no text.
func (e *NodeEntries) read(ctx context.Context, node string) (stored, error) {
	var value *redis.SliceCmd
	var said *redis.StringCmd
	_, err := e.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		value = p.MGet(ctx, e.key(node)) // of another type than text: nil, where GET would fail
		said = p.HGet(ctx, e.saidKey(), node)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return stored{}, unavailable(ctx, err)
	}
	text, _ := value.Val()[0].(string)
	return stored{text, said.Val()}, nil
}

// next returns the entry of node in v, with the fields of old that we do not know; without a value if there is nobody to name.
func (e *NodeEntries) next(node string, v *registry.View, old stored, beats []string) (stored, error) {
	fields, _ := parse(old.value)
	named, mine := e.locations(node, v), e.locations(node, v)
	if e.shared() {
		named = e.merged(node, v, fields, old.said, beats)
	}
	value, err := e.body(node, v, named, fields)
	if err != nil {
		return stored{}, err
	}
	return stored{string(value), saidOf(value, mine)}, nil
}

// body returns an entry that names the locations. Its other fields are those of the newest instance, as erupt has it.
func (e *NodeEntries) body(node string, v *registry.View, named []string, old map[string]json.RawMessage) ([]byte, error) {
	if len(named) == 0 {
		return []byte{}, nil
	}
	var newest *registry.Instance
	for _, in := range v.Node(node) {
		if len(e.visible(node, &in)) > 0 && (newest == nil || in.Updated.After(newest.Updated)) {
			newest = &in
		}
	}
	extra := maps.Clone(old)
	for _, name := range entryFields {
		delete(extra, name)
	}
	if newest == nil { // all that are named are a Java server's
		kept := entryOf(old)
		kept.NodeName, kept.Locations = node, named
		return marshal(kept, extra)
	}
	detail := registry.NodeDetail{}
	if newest.Node != nil {
		detail = *newest.Node
	}
	out := entry{
		RegisterTime: newest.Updated.Local().Format(entryTime), Locations: named, InstanceID: newest.ID, Version: detail.Version,
		NodeName: newest.NodeName, NodeAddress: detail.Addresses, EruptModules: detail.Modules, Erupts: detail.Erupts,
		Resources: detail.Resources,
	}
	if e.shared() {
		if token := e.Token(node, detail.Token); token != "" {
			out.AccessToken = &token
		}
	}
	for name, value := range detail.Extra {
		if slices.Contains(entryFields, name) {
			continue
		}
		if extra == nil {
			extra = map[string]json.RawMessage{}
		}
		extra[name] = value
	}
	return marshal(out, extra)
}

func routable(in registry.Instance) bool { return in.Status == registry.Up && len(in.Locations) > 0 }

// locations are all that take requests, oldest instance first.
func (e *NodeEntries) locations(node string, v *registry.View) []string {
	var all []string
	for _, in := range v.Node(node) {
		for _, l := range e.visible(node, &in) {
			if !slices.Contains(all, l) {
				all = append(all, l)
			}
		}
	}
	return all
}

// visible are the locations of an instance that take requests.
func (e *NodeEntries) visible(node string, in *registry.Instance) []string {
	if !routable(*in) {
		return nil
	}
	if e.Hidden == nil {
		return in.Locations
	}
	return slices.DeleteFunc(slices.Clone(in.Locations), func(l string) bool { return e.Hidden(node, in, l) })
}

// parse reads an entry's fields. What is no JSON object, such as the binary form of old servers, or too large counts as absent.
func parse(value string) (map[string]json.RawMessage, bool) {
	if len(value) > maxEntry || !strings.HasPrefix(strings.TrimSpace(value), "{") {
		return nil, false
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &fields); err != nil {
		return nil, false
	}
	return fields, true
}

// Touch implements registry.EntryWriter.
func (e *NodeEntries) Touch(ctx context.Context, node string, beats ...string) error {
	reply, err := entryTouchScript.Run(ctx, e.Client, []string{e.key(node), e.withheldKey()}, e.TTL.Milliseconds(), e.shared(), e.TakeOver).Slice()
	if err != nil {
		return unavailable(ctx, err)
	}
	if found, _ := reply[0].(int64); found == 0 {
		return registry.ErrNoEntry
	}
	if value, ok := reply[1].(string); ok && value != "" && e.lacks(node, value, beats) {
		return registry.ErrNoEntry // a Java server wrote what it had read before we wrote
	}
	return nil
}

// Drop implements registry.EntryWriter. What a server up to 2.0.4 wrote is not ours to delete.
func (e *NodeEntries) Drop(ctx context.Context, node string) error {
	if err := dropScript.Run(ctx, e.Client, []string{e.key(node), e.saidKey()}, node).Err(); err != nil {
		return unavailable(ctx, err)
	}
	return nil
}

// Wrong implements registry.EntryWriter.
func (e *NodeEntries) Wrong(ctx context.Context, nodes []string, v *registry.View) ([]string, error) {
	looked := nodes
	if !e.shared() {
		looked = slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return len(e.locations(node, v)) == 0 })
	}
	all, err := e.readAll(ctx, looked)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for i, node := range looked {
		if isOld(all[i].value) && !e.TakeOver {
			continue
		}
		if !e.right(node, all[i], v) {
			wrong = append(wrong, node)
		}
	}
	return wrong, nil
}

// readAll reads the entries of nodes at once.
func (e *NodeEntries) readAll(ctx context.Context, nodes []string) ([]stored, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	keys := make([]string, len(nodes))
	for i, node := range nodes {
		keys[i] = e.key(node)
	}
	var values, said *redis.SliceCmd
	_, err := e.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		values, said = p.MGet(ctx, keys...), p.HMGet(ctx, e.saidKey(), nodes...)
		return nil
	})
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	all := make([]stored, len(nodes))
	for i := range nodes {
		all[i].value, _ = values.Val()[i].(string)
		all[i].said, _ = said.Val()[i].(string)
	}
	return all, nil
}

func (e *NodeEntries) right(node string, s stored, v *registry.View) bool {
	fields, ok := parse(s.value)
	want := e.locations(node, v)
	if e.shared() && len(v.Node(node)) == 0 && s.said == "" {
		return true // nothing of it is ours
	}
	if !ok && (s.value != "" || !e.shared()) {
		return false
	}
	if e.shared() {
		want = e.merged(node, v, fields, s.said, nil)
	}
	named := entryOf(fields).Locations
	if e.shared() && len(named) == 0 && s.value != "" {
		return false // no locations, no entry
	}
	slices.Sort(named)
	slices.Sort(want)
	return slices.Equal(named, want)
}
