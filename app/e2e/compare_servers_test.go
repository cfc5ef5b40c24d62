package e2e

import (
	"crypto/md5"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"eruptcloud/app/testbed"
)

const (
	warehouseToken = "UOZVLUDSBAHAUEMV"
	shopToken      = "OHK8ODN2DX0DEPPT"
	offToken       = "9E7ADF9BNHLBVYJ5"
)

// originalServer is a real erupt-cloud-server 1.12.23 on MariaDB and Redis.
type originalServer struct {
	*process
	URL   string
	db    *sql.DB
	redis string
}

// original starts the server that is compared with; it makes its tables and first rows itself.
func original(t testing.TB) *originalServer {
	t.Helper()
	testbed.Require(t, "java")
	testbed.Require(t, "mvn")
	dir, err := filepath.Abs("interop/erupt-server")
	if err != nil {
		t.Fatal(err)
	}
	o := &originalServer{redis: testbed.Redis(t)}
	dsn := testbed.MariaDB(t)
	where, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	store, err := redis.ParseURL(o.redis)
	if err != nil {
		t.Fatal(err)
	}
	_, redisPort, err := net.SplitHostPort(store.Addr)
	if err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	o.process = start(t, []string{
		"BUILD_DIR=" + javaBuildDir(t, dir), "WORK_DIR=" + t.TempDir(), "TZ=UTC",
		"DB_URL=jdbc:mariadb://" + where.Addr + "/" + where.DBName, "DB_USER=" + where.User, "DB_PASSWORD=" + where.Passwd,
		"DB_DIALECT=org.hibernate.dialect.MySQL8Dialect",
		"REDIS_PORT=" + redisPort, fmt.Sprintf("REDIS_DATABASE=%d", store.DB), "NODE_REQUEST_TIMEOUT=4000",
		"JAVA_OPTS=-Xmx512m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
	}, filepath.Join(dir, "run.sh"), port)
	o.URL = "http://" + addr
	o.db = openMySQL(t, dsn)
	o.await("READY ", 10*time.Minute) // the first start builds the program
	return o
}

