package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"eruptcloud/ent/dbtype"
)

// Node is the profile that an admin keeps of a node; its live instances are leases, not rows (A25).
type Node struct{ ent.Schema }

func (Node) Mixin() []ent.Mixin { return []ent.Mixin{authored{}} }

func (Node) Fields() []ent.Field {
	return []ent.Field{
		field.String("node_name").MaxRuneLen(255).Comment("first half of every route key"),
		field.String("name").Optional().MaxRuneLen(255).Comment("display name"),
		field.Int64("cloud_node_group_id").Optional().Nillable(),
		field.Bool("status").GoType(dbtype.Flag(false)).Optional().Default(true).Comment("false refuses registration"),
		field.String("duty").Optional().MaxRuneLen(255).Comment("JSON array of user names"),
		field.Text("config").Optional().SchemaType(mediumtext),
		field.String("access_token").Sensitive().Optional().MaxRuneLen(255).Comment("sealed with AES-GCM (s1:…) or, in an adopted database, plain"),
		field.String("remark").Optional().MaxRuneLen(2000),
	}
}

func (Node) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("group", Group.Type).Ref("nodes").Field("cloud_node_group_id").Unique(),
	}
}

func (Node) Indexes() []ent.Index {
	return []ent.Index{index.Fields("node_name").Unique().StorageKey("uk_cloud_node_name")}
}

func (Node) Annotations() []schema.Annotation { return table("e_cloud_node") }

// Group bundles nodes; erupt's groups are flat, the tree is in GroupExtra (A26).
type Group struct{ ent.Schema }

func (Group) Mixin() []ent.Mixin { return []ent.Mixin{authored{}} }

func (Group) Fields() []ent.Field {
	return []ent.Field{
		field.String("code").MaxRuneLen(255),
		field.String("name").Optional().MaxRuneLen(255),
		field.Text("config").Optional().SchemaType(mediumtext),
		field.String("remark").Optional().MaxRuneLen(2000),
	}
}

func (Group) Edges() []ent.Edge { return []ent.Edge{edge.To("nodes", Node.Type)} }

func (Group) Indexes() []ent.Index {
	return []ent.Index{index.Fields("code").Unique().StorageKey("uk_cloud_node_group_code")}
}

func (Group) Annotations() []schema.Annotation { return table("e_cloud_node_group") }

// NodeExtra is what erupt's node table lacks. A node without a row has the defaults.
type NodeExtra struct{ ent.Schema }

func (NodeExtra) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("node_id").Comment("e_cloud_node.id; no foreign key, an adopted table is never touched"),
		field.Bool("core").GoType(dbtype.Flag(false)).Default(false).Comment("a lost instance of it pages at once (B12)"),
		field.Bool("raw_session").GoType(dbtype.Flag(false)).Default(false).Comment("send the session's own token instead of a delegated one"),
		field.String("old_token").Sensitive().Optional().MaxRuneLen(255).Comment("token before the last rotation, sealed"),
		field.Time("old_token_until").Optional().Nillable().SchemaType(datetime),
		field.Time("token_rotated").Optional().Nillable().SchemaType(datetime).Comment("when the token was last rotated"),
		field.String("token_rotated_by").Optional().MaxRuneLen(255).Comment("account"),
		field.Int64("config_revision").Default(0),
		field.Time("first_seen").Optional().Nillable().SchemaType(datetime),
	}
}

func (NodeExtra) Indexes() []ent.Index {
	return []ent.Index{index.Fields("node_id").Unique().StorageKey("uk_cloud_node_extra_node")}
}

func (NodeExtra) Annotations() []schema.Annotation { return table("e_cloud_node_extra") }

// GroupExtra holds the parent of a group and the revision of its config.
type GroupExtra struct{ ent.Schema }

