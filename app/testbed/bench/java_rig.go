package main

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"eruptcloud/app/testbed"
	"eruptcloud/nodeagent/wire"
)

// javaRig is both servers, each with databases of its own in one MariaDB and one Redis, and the node behind both.
type javaRig struct {
	*settings
	dir            string
	node           *process
	original, ours *contestant
	services       *services
	stop           context.CancelFunc
}

func newJavaRig(ctx context.Context, s *settings, dir string) (*javaRig, error) {
	ctx, stop := context.WithCancel(ctx)
	r := &javaRig{settings: s, dir: dir, services: &services{}, stop: stop}
	if err := r.start(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *javaRig) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if r.node, err = startProcess(ctx, filepath.Join(r.dir, "node.log"), []string{roleName + "=node"}, self); err != nil {
		return err
	}
	if err := r.startOriginal(ctx); err != nil {
		return err
	}
	return r.startOurs(ctx)
}

// startOriginal runs the original as its users do, except that any token of a node is good: a token of our choosing cannot be
// given to a record over its API.
func (r *javaRig) startOriginal(ctx context.Context) error {
	where, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(where)
	if err != nil {
		return err
	}
	dsn, store, err := r.services.get()
	if err != nil {
		return err
	}
	db, err := mysql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	cache, err := redis.ParseURL(store)
	if err != nil {
		return err
	}
	_, redisPort, err := net.SplitHostPort(cache.Addr)
	if err != nil {
		return err
	}
	env := []string{
		"WORK_DIR=" + filepath.Join(r.dir, "original"), "LOG_LEVEL=warn", "VALIDATE_ACCESS_TOKEN=false",
		"REDIS_PORT=" + redisPort, "REDIS_DATABASE=" + strconv.Itoa(cache.DB),
		"DB_URL=jdbc:mariadb://" + db.Addr + "/" + db.DBName, "DB_USER=" + db.User, "DB_PASSWORD=" + db.Passwd,
		"DB_DIALECT=org.hibernate.dialect.MySQL8Dialect",
	}
	p, err := startProcess(ctx, filepath.Join(r.dir, "original.log"), env, "app/e2e/interop/erupt-server/run.sh", port)
	if err != nil {
		return err
	}
	r.original = &contestant{process: p}
	token, err := signInToOriginal(ctx, p.URL)
	if err != nil {
		return err
	}
	page := map[string]any{"name": "Customers", "status": "1", "type": "table", "value": nodeName + ".Customer", "sort": 10}
	if err := insertIntoOriginal(ctx, p.URL, token, "EruptMenu", page); err != nil {
		return err
	}
	for i := range fleetNodes + 1 {
		name := nodeName
		if i < fleetNodes {
			name = fleetNode(i)
		}
		if err := insertIntoOriginal(ctx, p.URL, token, "CloudNode", map[string]any{"nodeName": name, "name": name, "status": true, "duty": "erupt"}); err != nil {
			return err
		}
	}
	// The rights of a session are those of its beginning.
	if token, err = signInToOriginal(ctx, p.URL); err != nil {
		return err
	}
	return r.ready(ctx, r.original, token, func(string) string { return "any-token-is-good" })
}

func signInToOriginal(ctx context.Context, base string) (string, error) {
	const account, password = "erupt", "erupt"
	q := url.Values{"account": {account}, "pwd": {md5hex(md5hex(password) + account)}, "verifyCode": {"null"}, "verifyCodeMark": {"null"}}
	raw, err := get(ctx, base+"/erupt-api/login?"+q.Encode())
	if err != nil {
		return "", err
	}
	var out struct{ Token, Reason string }
	if err := json.Unmarshal(raw, &out); err != nil || out.Token == "" {
		return "", fmt.Errorf("the original's login answers %s: %w", raw, errors.Join(err, errors.New("no token")))
	}
	return out.Token, nil
}

func md5hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

func insertIntoOriginal(ctx context.Context, base, token, erupt string, row map[string]any) error {
	var out struct{ Status, Message string }
	err := postWith(ctx, base+"/erupt-api/data/modify/"+erupt, map[string]string{"token": token, "erupt": erupt}, row, &out)
	if err == nil && out.Status != "SUCCESS" {
		err = errors.New(out.Message)
	}
	if err != nil {
		return fmt.Errorf("insert into %s of the original: %w", erupt, err)
	}
	return nil
}

