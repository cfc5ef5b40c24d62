package boot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/cluster"
	"eruptcloud/app/probe"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/memstore"
	"eruptcloud/app/registry/redisstore"
)

// sessionPrefix is erupt's own for the keys of sessions (erupt-wire 7.2).
const sessionPrefix = "erupt-auth:"

// openStores decides where leases and sessions live, and whether there are other replicas.
func (s *Server) openStores() (stores, error) {
	id := replicaID()
	if s.c.Embedded() {
		solo := cluster.NewSolo(id)
		s.member, s.bus = solo, solo
		cluster.Observe(s.metrics, solo)
		return stores{leases: memstore.New(time.Now)}, nil
	}
	client, err := redisstore.Open(s.c.Redis.URL)
	if err != nil {
		return stores{}, err
	}
	s.redis = client
	prefix := s.c.CloudServer.CloudNameSpace
	replicas := cluster.NewRedis(client, prefix, id)
	s.member, s.bus = replicas, replicas
	cluster.Observe(s.metrics, replicas)
	s.parts = append(s.parts, part{"presence", replicas.Run})
	entries := redisstore.EntryOptions{
		Client: client, Prefix: prefix, TTL: s.c.CloudServer.NodeExpireTime, Hidden: s.hidden, Canonical: probe.CanonicalLocation,
		TakeOver: s.c.CloudServer.TakeOver,
	}
	sessions := access.NewRedisSessions(client, sessionPrefix)
	if s.c.CloudServer.ShareNamespace {
		entries.Token = s.sharedToken
		sessions = access.NewSharedRedisSessions(client, sessionPrefix)
	}
	return stores{
		sessions: sessions,
		vault:    access.NewRedisVault(client, sessionPrefix),
		leases:   redisstore.New(client, prefix),
		entries:  redisstore.NewNodeEntries(entries),
	}, nil
}

// sharedToken is what a Java server in the same namespace finds in a node's entry and shows to the node: the token that the
// node itself showed, as long as it counts.
func (s *Server) sharedToken(node, digest string) string {
	return tokenOf(digest, s.domain.Fleet.Nodes.Tokens(node))
}

// hidden keeps out of node entries what our own routing leaves out.
func (s *Server) hidden(node string, in *registry.Instance, location string) bool {
	if _, held := s.domain.Fleet.Holds.Held(node, location); held {
		return true
	}
	_, draining := s.domain.Fleet.Drains.Draining(node, in.ID)
	return draining
}

// replicaID names this process: the host for people, random letters because a host may run several.
func replicaID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "replica"
	}
	return fmt.Sprintf("%s-%s", host, rand.Text()[:6])
}

// settle waits until memory holds what the stores hold: only then requests are accepted.
func (s *Server) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := s.domain.Fleet.Load(ctx); err != nil {
		return databaseError(err)
	}
	if err := s.registry.WaitReady(ctx); err != nil {
		return fmt.Errorf("the registry has no first snapshot: %w", err)
	}
	if s.c.MigrateAtStart() && !s.domain.DB.Shape.Adopted { // erupt has menus of its own there: init-menus adds ours
		if _, err := s.domain.Access.Menus.Seed(ctx); err != nil {
			return databaseError(fmt.Errorf("menus: %w", err))
		}
	}
	return nil
}

// close ends what New opened, in the order of design: first who uses it, then Redis, then the database.
func (s *Server) close() error {
	var errs []error
	if s.proxy != nil {
		s.proxy.Close()
	}
	if s.redis != nil {
		errs = append(errs, s.redis.Close())
	}
	if s.domain != nil {
		errs = append(errs, s.domain.Close())
	}
	return errors.Join(errs...)
}
