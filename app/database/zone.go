package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"
)

// sessionTimes returns pool, or one that reads and writes times in the zone of the server's session, where the database is
// adopted: its times have no zone, and a Java server beside us would take those in UTC for its own.
func sessionTimes(ctx context.Context, cfg *mysql.Config, pool *sql.DB) (*sql.DB, error) {
	st, err := inspect(ctx, MySQL, pool)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	if !st.adopted {
		return pool, nil
	}
	zone, err := sessionZone(ctx, pool)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("time zone of the session: %w", err), pool.Close())
	}
	if zone == time.UTC {
		return pool, nil
	}
	if err := pool.Close(); err != nil {
		return nil, err
	}
	cfg.Loc = zone
	return mysqlPool(cfg)
}

// sessionZone is the zone of the server's session. One that we do not know by its name is taken as its present offset, which
// is wrong for half a year where clocks are changed; database.time_zone helps then.
func sessionZone(ctx context.Context, pool *sql.DB) (*time.Location, error) {
	var session, system string
	var offset int
	if err := pool.QueryRowContext(ctx, "SELECT @@session.time_zone, @@system_time_zone, TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())").
		Scan(&session, &system, &offset); err != nil {
		return nil, err
	}
	if session == "SYSTEM" {
		session = system
	}
	return zoneNamed(session, offset), nil
}

// zoneNamed returns the zone of a name if it has that offset, in seconds, now, and else a fixed one.
func zoneNamed(name string, offset int) *time.Location {
	if offset == 0 && slices.Contains([]string{"UTC", "GMT", "+00:00", "Etc/UTC", "Universal", "Zulu"}, name) {
		return time.UTC
	}
	if zone, err := time.LoadLocation(name); err == nil {
		if _, has := time.Now().In(zone).Zone(); has == offset {
			return zone
		}
	}
	if name != "" && name[0] != '+' && name[0] != '-' {
		slog.Warn("the zone of the database's session is taken as a fixed offset; database.time_zone names one that follows the clock changes",
			"zone", name, "offset", time.Duration(offset)*time.Second)
	}
	return time.FixedZone(fmt.Sprintf("%+03d:%02d", offset/3600, max(offset, -offset)%3600/60), offset)
}
