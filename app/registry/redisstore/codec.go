package redisstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"eruptcloud/app/registry"
)

// version of the stored form. Fields may be added without a new one: readers keep what they do not know.
const version = 1

// record is an instance as JSON; key and revision stand beside it.
type record struct {
	Version    int         `json:"v"`
	NodeName   string      `json:"node,omitempty"`
	Origin     string      `json:"origin"`
	Locations  []string    `json:"locations,omitempty"`
	Status     string      `json:"status"`
	Override   string      `json:"override,omitempty"`
	Action     string      `json:"action"`
	Interval   int64       `json:"intervalMs,omitempty"`
	Duration   int64       `json:"durationMs,omitempty"`
	Registered micros      `json:"registered,omitzero"`
	Up         micros      `json:"up,omitzero"`
	Updated    micros      `json:"updated,omitzero"`
	Dirty      micros      `json:"dirty,omitzero"`
	Claimed    micros      `json:"claimed,omitzero"`
	Moved      *recordMove `json:"moved,omitempty"`
	Detail     *recordNode `json:"detail,omitempty"`
}

type recordMove struct {
	From []string `json:"from"`
	At   micros   `json:"at"`
}

// recordNode writes nil and empty lists apart, as node entries do.
type recordNode struct {
	Version   string                     `json:"version"`
	Addresses []string                   `json:"addresses"`
	Modules   []string                   `json:"modules"`
	Erupts    []string                   `json:"erupts"`
	Resources map[string][]string        `json:"resources"`
	Extra     map[string]json.RawMessage `json:"extra,omitempty"`
	Token     string                     `json:"token,omitempty"`
	Peer      string                     `json:"peer,omitempty"`
	Shared    bool                       `json:"shared,omitempty"`
}

// micros is a time as microseconds since 1970; zero is no time.
type micros int64

func microsOf(t time.Time) micros {
	if t.IsZero() {
		return 0
	}
	return micros(t.UnixMicro())
}

func (m micros) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}

// known are the names of record's fields; all others are Foreign.
var known = []string{"v", "node", "origin", "locations", "status", "override", "action", "intervalMs", "durationMs", "registered", "up",
	"updated", "dirty", "claimed", "moved", "detail"}

func encode(in registry.Instance) ([]byte, error) {
	r := record{
		Version: version, NodeName: in.NodeName, Origin: string(in.Origin), Locations: in.Locations, Status: string(in.Status),
		Override: string(in.Override), Action: string(in.Action),
		Interval: in.Lease.Interval.Milliseconds(), Duration: in.Lease.Duration.Milliseconds(),
		Registered: microsOf(in.Registered), Up: microsOf(in.Up), Updated: microsOf(in.Updated), Dirty: microsOf(in.Dirty),
		Claimed: microsOf(in.Claimed),
	}
	if in.Moved != nil {
		r.Moved = &recordMove{in.Moved.From, microsOf(in.Moved.At)}
	}
	if n := in.Node; n != nil {
		r.Detail = &recordNode{n.Version, n.Addresses, n.Modules, n.Erupts, n.Resources, n.Extra, n.Token, n.Peer, n.Shared}
	}
	return marshal(r, in.Foreign)
}

// marshal writes v, an object, and the fields of extra, by name, behind its own.
func marshal(v any, extra map[string]json.RawMessage) ([]byte, error) {
	body, err := plainJSON(v)
	if err != nil || len(extra) == 0 {
		return body, err
	}
	rest, err := plainJSON(extra)
	if err != nil {
		return nil, err
	}
	return append(append(body[:len(body)-1:len(body)-1], ','), rest[1:]...), nil
}

// plainJSON leaves letters such as < as they are, as Java does.
func plainJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// decodeValue reads a value of an app's hash: revision, line break, JSON. The revision is right even where err is not nil,
// zero if it is unreadable too.
func decodeValue(k registry.Key, value string) (registry.Instance, error) {
	head, body, ok := strings.Cut(value, "\n")
	rev, err := parsePosition(head)
	if !ok || err != nil {
		return registry.Instance{Key: k}, errors.New("it has no revision")
	}
	in, err := decode(k, []byte(body))
	in.Rev = rev
	return in, err
}

func decode(k registry.Key, body []byte) (registry.Instance, error) {
	in := registry.Instance{Key: k}
	var r record
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &r); err != nil {
		return in, fmt.Errorf("it is no instance: %w", err)
	}
	if err := json.Unmarshal(body, &fields); err != nil {
		return in, fmt.Errorf("it is no instance: %w", err)
	}
	if r.Version < 1 || r.Origin == "" {
		return in, fmt.Errorf("it is no instance of a version that can be read (%d)", r.Version)
	}
	for _, name := range known {
		delete(fields, name)
	}
	if len(fields) > 0 {
		in.Foreign = fields
	}
	in.NodeName, in.Origin, in.Locations = r.NodeName, registry.Origin(r.Origin), r.Locations
	in.Status, in.Override, in.Action = registry.Status(r.Status), registry.Status(r.Override), registry.Action(r.Action)
	in.Lease = registry.Terms{Interval: time.Duration(r.Interval) * time.Millisecond, Duration: time.Duration(r.Duration) * time.Millisecond}
	in.Registered, in.Up, in.Updated, in.Dirty, in.Claimed = r.Registered.time(), r.Up.time(), r.Updated.time(), r.Dirty.time(), r.Claimed.time()
	if r.Moved != nil {
		in.Moved = &registry.Move{From: r.Moved.From, At: r.Moved.At.time()}
	}
	if n := r.Detail; n != nil {
		in.Node = &registry.NodeDetail{Version: n.Version, Addresses: n.Addresses, Modules: n.Modules, Erupts: n.Erupts,
			Resources: n.Resources, Extra: n.Extra, Token: n.Token, Peer: n.Peer, Shared: n.Shared}
	}
	return in, nil
}
