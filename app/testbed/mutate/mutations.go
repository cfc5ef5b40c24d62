package main

// mutation is one change to one rule, and the packages whose tests have to notice it.
type mutation struct {
	rule     string // what it breaks
	file     string
	old, new string // old stands in the file exactly once
	tests    []string
	only     string // of these tests; empty: all
}

// mutations are the rules that must not break without anybody noticing. Each is changed alone.
var mutations = []mutation{
	// The way of a request (A11–A20).
	{"a request whose body was touched is never sent again", "proxy/exchange.go",
		`if i == len(e.target.Upstreams)-1 || e.upload.touched() {`, `if i == len(e.target.Upstreams)-1 {`, pkg("proxy"), ""},
	{"only a failed connection leads to the next instance", "proxy/transport.go",
		`case errors.Is(err, syscall.ECONNREFUSED):`, `case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):`, pkg("proxy"), ""},
	{"an address that could not be looked up is not evicted", "proxy/transport.go", `dead: name.IsNotFound`, `dead: true`, pkg("proxy"), ""},
	{"a key is parted at the last dot after a known node", "proxy/routekey.go", `return key[:i], key[last+1:], true`, `return key[:i], key[i+1:], true`, pkg("proxy"), ""},
	{"the browser's cookies stay here", "proxy/headers.go", `set("Cookie", "Authorization", "Proxy-Authorization")`, `set("Authorization", "Proxy-Authorization")`, pkg("proxy"), ""},
	{"headers that rewrite addresses stay here", "proxy/headers.go", `"X-Real-Ip", "X-Original-Url", "X-Rewrite-Url",`, `"X-Real-Ip",`, pkg("proxy"), ""},
	{"deletion of records needs the right to delete", "proxy/endpoints.go",
		`Pattern: "erupt-api/data/modify/{e}/delete", Function: Delete,`, `Pattern: "erupt-api/data/modify/{e}/delete", Function: Edit,`, pkg("proxy"), ""},
	{"instances take turns", "proxy/rotate.go", `first := int((c.turns.Add(1) - 1) % uint64(len(items)))`, `first := int(c.turns.Load() % uint64(len(items)))`, pkg("proxy"), ""},
	{"a held location takes no requests", "app/boot/directory.go", `d.holds.Held(t.Node, location); held {`, `d.holds.Held(t.Node, location); held && false {`, pkg("app/boot"), "Directory|Held|Lookup|Candidates"},
	{"a draining instance takes no requests", "app/boot/directory.go",
		`case ordered:`, `case ordered && false:`, pkg("app/boot"), "Directory|Drain|Lookup|Candidates"},
	{"a disabled node takes no requests", "app/boot/directory.go", `case !profile.Enabled:`, `case !profile.Enabled && len(t.Upstreams) == 0:`, pkg("app/boot"), "Directory|Lookup|Disabled"},
	{"an instance is asked with the token that it registered with", "app/boot/directory.go",
		`[]byte(digest)) == 1 {`, `[]byte(digest)) >= 0 {`, pkg("app/boot"), "Directory|Token|Lookup"},

	// Who may what (A18, D21).
	{"a page's right is asked for", "app/boot/gate.go", `if err := s.require(full); err != nil {`, `if err := s.require(full); err != nil && w.Write {`, pkg("app/boot"), "Gate|Admit|Permit"},
	{"a function's right is asked for", "app/boot/gate.go",
		`if err := s.requireFunction(full, w); err != nil {`, `if err := s.requireFunction(full, w); err != nil && full == "" {`, pkg("app/boot"), "Gate|Admit|Permit"},
	{"a parent must lead to the part", "app/boot/gate.go", `if !model.Contains(w.Erupt) {`, `if model == nil {`, pkg("app/boot"), "Gate|Admit|Permit|Parent"},
	{"a drill must lead to the page", "app/boot/gate.go", `if !model.HasDrill(w.Drill, w.Erupt) {`, `if model == nil {`, pkg("app/boot"), "Gate|Admit|Permit|Drill"},
	{"a code counts in its groups only", "app/access/types.go",
		`return !limited || slices.ContainsFunc(scope, func(g int64) bool { return slices.Contains(groups, g) })
}

// MayChangeIn`, `return !limited || len(scope) > 0 && len(groups) >= 0
}

// MayChangeIn`, pkg("app/access"), "Scope|Reach|Limit|Group|Holds"},
	{"a read-only role grants no changes", "app/access/reach.go", `if l.readOnly && m.changes() || len(l.groups)`, `if len(l.groups)`, pkg("app/access"), "Read|Limit|Reach|Role"},
	{"a role for groups grants nothing about people", "app/access/reach.go", ` || len(l.groups) > 0 && !m.ofNodes() {`, ` {`, pkg("app/access"), "Limit|Reach|Role|Group"},
	{"a group's tree counts from any depth", "app/access/reach.go", `for ; id != 0 && !slices.Contains(out, id); id = p[id] {`, `for ; id != 0 && len(out) < 1; id = p[id] {`, pkg("app/access"), "Limit|Reach|Role|Group"},
	{"a route with a code asks for it", "app/web/require.go", `if len(codes) == 0 {`, `if len(codes) <= 1 {`, pkg("app/web", "app/restapi"), ""},
	{"the API looks at no cookie", "app/web/require.go", `return s.require(codes, HeaderToken, func`, `return s.require(codes, s.browserToken, func`, pkg("app/web"), ""},
	{"changes in the console ask for the cookie", "app/web/require.go",
		`if (r.Method == http.MethodGet || r.Method == http.MethodHead) && PrefersJSON(r) {`, `if PrefersJSON(r) {`, pkg("app/web"), ""},
	{"a page of another site cannot write", "app/web/front.go", `if err := s.cross.Check(&seen); err != nil {`, `if err := s.cross.Check(&seen); err != nil && r.Method == "TRACE" {`, pkg("app/web"), ""},
	{"a base path is a whole segment", "app/web/front.go", `return rest, rest[0] == '/'`, `return rest, true`, pkg("app/web"), ""},
	{"the login leads nowhere else", "app/web/require.go", `|| path == "/login" || path == "/logout" {`, `|| path == "/logout" {`, pkg("app/web"), ""},
	{"only a trusted proxy says who the client is", "app/web/request.go", `if p.Contains(a) {`, `if p.IsValid() {`, pkg("app/web"), ""},

	// Logins and sessions.
	{"a session ends", "app/access/sessions_memory.go", `if !ok || !s.Expires.After(m.now()) {`, `if !ok {`, pkg("app/access"), "Session|Expir|Login|Touch"},
	{"people see a hash in place of a session's token", "app/access/types.go", `return hex.EncodeToString(sum[:16])`, `return s.Token + hex.EncodeToString(sum[:0])`, pkg("app/access"), "Session"},
	{"the login log holds a hash in place of the token", "app/access/login.go", `SetToken(hex.EncodeToString(sum[:8]))`, `SetToken(s.Token + hex.EncodeToString(sum[:0]))`, pkg("app/access"), "Login"},
	{"too many tries lock", "app/access/sessions_memory.go", `if l.Max > 0 && count >= l.Max {`, `if l.Max > 0 && count > l.Max {`, pkg("app/access"), "Login|Lock|Tr(y|ies)|Store"},
	{"an account that has expired may not log in", "app/access/people.go",
		`case row.ExpireDate != nil && !row.ExpireDate.After(p.now()):`, `case row.ExpireDate != nil && row.ExpireDate.IsZero():`, pkg("app/access"), "Login|Expir|Session"},
	{"a delegated token is good for its node only", "app/access/delegates.go", `if !ok || made != asked {`, `if !ok || made != asked && made == "" {`, pkg("app/access"), "Delegate"},
	{"the trail masks secrets inside of texts", "app/access/mask.go", `if level < 3 && (`, `if level < 0 && (`, pkg("app/access"), "Mask|Audit"},
	{"the trail masks secrets in addresses", "app/access/mask.go", `err != nil || secretKey(plain) {`, `err != nil || plain == "" {`, pkg("app/access"), "Mask|Audit|URL"},

	// What nodes may (A2–A9, A29).
	{"any valid token of a node is taken", "app/fleet/tokens.go", `found |= subtle.ConstantTimeCompare`, `found = subtle.ConstantTimeCompare`, pkg("app/fleet"), "Token|Rotat|Auth|Grace"},
	{"an old token ends with its grace", "app/fleet/snapshot.go", `if p.oldToken != "" && now.Before(p.oldUntil) {`, `if p.oldToken != "" {`, pkg("app/fleet"), "Token|Rotat|Auth|Grace"},
	{"tokens are sealed in the database", "app/fleet/sealer.go", `return sealed + base64.RawURLEncoding.EncodeToString(s.gcm.Seal(nonce, nonce, []byte(plain), []byte(sealed))), nil`,
		`return plain, nil`, pkg("app/fleet"), "Seal|Token|Rotat"},
	{"a config is published on top of the newest one only", "app/fleet/configs.go",
		`Where(nodeextra.ID(extra.ID), nodeextra.ConfigRevision(e.BaseRevision)).`, `Where(nodeextra.ID(extra.ID)).`, pkg("app/fleet"), "Config|Revision|StaleEdit"},
	{"made-up names push out no real ones", "app/fleet/refusals.go", `case reason == NoSuchNode && unknown.count >= maxUnknownNames:`, `case reason == "" && unknown.count >= maxUnknownNames:`, pkg("app/fleet"), "Refus"},
	{"config is given for the right token only", "app/nodeapi/node_config.go", `node, err := a.o.Nodes.AuthenticateStrict(ctx, web.Param(c, "node"), token)
	if err != nil {
		return "", err`, `node, err := a.o.Nodes.Authenticate(ctx, web.Param(c, "node"), token)
	if err != nil {
		return "", err`, pkg("app/nodeapi"), ""},
	{"a disabled node does not register", "app/nodeapi/node_register.go", `if !node.Enabled {`, `if !node.Enabled && node.Name == "" {`, pkg("app/nodeapi"), ""},
	{"an address answers for its own instance", "app/nodeapi/node_register.go",
		`case r.Instance != "" && r.Instance != instance:`, `case r.Instance != "" && instance == "":`, pkg("app/nodeapi"), ""},
	{"a session's own token is no handle", "app/nodeapi/nodeapi.go", `if !profile.RawSession || handle == "" {`, `if handle == "" {`, pkg("app/nodeapi"), ""},
	{"the right to export is its own", "app/nodeapi/erupt_power.go", `Export: held[4]`, `Export: held[0]`, pkg("app/nodeapi"), ""},
	{"a probe wants the node's name, exactly", "app/probe/probe.go", `case string(body) == node:`, `case len(body) == len(node) && len(node) > 0:`, pkg("app/probe"), ""},
	{"a node without a token answers nobody", "nodeagent/guard.go", `if want == "" || len(shown) != 1 {`, `if len(shown) != 1 {`, pkg("nodeagent"), "Guard|Token"},

	// Who is alive (A2, A10, A14).
	{"the brake holds at half", "app/registry/brake.go", `2*b.failed >= len(b.known)`, `2*b.failed > len(b.known)`, pkg("app/registry"), ""},
	{"nothing is evicted just after the store came back", "app/registry/evictor.go", `if e.pace.Lost() || e.failed {`, `if e.pace.Lost() {`, pkg("app/registry"), ""},
	{"the later claim has the address", "app/registry/merge.go", `return a.Claimed.After(b.Claimed)`, `return a.Claimed.Before(b.Claimed)`, pkg("app/registry"), ""},
	{"a lease ends at its end", "app/registry/memstore/memstore.go", `if l.in.Origin == o && !l.end.After(now) {`, `if l.in.Origin == o && l.end.Before(now) {`, pkg("app/registry/memstore", "app/registry"), ""},
	{"who beat while it was probed stays", "app/reach/survival.go", ` && !s.Registry.Brake().LastOK(f.location).After(f.asked) {`, ` {`, pkg("app/reach"), ""},
	{"history keeps a bounded number for each node", "app/history/keep.go", `nodeevent.NodeName(name)), h.perNode)`, `nodeevent.NodeName(name)), h.inAll)`, pkg("app/history"), ""},

	// Addresses and texts of strangers (S56–S62, S94).
	{"an IPv4 address wrapped for NAT64 is looked at", "app/netguard/policy.go", `case contains(nat64, a), contains(compatible, a)`, `case contains(compatible, a)`, pkg("app/netguard"), ""},
	{"nothing excepts multicast", "app/netguard/policy.go", `{"multicast", keywords["multicast"]}},`, `},`, pkg("app/netguard"), ""},
	{"a spreadsheet calculates no cell", "app/web/csv.go", `strings.IndexAny(s, "=+-@\t\r\n＝＋－＠") != 0`, `strings.IndexAny(s, "=+-\t\r\n＝＋－＠") != 0`, pkg("app/web"), "CSV"},
	{"titles of terminals are no text", "views/log_ansi.go", `|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|`, `|`, pkg("views"), "Log|Line|ANSI|Escape"},
	{"one log line is no more than the panel takes", "proxy/logtext.go", `if len(line.Content) > maxLogBytes/2 {`, `if len(line.Content) > 100*maxLogBytes {`, pkg("proxy"), ""},
}

func pkg(paths ...string) []string { return paths }
