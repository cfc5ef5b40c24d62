package takeover

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"eruptcloud/app/database"
)

// Errors of Read; the command makes exit codes of them.
var (
	ErrUsage    = errors.New("nothing was read")
	ErrDatabase = errors.New("database")
	ErrRedis    = errors.New("redis")
)

// maxRows bounds what is looked at of one table.
const maxRows = 200_000

// Database is what is in it.
type Database struct {
	Version    string   `json:"version"`    // of MySQL or MariaDB
	Generation string   `json:"generation"` // of erupt, as far as its columns tell
	Adopted    bool     `json:"adopted"`    // this program has its tables beside it already
	Absent     []string `json:"absentTables,omitempty"`
	Missing    []string `json:"missingColumns,omitempty"`
	LeftAlone  []string `json:"otherTables,omitempty"`

	Users        int            `json:"users"`
	Passwords    map[string]int `json:"passwords"` // by form
	Admins       int            `json:"admins"`
	SecondFactor int            `json:"secondFactor"`
	Roles        int            `json:"roles"`
	Menus        int            `json:"menus"`
	Nodes        int            `json:"nodes"`
	Groups       int            `json:"groups"`
	Orgs         int            `json:"orgs"`
	Posts        int            `json:"posts"`
	Dictionaries int            `json:"dictionaries"`
	DictItems    int            `json:"dictItems"`
	OpenAPIs     int            `json:"openApis"`
	OperateLogs  int            `json:"operateLogs"`
	LoginLogs    int            `json:"loginLogs"`
	nodeNames    []string
}

// reader reads one database in one transaction that can write nothing.
type reader struct {
	ctx   context.Context
	tx    *sql.Tx
	shape database.Shape
	d     *Database
	r     *Report
	err   error
}

func (r *Report) readDatabase(ctx context.Context, o Options) (err error) {
	db, err := database.Open(ctx, database.Options{Driver: database.MySQL, DSN: o.DSN})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	shape, err := database.Inspect(ctx, db)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	tx, err := db.SQL.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return fmt.Errorf("%w: begin a transaction that only reads: %w", ErrDatabase, err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	read := &reader{ctx: ctx, tx: tx, shape: shape, d: &Database{Passwords: map[string]int{}}, r: r}
	r.Database = read.d
	read.overview()
	if read.err == nil && shape.Adopted && !slices.Contains(shape.Absent, "e_upms_user") {
		for _, part := range []func(){read.counts, read.users, read.roles, read.menus, read.nodes, read.groups, read.dictionaries} {
			part()
		}
	}
	if read.err != nil {
		return fmt.Errorf("%w: %w", ErrDatabase, read.err)
	}
	return nil
}

// overview says what kind of database it is.
func (q *reader) overview() {
	d := q.d
	q.err = q.tx.QueryRowContext(q.ctx, "SELECT VERSION()").Scan(&d.Version)
	d.Generation, d.Absent = q.shape.Generation, q.shape.Absent
	for table, columns := range q.shape.Missing {
		for _, c := range columns {
			d.Missing = append(d.Missing, table+"."+c)
		}
	}
	slices.Sort(d.Missing)
	ours := false
	q.rows("SELECT LOWER(table_name) FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1", func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		switch {
		case name == "e_cloud_migration":
			ours = true
		case strings.HasPrefix(name, "e_") && !slices.Contains(known, name):
			d.LeftAlone = append(d.LeftAlone, clip(name))
		}
		return nil
	})
	d.Adopted = ours
	switch {
	case ours && !q.shape.Adopted:
		d.LeftAlone = nil
		q.r.add(Note, "database", nil, "this program made the tables of this database: there is nothing to take over")
		return
	case !q.shape.Adopted || slices.Contains(q.shape.Absent, "e_upms_user"):
		q.r.add(Refused, "database", nil, "the database holds no tables of an erupt server: e_upms_user is missing")
		return
	case ours:
		d.LeftAlone = nil
		q.r.add(Note, "database", nil, "the database has been adopted already: this program's tables are beside erupt's")
	}
	for _, need := range []string{"e_upms_role", "e_upms_menu", "e_cloud_node", "e_upms_user_role", "e_upms_role_menu"} {
		if slices.Contains(d.Absent, need) {
			q.r.add(Care, "database", []string{need}, "a table of erupt is missing; an empty one is made beside the others")
		}
	}
	if len(d.LeftAlone) > 0 {
		q.r.add(Note, "database", d.LeftAlone, "tables of other erupt modules are left as they are")
	}
	if d.Generation == "1.12" {
		q.r.add(Note, "database", nil, "erupt 1.x: passwords stay MD5, which a Java server of 1.x can read, unless login.rehash is set")
	}
}

// known are erupt's tables that are read here.
var known = []string{"e_cloud_node", "e_cloud_node_group", "e_dict", "e_dict_item", "e_open_api", "e_upms_login_log", "e_upms_menu",
	"e_upms_operate_log", "e_upms_org", "e_upms_post", "e_upms_role", "e_upms_role_menu", "e_upms_user", "e_upms_user_role"}

// has reports whether a table is there.
func (q *reader) has(table string) bool { return !slices.Contains(q.shape.Absent, table) }

// column is an expression for a column, NULL where the table lacks it.
func (q *reader) column(table, column string) string {
	if q.shape.Lacks(table, column) {
		return "NULL"
	}
	return "`" + column + "`"
}

// rows calls each with every row, until there was an error.
func (q *reader) rows(query string, each func(*sql.Rows) error) {
	if q.err != nil {
		return
	}
	rows, err := q.tx.QueryContext(q.ctx, query)
	if err != nil {
		q.err = err
		return
	}
	defer rows.Close()
	for rows.Next() {
		if q.err = each(rows); q.err != nil {
			return
		}
	}
	q.err = rows.Err()
}

func (q *reader) counts() {
	for _, c := range []struct {
		table string
		to    *int
	}{
		{"e_upms_user", &q.d.Users}, {"e_upms_role", &q.d.Roles}, {"e_upms_menu", &q.d.Menus}, {"e_cloud_node", &q.d.Nodes},
		{"e_cloud_node_group", &q.d.Groups}, {"e_upms_org", &q.d.Orgs}, {"e_upms_post", &q.d.Posts}, {"e_dict", &q.d.Dictionaries},
		{"e_dict_item", &q.d.DictItems}, {"e_open_api", &q.d.OpenAPIs}, {"e_upms_operate_log", &q.d.OperateLogs},
		{"e_upms_login_log", &q.d.LoginLogs},
	} {
		if q.err == nil && q.has(c.table) {
			q.err = q.tx.QueryRowContext(q.ctx, "SELECT COUNT(*) FROM `"+c.table+"`").Scan(c.to)
		}
	}
}

// flag reads erupt's bit(1) and tinyint(1), which may be null.
type flag struct{ set, known bool }

// Scan implements sql.Scanner.
func (f *flag) Scan(v any) error {
	*f = flag{known: v != nil}
	switch v := v.(type) {
	case nil:
	case int64:
		f.set = v != 0
	case bool:
		f.set = v
	case []byte:
		f.set = len(v) > 0 && v[0] != 0 && v[0] != '0'
	default:
		return fmt.Errorf("a flag of type %T", v)
	}
	return nil
}
