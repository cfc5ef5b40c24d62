package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/fault"
)

// OldEntry is a node entry that a server up to 2.0.4 wrote.
type OldEntry struct {
	Node string        // as the key has it: hostile
	Left time.Duration // of its life; negative: it has no end
}

// scanCount is how many keys Redis looks at in one step: a step must not hold up others.
const scanCount = 1000

// OldEntries finds the entries of servers up to 2.0.4 under a prefix. It writes nothing.
func OldEntries(ctx context.Context, client redis.UniversalClient, prefix string) ([]OldEntry, error) {
	start := prefix + "node:"
	var found []OldEntry
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, literal(start)+"*", scanCount).Result()
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		old, err := oldOf(ctx, client, start, keys)
		if err != nil {
			return nil, err
		}
		found = append(found, old...)
		if cursor = next; cursor == 0 {
			break
		}
	}
	slices.SortFunc(found, func(a, b OldEntry) int { return strings.Compare(a.Node, b.Node) })
	return slices.CompactFunc(found, func(a, b OldEntry) bool { return a.Node == b.Node }), nil // a scan may show a key twice
}

func oldOf(ctx context.Context, client redis.UniversalClient, start string, keys []string) ([]OldEntry, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	heads, lefts := make([]*redis.StringCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			heads[i], lefts[i] = p.GetRange(ctx, key, 0, 1), p.PTTL(ctx, key)
		}
		return nil
	})
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, unavailable(ctx, err)
	}
	var old []OldEntry
	for i, key := range keys {
		if heads[i].Err() == nil && heads[i].Val() == oldServer {
			old = append(old, OldEntry{strings.TrimPrefix(key, start), lefts[i].Val()})
		}
	}
	return old, nil
}

// literal escapes what a pattern of Redis would not take for itself.
func literal(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}

// OldServer says that a server up to 2.0.4 uses the namespace, or has used it: one JSON value ends its survival check
// (erupt-wire 7.1). renewed names an entry that such a server renewed while we watched; empty if none was seen.
func OldServer(prefix string, old []OldEntry, renewed string) *fault.Error {
	const most = 5
	var list []string
	longest := time.Duration(0)
	endless := false
	for i, e := range old {
		if longest = max(longest, e.Left); e.Left < 0 {
			endless = true
		}
		if i < most {
			list = append(list, fmt.Sprintf("%.64q (%s)", e.Node, leftWords(e.Left)))
		}
	}
	if n := len(old) - most; n > 0 {
		list = append(list, fmt.Sprintf("%d more", n))
	}
	names := strings.Join(list, ", ")
	if renewed != "" {
		return fault.New(fault.Conflict, "an erupt server up to 2.0.4 runs on the Redis namespace %q: it renewed its entry of node %.64q a moment ago. "+
			"Such a server ends its survival check at the first entry that this program writes. Stop it, or give this program a namespace of its "+
			"own (cloud_server.cloud_name_space). Its entries: %s", prefix, renewed, names)
	}
	wait := "or wait " + leftWords(longest) + ", until they have ended"
	if endless {
		wait = "or delete those without an end"
	}
	return fault.New(fault.Conflict, "the Redis namespace %q holds node entries of an erupt server up to 2.0.4: %s. Such a server ends its survival check "+
		"at the first entry that this program writes. If it runs, stop it, or give this program a namespace of its own "+
		"(cloud_server.cloud_name_space). If it has been stopped, set cloud_server.take_over = true, %s", prefix, names, wait)
}

func leftWords(left time.Duration) string {
	if left < 0 {
		return "without an end"
	}
	return max(left.Round(time.Second), time.Second).String()
}

// Renewed returns the name of an entry whose life was extended between two looks that were some time apart, empty if none was.
func Renewed(before, after []OldEntry, apart time.Duration) string {
	const slack = time.Second // between the two clocks, and the time that a look takes
	was := make(map[string]time.Duration, len(before))
	for _, e := range before {
		was[e.Node] = e.Left
	}
	for _, e := range after {
		left, known := was[e.Node]
		if !known || left >= 0 && e.Left > left-apart+slack {
			return e.Node
		}
	}
	return ""
}
