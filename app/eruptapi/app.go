package eruptapi

import (
	"hash/crc32"
	"io"
	"net/http"
	"strings"
)

// App is what erupt's front end asks for before a login, under erupt's names.
type App struct {
	WaterMark, WaterMarkDate bool
	WaterMarkContent         string // empty: none
	LoginPagePath            string // empty: none
	Locales                  []string
	Properties               map[string]string
	ResetPwd, ResetPwdPrompt bool
	CaptchaAfter             int // failures until a login needs a captcha; below zero: never
	MFA                      bool
	MFAIssuer                string
	MFAWindow                int
}

// version handles GET /erupt-api/version: bare text, which is called JSON to those who prefer that.
func (a *API) version(w http.ResponseWriter, r *http.Request) error {
	kind := "text/plain;charset=UTF-8"
	if accept := r.Header.Get("Accept"); strings.HasPrefix(accept, "application/json") {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	_, _ = io.WriteString(w, a.o.Version) // a client that is gone needs no answer
	return nil
}

// app handles GET /erupt-api/erupt-app.
func (a *API) app(w http.ResponseWriter, _ *http.Request) error {
	s := a.o.App
	count := s.CaptchaAfter
	if count < 0 {
		count = 9999 // front ends take a small number for "at once"
	}
	properties := s.Properties
	if properties == nil {
		properties = map[string]string{}
	}
	return writeJSON(w, map[string]any{
		"waterMark": s.WaterMark, "waterMarkDate": s.WaterMarkDate, "waterMarkContent": orNil(s.WaterMarkContent), "verifyCodeCount": count,
		"pwdTransferEncrypt": a.o.TransferEncrypt, "loginPagePath": orNil(s.LoginPagePath), "locales": s.Locales, "properties": properties,
		"resetPwd": s.ResetPwd, "resetPwdPrompt": s.ResetPwdPrompt,
		"mfa":  map[string]any{"enable": s.MFA, "issuer": s.MFAIssuer, "window": s.MFAWindow},
		"hash": crc32.ChecksumIEEE([]byte(a.o.Version)), "version": a.o.Version,
	})
}
