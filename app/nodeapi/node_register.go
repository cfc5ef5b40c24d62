package nodeapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/probe"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

// register handles POST /erupt-cloud-api/register-node, a registration and every heartbeat after it. The order of the
// checks shows in the answers and is erupt's (erupt-wire 1.1): profile, token, state, hook, addresses.
func (a *API) register(c *gin.Context) error {
	body, err := readBody(c, maxRegistration)
	if err != nil {
		return err
	}
	info, err := decodeInfo(body)
	if err != nil {
		return err
	}
	if err := a.limit(c, info.NodeName+"\x00"+info.InstanceID); err != nil {
		if _, known := a.o.Nodes.Cached(info.NodeName); known {
			a.refused(c, info.NodeName, err)
		}
		return err
	}
	ctx, cancel := deadline(c)
	defer cancel()
	node, err := a.o.Nodes.Authenticate(ctx, info.NodeName, info.AccessToken)
	if err != nil {
		a.refused(c, info.NodeName, err)
		return err
	}
	if !node.Enabled {
		err := fault.New(fault.RegistrationProhibited, "%s prohibiting the registration", node.Name)
		a.refused(c, node.Name, err)
		return err
	}
	if err := a.roomFor(node.Name, info.InstanceID); err != nil {
		return err
	}
	locations, err := canonical(info.NodeAddress)
	if err != nil {
		return err
	}
	if err := a.o.Hook.RegisterNode(ctx, info, c.Request); err != nil {
		return refusedByHook(err)
	}
	if err := a.probeAll(ctx, c, node.Name, info, locations); err != nil {
		return err
	}
	if err := a.enter(ctx, c, node, info, locations); err != nil {
		return err
	}
	c.Header(wire.HeaderHeartbeat, strconv.FormatInt(a.o.Heartbeat.Milliseconds(), 10))
	if e, err := a.o.Nodes.Effective(ctx, node.Name); err == nil { // without it the node pulls its config as before
		c.Header(wire.HeaderConfigRevision, e.Revision)
	}
	return done(c)
}

// refused notes a beat that was refused for who it is, for the pages (S12).
func (a *API) refused(c *gin.Context, node string, err error) {
	if a.o.Refusals == nil {
		return
	}
	reason := ""
	switch fault.CodeOf(err) {
	case fault.Unauthenticated:
		reason = fleet.WrongToken
	case fault.NotFound:
		reason = fleet.NoSuchNode
	case fault.RegistrationProhibited:
		reason = fleet.NodeDisabled
	case fault.TooMany:
		reason = fleet.TooOften
	default:
		return
	}
	a.o.Refusals.Refused(node, web.ClientIP(c.Request), reason)
}

// roomFor refuses one instance more than a node may have; those that are registered beat on.
func (a *API) roomFor(node, instance string) error {
	if a.o.Count(node) < maxInstances {
		return nil
	}
	if _, known := a.o.Instance(registry.Key{App: strings.ToUpper(node), ID: instance}); known {
		return nil
	}
	return fault.New(fault.TooMany, "node %s has %d instances, and no more can register", node, maxInstances).Retry(time.Minute)
}

