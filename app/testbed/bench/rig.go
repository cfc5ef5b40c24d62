package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"eruptcloud/nodeagent/wire"
)

const (
	adminPassword = "correct-horse-9"
	staffPassword = "staple-battery-7"
	tablePath     = "/erupt-api/data/table/" + nodeName + ".Customer"
)

// rig is the server as it is shipped, a node behind it, and the bare proxy to the same node.
type rig struct {
	*settings
	dir                string
	server, node, bare *process
	token              string // session of a user who holds the page and nothing else
	accessToken        string // of the node
	stop               context.CancelFunc
}

func buildServer(ctx context.Context, dir string) (string, error) {
	out := filepath.Join(dir, "eruptcloud")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, "./app")
	cmd.Stderr = os.Stderr
	return out, cmd.Run()
}

func newRig(ctx context.Context, s *settings, dir string) (*rig, error) {
	ctx, stop := context.WithCancel(ctx)
	r := &rig{settings: s, dir: dir, stop: stop}
	err := r.start(ctx)
	if err == nil {
		err = r.admit(ctx)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	go r.beat(ctx)
	return r, nil
}

func (r *rig) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if r.node, err = startProcess(ctx, filepath.Join(r.dir, "node.log"), []string{roleName + "=node"}, self); err != nil {
		return err
	}
	r.bare, err = startProcess(ctx, filepath.Join(r.dir, "bare.log"), []string{roleName + "=bare", "EC_BENCH_TARGET=" + r.node.URL}, self)
	if err != nil {
		return err
	}
	if r.bare.Ops, err = r.bare.listening(); err != nil {
		return err
	}
	r.server, err = r.serve(ctx)
	return err
}

// serve starts the server on the rig's data, embedded, with everything as a fresh installation has it.
func (r *rig) serve(ctx context.Context) (*process, error) {
	ops, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	env := []string{"EC_ADMIN_PASSWORD=" + adminPassword, "EC_OPS_LISTEN=" + ops, "EC_SERVER_SHUTDOWN_GRACE=0s"}
	p, err := startProcess(ctx, filepath.Join(r.dir, "server.log"), env, r.program, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(r.dir, "data"))
	if err != nil {
		return nil, err
	}
	p.Ops = "http://" + ops
	return p, nil
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// admit makes node and user and waits until the node is routed to.
func (r *rig) admit(ctx context.Context) error {
	admin, err := r.login(ctx, "erupt", adminPassword)
	if err != nil {
		return err
	}
	var node struct{ AccessToken string }
	steps := []struct {
		path string
		body any
		out  any
	}{
		{"nodes", map[string]any{"nodeName": nodeName, "name": nodeName}, &node},
		{"menus", map[string]any{"code": "benchPage", "name": "Customers", "type": "table", "value": nodeName + ".Customer"}, nil},
		{"roles", map[string]any{"code": "staff", "name": "Staff", "menus": []string{"benchPage"}}, nil},
		{"users", map[string]any{"account": "staff", "name": "Staff", "password": staffPassword, "roles": []string{"staff"}}, nil},
	}
	for _, s := range steps {
		if err := r.call(ctx, admin, "/api/v1/"+s.path, s.body, s.out); err != nil {
			return err
		}
	}
	r.accessToken = node.AccessToken
	if r.token, err = r.login(ctx, "staff", staffPassword); err != nil {
		return err
	}
	return r.register(ctx, r.server, "one", r.node.URL)
}

func (r *rig) login(ctx context.Context, account, password string) (string, error) {
	var out struct{ Token, Reason string }
	err := r.call(ctx, "", "/erupt-api/login", map[string]string{"account": account, "pwd": password}, &out)
	if err == nil && out.Token == "" {
		err = fmt.Errorf("login of %s refused: %s", account, out.Reason)
	}
	return out.Token, err
}

func (r *rig) register(ctx context.Context, server *process, instance, address string) error {
	return post(ctx, server.URL+wire.RegisterPath, "", wire.NodeInfo{
		InstanceID: instance, Version: "2.2.0", NodeName: nodeName, AccessToken: r.accessToken, NodeAddress: []string{address},
		Erupts: []string{"Customer"}, EruptModules: []string{"erupt"},
	}, nil)
}

// beat keeps the one instance alive.
func (r *rig) beat(ctx context.Context) {
	tick := time.NewTicker(15 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := r.register(ctx, r.server, "one", r.node.URL); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "bench: heartbeat:", err)
			}
		}
	}
}

func (r *rig) call(ctx context.Context, token, path string, body, out any) error {
	return post(ctx, r.server.URL+path, token, body, out)
}

func post(ctx context.Context, url, token string, body, out any) error {
	header := map[string]string{}
	if token != "" {
		header["token"] = token
	}
	return postWith(ctx, url, header, body, out)
}

func postWith(ctx context.Context, url string, header map[string]string, body, out any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // read to its end
	answer, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode >= 300:
		return fmt.Errorf("POST %s = %s: %s", url, res.Status, answer)
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}

func (r *rig) close() {
	r.stop()
	for _, p := range []*process{r.server, r.bare, r.node} {
		if p != nil {
			p.stop()
		}
	}
}
