package nodeagent

import (
	"context"
	"slices"

	"eruptcloud/nodeagent/wire"
)

// object is a JSON object on its way out.
type object = map[string]any

// buildModel is the answer of GET build/{erupt}: erupt's build model (erupt-wire 4.1).
func (p *page) buildModel(ctx context.Context, power wire.Power) (object, error) {
	model, err := p.eruptModel(ctx)
	if err != nil {
		return nil, err
	}
	var tabs object
	for _, f := range p.fields {
		item := p.items[f.Name]
		if item == nil {
			continue
		}
		built, err := item.buildModel(ctx, both(power, item.offered()))
		if err != nil {
			return nil, err
		}
		if tabs == nil {
			tabs = object{}
		}
		tabs[f.Name] = built
	}
	doc := object{"eruptModel": model, "tabErupts": nil, "combineErupts": nil, "operationErupts": nil, "power": power}
	if tabs != nil {
		doc["tabErupts"] = tabs
	}
	return doc, nil
}

func (p *page) eruptModel(ctx context.Context) (object, error) {
	fields := make([]object, 0, len(p.fields)+1)
	for _, f := range p.fields {
		m, err := p.fieldModel(ctx, f)
		if err != nil {
			return nil, err
		}
		fields = append(fields, m)
	}
	key := Field{Name: p.Key, Type: TypeNumber, noForm: true, noColumn: true, places: -1, operator: EQ}
	returns := "number"
	if p.TextKey {
		key.Type, returns = TypeInput, "String"
	}
	fields = append(fields, object{
		"fieldName": p.Key, "fieldReturnName": returns, "value": nil, "componentValue": nil,
		"eruptFieldJson": object{"views": []object{}, "edit": key.editModel(p)},
	})
	return object{
		"eruptName": p.Name, "eruptJson": p.eruptJSON(), "eruptFieldModels": fields,
		"searchCondition": object{}, "extraRow": false, "tags": object{},
	}, nil
}

// eruptJSON carries, beside what erupt has, the page's title as "name": a console then needs no menu to name the page.
func (p *page) eruptJSON() object {
	tree := object{"id": p.Key, "label": p.treeLabel(), "pid": "", "expandLevel": 999}
	if p.Tree != nil {
		tree["pid"] = p.Tree.Parent + "." + p.Key
	}
	sizes := []int{10, 20, 30, 50, 100, 300, 500}
	if !slices.Contains(sizes, p.PageSize) {
		sizes = append(sizes, p.PageSize)
		slices.Sort(sizes)
	}
	j := object{
		"name": p.Title, "primaryKeyCol": p.Key, "desc": p.Description, "rowOperation": []object{}, "drills": []object{},
		"tree": tree, "dataProxyParams": []object{}, "visRawTable": true, "vis": []object{}, "extra": object{},
		"layout": object{
			"formSize": "DEFAULT", "tableLeftFixed": 0, "tableRightFixed": 0, "pagingType": "BACKEND", "pageSize": p.PageSize,
			"pageSizes": sizes, "refreshTime": -1, "tableWidth": "", "tableOperatorWidth": "", "collapseActionButton": false,
		},
	}
	if p.LinkTree != "" {
		j["linkTree"] = object{"field": p.LinkTree, "dependNode": false}
	}
	return j
}

func (p *page) fieldModel(ctx context.Context, f *Field) (object, error) {
	m := object{"fieldName": f.Name, "fieldReturnName": p.returnName(f), "value": nil, "componentValue": nil}
	options, err := f.currentOptions(ctx, nil)
	if err != nil {
		return nil, err
	}
	switch f.Type {
	case TypeChoice, TypeMultiChoice:
		m["componentValue"] = optionList(options)
	case TypeTags:
		m["componentValue"] = optionValues(options)
	}
	m["eruptFieldJson"] = object{"views": p.viewModels(f), "edit": f.editModel(p)}
	return m, nil
}

// returnName is what erupt calls the field's Java type; for pages it is their name, by which the server knows what belongs to a
// form.
func (p *page) returnName(f *Field) string {
	switch {
	case f.isNumber():
		return "number"
	case f.isReference():
		return p.target(f).Name
	}
	switch f.Type {
	case TypeItems:
		return p.items[f.Name].Name
	case TypeBoolean:
		return "Boolean"
	case TypeMultiChoice:
		return "Set"
	case TypeDate:
		if f.withTime {
			return "LocalDateTime"
		}
		return "LocalDate"
	}
	return "String"
}

// target returns the page that a reference leads to; Host has made sure that there is one.
func (p *page) target(f *Field) *page { return p.set.page(f.target) }

// columns returns the columns of the referenced page that a reference shows.
func (f *Field) columns() []shownColumn {
	if len(f.shown) > 0 {
		return f.shown
	}
	return []shownColumn{{f.label, f.Title}}
}

func (p *page) viewModels(f *Field) []object {
	if f.noColumn {
		return []object{}
	}
	if !f.isReference() {
		return []object{f.viewModel(f.Title, "", f.viewType())}
	}
	target := p.target(f)
	var views []object
	for _, c := range f.columns() {
		views = append(views, f.viewModel(c.title, c.column, target.byName[c.column].viewType()))
	}
	return views
}

