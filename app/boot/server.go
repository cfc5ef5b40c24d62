// Package boot is the wiring diagram: it builds every part from the configuration, runs them and stops them in order.
package boot

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"eruptcloud/app/access"
	"eruptcloud/app/cluster"
	"eruptcloud/app/config"
	"eruptcloud/app/console"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/netguard"
	"eruptcloud/app/nodeapi"
	"eruptcloud/app/probe"
	"eruptcloud/app/reach"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/redisstore"
	"eruptcloud/app/restapi"
	"eruptcloud/app/sharing"
	"eruptcloud/app/telemetry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/proxy"
)

// Options of a Server.
type Options struct {
	Config        *config.Config
	Log           *slog.Logger
	Tail          *telemetry.Tail // what of Log is kept for who may read it; nil: nothing
	Version       string
	AdminPassword string     // of the first admin; empty: generated
	Throwaway     bool       // a generated password may stay: the server is for looking around and gone afterwards
	Hook          fleet.Hook // nil: none; for binaries of one's own (A30)
}

// States of a Server.
const (
	stateStarting int32 = iota
	stateReady
	stateStopping
)

// Server is the whole control plane, ready to run.
type Server struct {
	c             *config.Config
	log           *slog.Logger
	tail          *telemetry.Tail
	version       string
	adminPassword string
	throwaway     bool
	hook          fleet.Hook

	metrics *prometheus.Registry
	redis   redis.UniversalClient // nil in embedded mode
	domain  *Domain
	member  cluster.Member
	bus     cluster.Bus

	registry  *registry.Registry
	history   *history.History
	refusals  *fleet.Refusals
	prober    *probe.Prober
	survival  *reach.Survival
	directory *directory
	proxy     *proxy.Proxy
	caller    *proxy.Caller
	loads     *loads
	models    *modelCache
	hints     fileHints
	nodeTLS   *tls.Config
	watch     *sharing.Watch // nil in embedded mode
	shell     *web.Shell
	badgeKey  []byte // for the links by which others read the state of a node
	nav       navCounts
	handler   http.Handler

	parts   []part
	state   atomic.Int32
	closing chan struct{} // closed when open event streams should end

	url, loopback string
	firstPassword string
}

// New opens the stores and builds every part. It listens to nothing yet.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{
		c: o.Config, log: o.Log, tail: o.Tail, version: o.Version, adminPassword: o.AdminPassword, throwaway: o.Throwaway, hook: o.Hook,
		metrics: telemetry.NewMetrics(), closing: make(chan struct{}),
	}
	if s.hook == nil {
		s.hook = fleet.NoHook{}
	}
	if err := s.build(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *Server) build(ctx context.Context) error {
	keys, err := keysOf(s.c)
	if err != nil {
		return err
	}
	stores, err := s.openStores()
	if err != nil {
		return err
	}
	db, err := openDatabase(ctx, s.c)
	if err != nil {
		return err
	}
	if s.domain, err = newDomain(s.c, db, keys, s.bus, stores, s.metrics); err != nil {
		return errors.Join(err, db.Close())
	}
	sayAdopted(s.log, db.Shape)
	policy, err := s.buildFleet(stores)
	if err != nil {
		return err
	}
	if err := s.buildShell(keys); err != nil {
		return err
	}
	if err := s.buildProxy(policy.DialContext); err != nil {
		return err
	}
	return s.mount()
}

