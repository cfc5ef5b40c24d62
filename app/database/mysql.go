package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/go-sql-driver/mysql"

	"eruptcloud/ent"
)

// Limits of the MySQL pool. A connection is dropped before any usual wait_timeout of the server ends it (S96).
const (
	mysqlConns    = 20
	mysqlIdle     = 10
	mysqlLifetime = 3 * time.Minute
	mysqlDial     = 5 * time.Second
	mysqlIO       = 30 * time.Second
)

// Numbers of MySQL errors that we tell apart.
const (
	mysqlTooMany      = 1040
	mysqlTableExists  = 1050
	mysqlShutdown     = 1053
	mysqlColumnExists = 1060
	mysqlIndexExists  = 1061
	mysqlDuplicate    = 1062
	mysqlPacket       = 1153
	mysqlLockWait     = 1205
	mysqlDeadlock     = 1213
	mysqlBadText      = 1366
	mysqlTooLong      = 1406
	mysqlChanged      = 1020 // MariaDB with snapshot isolation: the row changed since it was read
	mysqlKilled       = 1927
	mysqlNotTolerated = 1290 // --read-only
)

func openMySQL(ctx context.Context, o Options) (*DB, error) {
	cfg, err := mysqlConfig(o)
	if err != nil {
		return nil, err
	}
	pool, err := mysqlPool(cfg)
	if err != nil {
		return nil, err
	}
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open mysql database: %w", err), pool.Close())
	}
	if o.Zone == nil {
		if pool, err = sessionTimes(ctx, cfg, pool); err != nil {
			return nil, err
		}
	}
	limitLifetime(ctx, pool)
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.MySQL, pool)))
	return &DB{SQL: pool, Driver: MySQL, Client: client, mysql: cfg}, nil
}

// mysqlConfig reads the DSN and sets what we rely on: an update that changes nothing still counts its rows, times are
// times, text is any Unicode, and a value that does not fit is an error instead of being cut.
func mysqlConfig(o Options) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(o.DSN)
	if err != nil {
		return nil, fmt.Errorf("database dsn: %w", err) // the driver's errors do not repeat the DSN with its password
	}
	if cfg.DBName == "" {
		return nil, errors.New("database dsn names no database: user:password@tcp(host:3306)/name")
	}
	cfg.ClientFoundRows = true
	cfg.ParseTime = true
	cfg.MultiStatements = false
	cfg.InterpolateParams = false
	cfg.RejectReadOnly = true
	cfg.Loc = time.UTC
	if o.Zone != nil {
		cfg.Loc = o.Zone
	}
	cfg.Timeout = orDefault(cfg.Timeout, mysqlDial)
	cfg.ReadTimeout = orDefault(cfg.ReadTimeout, mysqlIO)
	cfg.WriteTimeout = orDefault(cfg.WriteTimeout, mysqlIO)
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	delete(cfg.Params, "charset")
	cfg.Params["sql_mode"] = "CONCAT(@@sql_mode,',STRICT_TRANS_TABLES')"
	if _, ok := cfg.Params["innodb_lock_wait_timeout"]; !ok {
		cfg.Params["innodb_lock_wait_timeout"] = "5" // seconds, as on SQLite; the server's own 50 would outlive the request
	}
	cfg.Logger = mysqlLog{}
	if err := cfg.Apply(mysql.Charset("utf8mb4", cfg.Collation)); err != nil {
		return nil, fmt.Errorf("database dsn: %w", err)
	}
	return cfg, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

func mysqlPool(cfg *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("database dsn: %w", err)
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(mysqlConns)
	pool.SetMaxIdleConns(mysqlIdle)
	pool.SetConnMaxLifetime(mysqlLifetime)
	return pool, nil
}

// limitLifetime lets go of connections before the server does, where its wait_timeout is shorter than ours.
func limitLifetime(ctx context.Context, pool *sql.DB) {
	var seconds int64
	if err := pool.QueryRowContext(ctx, "SELECT @@wait_timeout").Scan(&seconds); err != nil || seconds <= 0 {
		return // a proxy may hide it; the default is safe for any usual server
	}
	if half := time.Duration(seconds) * time.Second / 2; half < mysqlLifetime {
		pool.SetConnMaxLifetime(half)
		pool.SetConnMaxIdleTime(half)
	}
}

// mysqlLog sends the driver's remarks on broken connections to the structured log instead of standard error.
type mysqlLog struct{}

// Print implements mysql.Logger.
func (mysqlLog) Print(v ...any) { slog.Debug("mysql driver", "message", fmt.Sprint(v...)) }

// mysqlNumber returns the number of a MySQL error, zero for another error.
func mysqlNumber(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// unreachable reports whether err says that the connection, not the statement, failed.
func unreachable(err error) bool {
	switch mysqlNumber(err) {
	case mysqlTooMany, mysqlShutdown, mysqlKilled, mysqlNotTolerated:
		return true
	}
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.As(err, &network) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}
