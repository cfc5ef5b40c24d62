package views

import (
	"context"
	"testing"
)

func TestWordsOfTheTrail(t *testing.T) {
	zh := WithFrame(context.Background(), Frame{Lang: "zh"})
	for action, want := range map[string]string{
		"token.view": "查看令牌", "INSERT | crm.Customer": "新增记录 | crm.Customer", "GET | crm": "GET | crm", "of.another.release": "of.another.release",
	} {
		if got := ActionWord(zh, action); got != want {
			t.Errorf("ActionWord(%q) = %q, want %q", action, got, want)
		}
	}
}

func TestNamesOfSeededMenus(t *testing.T) {
	zh := WithFrame(context.Background(), Frame{Lang: "zh"})
	for _, tt := range []struct{ code, name, want string }{
		{"$manager", "System Management", "系统管理"},
		{"CloudNode@ADD", "ADD", "新增"},
		{"EruptUser", "Our people", "Our people"}, // renamed by somebody
		{"crm.Customer", "Customers", "Customers"},
		{"crm.Customer@EDIT", "EDIT", "修改"},
	} {
		if got := MenuName(zh, tt.code, tt.name); got != tt.want {
			t.Errorf("MenuName(%q, %q) = %q, want %q", tt.code, tt.name, got, tt.want)
		}
	}
}
