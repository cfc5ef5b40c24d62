package proxy

import (
	"net/url"
	"strings"
)

// query holds the parameters that are the proxy's business. The rest of a query is nobody's: it goes to the node byte for
// byte, semicolons and all (S50).
type query struct {
	raw                        string
	token, erupt, parent, node string
	hasToken, hasErupt         bool
	hasParent, hasNode         bool
}

// parseQuery finds the proxy's parameters. Only & separates, as in the servers of the nodes. A repeated one is refused,
// since two readers would choose differently.
func parseQuery(raw string) (q query, err error) {
	q.raw = raw
	if strings.IndexByte(raw, '_') < 0 && strings.IndexByte(raw, '%') < 0 {
		return q, nil
	}
	for pair := range strings.SplitSeq(raw, "&") {
		key, value := cutPair(pair)
		if key == "" || key[0] != '_' {
			continue
		}
		var text *string
		var seen *bool
		switch key {
		case "_token":
			text, seen = &q.token, &q.hasToken
		case "_erupt":
			text, seen = &q.erupt, &q.hasErupt
		case "_eruptParent":
			text, seen = &q.parent, &q.hasParent
		case "_node":
			text, seen = &q.node, &q.hasNode
		default:
			continue
		}
		if *seen {
			return q, Fail(Invalid, "the parameter '%s' is repeated", key)
		}
		*seen = true
		if *text, err = url.QueryUnescape(value); err != nil {
			return q, Fail(Invalid, "the parameter '%s' is not encoded correctly", key).Because(err)
		}
	}
	return q, nil
}

// cutPair splits one pair and decodes its key; a key that cannot be decoded is nobody's.
func cutPair(pair string) (key, value string) {
	key, value, _ = strings.Cut(pair, "=")
	if strings.ContainsAny(key, "%+") {
		plain, err := url.QueryUnescape(key)
		if err != nil {
			return "", ""
		}
		key = plain
	}
	return key, value
}

// forNode returns the query as the node gets it: without the session token, names made local.
func (q *query) forNode(erupt, parent string) string {
	if !q.hasToken && !q.hasErupt && !q.hasParent {
		return q.raw
	}
	var b strings.Builder
	b.Grow(len(q.raw))
	for pair := range strings.SplitSeq(q.raw, "&") {
		local := ""
		switch key, _ := cutPair(pair); key {
		case "_token":
			continue
		case "_erupt":
			local = erupt
		case "_eruptParent":
			local = parent
		default:
			addPair(&b, pair)
			continue
		}
		if local != "" { // simple names need no encoding
			key, _, _ := strings.Cut(pair, "=")
			addPair(&b, key+"="+local)
		}
	}
	return b.String()
}

func addPair(b *strings.Builder, pair string) {
	if b.Len() > 0 {
		b.WriteByte('&')
	}
	b.WriteString(pair)
}
