package redisstore

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
)

//go:embed entry.lua
var entryLua string

var entryScript = redis.NewScript(entryLua)

// entryTries bounds how often an entry is made again because somebody else wrote it meanwhile.
const entryTries = 5

// entryTime is how Java writes a time in an entry: local time of the server without a zone.
const entryTime = "2006-01-02T15:04:05.000"

// NodeEntries writes each node's state as node:NAME, in the form that erupt's servers use (erupt-wire 7.1). Nothing of
// ours reads it: it is for Java servers, scripts and people.
type NodeEntries struct {
	client redis.UniversalClient
	prefix string
	ttl    time.Duration
	token  func(node string) string
}

// NewNodeEntries returns a writer whose entries live for ttl (A1). token gives the plain access token that an entry
// carries if Java servers share the namespace; nil: entries carry none.
func NewNodeEntries(client redis.UniversalClient, prefix string, ttl time.Duration, token func(node string) string) *NodeEntries {
	return &NodeEntries{client: client, prefix: prefix, ttl: ttl, token: token}
}

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

func (e *NodeEntries) key(node string) string { return e.prefix + "node:" + node }

// Write implements registry.EntryWriter.
func (e *NodeEntries) Write(ctx context.Context, node string, v *registry.View) error {
	keys := []string{e.key(node), e.prefix + "nodeseq"}
	old, err := e.read(ctx, node)
	if err != nil {
		return err
	}
	for range entryTries {
		body, err := e.body(node, v, old)
		if err != nil {
			return err
		}
		reply, err := entryScript.Run(ctx, e.client, keys, node, fmt.Sprintf("%020d", v.Seq()), old, body, e.ttl.Milliseconds()).Slice()
		if err != nil {
			return unavailable(ctx, err)
		}
		if outcome, _ := reply[0].(int64); outcome != 0 {
			return nil // written, or a later view was
		}
		old, _ = reply[1].(string)
	}
	return fault.New(fault.Unavailable, "too many writers change the entry of node %s at once", node).Retry(time.Second)
}

// read returns what is stored, empty if there is nothing or something that is no text.
func (e *NodeEntries) read(ctx context.Context, node string) (string, error) {
	values, err := e.client.MGet(ctx, e.key(node)).Result() // of another type than text: nil, where GET would fail
	if err != nil {
		return "", unavailable(ctx, err)
	}
	text, _ := values[0].(string)
	return text, nil
}

// body returns the entry of node in v, with the fields of old that we do not know; empty if no instance takes requests.
func (e *NodeEntries) body(node string, v *registry.View, old string) ([]byte, error) {
	var newest *registry.Instance
	for _, in := range v.Node(node) {
		if routable(in) && (newest == nil || in.Updated.After(newest.Updated)) {
			newest = &in
		}
	}
	if newest == nil {
		return []byte{}, nil
	}
	detail := registry.NodeDetail{}
	if newest.Node != nil {
		detail = *newest.Node
	}
	out := entry{
		RegisterTime: newest.Updated.Local().Format(entryTime), Locations: locations(node, v), InstanceID: newest.ID, Version: detail.Version,
		NodeName: newest.NodeName, NodeAddress: detail.Addresses, EruptModules: detail.Modules, Erupts: detail.Erupts,
		Resources: detail.Resources,
	}
	if e.token != nil {
		if token := e.token(node); token != "" {
			out.AccessToken = &token
		}
	}
	extra, _ := parse(old)
	for name, value := range detail.Extra {
		if extra == nil {
			extra = map[string]json.RawMessage{}
		}
		extra[name] = value
	}
	for _, name := range entryFields {
		delete(extra, name)
	}
	return marshal(out, extra)
}

func routable(in registry.Instance) bool { return in.Status == registry.Up && len(in.Locations) > 0 }

// locations are all that take requests, oldest instance first.
func locations(node string, v *registry.View) []string {
	var all []string
	for _, in := range v.Node(node) {
		if !routable(in) {
			continue
		}
		for _, l := range in.Locations {
			if !slices.Contains(all, l) {
				all = append(all, l)
			}
		}
	}
	return all
}

// parse reads an entry's fields. What is no JSON object, such as the binary form of old servers, counts as absent.
func parse(value string) (map[string]json.RawMessage, bool) {
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		return nil, false
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &fields); err != nil {
		return nil, false
	}
	return fields, true
}

// Touch implements registry.EntryWriter.
func (e *NodeEntries) Touch(ctx context.Context, node string) error {
	found, err := e.client.PExpire(ctx, e.key(node), e.ttl).Result()
	if err != nil {
		return unavailable(ctx, err)
	}
	if !found {
		return registry.ErrNoEntry
	}
	return nil
}

// Drop implements registry.EntryWriter.
func (e *NodeEntries) Drop(ctx context.Context, node string) error {
	if err := e.client.Del(ctx, e.key(node)).Err(); err != nil {
		return unavailable(ctx, err)
	}
	return nil
}

// Wrong implements registry.EntryWriter.
func (e *NodeEntries) Wrong(ctx context.Context, nodes []string, v *registry.View) ([]string, error) {
	live := slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return len(locations(node, v)) == 0 })
	if len(live) == 0 {
		return nil, nil
	}
	keys := make([]string, len(live))
	for i, node := range live {
		keys[i] = e.key(node)
	}
	values, err := e.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	var wrong []string
	for i, node := range live {
		text, _ := values[i].(string)
		if !e.right(node, text, v) {
			wrong = append(wrong, node)
		}
	}
	return wrong, nil
}

func (e *NodeEntries) right(node, value string, v *registry.View) bool {
	fields, ok := parse(value)
	if !ok {
		return false
	}
	var named []string
	if err := json.Unmarshal(fields["locations"], &named); err != nil {
		return false
	}
	want := locations(node, v)
	slices.Sort(named)
	slices.Sort(want)
	return slices.Equal(named, want)
}
