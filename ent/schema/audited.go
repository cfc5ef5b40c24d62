// Package schema describes the tables: erupt's own, column by column as an existing installation has them, and side tables
// of ours for what they lack, so that an existing database can be adopted without altering one table (design decision 21).
package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
)

// datetime keeps fractions of a second and times after 2038; ent's own choice on MySQL, timestamp, does neither.
var datetime = map[string]string{dialect.MySQL: "datetime(6)"}

// mediumtext holds 16 MiB on MySQL; SQLite's text has no limit.
var mediumtext = map[string]string{dialect.MySQL: "mediumtext"}

// table names the table and its character set. The binary collation makes names compare byte by byte on both databases.
func table(name string) []schema.Annotation {
	return []schema.Annotation{
		entsql.Annotation{Table: name, Charset: "utf8mb4", Collation: "utf8mb4_bin"},
		entsql.WithComments(true),
	}
}

func moment(name string) ent.Field {
	return field.Time(name).Optional().Nillable().SchemaType(datetime)
}

// authored is erupt's audit group M: names of users and server times.
type authored struct{ mixin.Schema }

func (authored) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("create_by").Optional().MaxRuneLen(255).Comment("display name of who made it"),
		field.Time("create_time").Optional().Nillable().Default(time.Now).Immutable().SchemaType(datetime),
		field.String("update_by").Optional().MaxRuneLen(255),
		field.Time("update_time").Optional().Nillable().Default(time.Now).UpdateDefault(time.Now).SchemaType(datetime),
	}
}

// owned is erupt's audit group H: ids of users, without foreign keys.
type owned struct{ mixin.Schema }

func (owned) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Time("create_time").Optional().Nillable().Default(time.Now).Immutable().SchemaType(datetime),
		field.Int64("create_user_id").Optional().Nillable(),
		field.Time("update_time").Optional().Nillable().Default(time.Now).UpdateDefault(time.Now).SchemaType(datetime),
		field.Int64("update_user_id").Optional().Nillable(),
	}
}
