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
