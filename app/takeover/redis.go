package takeover

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/registry/redisstore"
)

// Bounds of what is looked at.
const (
	maxKeys    = 1_000_000
	maxEntries = 5000
	maxEntry   = 4 << 20
	scanStep   = 1000
)

// Redis is what is in it.
type Redis struct {
	Version   string `json:"version"`
	Eviction  string `json:"eviction"` // what it does when its memory is full
	Namespace string `json:"namespace"`
	// Entries of nodes, by who can have written them.
	OldEntries int `json:"entriesUpTo2_0_4"`
	NewEntries int `json:"entriesFrom2_1"`
	Unreadable int `json:"entriesUnreadable"`
	// Sessions that go on here.
	Sessions int `json:"sessions"`
	Longest  int `json:"longestSessionSeconds"`
	Endless  int `json:"sessionsWithoutEnd"`
}

func (r *Report) readRedis(ctx context.Context, o Options, p plan) error {
	client, err := redisstore.Open(o.RedisURL)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRedis, err)
	}
	defer client.Close()
	q := &redisReader{ctx: ctx, client: client, r: r, d: &Redis{Namespace: p.namespace}, p: p}
	r.Redis = q.d
	q.server()
	q.entries()
	q.sessions()
	if q.err != nil {
		return fmt.Errorf("%w: %w", ErrRedis, q.err)
	}
	return nil
}

type redisReader struct {
	ctx    context.Context
	client *redis.Client
	r      *Report
	d      *Redis
	p      plan
	err    error
}

// server says what kind of Redis it is.
func (q *redisReader) server() {
	info, err := q.client.Info(q.ctx).Result()
	if err != nil {
		q.err = err
		return
	}
	fields := map[string]string{}
	for line := range strings.SplitSeq(info, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = value
		}
	}
	q.d.Version, q.d.Eviction = clip(fields["redis_version"]), clip(fields["maxmemory_policy"])
	major, _, _ := strings.Cut(q.d.Version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < 7 {
		q.r.add(Refused, "redis", nil, "Redis %s: this program needs 7.0 or newer", q.d.Version)
	}
	if q.d.Eviction != "" && q.d.Eviction != "noeviction" && fields["maxmemory"] != "0" {
		q.r.add(Care, "redis", nil, "when its memory is full Redis deletes keys (maxmemory-policy %s): leases and sessions would vanish. Set noeviction", q.d.Eviction)
	}
}

// scan calls each with the keys under a prefix.
func (q *redisReader) scan(prefix string, each func(keys []string) error) {
	if q.err != nil {
		return
	}
	literal := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(prefix)
	for cursor, n := uint64(0), 0; n < maxKeys; {
		keys, next, err := q.client.Scan(q.ctx, cursor, literal+"*", scanStep).Result()
		if err == nil && len(keys) > 0 {
			err = each(keys)
		}
		if err != nil {
			q.err = err
			return
		}
		if n += scanStep; next == 0 {
			return
		}
		cursor = next
	}
}

// entry is one node's, as far as it can be read.
type entry struct {
	node, version string
	addresses     []string
	old, ok       bool
	left          time.Duration
}

func (q *redisReader) entries() {
	start := q.p.namespace + "node:"
	var all []entry
	q.scan(start, func(keys []string) error {
		sizes, lefts := make([]*redis.IntCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
		_, err := q.client.Pipelined(q.ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				sizes[i], lefts[i] = p.StrLen(q.ctx, key), p.PTTL(q.ctx, key)
			}
			return nil
		})
		if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return err
		}
		for i, key := range keys {
			e := entry{node: strings.TrimPrefix(key, start), left: lefts[i].Val()}
			if sizes[i].Err() == nil && sizes[i].Val() <= maxEntry && len(all) < maxEntries {
				value, err := q.client.Get(q.ctx, key).Bytes()
				if err != nil && err != redis.Nil {
					return err
				}
				e.read(value)
			}
			all = append(all, e)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.node, b.node) })
	all = slices.CompactFunc(all, func(a, b entry) bool { return a.node == b.node }) // a scan may show a key twice
	q.sayEntries(all)
}

