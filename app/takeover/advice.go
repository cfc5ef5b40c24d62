package takeover

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// plan writes the configuration, what has to be set beside it, and the steps.
func (r *Report) plan(p plan, server *Settings, o Options) {
	p.values["database.driver"] = quoted("mysql")
	if r.Redis != nil && r.Redis.OldEntries > 0 {
		p.values["cloud_server.take_over"] = "true"
	} else if r.Redis != nil && r.Redis.NewEntries > 0 {
		p.values["cloud_server.share_namespace"] = "true"
	}
	r.Secrets = append(r.Secrets, "EC_DATABASE_DSN_FILE: a file that holds "+shownDSN(o.DSN))
	if address, secret := shownRedis(o.RedisURL); secret {
		r.Secrets = append(r.Secrets, "EC_REDIS_URL_FILE: a file that holds "+address)
	} else if address != "" {
		p.values["redis.url"] = quoted(address)
	}
	if o.RedisURL != "" {
		r.Secrets = append(r.Secrets, "EC_SESSION_KEYS_FILE and EC_SECRETS_TOKEN_KEY_FILE: two files of 32 or more random characters, the same on all replicas")
	}
	r.Config = tomlOf(p.values)
	r.Steps = r.steps(p)
	if server != nil {
		r.saySettings(p, server)
	}
}

// tomlOf writes values under their sections.
func tomlOf(values map[string]string) string {
	var out strings.Builder
	section := ""
	for _, key := range slices.Sorted(maps.Keys(values)) {
		head, name, _ := strings.Cut(key, ".")
		if head != section {
			section = head
			out.WriteString("[" + head + "]\n")
		}
		out.WriteString(name + " = " + values[key] + "\n")
	}
	return out.String()
}

// shownDSN is a DSN without its password.
func shownDSN(dsn string) string {
	c, err := mysql.ParseDSN(dsn)
	if err != nil || dsn == "" {
		return "USER:PASSWORD@tcp(HOST:3306)/NAME"
	}
	return clip(c.User) + ":PASSWORD@" + c.Net + "(" + clip(c.Addr) + ")/" + clip(c.DBName)
}

// shownRedis is an address without its password, and whether there was one.
func shownRedis(raw string) (string, bool) {
	u, err := url.Parse(raw)
	if err != nil || raw == "" {
		return "", false
	}
	user := u.User
	_, secret := user.Password()
	if u.User = nil; !secret {
		return u.Scheme + "://" + u.Host + u.Path, false
	}
	return u.Scheme + "://" + url.PathEscape(user.Username()) + ":PASSWORD@" + u.Host + u.Path, true
}

func (r *Report) saySettings(p plan, server *Settings) {
	taken := []string{canonicalKey("erupt.redisSession"), canonicalKey("erupt.csrfInspect")} // nothing to set: always so here
	for _, c := range counterparts {
		taken = append(taken, canonicalKey(c.java))
	}
	var left []string
	for _, prefix := range []string{"erupt.", "erupt-app."} {
		for _, name := range server.Under(prefix) {
			key, _, _ := strings.Cut(canonicalKey(name), "[")
			if !slices.Contains(taken, key) {
				left = append(left, name)
			}
		}
	}
	if len(left) > 0 {
		r.add(Note, "settings", left, "settings of the Java server that have no counterpart here")
	}
	if len(p.missing) > 0 {
		r.add(Care, "settings", p.missing, "the value cannot be read, or has a placeholder without a value: set it by hand")
	}
	if ssl := server.Under("server.ssl."); len(ssl) > 0 {
		r.add(Care, "settings", nil, "the Java server ends TLS itself: give this program certificate and key as PEM files, server.tls_cert and server.tls_key")
	}
	if v, ok := server.Get("erupt.redisSession"); !ok || v != "true" {
		r.add(Note, "settings", nil, "erupt.redisSession is not true: sessions are in the Java server's memory, and users log in again")
	}
	if dir, ok := server.Get("erupt.uploadPath"); ok && dir != "" {
		r.add(Note, "settings", []string{dir}, "files that were uploaded are read from this directory: it must be there for this program, too")
	}
}

func (r *Report) steps(p plan) []string {
	out := []string{"Back up the database.", "Write the configuration below to config.toml and set the variables beside it."}
	out = append(out, "Make this program's tables beside erupt's, none of which is altered: eruptcloud migrate --adopt")
	switch {
	case r.Redis != nil && r.Redis.OldEntries > 0:
		out = append(out, "Stop the Java server, and start at once: eruptcloud serve. It watches for a heartbeat that nobody renews the old entries.")
	case r.Redis != nil && r.Redis.NewEntries > 0:
		out = append(out, "Start: eruptcloud serve. The Java server may go on beside it meanwhile.")
	default:
		out = append(out, "Stop the Java server and start: eruptcloud serve")
	}
	out = append(out,
		"Give this program the address that the Java server had, and there is nothing to change on the nodes; or change the address there, see above, and nothing else: names and tokens stay.",
		"To go back: stop this program, start the Java server, and give it its address back. eruptcloud migrate --leave --yes removes what was made beside erupt's tables.")
	if r.Redis == nil || r.Redis.NewEntries == 0 {
		out = append(out, "Before a server up to 2.0.4 starts again, the keys "+clip(p.namespace)+"node:* must be gone, which it cannot read: delete them, or wait until they have ended.")
	}
	return out
}

// changes says for each node what to change there: the address.
func (r *Report) changes(p plan, nodes []*Settings) {
	for _, s := range nodes {
		name, _ := s.Get("erupt.cloud-node.nodeName")
		if !slices.ContainsFunc(r.Nodes, func(n Node) bool { return n.Name == clip(name) }) {
			if r.Database != nil {
				r.add(Care, "nodes", []string{name}, "settings of a node that has no record: it is refused, here as there")
			}
			r.Nodes = append(r.Nodes, Node{Name: clip(name)})
		}
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		n.Change = []string{"erupt.cloud-node.serverAddresses[0]=" + p.url}
		for _, s := range nodes {
			if name, _ := s.Get("erupt.cloud-node.nodeName"); clip(name) == n.Name {
				n.Change = changed(s, p.url)
			}
		}
	}
}

// changed are the lines of a node's own settings: the first address becomes ours, others would lead to the Java server.
func changed(s *Settings, to string) []string {
	var out []string
	for i, name := range s.Under("erupt.cloud-node.serverAddresses") {
		found := s.values[canonicalKey(name)]
		line := clip(found.name) + ": " + clip(withoutUser(found.value))
		if i == 0 {
			out = append(out, line+" becomes "+to)
		} else {
			out = append(out, line+" goes")
		}
	}
	if len(out) == 0 {
		out = []string{"erupt.cloud-node.serverAddresses[0]=" + to}
	}
	return out
}

// withoutUser keeps what may be a password in an address out of the report.
func withoutUser(address string) string {
	if head, rest, ok := strings.Cut(address, "://"); ok {
		if i := strings.LastIndexByte(rest, '@'); i >= 0 {
			return head + "://…@" + rest[i+1:]
		}
	}
	return address
}
