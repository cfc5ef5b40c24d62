package web

import (
	"net/http"
	"net/url"
	"strings"

	"eruptcloud/app/fault"
	"eruptcloud/views"
)

// Lang returns the language in which erupt's front ends want to be answered: what the header lang or, where a browser sets no
// headers, the parameter _lang says (zh-CN, en-US), else what the browser asks for, else the console's first (erupt-wire 1.1).
func Lang(r *http.Request) string {
	said := r.Header.Get("Lang")
	if said == "" && strings.Contains(r.URL.RawQuery, "_lang=") {
		if q, err := url.ParseQuery(r.URL.RawQuery); err == nil {
			said = q.Get("_lang")
		}
	}
	if said == "" {
		said = r.Header.Get("Accept-Language")
	}
	return views.MatchLang(said)
}

// Message returns what an error tells people, in the language of an erupt front end.
func Message(r *http.Request, e *fault.Error) string {
	return views.Translate(Lang(r), e.Format, e.Args...)
}

// MenuName returns the name of a menu in a language of Lang, as long as it is the one of erupt's first start.
func MenuName(lang, code, name string) string { return views.MenuNameIn(lang, code, name) }

// told returns message and fields of an error as JSON tells them. Nodes and scripts read English; below erupt's front-end API
// people do.
func told(r *http.Request, path string, e *fault.Error) (message string, fields map[string]string) {
	fields = make(map[string]string, len(e.Fields))
	lang := views.Langs[0]
	if strings.HasPrefix(path, "/erupt-api/") || strings.HasPrefix(path, "/erupt-attachment/") {
		lang = Lang(r)
	}
	for name, text := range e.Fields {
		fields[name] = views.Retell(lang, text)
	}
	return views.Translate(lang, e.Format, e.Args...), fields
}
