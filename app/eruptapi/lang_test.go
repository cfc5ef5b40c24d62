package eruptapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
)

// TestRefusalsSpeakTheFrontEndsLanguage: erupt-wire 1.1: lang and _lang, of every answer that people read.
func TestRefusalsSpeakTheFrontEndsLanguage(t *testing.T) {
	wrong := fault.New(fault.Unauthenticated, "account or password is wrong")
	locked := fault.New(fault.TooMany, "too many failed attempts; try again in %d minutes", 10).Retry(10 * time.Minute)
	present := fault.New(fault.Invalid, "the present password is wrong")
	tests := map[string]struct {
		do, body         string
		refuse           error
		status           int
		english, chinese string
	}{
		"login":               {"POST login", `{"account":"lin","pwd":"x"}`, wrong, 200, `"reason":"account or password is wrong"`, `"reason":"账号或密码错误"`},
		"locked login":        {"POST login", `{"account":"lin","pwd":"x"}`, locked, 200, "in 10 minutes", "10 分钟"},
		"login of erupt 1":    {"GET login?account=lin&pwd=x", "", nil, 200, "POST with the password", "以 POST 提交密码"},
		"login, not JSON":     {"POST login", `{`, nil, 400, "the request is not JSON", "请求不是 JSON"},
		"change of password":  {"POST change-pwd", `{"pwd":"a","newPwd":"b","newPwd2":"c"}`, nil, 200, "the new passwords differ", "两次输入的新密码不一致"},
		"wrong old password":  {"POST change-pwd", `{"pwd":"a","newPwd":"b","newPwd2":"b"}`, present, 200, "the present password is wrong", "当前密码"},
		"locked screen":       {"POST verify-pwd", `{"pwd":"a"}`, present, 200, "the present password is wrong", "当前密码"},
		"empty profile":       {"POST profile", `{}`, nil, 400, "send name or avatar", "请提交要修改的"},
		"picture of a user":   {"POST profile/avatar", "", nil, 200, "keeps no uploaded pictures", "不保存上传的头像"},
		"page that is absent": {"GET nothing", "", nil, 404, "nothing is at this address", "此地址没有内容"},
		"another method":      {"PUT menu", "", nil, 405, "PUT is not possible here", "此处不支持 PUT"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			method, target, _ := strings.Cut(tt.do, " ")
			target = "/erupt-api/" + target
			mark := "?"
			if strings.Contains(target, "?") {
				mark = "&"
			}
			for _, way := range []struct {
				target, header, want string
			}{
				{target, "zh-CN", tt.chinese}, {target + mark + "_lang=zh-CN", "", tt.chinese},
				{target, "en-US", tt.english}, {target, "", tt.english},
			} {
				p := newPeople(t)
				p.encoded, p.refuse = false, tt.refuse
				w := p.do(method, way.target, tt.body, "token", "lin-token", "lang", way.header)
				if w.Code != tt.status || !strings.Contains(w.Body.String(), way.want) {
					t.Errorf("%s %s with lang %q answered %d %s, want %d with %q", method, way.target, way.header, w.Code, w.Body, tt.status, way.want)
				}
			}
		})
	}
}

// erupt-wire 3.3: names are translated on the fly, those of erupt's first start as long as nobody chose another.
func TestMenuNamesSpeakTheFrontEndsLanguage(t *testing.T) {
	p := newPeople(t)
	s := p.sessions["lin-token"]
	s.Menus = []access.Menu{
		{ID: 1, Code: "$manager", Name: "系统管理"}, {ID: 2, Code: "EruptUser", Name: "用户管理", Type: "table", Value: "EruptUser"},
		{ID: 3, Code: "Ab12", Name: "EDIT", Type: "button", Value: "shop.Product@EDIT"}, {ID: 4, Code: "EruptRole", Name: "谁能做什么", Type: "table", Value: "EruptRole"},
		{ID: 5, Code: "shop", Name: "商店"}, {ID: 6, Code: "CloudNode", Name: "Node Config", Type: "table", Value: "CloudNode"},
	}
	p.sessions["lin-token"] = s
	for lang, want := range map[string]string{
		"en-US": "System Management, User Management, EDIT, 谁能做什么, 商店, Node Config",
		"zh-CN": "系统管理, 用户管理, 修改, 谁能做什么, 商店, 节点配置",
	} {
		var items []struct{ Name string }
		if err := json.Unmarshal(p.do("GET", "/erupt-api/menu", "", "token", "lin-token", "lang", lang).Body.Bytes(), &items); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, i := range items {
			names = append(names, i.Name)
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%s: menus are called %s, want %s", lang, got, want)
		}
	}
}
