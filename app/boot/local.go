package boot

import (
	"strings"
	"time"

	"eruptcloud/app/eruptapi"
	"eruptcloud/nodeagent/wire"
)

// localAPI is what the server itself answers below /erupt-api.
func (s *Server) localAPI() *eruptapi.API {
	a, c := s.domain.Access, s.c
	o := eruptapi.Options{
		Login: a.Login, Digest: a.Login, Sessions: a.Sessions, Users: a.Users, Captcha: a.Captcha, MFA: a.MFA, Tokens: a.Tokens,
		OpenDelegate: a.Delegates.Read, Chain: s.domain.groupsOfAny, TransferEncrypt: c.Login.PwdTransferEncrypt, Version: s.version,
		Fail: s.shell.Fail, App: frontEnd(c.EruptApp.Properties),
	}
	o.App.WaterMark, o.App.WaterMarkDate, o.App.WaterMarkContent = c.EruptApp.WaterMark, c.EruptApp.WaterMarkDate, c.EruptApp.WaterMarkContent
	o.App.LoginPagePath, o.App.Locales = c.EruptApp.LoginPagePath, c.EruptApp.Locales
	o.App.ResetPwd, o.App.ResetPwdPrompt = c.EruptApp.ResetPwd, c.EruptApp.ResetPwdPrompt
	o.App.CaptchaAfter = c.Login.CaptchaAfter
	o.App.MFA, o.App.MFAIssuer, o.App.MFAWindow = c.Login.MFA, c.Login.MFAIssuer, c.Login.MFAWindow
	if c.Database.TimeZone != "" {
		if zone, err := time.LoadLocation(c.Database.TimeZone); err == nil { // validated
			o.Zone = zone
		}
	}
	if s.tail != nil {
		o.Log = func(from int64, size int) []eruptapi.LogLine {
			var lines []eruptapi.LogLine
			for _, e := range s.tail.Events(from, size) {
				lines = append(lines, eruptapi.LogLine{Number: e.Number, Text: e.Text})
			}
			return lines
		}
	}
	return eruptapi.New(o)
}

// ownLog reads what this process logged, for the console; nil: nothing is kept.
func (s *Server) ownLog() func(from int64, size int) []wire.LogLine {
	if s.tail == nil {
		return nil
	}
	return func(from int64, size int) []wire.LogLine {
		var lines []wire.LogLine
		for _, e := range s.tail.Events(from, size) {
			lines = append(lines, wire.LogLine{Num: e.Number, Content: e.Text})
		}
		return lines
	}
}

// frontEnd begins the settings of erupt's front end with name=value pairs.
func frontEnd(pairs []string) eruptapi.App {
	a := eruptapi.App{Properties: map[string]string{}}
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		a.Properties[name] = value
	}
	return a
}