func (GroupExtra) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("group_id").Comment("e_cloud_node_group.id; no foreign key"),
		field.Int64("parent_id").Optional().Nillable().Comment("e_cloud_node_group.id of the parent"),
		field.Int64("config_revision").Default(0),
	}
}

func (GroupExtra) Indexes() []ent.Index {
	return []ent.Index{index.Fields("group_id").Unique().StorageKey("uk_cloud_group_extra_group")}
}

func (GroupExtra) Annotations() []schema.Annotation { return table("e_cloud_group_extra") }

// ConfigRevision is one published config of a node or a group.
type ConfigRevision struct{ ent.Schema }

func (ConfigRevision) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Enum("owner").Values("node", "group"),
		field.Int64("owner_id"),
		field.Int64("revision").Comment("counts from 1 per owner"),
		field.Text("config").Optional().SchemaType(mediumtext),
		field.String("author").Optional().MaxRuneLen(255).Comment("account"),
		field.String("address").Optional().MaxRuneLen(64),
		field.String("note").Optional().MaxRuneLen(2000),
		field.Time("created").SchemaType(datetime),
	}
}

func (ConfigRevision) Indexes() []ent.Index {
	return []ent.Index{index.Fields("owner", "owner_id", "revision").Unique().StorageKey("uk_cloud_config_revision")}
}

func (ConfigRevision) Annotations() []schema.Annotation { return table("e_cloud_config_revision") }

// NodeHold is an admin's order to keep a location out of routing; only an admin lifts it. It is kept by location, since a
// Java node draws a new instance id at each start.
type NodeHold struct{ ent.Schema }

func (NodeHold) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("node_name").MaxRuneLen(255),
		field.String("location").MaxRuneLen(255),
		field.String("reason").Optional().MaxRuneLen(2000),
		field.String("account").MaxRuneLen(255).Comment("who ordered it"),
		field.Time("created").SchemaType(datetime),
	}
}

func (NodeHold) Indexes() []ent.Index {
	return []ent.Index{index.Fields("node_name", "location").Unique().StorageKey("uk_cloud_node_hold")}
}

func (NodeHold) Annotations() []schema.Annotation { return table("e_cloud_node_hold") }

// NodeDrain is an admin's order to take one instance out of routing until it has left. It is kept by instance, so that the
// process that follows at the same address is routed to; a hold, which is kept by location, is not meant for that.
type NodeDrain struct{ ent.Schema }

func (NodeDrain) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("node_name").MaxRuneLen(255),
		field.String("instance_id").MaxRuneLen(255),
		field.String("reason").Optional().MaxRuneLen(2000),
		field.String("account").MaxRuneLen(255).Comment("who ordered it"),
		field.Time("created").SchemaType(datetime),
	}
}

func (NodeDrain) Indexes() []ent.Index {
	return []ent.Index{index.Fields("node_name", "instance_id").Unique().StorageKey("uk_cloud_node_drain")}
}

func (NodeDrain) Annotations() []schema.Annotation { return table("e_cloud_node_drain") }

// NodeEvent is one thing that happened to a node or an instance: it came, left, was held. The newest of each node are kept.
type NodeEvent struct{ ent.Schema }

func (NodeEvent) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Time("at").SchemaType(datetime),
		field.String("node_name").MaxRuneLen(255),
		field.String("instance_id").Optional().MaxRuneLen(255),
		field.String("location").Optional().MaxRuneLen(255),
		field.String("kind").MaxRuneLen(64),
		field.String("reason").Optional().MaxRuneLen(2000),
		field.String("account").Optional().MaxRuneLen(255).Comment("who did it, if a person did"),
		field.String("version").Optional().MaxRuneLen(64).Comment("of the node's software"),
	}
}

func (NodeEvent) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("node_name", "id").StorageKey("ix_cloud_node_event_node"),
		index.Fields("at").StorageKey("ix_cloud_node_event_at"),
	}
}

func (NodeEvent) Annotations() []schema.Annotation { return table("e_cloud_node_event") }