// buildFleet makes what knows instances: registry, prober, survival check and eviction.
func (s *Server) buildFleet(stores stores) (*netguard.Policy, error) {
	policy, err := netguard.NewPolicy(netguard.Options{
		Deny: s.c.Netguard.Deny, Allow: s.c.Netguard.Allow, AllowLoopback: s.c.LoopbackAllowed(),
	})
	if err != nil {
		return nil, fmt.Errorf("netguard: %w", err)
	}
	if s.nodeTLS, err = nodeTLS(s.c.Proxy.CAFile); err != nil {
		return nil, err
	}
	s.prober = probe.New(probe.Options{Policy: policy, AcceptBlank: s.c.Reach.AcceptBlankHealth, TLS: s.nodeTLS})
	lease := registry.Terms{Interval: s.c.CloudServer.HeartbeatTime, Duration: s.c.CloudServer.NodeExpireTime}
	s.registry = registry.New(registry.Options{
		Store: stores.leases, Lease: lease, Metrics: s.metrics, Entries: stores.writer(),
	})
	s.survival = reach.NewSurvival(reach.SurvivalOptions{
		Registry: s.registry, Names: s.nodeNames, Probe: s.prober, Member: s.member,
		Interval: s.c.CloudServer.NodeSurviveCheckTime, Metrics: s.metrics,
	})
	s.directory = newDirectory(s.domain.Fleet.Nodes, s.domain.Fleet.Holds, s.domain.Fleet.Drains, s.registry)
	s.registry.Listen(s.directory.evicted.hear)
	evictor := &registry.Evictor{Registry: s.registry}
	s.parts = append(s.parts,
		part{"registry", s.registry.Run},
		part{"fleet", s.domain.Fleet.Run},
		part{"access", s.domain.Access.Run},
		part{"survival check", s.survival.Run},
		part{"eviction by the proxy", s.directory.Run},
		part{"lease eviction", func(ctx context.Context) error { return s.member.AsLeader(ctx, evictor.Run) }},
	)
	leavers := newLeavers(s.domain.Fleet.Nodes, s.registry)
	s.parts = append(s.parts, part{"disabled nodes", leavers.Run})
	s.domain.Fleet.Listen(leavers.hear)
	if stores.entries != nil {
		s.keepEntries(stores.entries)
	}
	s.domain.Fleet.Listen(s.profileChanged)
	s.keepHistory()
	return policy, nil
}

// keepHistory makes what remembers: events, refusals, and drains until their instances have left.
func (s *Server) keepHistory() {
	s.history, s.refusals = history.New(history.Options{DB: s.domain.DB}), fleet.NewRefusals(nil)
	events := newChronicler(s.history, time.Now)
	s.registry.Listen(events.hear)
	s.registry.ListenConflicts(events.conflict)
	s.refusals.Listen(events.refused)
	drains := newDrainKeeper(s.domain.Fleet.Drains, s.registry.View, time.Now)
	s.registry.Listen(drains.hear)
	s.parts = append(s.parts,
		part{"history", s.history.Run},
		part{"history of instances", func(ctx context.Context) error { return s.member.AsLeader(ctx, events.lead) }},
		part{"drains", func(ctx context.Context) error { return s.member.AsLeader(ctx, drains.Run) }},
	)
}

