package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"eruptcloud/ent/dbtype"
)

// OperateLog has a row for every change that somebody made, on the server or through it on a node (erupt-wire 6.8).
type OperateLog struct{ ent.Schema }

func (OperateLog) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("operate_user").Optional().MaxRuneLen(255).Comment("display name"),
		field.String("ip").Optional().MaxRuneLen(255),
		field.String("region").Optional().MaxRuneLen(255),
		field.String("api_name").Optional().MaxRuneLen(255),
		field.Text("before_data").Optional().SchemaType(mediumtext),
		field.Text("req_param").Optional().SchemaType(mediumtext).Comment("without tokens and passwords"),
		field.Bool("status").GoType(dbtype.Flag(false)).Optional().Comment("whether it succeeded"),
		field.String("error_info").Optional().MaxRuneLen(4000),
		field.Int64("total_time").Optional().Comment("ms"),
		field.Time("create_time").Optional().Nillable().SchemaType(datetime),
		field.String("req_addr").Optional().MaxRuneLen(2000),
		field.String("req_method").Optional().MaxRuneLen(64),
	}
}

func (OperateLog) Indexes() []ent.Index {
	return []ent.Index{index.Fields("create_time").StorageKey("ix_upms_operate_log_time")}
}

func (OperateLog) Annotations() []schema.Annotation { return table("e_upms_operate_log") }

// LoginLog has a row for every login (erupt-wire 6.9). Ours keeps a hash prefix where the original keeps the live token.
type LoginLog struct{ ent.Schema }

func (LoginLog) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("user_name").Optional().MaxRuneLen(255).Comment("display name"),
		field.Time("login_time").Optional().Nillable().SchemaType(datetime),
		field.String("ip").Optional().MaxRuneLen(64),
		field.String("region").Optional().MaxRuneLen(255),
		field.String("system_name").Optional().MaxRuneLen(255),
		field.String("browser").Optional().MaxRuneLen(255),
		field.String("device_type").Optional().MaxRuneLen(255),
		field.String("token").Optional().MaxRuneLen(255).Comment("first 16 hex digits of the token's SHA-256"),
	}
}

func (LoginLog) Indexes() []ent.Index {
	return []ent.Index{index.Fields("login_time").StorageKey("ix_upms_login_log_time")}
}

func (LoginLog) Annotations() []schema.Annotation { return table("e_upms_login_log") }

// OperateExtra is what erupt's operation log lacks. A row of the log without one was written by a Java server.
type OperateExtra struct{ ent.Schema }

func (OperateExtra) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("log_id").Comment("e_upms_operate_log.id; no foreign key, an adopted table is never touched"),
		field.String("account").Optional().MaxRuneLen(255).Comment("who did it"),
		field.String("subject").Optional().MaxRuneLen(255).Comment("what it was done to, such as the name of a node"),
		field.String("request_id").Optional().MaxRuneLen(64),
	}
}

func (OperateExtra) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("log_id").Unique().StorageKey("uk_cloud_operate_extra_log"),
		index.Fields("account").StorageKey("ix_cloud_operate_extra_account"),
		index.Fields("subject").StorageKey("ix_cloud_operate_extra_subject"),
	}
}

func (OperateExtra) Annotations() []schema.Annotation { return table("e_cloud_operate_extra") }
