// Package dbtype holds column types that the databases we meet store in more than one way.
package dbtype

import (
	"database/sql/driver"
	"fmt"
)

// Flag is a boolean kept as bit(1), tinyint, boolean or, on SQLite, an integer. Hibernate's bit(1) arrives as bytes, which
// database/sql refuses to scan into a bool. NULL reads as false.
type Flag bool

// Scan implements sql.Scanner.
func (f *Flag) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*f = false
	case bool:
		*f = Flag(v)
	case int64:
		*f = v != 0
	case []byte:
		return f.fromText(v)
	case string:
		return f.fromText([]byte(v))
	default:
		return fmt.Errorf("a flag cannot be read from %T", src)
	}
	return nil
}

// fromText reads bit(1) (one byte of value 0 or 1) and the texts that drivers make of numbers and booleans.
func (f *Flag) fromText(v []byte) error {
	switch {
	case len(v) == 1 && (v[0] == 0 || v[0] == '0'), string(v) == "false":
		*f = false
	case len(v) == 1 && (v[0] == 1 || v[0] == '1'), string(v) == "true":
		*f = true
	default:
		return fmt.Errorf("a flag cannot be read from %q", v)
	}
	return nil
}

// Value implements driver.Valuer.
func (f Flag) Value() (driver.Value, error) { return bool(f), nil }
