package views_test

import (
	"encoding/json"
	"os"
	"testing"

	"eruptcloud/views"
)

func TestNamesOfSeededMenus(t *testing.T) {
	for _, tt := range []struct{ lang, code, name, want string }{
		{"zh", "$manager", "System Management", "系统管理"},
		{"zh", "CloudNode@ADD", "ADD", "新增"},
		{"zh", "EruptUser", "Our people", "Our people"}, // renamed by somebody
		{"zh", "crm.Customer", "Customers", "Customers"},
		{"zh", "crm.Customer@EDIT", "EDIT", "修改"},
		{"en", "$manager", "系统管理", "System Management"},
		{"en", "EruptOrg", "组织管理", "Org Management"}, // 1.12
		{"zh", "EruptOrg", "组织管理", "组织管理"},
		{"en", "crm.Customer@EDIT", "修改", "EDIT"},
		{"en", "EruptUser", "我们的人", "我们的人"},
		{"en", "EruptUser", "角色管理", "角色管理"}, // the seeded name of another one
		{"en", "EruptUser", "", ""},
		{"en", "x", "menu.x", "menu.x"},
		{"zh", "", "", ""},
	} {
		if got := views.MenuNameIn(tt.lang, tt.code, tt.name); got != tt.want {
			t.Errorf("MenuNameIn(%q, %q, %q) = %q, want %q", tt.lang, tt.code, tt.name, got, tt.want)
		}
	}
}

// erupt-1.12: the database holds Chinese, which is translated on reading; erupt-wire 3.3, 5.5: the other way round since 2.0.
func TestAllMenusOfAFirstStartHaveANameInBothLanguages(t *testing.T) {
	names := map[string]map[string]string{}
	for lang, file := range map[string]string{"zh": "menus-1.12.json", "en": "menus.json"} {
		raw, err := os.ReadFile("../app/access/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var all []struct{ Code, Name string }
		if err := json.Unmarshal(raw, &all); err != nil || len(all) < 60 {
			t.Fatalf("%s: %d menus, %v", file, len(all), err)
		}
		names[lang] = map[string]string{}
		for _, m := range all {
			names[lang][m.Code] = m.Name
		}
	}
	for code, chinese := range names["zh"] {
		if got, want := views.MenuNameIn("en", code, chinese), names["en"][code]; got != want {
			t.Errorf("%s: %q is %q in English, want %q", code, chinese, got, want)
		}
		if got := views.MenuNameIn("zh", code, chinese); got != chinese && code != "EruptOpenApi" { // there Chinese is English
			t.Errorf("%s: %q is %q in Chinese", code, chinese, got)
		}
	}
	for code, english := range names["en"] {
		if got := views.MenuNameIn("zh", code, english); got == english {
			t.Errorf("%s: %q has no Chinese", code, english)
		}
	}
}