// enabledNames are the nodes that may have an entry in Redis: a disabled one's was deleted.
func (s *Server) enabledNames(ctx context.Context) ([]string, error) {
	all, err := s.domain.Fleet.Nodes.All(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, n := range all {
		if n.Enabled {
			names = append(names, n.Name)
		}
	}
	return names, nil
}

// nodeNames are the profiles' names, for the patrol (A12).
func (s *Server) nodeNames(ctx context.Context) ([]string, error) {
	all, err := s.domain.Fleet.Nodes.All(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i, n := range all {
		names[i] = n.Name
	}
	return names, nil
}

func (s *Server) profileChanged(kind, id string) {
	if kind != "node" || s.models == nil {
		return
	}
	s.models.forget(id)
	if _, ok := s.domain.Fleet.Nodes.Cached(id); !ok {
		s.proxy.Forget(id)
	}
}

// stores are what is in memory or in Redis.
type stores struct {
	sessions access.SessionStore
	vault    access.Vault
	leases   registry.Store
	entries  *redisstore.NodeEntries // nil in memory
}

// writer is entries as the registry wants it: nil if there are none.
func (s stores) writer() registry.EntryWriter {
	if s.entries == nil {
		return nil
	}
	return s.entries
}

// buildShell makes the front door.
func (s *Server) buildShell(keys secrets) error {
	cookie := derive(string(keys.Session), "cookie signature")
	seal := derive(string(keys.Session), "cookie encryption")
	s.badgeKey = derive(string(keys.Token), "badge links")
	var err error
	s.shell, err = web.New(web.Options{
		BasePath: s.c.Server.BasePath, TrustedProxies: s.c.Server.TrustedProxies, Sessions: s.domain.Access.Sessions,
		CookieKeys: append([][]byte{cookie, seal}, olderKeys(s.c.Session.Keys)...), SecureCookie: s.c.Session.SecureCookie, Logger: s.log,
		Metrics: s.metrics, Version: s.version, Counts: s.counts, Translate: faultOf,
	})
	return err
}

// mount puts every surface behind the front door.
func (s *Server) mount() error {
	s.shell.MountHealth(func(ctx context.Context) []web.Check { return append(s.ready(ctx), s.entriesCheck()...) })
	if err := s.mountAPIs(); err != nil {
		return err
	}
	s.handler = s.shell.Front(&fork{s.proxy, s.shell.Engine()})
	return nil
}

// fork leads what is for nodes past the router, which would only add to what each open stream holds. What is the server's own
// below these paths hangs behind the proxy.
type fork struct{ proxy, router http.Handler }

// ServeHTTP implements http.Handler.
func (f *fork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to := f.router
	if isForNodes(r.URL) {
		to = f.proxy
	}
	to.ServeHTTP(w, r)
}

func isForNodes(u *url.URL) bool {
	path := cmp.Or(u.RawPath, u.Path) // encoded, as it came
	return strings.HasPrefix(path, wire.NodeAPI+"/") || strings.HasPrefix(path, wire.AttachmentDir+"/")
}

// olderKeys are the pairs for keys that only open cookies any more.
func olderKeys(keys []string) [][]byte {
	var out [][]byte
	for i, k := range keys {
		if i > 0 {
			out = append(out, derive(k, "cookie signature"), derive(k, "cookie encryption"))
		}
	}
	return out
}

func (s *Server) mountAPIs() error {
	f, a := s.domain.Fleet, s.domain.Access
	if _, err := nodeapi.Mount(s.shell, nodeapi.Options{
		Nodes: f.Nodes, Groups: f.Groups, Registry: s.registry, Prober: s.prober, Survival: s.survival, Sessions: a.Sessions,
		Delegates: a.Delegates, Logs: callerLogs{s.caller}, Audit: a.Audit, Hook: s.hook,
		Instance: func(k registry.Key) (registry.Instance, bool) { return s.registry.View().Instance(k) },
		Count:    func(node string) int { return len(s.registry.View().Node(node)) },
		Refusals: s.refusals, History: s.history,
		Heartbeat: s.c.CloudServer.HeartbeatTime, Logger: s.log, Metrics: s.metrics,
	}); err != nil {
		return err
	}
	restapi.Mount(s.shell, restapi.Options{
		Nodes: f.Nodes, Groups: f.Groups, Holds: f.Holds, Users: a.Users, Roles: a.Roles, Menus: a.Menus, Dicts: s.domain.Dicts, Registry: s.registry, Audit: a.Audit,
		Tokens: f.Nodes, Drains: f.Drains, Refusals: s.refusals, History: s.history, Loads: s.loads,
	})
	if err := console.Mount(s.shell, console.Options{
		Nodes: f.Nodes, Groups: f.Groups, Holds: f.Holds, Registry: s.registry, Caller: s.caller, Pages: s.caller,
		Users: a.Users, Roles: a.Roles, Menus: a.Menus, Login: a.Login, Sessions: a.Sessions, Audit: a.Audit,
		Captcha: a.Captcha, MFA: a.MFA, AlwaysCaptcha: s.c.Login.CaptchaAfter == 0, WeakPasswords: a.WeakPasswords(),
		Tokens: f.Nodes, Drains: f.Drains, Refusals: s.refusals, History: s.history, Loads: s.loads, Traces: s.proxy,
		Orgs: a.Orgs, Posts: a.Posts, Dicts: s.domain.Dicts, OpenAPIs: a.OpenAPIs, Online: a.Online,
		ServerLog: s.ownLog(), Replica: s.member.ID(), Replicas: s.member.Replicas,
		Listen: f.Listen, Fresh: f.Fresh, Done: s.closing, ReadTokens: f.Nodes, BadgeKey: s.badgeKey,
	}); err != nil {
		return err
	}
	return nil
}

// buildProxy makes the way to nodes, for browsers and for callers in the process.
func (s *Server) buildProxy(dial dialer) error {
	a := s.domain.Access
	s.models = newModelCache(30*time.Second, time.Now, func(ctx context.Context, node, erupt string, as proxy.User) ([]byte, error) {
		return s.caller.Model(ctx, node, erupt, as)
	})
	s.models.describe = func(ctx context.Context, w proxy.Wish, field string, as proxy.User) ([]byte, error) {
		return s.caller.Describe(ctx, w, field, as)
	}
	local := s.localAPI()
	var err error
	s.proxy, err = proxy.New(proxy.Options{
		Directory: s.directory, Gate: &gate{
			sessions: a.Sessions, delegates: a.Delegates, models: s.models, chain: s.domain.groupsOf,
			public: newPublicFiles(s.c.Proxy.PublicAttachments), nodes: s.domain.Fleet.Nodes, hints: &s.hints,
		},
		Recorder: &recorder{a.Audit}, Local: s.ownFiles(local), Fail: s.shell.Fail, Dial: dial,
		ConnectTimeout: s.c.Proxy.ConnectTimeout, RequestTimeout: s.c.CloudServer.NodeRequestTimeout, MaxUpload: s.c.Proxy.MaxUpload,
		TLS: s.nodeTLS, HeaderPolicy: s.c.Proxy.HeaderPolicy, ExtraHeaders: s.c.Proxy.ExtraHeaders,
		CookieToken: s.shell.CookieToken, OwnCookies: []string{s.shell.CookieName(), s.shell.FileCookieName()},
		FileToken: s.fileToken, OnPage: s.pageOpened, NoQueryToken: !s.c.Proxy.QueryTokens, MaxOpen: s.c.Proxy.MaxOpen,
		ClientIP: web.ClientIP, External: externalOrigin, Registerer: s.metrics,
	})
	if err != nil {
		return err
	}
	s.caller = s.proxy.Caller()
	s.loads = &loads{
		open: s.proxy, drains: s.domain.Fleet.Drains, view: s.registry.View, member: s.member, bus: s.bus, now: time.Now,
	}
	s.parts = append(s.parts, part{"requests in flight", s.loads.Run})
	return nil
}

// dialer opens connections to nodes, within the address policy.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// externalOrigin is how the browser sees the server.
func externalOrigin(r *http.Request) (scheme, host string) {
	scheme, host, _ = strings.Cut(web.Origin(r), "://")
	return scheme, host
}

// faultOf turns a failure of the proxy into a fault, for whoever answers it.
func faultOf(err error) error {
	var f *proxy.Failure
	if !errors.As(err, &f) {
		return err
	}
	return fault.New(fault.Code(f.Kind), f.Format, f.Args...).Because(f.Cause)
}

// URL returns the address that the server answers at, with its base path; empty before it listens.
func (s *Server) URL() string { return s.url }

// LoopbackURL is URL with an address in place of the name localhost, for nodes on this machine.
func (s *Server) LoopbackURL() string { return s.loopback }

// Ready reports whether requests are accepted and the server is not stopping.
func (s *Server) Ready() bool { return s.state.Load() == stateReady }

// FirstLogin returns the first admin's login if this start made it and generated its password.
func (s *Server) FirstLogin() (account, password string, generated bool) {
	return "erupt", s.firstPassword, s.firstPassword != ""
}