func (f *Field) viewModel(title, column, kind string) object {
	return object{
		"title": title, "desc": f.desc, "width": f.width, "column": column, "type": kind, "show": !f.hidden, "sortable": f.sortable,
		"className": "", "template": "",
		"tpl": object{"enable": false, "path": "", "embedType": "IFRAME", "width": "", "height": "", "openWay": "MODAL", "drawerPlacement": "RIGHT"},
	}
}

// viewType resolves the column's type as erupt does (erupt-wire 4.8).
func (f *Field) viewType() string {
	switch f.Type {
	case TypeNumber, TypeRate:
		return "NUMBER"
	case TypeSlider:
		return "PROGRESS"
	case TypeBoolean, TypePassword, TypeColor, TypeMarkdown:
		return string(f.Type)
	case TypeDate:
		if f.withTime {
			return "DATE_TIME"
		}
		return "DATE"
	case TypeCode:
		return "CODE"
	case TypeTextarea:
		return "SAFE_TEXT"
	case TypeMultiChoice, TypeItems:
		return "TAB_VIEW"
	case TypeAttachment:
		if f.files.Images {
			return "IMAGE"
		}
		return "ATTACHMENT"
	}
	return "TEXT"
}

func (f *Field) editModel(p *page) object {
	title := f.Title
	if f.noForm {
		title = "" // erupt's sign for "not in the form"
	}
	edit := object{
		"title": title, "desc": f.desc, "notNull": f.required, "show": true, "onchange": "OnChange", "placeHolder": f.placeholder,
		"readOnly": object{"add": f.readOnAdd, "edit": f.readOnEdit, "allowChange": !f.readOnAdd && !f.readOnEdit},
		"search":   object{"value": f.search, "notNull": f.searchRequired, "operator": orDefault(f.operator, EQ)},
		"type":     f.Type,
	}
	if name, settings := f.typeModel(p); name != "" {
		edit[name] = settings
	}
	return edit
}

// typeModel returns the settings that belong to the edit type.
func (f *Field) typeModel(p *page) (name string, settings object) {
	switch f.Type {
	case TypeInput:
		return "inputType", object{"length": f.maxLength, "type": "text", "fullSpan": false, "prefix": []object{}, "suffix": []object{}}
	case TypeNumber:
		settings := object{}
		if f.places >= 0 {
			settings["precision"] = f.places
		}
		return "numberType", f.addLimits(settings)
	case TypeSlider:
		return "sliderType", f.addLimits(object{"step": f.step, "markPoints": []object{}, "dots": false})
	case TypeRate:
		return "rateType", object{"character": "", "allowHalf": f.half, "count": *f.max}
	case TypeDate:
		kind := "DATE"
		if f.withTime {
			kind = "DATE_TIME"
		}
		return "dateType", object{"type": kind, "pickerMode": "ALL"}
	case TypeBoolean:
		return "boolType", object{"trueText": f.trueText, "falseText": f.falseText}
	case TypeChoice:
		return "choiceType", object{"type": "SELECT", "fetchHandler": []string{}, "dependField": ""}
	case TypeMultiChoice:
		return "multiChoiceType", object{"type": "CHECKBOX", "dependField": ""}
	case TypeTags:
		return "tagsType", object{"joinSeparator": "[]", "allowExtension": f.extensible, "maxTagCount": maxTags, "fetchHandler": []string{}}
	case TypeAttachment:
		return "attachmentType", f.files.model()
	case TypeCode:
		return "codeEditType", object{"language": f.language, "height": 300, "hints": []string{}, "hintHandler": []string{}}
	case TypeReferenceTable:
		return "referenceTableType", object{"id": p.target(f).Key, "label": f.label, "dependField": f.dependField}
	case TypeReferenceTree:
		target := p.target(f)
		pid := ""
		if target.Tree != nil {
			pid = target.Tree.Parent + "." + target.Key
		}
		return "referenceTreeType", object{"id": target.Key, "label": f.label, "pid": pid, "dependField": f.dependField, "expandLevel": 999}
	}
	return "", nil
}

func (f *Field) addLimits(settings object) object {
	if f.min != nil {
		settings["min"] = *f.min
	}
	if f.max != nil {
		settings["max"] = *f.max
	}
	return settings
}

func (f Files) model() object {
	kind := "BASE"
	if f.Images {
		kind = "IMAGE"
	}
	extensions := append([]string{}, f.Extensions...)
	return object{"size": orDefault(f.MaxKB, -1), "fileTypes": extensions, "type": kind, "maxLimit": max(f.Max, 1), "fileSeparator": fileSeparator}
}

// optionList is what erupt calls VL; value is always text.
func optionList(options []Option) []object {
	list := make([]object, len(options))
	for i, o := range options {
		list[i] = object{"value": o.Value, "label": orDefault(o.Label, o.Value), "desc": o.Desc, "color": o.Color, "disable": o.Disabled, "extra": nil}
	}
	return list
}

func optionValues(options []Option) []string {
	values := make([]string, len(options))
	for i, o := range options {
		values[i] = o.Value
	}
	return values
}
