package database

import (
	"context"
	"io/fs"
)

// MigrateFrom is Migrate with other files than the embedded ones.
func MigrateFrom(ctx context.Context, db *DB, files fs.FS) ([]string, error) {
	return migrateFrom(ctx, db, files)
}

// SQLiteDSN and MySQLDSN show what becomes of a DSN.
var SQLiteDSN = sqliteDSN

func MySQLDSN(o Options) (string, error) {
	cfg, err := mysqlConfig(o)
	if err != nil {
		return "", err
	}
	return cfg.FormatDSN(), nil
}
