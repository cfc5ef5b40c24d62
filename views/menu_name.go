package views

import (
	"context"
	"strings"
)

// olderNames are the Chinese names that erupt 1.12 gives at its first start, where the console's own words are others.
var olderNames = map[string]string{
	"menu.EruptOrg": "组织管理", "menu.EruptPost": "岗位管理", "menu.EruptUser": "用户管理", "menu.@VIEW_DETAIL": "详情",
	"menu.cloud_node_manager_permission": "节点管理",
}

// MenuName is a menu's name in the viewer's language if it is one that erupt's first start gives, in English or Chinese; a name
// that somebody chose stays.
func MenuName(ctx context.Context, code, name string) string {
	return MenuNameIn(FrameOf(ctx).Lang, code, name)
}

// MenuNameIn is MenuName for a given language.
func MenuNameIn(lang, code, name string) string {
	key := "menu." + code
	if _, function, ok := strings.Cut(code, "@"); ok {
		key = "menu.@" + function
	}
	if lang == Langs[0] && name != "" && olderNames[key] == name {
		return Text(lang, key)
	}
	for _, l := range Langs {
		if text := Text(l, key); text == name && text != key {
			return Text(lang, key)
		}
	}
	return name
}
