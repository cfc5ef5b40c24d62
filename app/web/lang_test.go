package web_test

import (
	"encoding/json"
	"testing"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
)

// TestFrontEndsAreAnsweredInTheirLanguage: erupt-wire 1.1, header lang and parameter _lang. Nodes and scripts read English.
func TestFrontEndsAreAnsweredInTheirLanguage(t *testing.T) {
	const english, chinese = "a menu with the code \"x\" exists already", "编码为 \"x\" 的菜单已存在"
	err := fault.New(fault.Conflict, "a menu with the code %q exists already", "x").Field("code", "exists already")
	f := newShell(t)
	for _, root := range []string{"/erupt-api", "/erupt-attachment", "/erupt-cloud-api", "/api/v1", "/console"} {
		f.Engine().GET(root+"/fail", f.Handle(func(*gin.Context) error { return err }))
	}
	tests := map[string]struct {
		target  string
		headers []string
		want    string
	}{
		"header":                      {"/erupt-api/fail", []string{"lang", "zh-CN"}, chinese},
		"header in English":           {"/erupt-api/fail", []string{"lang", "en-US", "Accept-Language", "zh-CN"}, english},
		"language that we lack":       {"/erupt-api/fail", []string{"lang", "ja-JP"}, english},
		"no language":                 {"/erupt-api/fail", []string{"lang", "\x80;;,,%s"}, english},
		"parameter":                   {"/erupt-api/fail?_lang=zh-CN", nil, chinese},
		"header before parameter":     {"/erupt-api/fail?_lang=zh-CN", []string{"lang", "en-US"}, english},
		"parameter that is not clear": {"/erupt-api/fail?_lang=%zz", []string{"Accept-Language", "zh-CN"}, chinese},
		"browser":                     {"/erupt-api/fail", []string{"Accept-Language", "zh-CN,zh;q=0.9"}, chinese},
		"nothing said":                {"/erupt-api/fail", nil, english},
		"file":                        {"/erupt-attachment/fail", []string{"lang", "zh-CN"}, chinese},
		"node":                        {"/erupt-cloud-api/fail?_lang=zh-CN", []string{"lang", "zh-CN", "Accept-Language", "zh-CN"}, english},
		"script":                      {"/api/v1/fail?_lang=zh-CN", []string{"lang", "zh-CN", "Accept-Language", "zh-CN"}, english},
		"console as JSON":             {"/console/fail", []string{"lang", "zh-CN", "Accept", "application/json"}, english},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := f.do("GET", tt.target, tt.headers...)
			var got struct {
				Message, Code, Error string
				Fields               map[string]string
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			field := map[string]string{english: "exists already", chinese: "已存在"}[tt.want]
			if got.Message != tt.want || got.Fields["code"] != field {
				t.Errorf("told %q with %q, want %q with %q", got.Message, got.Fields["code"], tt.want, field)
			}
			if got.Code != "conflict" || got.Error != "Conflict" {
				t.Errorf("code %q and error %q are for programs and must not change", got.Code, got.Error)
			}
		})
	}
}
