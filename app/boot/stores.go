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
	var share func(string) string
	if s.c.CloudServer.ShareNamespace {
		share = s.sharedToken
	}
	return stores{
		sessions: access.NewRedisSessions(client, sessionPrefix),
		leases:   redisstore.New(client, prefix),
		entries:  redisstore.NewNodeEntries(client, prefix, s.c.CloudServer.NodeExpireTime, share),
	}, nil
}

// sharedToken is what a Java server in the same namespace finds in a node's entry.
func (s *Server) sharedToken(node string) string {
	if tokens := s.domain.Fleet.Nodes.Tokens(node); len(tokens) > 0 {
		return tokens[0]
	}
	return ""
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
	if s.c.MigrateAtStart() {
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
