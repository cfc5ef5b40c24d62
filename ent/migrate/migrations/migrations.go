// Package migrations embeds the schema's history: one directory a dialect, files applied in the order of their names.
package migrations

import "embed"

// Files holds sqlite/NNNN_name.sql and mysql/NNNN_name.sql. A file that was released is never changed.
//
//go:embed sqlite/*.sql mysql/*.sql
var Files embed.FS
