package nodeagent

import (
	"fmt"
	"strings"
)

// say returns a text for people in the language of the request's lang header: Chinese, else English.
func say(lang, format string, args ...any) string {
	if strings.HasPrefix(strings.ToLower(lang), "zh") {
		if zh, ok := chinese[format]; ok {
			format = zh
		}
	}
	return fmt.Sprintf(format, args...)
}

// chinese has each text of this package that people may read, under its English format. The first %s is the field's title.
var chinese = map[string]string{
	"%s is required":                                              "%s为必填项",
	"%s is already taken":                                         "%s已存在",
	"%s must be text":                                             "%s必须是文本",
	"%s must be one line":                                         "%s不能换行",
	"%s contains a character that is no text":                     "%s包含非法字符",
	"%s is longer than %d characters":                             "%s不能超过%d个字符",
	"%s must be a number":                                         "%s必须是数字",
	"%s must be a whole number":                                   "%s必须是整数",
	"%s has more than %d decimal places":                          "%s最多%d位小数",
	"%s has too many digits":                                      "%s位数过多",
	"%s must be at least %s":                                      "%s不能小于%s",
	"%s must be at most %s":                                       "%s不能大于%s",
	"%s must be in steps of %s":                                   "%s的步长为%s",
	"%s must be a day such as 2026-01-31":                         "%s必须是日期，例如 2026-01-31",
	"%s must be a moment such as %s":                              "%s必须是时间，例如 %s",
	"%s must be yes or no":                                        "%s必须为是或否",
	"%s: %q is not one of the options":                            "%s：%q 不在可选项中",
	"%s must be a list":                                           "%s必须是列表",
	"%s has more than %d entries":                                 "%s最多%d项",
	"%s must be a colour such as #2f80ed":                         "%s必须是颜色，例如 #2f80ed",
	"%s: there is no such row":                                    "%s：所选数据不存在",
	"%s must be a row of the list":                                "%s：请选择列表中的数据",
	"%s must not lie below itself":                                "%s不能是自身或其下级",
	"%s: item %d: %s":                                             "%s：第%d行：%s",
	"%s: %q is not a file of this node":                           "%s：%q 不是本节点的文件",
	"%s must have a value to search":                              "请输入%s后再查询",
	"Please select first %s":                                      "请先选择%s",
	"The row no longer exists":                                    "数据不存在或已被删除",
	"Still used by %s: deletion is refused":                       "%s 仍在使用该数据，无法删除",
	"The value of %s is taken":                                    "%s的值已存在",
	"Upload failed, the file format is not allowed: %s":           "上传失败，不允许的文件格式：%s",
	"Failed to upload. The file size cannot exceed: %dKB":         "上传失败，文件大小不能超过：%dKB",
	"Failed to upload. The file is not a picture":                 "上传失败，文件不是图片",
	"Failed to upload. This node keeps no files":                  "上传失败，本节点不保存文件",
	"Failed to upload. The request holds no file":                 "上传失败，请求中没有文件",
	"Insufficient permissions. This operation will be recorded !": "权限不足，该操作将被记录！",
}
