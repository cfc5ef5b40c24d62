// Package ent is generated data access; schema and dbtype are written by hand, the rest is not.
package ent

//go:generate go tool ent generate --feature sql/upsert,sql/lock,sql/versioned-migration,sql/execquery,sql/modifier,intercept ./schema
