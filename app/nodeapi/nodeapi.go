// Package nodeapi is what nodes call, below /erupt-cloud-api: registration and leaving, config, and what a user may do
// there; and the two calls of erupt's own front end that belong to nodes. Answers are never HTML and never a redirect, and
// they are there within seconds, because old Java nodes wait without a timeout and print whatever comes.
package nodeapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/probe"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

// Nodes are the profiles.
type Nodes interface {
	// Authenticate returns the profile. fault.NotFound, or fault.Unauthenticated if tokens are compared and differ.
	Authenticate(ctx context.Context, name, token string) (fleet.Node, error)
	// AuthenticateStrict is Authenticate with a token that is always compared: config holds secrets.
	AuthenticateStrict(ctx context.Context, name, token string) (fleet.Node, error)
	Effective(ctx context.Context, name string) (fleet.Effective, error)
	MarkSeen(ctx context.Context, name string) error
	// Cached returns the profile of exactly that spelling from memory.
	Cached(name string) (fleet.Node, bool)
}

// Groups are the node groups.
type Groups interface {
	ByCode(ctx context.Context, code string) (fleet.Group, error)
	// Chain returns from memory the ids of a group and of all above it; rights are asked for with it (D21).
	Chain(id int64) []int64
}

// Registry takes registrations.
type Registry interface {
	Register(ctx context.Context, in registry.Instance) (stored registry.Instance, added bool, err error)
	RemoveLocations(ctx context.Context, node string, locations []string, why registry.Reason) (removed []string, err error)
	Drain(ctx context.Context, node string, locations []string, until time.Time) error
}

// Prober asks a location whose it is.
type Prober interface {
	Handshake(ctx context.Context, location, node string) probe.Result
}

// Survival checks instances in the background.
type Survival interface {
	// Trigger asks for a check of the node's instances now, and of all others after it. Returns at once.
	Trigger(node string)
}

// Sessions find sessions without loading menus: nodes ask several times for each request of a user.
type Sessions interface {
	Check(ctx context.Context, token string, codes ...string) (access.Session, []bool, error)
}

// Delegates open the handles that stand for a session at one node.
type Delegates interface {
	// Open returns the session token in handle. An error if it is forged, or was made for another node.
	Open(handle, node string) (sessionToken string, err error)
}

// LogWish asks for lines of a node's log on behalf of a session.
type LogWish struct {
	Node     string
	Location string // empty: the first instance
	Token    string // session token
	Size     int
	Offset   *int64 // number of the first line; nil: from the oldest
}

// Logs read logs from nodes.
type Logs interface {
	ReadLog(ctx context.Context, w LogWish) ([]wire.LogLine, error)
}

// Recorder keeps the audit trail; Record never blocks.
type Recorder interface{ Record(e access.Entry) }

// Refusals remember whose beats are refused (fleet.Refusals).
type Refusals interface {
	Refused(node, address, reason string)
	Accepted(node, address string)
}

// History keeps what happens to nodes; Record never blocks.
type History interface{ Record(e history.Event) }

// Options of Mount. All interfaces but Hook, Refusals and History are required.
type Options struct {
	Nodes     Nodes
	Groups    Groups
	Registry  Registry
	Prober    Prober
	Survival  Survival
	Sessions  Sessions
	Delegates Delegates
	Logs      Logs
	Audit     Recorder
	Hook      fleet.Hook // nil: none
	// Instance returns one instance as this replica sees it, for a leaving one that names itself by id only.
	Instance func(registry.Key) (registry.Instance, bool)
	// Count returns how many instances of a node are registered; nil: there is no bound.
	Count     func(node string) int
	Refusals  Refusals
	History   History
	Heartbeat time.Duration // that we wish for; zero: 15 s (A31)
	Logger    *slog.Logger
	Metrics   prometheus.Registerer
	Now       func() time.Time
}

// Limits of what a node may send (erupt-wire 10.4), and how often.
const (
	maxRegistration = 1 << 20
	maxForm         = 64 << 10
	answerWithin    = 4 * time.Second // longer, and an old node's heartbeat thread hangs
	bodyWithin      = 3 * time.Second

	// maxInstances bounds what one token can fill the registry, the pages and the memory with.
	maxInstances = 2_000

	beatsPerSecond, beatBurst = 10, 20       // of one instance; normal is one in 15 s (S14)
	peerPerSecond, peerBurst  = 1_000, 2_000 // of one address, behind which a whole fleet may stand

	failPerSecond, failBurst = 50, 500 // questions about users that are refused, of one address; answered ones are not counted
)