// enter writes the lease.
func (a *API) enter(ctx context.Context, c *gin.Context, node fleet.Node, info wire.NodeInfo, locations []string) error {
	peer := web.ClientIP(c.Request)
	token := sha256.Sum256([]byte(info.AccessToken))
	_, added, err := a.o.Registry.Register(ctx, registry.Instance{
		Key:      registry.Key{App: strings.ToUpper(node.Name), ID: info.InstanceID},
		NodeName: node.Name, Origin: registry.OriginNode, Status: registry.Up, Locations: locations,
		Node: &registry.NodeDetail{
			Version: info.Version, Modules: info.EruptModules, Erupts: info.Erupts, Resources: info.Resources, Extra: info.Extra,
			Token: hex.EncodeToString(token[:]), Peer: peer,
		},
	})
	if err != nil {
		return err
	}
	if a.o.Refusals != nil {
		a.o.Refusals.Accepted(node.Name, peer)
	}
	if node.FirstSeen.IsZero() {
		if err := a.o.Nodes.MarkSeen(ctx, node.Name); err != nil { // the next beat tries again
			a.o.Logger.WarnContext(ctx, "note a node's first registration", "node", node.Name, "error", err)
		}
	}
	if !added {
		return nil
	}
	a.o.Logger.InfoContext(ctx, "instance registered", "node", node.Name, "instance", info.InstanceID, "version", info.Version,
		"locations", locations, "peer", peer, "request_id", web.RequestID(ctx))
	a.warnLoopback(ctx, node.Name, info.InstanceID, locations, peer)
	return nil
}

// canonical returns the one spelling of each address, without repetitions.
func canonical(addresses []string) ([]string, error) {
	locations := make([]string, 0, len(addresses))
	for _, raw := range addresses {
		l, err := probe.CanonicalLocation(raw)
		if err != nil {
			return nil, fault.New(fault.Invalid, "nodeAddress %q %s", raw, err.Error()).Field("nodeAddress", "%s", err.Error())
		}
		if !slices.Contains(locations, l) {
			locations = append(locations, l)
		}
	}
	return locations, nil
}

// probeAll asks every address at once whose it is (A5). The first that fails, in the order reported, refuses the whole
// registration and is named with its layer (S5).
func (a *API) probeAll(ctx context.Context, c *gin.Context, node string, info wire.NodeInfo, locations []string) error {
	results := make([]probe.Result, len(locations))
	var wait sync.WaitGroup
	for i, l := range locations {
		wait.Go(func() { results[i] = a.o.Prober.Handshake(ctx, l, node) })
	}
	wait.Wait()
	for i, r := range results {
		layer, reason := verdict(r, info.InstanceID)
		if layer == "" {
			continue
		}
		c.Header(wire.HeaderLayer, layer)
		return fault.New(fault.UpstreamUnreachable, "Unable to establish a connection with %s (%s: %s)", locations[i], layer, reason).
			Field("nodeAddress", "%s: %s", locations[i], reason).Because(r.Err)
	}
	return nil
}

// verdict returns the layer at which a handshake failed and why; an empty layer means that all is well.
func verdict(r probe.Result, instance string) (layer, reason string) {
	switch {
	case r.Layer == probe.Identity:
		// What answered stays in our log: a node must not read through us what only we can reach (S58).
		return r.Layer, "another service answers there, or none that gives the node's name"
	case !r.OK && r.Err != nil:
		return r.Layer, r.Err.Error()
	case !r.OK:
		return r.Layer, "no answer"
	case r.Instance != "" && r.Instance != instance:
		return probe.Identity, "another instance of the node answers there; each instance needs an address of its own" // S3
	}
	return "", ""
}

func refusedByHook(err error) error {
	if fault.CodeOf(err) != fault.Internal {
		return err
	}
	return fault.New(fault.Forbidden, "%s", err.Error()).Because(err)
}

// warnLoopback tells the operator of an address that means this machine to us and another one to the node: a node in a
// container or on another host that reports 127.0.0.1 reaches whatever listens here.
func (a *API) warnLoopback(ctx context.Context, node, instance string, locations []string, peer string) {
	if from, err := netip.ParseAddr(peer); err != nil || from.IsLoopback() {
		return
	}
	for _, l := range locations {
		if isLoopback(l) {
			a.o.Logger.WarnContext(ctx, "a node on another machine registered a loopback address, which leads to this one",
				slog.String("node", node), slog.String("instance", instance), slog.String("location", l), slog.String("peer", peer))
		}
	}
}

func isLoopback(location string) bool {
	u, err := url.Parse(location)
	if err != nil {
		return false
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