func openMySQL(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn+"?parseTime=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// inserter inserts a row and returns its id.
func inserter(t testing.TB, db *sql.DB) func(statement string, args ...any) int64 {
	return func(statement string, args ...any) int64 {
		t.Helper()
		res, err := db.ExecContext(t.Context(), statement, args...)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		id, err := res.LastInsertId()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
}

// furnish puts into an erupt database what the recordings have: nodes, pages with their buttons. It returns the ids of the menus.
func furnish(t testing.TB, db *sql.DB) map[string]int64 {
	t.Helper()
	run := inserter(t, db)
	group := run("insert into e_cloud_node_group (code, name, config, remark) values ('g1', 'Group one 组', '{\"group\": \"组\"}', 'r')")
	run("insert into e_cloud_node (node_name, name, status, access_token, duty, config, cloud_node_group_id) values ('warehouse', 'Warehouse app', 1, ?, 'erupt', ?, ?)",
		warehouseToken, "{\"a\": 1, \"text\": \"配置 é <b>\"}\nline two", group)
	run("insert ignore into e_cloud_node (node_name, name, status, access_token) values ('shop', 'Shop app', 1, ?), ('off', 'Off', 0, ?)", shopToken, offToken)
	menu := func(parent any, code, name, kind, value string, sort int) int64 {
		nothing := func(s string) any {
			if s == "" {
				return nil
			}
			return s
		}
		return run("insert into e_upms_menu (code, name, status, `type`, `value`, sort, parent_menu_id) values (?, ?, 1, ?, ?, ?, ?)",
			code, name, nothing(kind), nothing(value), sort, parent)
	}
	root := menu(nil, "YZqakphD", "Warehouse 仓库", "", "", 200)
	held := map[string]int64{}
	for i, page := range []struct{ kind, class string }{
		{"table", "Customer"}, {"table", "Purchase"}, {"table", "Product"}, {"table", "StockItem"}, {"tree", "Region"}, {"tree", "Warehouse"},
		{"tree", "Category"}, {"table", "Ledger"}, {"table", "Currency"}, {"table", "Bulletin"}, {"table", "Widget"}, {"table", "Delivery"},
	} {
		value := "warehouse." + page.class
		id := menu(root, "page"+page.class, page.class, page.kind, value, 10*(i+1))
		held[page.class] = id
		for j, function := range []string{"ADD", "EDIT", "DELETE", "EXPORT", "IMPORTABLE", "VIEW_DETAIL"} {
			code := value + "@" + function
			held[page.class+"@"+function] = menu(id, fmt.Sprintf("f%d%s", j, page.class), function, "button", code, 10*(j+1))
		}
	}
	menu(root, "AmIsPlnc", "Secret", "button", "warehouse_secret", 500)
	menu(root, "Nf7dO7Fg", "Report", "tpl", "report.html?_node=warehouse", 510)
	return held
}

// hireLin makes a user who may little, and an admin who has chosen his password himself.
func hireLin(t testing.TB, db *sql.DB, menus map[string]int64) {
	t.Helper()
	run := inserter(t, db)
	run("insert into e_upms_user (account, name, status, is_admin, is_md5, password, reset_pwd_time) values ('chief', 'Chief', 1, 1, 1, ?, now())", md5hex("chief-pass-1"))
	role := run("insert into e_upms_role (code, name, sort, status) values ('clerk', 'Clerk', 1, 1)")
	for _, m := range []string{"Customer", "Customer@EDIT", "Customer@VIEW_DETAIL", "Region"} {
		run("insert into e_upms_role_menu (role_id, menu_id) values (?, ?)", role, menus[m])
	}
	id := run("insert into e_upms_user (account, name, status, is_admin, is_md5, password) values ('lin', 'Lin Yu', 1, 0, 1, ?)", md5hex("secret-1"))
	run("insert into e_upms_user_role (user_id, role_id) values (?, ?)", id, role)
}

func md5hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// copyDatabase copies tables and rows as they are.
func copyDatabase(t testing.TB, from, to *sql.DB) {
	t.Helper()
	ctx := t.Context()
	conn, err := to.Conn(ctx) // the setting below is of one connection
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run := func(statement string) {
		t.Helper()
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	var source string
	if err := from.QueryRowContext(ctx, "select database()").Scan(&source); err != nil {
		t.Fatal(err)
	}
	run("set foreign_key_checks = 0")
	for _, table := range tablesOf(t, from) {
		var name, made string
		if err := from.QueryRowContext(ctx, "show create table `"+table+"`").Scan(&name, &made); err != nil {
			t.Fatal(err)
		}
		run(made)
		run("insert into `" + table + "` select * from `" + source + "`.`" + table + "`")
	}
	run("set foreign_key_checks = 1")
}

func tablesOf(t testing.TB, db *sql.DB) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "select table_name from information_schema.tables where table_schema = database() order by table_name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		out = append(out, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// adopted starts the built server on a database of erupt's.
func adopted(t testing.TB, dsn, redisURL string, env ...string) *server {
	t.Helper()
	env = append([]string{
		"EC_DATABASE_DRIVER=mysql", "EC_DATABASE_DSN=" + dsn, "EC_REDIS_URL=" + redisURL, "EC_NETGUARD_ALLOW_LOOPBACK=true",
		"EC_OPS_LISTEN=off", "EC_SERVER_SHUTDOWN_GRACE=0s", "EC_LOG_FORMAT=text", "EC_SESSION_KEYS=" + strings.Repeat("a", 32), "EC_SECRETS_TOKEN_KEY=" + strings.Repeat("b", 32),
	}, env...)
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Data: t.TempDir()}
	if p := start(t, append(env, "EC_SERVER_DATA_DIR="+s.Data), program, "migrate", "--adopt"); p.wait(time.Minute) != 0 {
		t.Fatalf("adopting failed:\n%s", p.output())
	}
	s.process = start(t, env, program, "serve", "--listen", "127.0.0.1:0", "--data", s.Data)
	s.URL = strings.TrimSpace(strings.TrimPrefix(s.await("listening on ", time.Minute), "listening on "))
	return s
}

// beside is the original and ours, each with its own instance of the same node behind it, on equal databases.
type beside struct {
	theirs, ours *side
	original     *originalServer
	server       *server
}

func besideOriginal(t *testing.T) *beside {
	o := original(t)
	hireLin(t, o.db, furnish(t, o.db))
	dsn, stored := testbed.MariaDB(t), testbed.Redis(t)
	copyDatabase(t, o.db, openMySQL(t, dsn))
	s := adopted(t, dsn, stored, "EC_CLOUD_SERVER_NODE_REQUEST_TIMEOUT=4s")
	b := &beside{original: o, server: s}
	b.theirs = &side{t: t, URL: o.URL, words: map[string]string{}, store: dialRedis(t, o.redis)}
	b.ours = &side{t: t, URL: s.URL, words: map[string]string{}, store: dialRedis(t, stored)}
	for _, x := range []*side{b.theirs, b.ours} {
		node := java(t, &server{URL: x.URL}, "warehouse", warehouseToken, "")
		x.words["warehouse"], x.words["shop"], x.words["off"] = warehouseToken, shopToken, offToken
		x.words["self"], x.words["location"] = x.URL, node.URL
		x.words["admin"] = x.signIn("erupt", "erupt")
		x.words["limited"] = x.signIn("lin", "secret-1")
		x.awaitNode()
		x.words["handed"] = handed(t, node)
	}
	return b
}

// signIn logs in as the front end of 1.12 does.
func (s *side) signIn(account, password string) string {
	s.t.Helper()
	q := url.Values{"account": {account}, "pwd": {md5hex(md5hex(password) + account)}, "verifyCode": {"null"}, "verifyCodeMark": {"null"}}
	h := s.raw(recordedRequest{Name: "login", Do: "GET /erupt-api/login?" + q.Encode()})
	var out struct {
		Pass          bool
		Token, Reason string
	}
	if err := json.Unmarshal(h.body, &out); err != nil || !out.Pass {
		s.t.Fatalf("login of %s at %s = %d %s %v", account, s.URL, h.status, h.body, err)
	}
	return out.Token
}

// awaitNode waits until the node behind a server is routed to.
func (s *side) awaitNode() {
	s.t.Helper()
	var last heard
	eventually(s.t, 20*time.Second, func() bool {
		last = s.raw(recordedRequest{Name: "await", Do: "GET /erupt-api/build/warehouse.Customer", With: map[string]string{"token": "{admin}", "erupt": "warehouse.Customer"}})
		return last.status == http.StatusOK
	}, func() string {
		return fmt.Sprintf("the node behind %s is not ready: %d %.300s", s.URL, last.status, last.body)
	})
}

// handed is the token that a server gave to the node with a request of a user: the user's own, or one that is good for the
// node alone.
func handed(t testing.TB, n *javaNode) string {
	t.Helper()
	var all []struct {
		URI     string
		Headers map[string]any
	}
	raw := n.get("/test/requests", &all)
	for _, r := range all {
		for k, v := range r.Headers {
			if strings.EqualFold(k, "token") {
				return strings.Trim(fmt.Sprint(v), "[]")
			}
		}
	}
	t.Fatalf("no request at the node has a token: %.2000s", raw)
	return ""
}

func dialRedis(t testing.TB, address string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