// API answers the calls.
type API struct {
	o       Options
	shell   *web.Shell
	byBeat  *web.Limiter
	byPeer  *web.Limiter
	failing *web.Limiter
	metrics *metrics
}

// Mount adds the routes to shell.
func Mount(shell *web.Shell, o Options) (*API, error) {
	if o.Hook == nil {
		o.Hook = fleet.NoHook{}
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = 15 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Instance == nil {
		o.Instance = func(registry.Key) (registry.Instance, bool) { return registry.Instance{}, false }
	}
	if o.Count == nil {
		o.Count = func(string) int { return 0 }
	}
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	a := &API{
		o: o, shell: shell, metrics: m,
		byBeat: web.NewLimiter(beatsPerSecond, beatBurst, 40_000, o.Now),
		byPeer: web.NewLimiter(peerPerSecond, peerBurst, 20_000, o.Now), failing: web.NewLimiter(failPerSecond, failBurst, 20_000, o.Now),
	}
	a.routes(shell)
	return a, nil
}

func (a *API) routes(shell *web.Shell) {
	e := shell.Engine()
	e.POST(wire.RegisterPath, shell.Handle(a.counted(a.register)))
	e.POST(wire.RemovePath, shell.Handle(a.leave))
	e.GET(wire.NodeConfigPath+":node", a.nodeConfig)
	e.GET(wire.GroupConfigPath+":node", a.groupConfig)
	e.GET(wire.EffectivePath+":node", shell.Handle(a.effectiveConfig))
	e.GET(wire.PowerPath, a.power)
	e.GET(wire.UserInfoPath+":node", a.userInfo)
	e.GET(strings.TrimSuffix(wire.UserInfoPath, "/")+":node", a.userInfo) // nodes of 1.11 forget the slash (erupt-wire 1.9)
	// Both come from erupt's front end. The header only: a cookie would let any page of the browser call them.
	e.GET(wire.ServerAPI+"/remove-instance/:node", shell.RequireHeader(access.CodeManageNodes), shell.Handle(a.removeInstance))
	e.GET(wire.ServerAPI+"/erupt-cloud-node-log", shell.RequireHeader(access.CodeNodeLog), shell.Handle(a.nodeLog))
}

// deadline bounds the whole answer.
func deadline(c *gin.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.Request.Context(), answerWithin)
}

// readBody reads at most limit bytes, within seconds.
func readBody(c *gin.Context, limit int64) ([]byte, error) {
	web.BodyWithin(c.Request, bodyWithin)
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	if err != nil {
		return nil, web.BodyFault(err)
	}
	return body, nil
}

func done(c *gin.Context) error {
	c.Status(http.StatusOK)
	c.Writer.WriteHeaderNow()
	return nil
}

// limit refuses what comes too fast from one address or one key.
func (a *API) limit(c *gin.Context, key string) error {
	peer := web.LimitKey(web.ClientIP(c.Request))
	if ok, retry := a.byPeer.Allow(peer); !ok {
		return web.TooFast(retry)
	}
	if ok, retry := a.byBeat.Allow(peer + "\x00" + key); !ok {
		return web.TooFast(retry)
	}
	return nil
}

// onBehalf returns the session that a node's "token" header stands for: a handle made for that node or, where its record
// allows it, the session's own token.
func (a *API) onBehalf(c *gin.Context, node string, codes ...string) (access.Session, []bool, error) {
	profile, ok := a.o.Nodes.Cached(node)
	if !ok || !profile.Enabled {
		return access.Session{}, nil, fault.New(fault.Forbidden, "node %q may not ask for users", node)
	}
	handle := c.GetHeader(wire.HeaderToken)
	token, err := a.o.Delegates.Open(handle, profile.Name)
	if err != nil {
		if !profile.RawSession || handle == "" {
			return access.Session{}, nil, fault.New(fault.Unauthenticated, "the token does not stand for a session at this node").Because(err)
		}
		if err := a.unproven(c); err != nil {
			return access.Session{}, nil, err
		}
		token = handle
	}
	ctx, cancel := deadline(c)
	defer cancel()
	in, held, err := a.o.Sessions.Check(ctx, token, codes...)
	if err != nil {
		return access.Session{}, nil, err
	}
	groups := a.o.Groups.Chain(profile.GroupID)
	for i := range held {
		held[i] = in.Admin || held[i] && in.Reaches(codes[i], groups)
	}
	return in, held, nil
}
