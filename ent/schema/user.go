package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"eruptcloud/ent/dbtype"
)

// User is an account (erupt-wire 6.3).
type User struct{ ent.Schema }

func (User) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

func (User) Fields() []ent.Field {
	return []ent.Field{
		field.String("avatar").Optional().MaxRuneLen(1023),
		field.String("account").MaxRuneLen(64),
		field.String("name").Optional().MaxRuneLen(255).Comment("display name"),
		field.String("phone").Optional().MaxRuneLen(255),
		field.String("email").Optional().MaxRuneLen(255),
		field.Bool("status").GoType(dbtype.Flag(false)).Optional().Default(true).Comment("false or null: locked"),
		field.Bool("is_admin").GoType(dbtype.Flag(false)).Optional().Default(false),
		field.Int64("erupt_menu_id").Optional().Nillable().Comment("home page"),
		field.Int64("erupt_org_id").Optional().Nillable(),
		field.Int64("erupt_post_id").Optional().Nillable(),
		field.String("password").Sensitive().Optional().MaxRuneLen(255),
		field.Bool("is_md5").GoType(dbtype.Flag(false)).Optional().Nillable().Comment("password is hashed; null: cannot log in"),
		field.String("salt").Sensitive().Optional().MaxRuneLen(64),
		field.String("encrypt_type").Optional().MaxRuneLen(20).Comment("SHA512, BCRYPT (databases of ours) or empty"),
		moment("reset_pwd_time"),
		moment("expire_date"),
		field.String("white_ip").Optional().MaxRuneLen(2000).Comment("addresses or CIDR, one a line"),
		field.String("remark").Optional().MaxRuneLen(2000),
		field.Bool("mfa_enabled").GoType(dbtype.Flag(false)).Optional().Default(false),
		field.String("mfa_secret").Sensitive().Optional().MaxRuneLen(64),
		field.String("mfa_recovery_codes").Sensitive().Optional().MaxRuneLen(2000),
	}
}

func (User) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("roles", Role.Type).StorageKey(edge.Table("e_upms_user_role"), edge.Columns("user_id", "role_id"),
			edge.Symbols("fk_user_role_user", "fk_user_role_role")),
		edge.From("org", Org.Type).Ref("users").Field("erupt_org_id").Unique(),
		edge.From("post", Post.Type).Ref("users").Field("erupt_post_id").Unique(),
		edge.To("open_apis", OpenAPI.Type),
	}
}

func (User) Indexes() []ent.Index {
	return []ent.Index{index.Fields("account").Unique().StorageKey("uk_upms_user_account")}
}

func (User) Annotations() []schema.Annotation { return table("e_upms_user") }

// Role bundles menus, and with them permission codes (erupt-wire 6.4).
type Role struct{ ent.Schema }

func (Role) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

func (Role) Fields() []ent.Field {
	return []ent.Field{
		field.String("code").MaxRuneLen(64),
		field.String("name").Optional().MaxRuneLen(255),
		field.Int("sort").Optional(),
		field.Bool("status").GoType(dbtype.Flag(false)).Optional().Default(true),
	}
}

func (Role) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("users", User.Type).Ref("roles"),
		edge.To("menus", Menu.Type).StorageKey(edge.Table("e_upms_role_menu"), edge.Columns("role_id", "menu_id"),
			edge.Symbols("fk_role_menu_role", "fk_role_menu_menu")),
	}
}

func (Role) Indexes() []ent.Index {
	return []ent.Index{index.Fields("code").Unique().StorageKey("uk_upms_role_code")}
}

func (Role) Annotations() []schema.Annotation { return table("e_upms_role") }

// RoleExtra is what erupt's role table lacks. A role without a row counts everywhere and may change what its codes say.
type RoleExtra struct{ ent.Schema }

func (RoleExtra) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("role_id").Comment("e_upms_role.id; no foreign key, an adopted table is never touched"),
		field.Bool("read_only").GoType(dbtype.Flag(false)).Default(false).Comment("codes that change something do not count"),
		field.String("node_groups").Optional().MaxRuneLen(4000).Comment("JSON array of e_cloud_node_group.id: the role counts in these trees only"),
	}
}

func (RoleExtra) Indexes() []ent.Index {
	return []ent.Index{index.Fields("role_id").Unique().StorageKey("uk_upms_role_extra_role")}
}

func (RoleExtra) Annotations() []schema.Annotation { return table("e_upms_role_extra") }

// Menu is an entry of the navigation, or a button or API whose value is a permission code (erupt-wire 5.2, 6.5).
type Menu struct{ ent.Schema }

func (Menu) Mixin() []ent.Mixin { return []ent.Mixin{authored{}} }

func (Menu) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").Optional().MaxRuneLen(255),
		field.Int("status").Optional().Nillable().Comment("1 open, 2 hidden, 3 disabled; null: open"),
		field.Int64("parent_menu_id").Optional().Nillable(),
		field.String("type").Optional().MaxRuneLen(255),
		field.String("value").Optional().MaxRuneLen(255),
		field.Int("sort").Optional().Nillable(),
		field.String("icon").Optional().MaxRuneLen(255),
		field.String("code").MaxRuneLen(64),
		field.String("param").Optional().MaxRuneLen(2000),
	}
}

func (Menu) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("children", Menu.Type).From("parent").Field("parent_menu_id").Unique(),
		edge.From("roles", Role.Type).Ref("menus"),
	}
}

func (Menu) Indexes() []ent.Index {
	return []ent.Index{index.Fields("code").Unique().StorageKey("uk_upms_menu_code")}
}

func (Menu) Annotations() []schema.Annotation { return table("e_upms_menu") }

// Org is an organisation in a tree (erupt-wire 6.6).
type Org struct{ ent.Schema }

func (Org) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("code").MaxRuneLen(64),
		field.String("name").Optional().MaxRuneLen(255),
		field.Int64("parent_org_id").Optional().Nillable(),
		field.Int("sort").Optional(),
	}
}

func (Org) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("users", User.Type),
		edge.To("children", Org.Type).From("parent").Field("parent_org_id").Unique(),
	}
}

func (Org) Indexes() []ent.Index {
	return []ent.Index{index.Fields("code").Unique().StorageKey("uk_upms_org_code")}
}

func (Org) Annotations() []schema.Annotation { return table("e_upms_org") }

// Post is a position (erupt-wire 6.6).
type Post struct{ ent.Schema }

func (Post) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("code").MaxRuneLen(64),
		field.String("name").Optional().MaxRuneLen(255),
		field.Int("weight").Optional(),
	}
}

func (Post) Edges() []ent.Edge { return []ent.Edge{edge.To("users", User.Type)} }

func (Post) Indexes() []ent.Index {
	return []ent.Index{index.Fields("code").Unique().StorageKey("uk_upms_post_code")}
}

func (Post) Annotations() []schema.Annotation { return table("e_upms_post") }
