package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"eruptcloud/ent/dbtype"
)

// Dict is a dictionary: a named list of values that applications read (erupt-wire 6.7).
type Dict struct{ ent.Schema }

func (Dict) Mixin() []ent.Mixin { return []ent.Mixin{authored{}} }

func (Dict) Fields() []ent.Field {
	return []ent.Field{
		field.String("code").MaxRuneLen(64),
		field.String("name").Optional().MaxRuneLen(255),
		field.String("remark").Optional().MaxRuneLen(255),
	}
}

func (Dict) Edges() []ent.Edge { return []ent.Edge{edge.To("items", DictItem.Type)} }

func (Dict) Indexes() []ent.Index {
	return []ent.Index{index.Fields("code").Unique().StorageKey("uk_dict_code")}
}

func (Dict) Annotations() []schema.Annotation { return table("e_dict") }

// DictItem is one value of a dictionary.
type DictItem struct{ ent.Schema }

func (DictItem) Mixin() []ent.Mixin { return []ent.Mixin{authored{}} }

func (DictItem) Fields() []ent.Field {
	return []ent.Field{
		field.String("code").MaxRuneLen(64),
		field.String("name").Optional().MaxRuneLen(255),
		field.String("val").Optional().MaxRuneLen(255),
		field.Int("sort").Optional().Nillable(),
		field.String("remark").Optional().MaxRuneLen(255),
		field.Int64("erupt_dict_id").Optional().Nillable(),
	}
}

func (DictItem) Edges() []ent.Edge {
	return []ent.Edge{edge.From("dict", Dict.Type).Ref("items").Field("erupt_dict_id").Unique()}
}

func (DictItem) Indexes() []ent.Index {
	return []ent.Index{index.Fields("code", "erupt_dict_id").Unique().StorageKey("uk_dict_item_code_dict")}
}

func (DictItem) Annotations() []schema.Annotation { return table("e_dict_item") }

// OpenAPI is a script's way in: an id and a secret, for which it gets a session of the linked user (erupt-wire 3.3, 6.7).
type OpenAPI struct{ ent.Schema }

func (OpenAPI) Mixin() []ent.Mixin { return []ent.Mixin{authored{}} }

func (OpenAPI) Fields() []ent.Field {
	return []ent.Field{
		field.String("appid").MaxRuneLen(255),
		field.String("name").Optional().MaxRuneLen(255),
		field.Int("expire").Optional().Nillable().Comment("minutes that a token lives"),
		field.Int64("erupt_user_id").Optional().Nillable(),
		field.Bool("status").GoType(dbtype.Flag(false)).Optional().Default(true),
		field.String("secret").Sensitive().Optional().MaxRuneLen(255),
		field.String("current_token").Sensitive().Optional().MaxRuneLen(255),
	}
}

func (OpenAPI) Edges() []ent.Edge {
	return []ent.Edge{edge.From("user", User.Type).Ref("open_apis").Field("erupt_user_id").Unique()}
}

func (OpenAPI) Indexes() []ent.Index {
	return []ent.Index{index.Fields("appid").StorageKey("ix_open_api_appid")}
}

func (OpenAPI) Annotations() []schema.Annotation { return table("e_open_api") }