// read understands both forms (erupt-wire 7.1).
func (e *entry) read(value []byte) {
	if strings.HasPrefix(string(value), "\xac\xed") {
		e.old = true
		obj, err := readSerialized(value)
		if err != nil {
			return
		}
		e.ok, e.version, e.addresses = true, text(obj.fields["version"]), texts(obj.fields["locations"])
		return
	}
	var fields struct {
		Version   string   `json:"version"`
		Locations []string `json:"locations"`
	}
	e.ok = json.Unmarshal(value, &fields) == nil
	e.version, e.addresses = fields.Version, fields.Locations
}

func (q *redisReader) sayEntries(all []entry) {
	var old, strange, unknown []string
	longest, runs := time.Duration(0), false
	for _, e := range all {
		switch {
		case e.old:
			old = append(old, e.node)
			longest = max(longest, e.left)
			runs = runs || e.left > q.p.expire-20*time.Second
			q.d.OldEntries++
		case e.ok:
			q.d.NewEntries++
		}
		if !e.ok {
			q.d.Unreadable++
			strange = append(strange, e.node)
			continue
		}
		if !q.place(e) {
			unknown = append(unknown, e.node)
		}
	}
	switch {
	case len(old) > 0 && q.d.NewEntries > 0:
		q.r.add(Refused, "redis", old, "the namespace %s has entries of a server up to 2.0.4 beside ones of a newer server: they cannot share it. Stop the older, or give one of them another namespace", q.p.namespace)
	case len(old) > 0:
		state := "the last of them end in " + longest.Round(time.Second).String() + " once that server has stopped"
		if runs {
			state = "it runs at this moment: an entry was renewed in the last 20 s"
		}
		q.r.add(Care, "redis", old, "the namespace %s is that of a server up to 2.0.4, which cannot share it; %s. Stop it before this program starts, with cloud_server.take_over = true", q.p.namespace, state)
	case q.d.NewEntries > 0:
		q.r.add(Note, "redis", nil, "the namespace %s is that of a server from 2.1 on: it may go on beside this program, with cloud_server.share_namespace = true", q.p.namespace)
	}
	if len(strange) > 0 {
		q.r.add(Care, "redis", strange, "entries of nodes that cannot be read; they count as absent")
	}
	if len(unknown) > 0 {
		q.r.add(Care, "redis", unknown, "entries of nodes that have no record in the database; they are not taken over")
	}
}

// place adds what an entry says to its node. Without a database there are only the entries.
func (q *redisReader) place(e entry) bool {
	addresses := clipAll(e.addresses[:min(len(e.addresses), 16)])
	for i := range q.r.Nodes {
		if q.r.Nodes[i].Name == clip(e.node) {
			q.r.Nodes[i].Version, q.r.Nodes[i].Addresses = clip(e.version), addresses
			return true
		}
	}
	if q.r.Database != nil {
		return false
	}
	q.r.Nodes = append(q.r.Nodes, Node{Name: clip(e.node), Enabled: true, Version: clip(e.version), Addresses: addresses})
	return true
}

func (q *redisReader) sessions() {
	const prefix = "erupt-auth:token:"
	q.scan(prefix, func(keys []string) error {
		lefts := make([]*redis.DurationCmd, len(keys))
		_, err := q.client.Pipelined(q.ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				lefts[i] = p.PTTL(q.ctx, key)
			}
			return nil
		})
		for _, left := range lefts {
			q.d.Sessions++
			q.d.Longest = max(q.d.Longest, int(left.Val()/time.Second))
			if left.Val() == -1 { // no end
				q.d.Endless++
			}
		}
		return err
	})
	former := 0
	q.scan("eruptAuth:token:", func(keys []string) error { former += len(keys); return nil })
	if q.d.Sessions > 0 {
		q.r.add(Note, "redis", nil, "who is logged in stays so, if this program gets the same Redis database: %s", count(q.d.Sessions, "session"))
	}
	if q.d.Endless > 0 {
		q.r.add(Care, "redis", nil, "sessions without an end; they end here when the user logs out or is disabled: %d", q.d.Endless)
	}
	if former > 0 {
		q.r.add(Note, "redis", nil, "sessions of erupt 1.10 are under another name, and these users log in again: %d", former)
	}
}
