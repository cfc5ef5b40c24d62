package database

import (
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql/schema"

	"eruptcloud/ent"
	"eruptcloud/ent/dict"
	"eruptcloud/ent/dictitem"
	"eruptcloud/ent/group"
	"eruptcloud/ent/loginlog"
	"eruptcloud/ent/menu"
	entmigrate "eruptcloud/ent/migrate"
	"eruptcloud/ent/node"
	"eruptcloud/ent/openapi"
	"eruptcloud/ent/operatelog"
	"eruptcloud/ent/org"
	"eruptcloud/ent/post"
	"eruptcloud/ent/role"
	"eruptcloud/ent/user"
)

// eruptTypes are the tables that erupt makes and we use, by their names in ent. All others of ours hang beside them.
var eruptTypes = map[string]string{
	ent.TypeNode: node.Table, ent.TypeGroup: group.Table, ent.TypeUser: user.Table, ent.TypeRole: role.Table, ent.TypeMenu: menu.Table,
	ent.TypeOrg: org.Table, ent.TypePost: post.Table, ent.TypeOperateLog: operatelog.Table, ent.TypeLoginLog: loginlog.Table,
	ent.TypeDict: dict.Table, ent.TypeDictItem: dictitem.Table, ent.TypeOpenAPI: openapi.Table,
}

// eruptTables are the same with the tables that join them.
var eruptTables = func() []string {
	out := []string{user.RolesTable, role.MenusTable}
	for _, name := range eruptTypes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}()

// needed are the columns without which an adopted table is of no use.
var needed = map[string][]string{
	user.Table: {"id", "account", "password", "status", "is_admin", "is_md5"},
	role.Table: {"id", "code", "status"}, menu.Table: {"id", "code", "type", "value", "status", "parent_menu_id"},
	node.Table: {"id", "node_name", "access_token", "status"}, group.Table: {"id", "code"},
	user.RolesTable: {"user_id", "role_id"}, role.MenusTable: {"role_id", "menu_id"},
}

// userTables are tables of erupt's that we do not keep and whose rows belong to a user: foreign keys hold him there.
var userTables = []string{"e_upms_user_org_head", "e_upms_user_org_division"}

// isErupts reports whether a table name, in lower case, is one that erupt makes.
func isErupts(table string) bool {
	return slices.Contains(eruptTables, table) || strings.HasPrefix(table, "e_upms_") && !isOurs(table)
}

// isOurs reports whether a table name, in lower case, is one that only we make.
func isOurs(table string) bool {
	return !slices.Contains(eruptTables, table) &&
		slices.ContainsFunc(entmigrate.Tables, func(t *schema.Table) bool { return t.Name == table })
}

// columnsOf returns the columns of a table that we know.
func columnsOf(table string) []string {
	for _, t := range entmigrate.Tables {
		if t.Name != table {
			continue
		}
		out := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			out[i] = c.Name
		}
		return out
	}
	return nil
}
