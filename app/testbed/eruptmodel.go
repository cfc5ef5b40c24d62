package testbed

type object = map[string]any

// levels are the options of the field level.
var levels = []object{
	{"value": "V", "label": "Very important", "desc": "", "color": "#ff8800", "disable": false, "extra": nil},
	{"value": "S", "label": "普通 standard", "desc": "", "color": "", "disable": false, "extra": nil},
}

// build is the build model of the page, with the keys of the node's generation (erupt-wire 4.1 to 4.5).
func (n *EruptNode) build(power func(string) bool) object {
	flags := object{"query": true, "print": true, "copy": true}
	for _, flag := range []string{"add", "edit", "delete", "viewDetails"} {
		flags[flag] = power(flag)
	}
	flags["export"], flags["importable"] = false, false // the class does not offer them
	layout := object{
		"formSize": "DEFAULT", "tableLeftFixed": 0, "tableRightFixed": 0, "pagingType": "BACKEND", "pageSize": 10,
		"pageSizes": []int{10, 20, 30, 50, 100, 300, 500}, "refreshTime": -1, "tableWidth": "", "tableOperatorWidth": "", "collapseActionButton": false,
	}
	erupt := object{
		"primaryKeyCol": "id", "desc": "", "drills": []any{}, "tree": object{"id": "id", "label": "name", "pid": "", "expandLevel": 999},
		"dataProxyParams": []any{}, "visRawTable": true, "vis": []any{}, "extra": object{}, "layout": layout,
		"rowOperation": []any{object{
			"code": "block", "title": "Block", "tip": "", "icon": "fa fa-dot-circle-o", "callHint": "", "fold": false, "mode": "BUTTON", "type": "ERUPT",
			"ifExpr": "", "ifExprBehavior": "DISABLE", "tpl": tplOff(), "eruptClass": "void",
		}},
	}
	if n.gen >= 21 {
		layout["formSteps"] = false
	}
	if n.gen >= 22 {
		flags["cellEdit"], flags["ai"] = true, true
	}
	if n.gen >= 23 {
		flags["comment"] = true // the server makes it false
		layout["tableTruncate"] = true
		erupt["power"] = object{"add": true, "comment": true}
	}
	return object{
		"eruptModel": object{"eruptName": "Customer", "eruptJson": erupt, "eruptFieldModels": n.fields(), "searchCondition": object{}, "extraRow": false, "tags": object{}},
		"tabErupts":  nil, "combineErupts": nil, "operationErupts": nil, "power": flags,
	}
}

func (n *EruptNode) fields() []object {
	input := object{"length": 255, "type": "text", "fullSpan": false, "prefix": []any{}, "suffix": []any{}}
	numbers := object{"min": -2147483647, "max": 2147483647}
	if n.gen >= 21 {
		numbers["precision"], numbers["step"], numbers["thousands"] = 0, 1, false
	}
	choice := n.field("level", "Level", "String", "CHOICE", "TEXT", "EQ", object{"choiceType": object{"type": "SELECT", "fetchHandler": []any{}, "dependField": ""}})
	choice["componentValue"] = levels
	key := n.field("id", "", "number", "NUMBER", "", "", object{"numberType": numbers})
	return []object{
		n.field("name", "Name", "String", "INPUT", "TEXT", "LIKE", object{"inputType": input}),
		choice,
		n.field("active", "Active", "Boolean", "BOOLEAN", "BOOLEAN", "EQ", object{"boolType": object{"trueText": "Yes", "falseText": "No"}}),
		n.field("secret", "Secret", "String", "PASSWORD", "PASSWORD", "", nil),
		n.field("big", "Number", "number", "NUMBER", "NUMBER", "", object{"numberType": numbers}),
		n.field("since", "Since", "LocalDateTime", "DATE", "DATE_TIME", "", object{"dateType": object{"type": "DATE_TIME", "pickerMode": "ALL"}}),
		key,
	}
}

// field is one field; without a view type it has no column, without an operator no search.
func (n *EruptNode) field(name, title, javaType, edit, view, operator string, types object) object {
	views := []object{}
	if view != "" {
		v := object{
			"title": title, "desc": "", "width": "", "column": "", "type": view, "show": true, "sortable": name == "name" || name == "big",
			"className": "", "template": "", "tpl": tplOff(),
		}
		if n.gen >= 23 {
			v["group"] = ""
		}
		views = append(views, v)
	}
	search := object{"value": operator != "", "notNull": false, "operator": operator}
	if operator == "" {
		search["operator"] = "EQ"
	}
	form := object{
		"title": title, "desc": "", "notNull": name == "name", "show": true, "onchange": "OnChange",
		"readOnly": object{"add": false, "edit": false, "allowChange": true}, "placeHolder": "", "search": search, "type": edit,
	}
	if n.gen >= 21 {
		search["lockOperator"] = false
	}
	if n.gen >= 22 {
		form["cellEdit"], form["ai"] = false, false
	}
	for k, v := range types {
		form[k] = v
	}
	return object{
		"fieldName": name, "fieldReturnName": javaType, "value": nil, "componentValue": nil, "eruptFieldJson": object{"views": views, "edit": form},
	}
}

func tplOff() object {
	return object{"path": "", "width": "", "enable": false, "embedType": "IFRAME", "height": "", "openWay": "MODAL", "drawerPlacement": "RIGHT"}
}
