package boot

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/telemetry"
	"eruptcloud/app/web"
)

// part is something that runs as long as the server: Run returns nil when its context ends, an error if it cannot go on.
type part struct {
	name string
	run  func(context.Context) error
}

// errStopped tells that a part ended although nobody asked it to.
var errStopped = errors.New("ended by itself")

// loopsEnd is how long loops have to end once their context did.
const loopsEnd = 10 * time.Second

// Run serves until ctx ends and then stops in order: not ready, grace, streams told, requests finished, loops, stores. It
// calls ready once requests are accepted. The error of a part that could not go on stops everything and is returned.
func (s *Server) Run(ctx context.Context, ready func()) error {
	if err := s.checkNamespace(ctx); err != nil {
		return errors.Join(err, s.close())
	}
	loops, stopLoops := context.WithCancel(telemetry.LoopContext(context.WithoutCancel(ctx), s.metrics))
	broken := make(chan error, len(s.parts)+2) // a sender never blocks
	var running sync.WaitGroup
	for _, p := range s.parts {
		running.Go(func() {
			err := p.run(loops)
			if err == nil && loops.Err() == nil {
				err = errStopped
			}
			if err != nil && loops.Err() == nil {
				broken <- fmt.Errorf("%s: %w", p.name, err)
			}
		})
	}
	err := s.serve(ctx, broken, ready)
	stopLoops()
	return errors.Join(err, waitFor(&running, loopsEnd), s.close())
}

// waitFor waits for the parts; one that does not end is left behind and said.
func waitFor(running *sync.WaitGroup, limit time.Duration) error {
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("some loops did not end within %s", limit)
	}
}

func (s *Server) serve(ctx context.Context, broken chan error, ready func()) error {
	if err := s.settle(ctx); err != nil {
		return err
	}
	listener, err := s.listen(ctx)
	if err != nil {
		return err
	}
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	main := web.NewServer(base, s.handler, s.log)
	ops, err := s.startOps(ctx, broken)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	served := make(chan error, 1)
	go func() { served <- main.Serve(listener) }()
	s.state.Store(stateReady)
	if ready != nil {
		ready()
	}
	var cause error
	select {
	case <-ctx.Done():
		s.log.Info("stopping", "grace", s.c.Server.ShutdownGrace, "drain", s.c.Server.DrainTimeout)
	case cause = <-broken:
		s.log.Error("a part cannot go on, stopping", "error", cause)
	case cause = <-served:
		cause = fmt.Errorf("serve: %w", cause)
	}
	s.state.Store(stateStopping)
	if cause == nil {
		time.Sleep(s.c.Server.ShutdownGrace) // the balancer reads /readyz meanwhile; requests are still served
	}
	close(s.closing)
	return errors.Join(cause, shutdown(main, cut, s.c.Server.DrainTimeout), shutdown(ops, func() {}, time.Second))
}

// shutdown lets open requests finish within limit and then cuts them.
func shutdown(server *http.Server, cut func(), limit time.Duration) error {
	if server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := server.Shutdown(ctx)
	cut()
	if errors.Is(err, context.DeadlineExceeded) {
		slog.Warn("requests were cut off after the drain timeout", "drain", limit)
		err = server.Close()
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// listen opens the listener synchronously: a taken address is an error of the start.
func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.c.Server.Listen)
	if err != nil {
		return nil, listenError(err)
	}
	s.setURL(l.Addr())
	if err := s.bootstrap(ctx, l.Addr()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if s.c.Server.TLSCert == "" {
		return l, nil
	}
	cert, err := tls.LoadX509KeyPair(s.c.Server.TLSCert, s.c.Server.TLSKey)
	if err != nil {
		return nil, errors.Join(listenError(err), l.Close())
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// startOps starts the operators' listener. At its default address a taken port is a warning, so that two servers can be
// tried on one machine.
func (s *Server) startOps(ctx context.Context, broken chan<- error) (*http.Server, error) {
	if s.c.Ops.Listen == "off" {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.c.Ops.Listen)
	if err != nil {
		if s.c.Ops.Listen == defaultOps {
			s.log.Warn("no metrics: the operators' address is taken; set ops.listen", "address", s.c.Ops.Listen, "error", err)
			return nil, nil
		}
		return nil, listenError(fmt.Errorf("ops.listen: %w", err))
	}
	server := web.NewServer(context.WithoutCancel(ctx), telemetry.OpsHandler(s.metrics), s.log)
	s.log.Info("metrics and profiles", "address", l.Addr().String())
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			broken <- fmt.Errorf("operators' listener: %w", err)
		}
	}()
	return server, nil
}

const defaultOps = "127.0.0.1:9090"

// bootstrap makes the first admin and refuses the original's default password where others could use it.
func (s *Server) bootstrap(ctx context.Context, addr net.Addr) error {
	password := s.adminPassword
	if password == "" && s.throwaway {
		password = access.NewPassword()
	}
	var generated string
	var created bool
	var err error
	if !s.domain.DB.Shape.Adopted { // erupt's own administrators are there; 'admin create' makes another one
		generated, created, err = s.domain.Access.Login.Bootstrap(ctx, password)
	}
	if fault.Is(err, fault.Invalid) {
		return fmt.Errorf("%w: EC_ADMIN_PASSWORD: %w", ErrSettings, err)
	}
	if err != nil {
		return databaseError(fmt.Errorf("first admin: %w", err))
	}
	if created {
		if s.firstPassword = generated; s.adminPassword == "" && s.throwaway {
			s.firstPassword = password
		}
		return nil // a password that was just checked is not the original's
	}
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		return nil
	}
	opens, err := s.domain.Access.Login.DefaultOpens(ctx)
	if err != nil {
		return databaseError(err)
	}
	if opens {
		return listenError(errors.New("the account erupt still has the password erupt: change it (eruptcloud admin create erupt) or listen on a loopback address"))
	}
	return nil
}

func (s *Server) setURL(addr net.Addr) {
	_, port, _ := net.SplitHostPort(addr.String())
	host, _, _ := net.SplitHostPort(s.c.Server.Listen)
	s.url = urlOf(s.c, net.JoinHostPort(host, port))
	s.loopback = strings.Replace(s.url, "://localhost:", "://127.0.0.1:", 1)
}