// startOurs runs ours as a fresh installation, with sessions and leases in Redis as the original has them.
func (r *javaRig) startOurs(ctx context.Context) error {
	dsn, store, err := r.services.get()
	if err != nil {
		return err
	}
	env := []string{
		"EC_ADMIN_PASSWORD=" + adminPassword, "EC_OPS_LISTEN=off", "EC_SERVER_SHUTDOWN_GRACE=0s", "EC_NETGUARD_ALLOW_LOOPBACK=true",
		"EC_DATABASE_DRIVER=mysql", "EC_DATABASE_DSN=" + dsn, "EC_DATABASE_MIGRATE=true", "EC_REDIS_URL=" + store,
		"EC_SESSION_KEYS=" + rand.Text() + rand.Text(), "EC_SECRETS_TOKEN_KEY=" + rand.Text() + rand.Text(),
	}
	p, err := startProcess(ctx, filepath.Join(r.dir, "server.log"), env, r.program, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(r.dir, "data"))
	if err != nil {
		return err
	}
	r.ours = &contestant{process: p}
	inside := &rig{settings: r.settings, dir: r.dir, server: p, node: r.node}
	if err := inside.admit(ctx); err != nil {
		return err
	}
	admin, err := inside.login(ctx, "erupt", adminPassword)
	if err != nil {
		return err
	}
	tokens := map[string]string{nodeName: inside.accessToken}
	for i := range fleetNodes {
		var node struct{ AccessToken string }
		name := fleetNode(i)
		if err := inside.call(ctx, admin, "/api/v1/nodes", map[string]any{"nodeName": name, "name": name}, &node); err != nil {
			return err
		}
		tokens[name] = node.AccessToken
	}
	return r.ready(ctx, r.ours, inside.token, func(name string) string { return tokens[name] })
}

// ready registers the node of the queries and makes both loads.
func (r *javaRig) ready(ctx context.Context, c *contestant, session string, token func(node string) string) error {
	first := wire.NodeInfo{
		InstanceID: "one", Version: "1.12.23", NodeName: nodeName, AccessToken: token(nodeName), NodeAddress: []string{r.node.URL},
		Erupts: []string{"Customer"}, EruptModules: []string{"erupt-jpa"},
	}
	if err := post(ctx, c.URL+wire.RegisterPath, "", first, nil); err != nil {
		return err
	}
	turns, err := registrations(r.node.URL, token)
	if err != nil {
		return err
	}
	c.table = newClient(c.URL, session, answerSize)
	c.register = newClient(c.URL, "", 0)
	c.register.url, c.register.turns, c.register.http.Transport = c.URL+wire.RegisterPath, turns, fromMany()
	c.queries = side{process: c.process, client: c.table}
	c.beats = side{process: c.process, client: c.register}
	raw, err := c.table.once(ctx)
	if err != nil {
		return fmt.Errorf("first query at %s: %w", c.name(), err)
	}
	if len(raw) != answerSize {
		return fmt.Errorf("the first query at %s answers %s bytes, want %d: %.300s", c.name(), strconv.Itoa(len(raw)), answerSize, raw)
	}
	return nil
}

func (r *javaRig) close() {
	for _, c := range []*contestant{r.ours, r.original} {
		if c != nil {
			c.process.stop()
		}
	}
	if r.node != nil {
		r.node.stop()
	}
	r.services.end()
	r.stop()
}

// services are what tests start for themselves; the program takes them the same way.
type services struct {
	testing.TB
	ends []func()
}

func (s *services) Helper() {}

func (s *services) Cleanup(end func()) { s.ends = append(s.ends, end) }

func (s *services) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

func (s *services) Fatalf(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

func (s *services) Skipf(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

// get makes an empty MariaDB database and an empty Redis one.
func (s *services) get() (dsn, store string, err error) {
	defer func() {
		if failed, ok := recover().(error); ok {
			err = failed
		}
	}()
	return testbed.MariaDB(s), testbed.Redis(s), nil
}

func (s *services) end() {
	for _, end := range s.ends {
		end()
	}
}
