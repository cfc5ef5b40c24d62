package eruptapi

import (
	"math"
	"net/http"
	"strconv"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

// createToken handles GET /erupt-api/open-api/create-token?appid=&secret=: a session for a program. Wrong ones get a 401 in place
// of erupt's 500.
func (a *API) createToken(w http.ResponseWriter, r *http.Request) error {
	if err := a.slow(r); err != nil {
		return err
	}
	q := r.URL.Query()
	t, err := a.o.Tokens.Create(r.Context(), q.Get("appid"), q.Get("secret"), attempt(r, "", ""))
	if err != nil {
		return err
	}
	return resultOf(w, map[string]string{"token": t.Token, "expireTime": t.Expires.In(a.o.Zone).Format(timeOf2)})
}

// appOfToken handles GET /erupt-api/open-api/get-appid?token=.
func (a *API) appOfToken(w http.ResponseWriter, r *http.Request) error {
	if err := a.slow(r); err != nil {
		return err
	}
	app, err := a.o.Tokens.AppOf(r.Context(), r.URL.Query().Get("token"))
	if err != nil {
		return err
	}
	return resultOf(w, map[string]string{"appid": app.AppID, "name": app.Name})
}

// maxLogLines is as many as the server keeps.
const maxLogLines = 1000

// serverLog handles GET /erupt-api/tool/erupt-log?size=&offset=: the server's own log, in the form of a node's (erupt-wire 2.9).
// Unlike a node's, it begins at the newest lines when no offset is given.
func (a *API) serverLog(w http.ResponseWriter, r *http.Request) error {
	token := web.HeaderToken(r)
	if token == "" {
		return fault.New(fault.Unauthenticated, "log in first")
	}
	in, held, err := a.o.Sessions.Check(r.Context(), token, access.CodeServerLog)
	if err != nil {
		return err
	}
	if !in.Admin && (len(held) != 1 || !held[0] || !in.Reaches(access.CodeServerLog, nil)) {
		return fault.New(fault.Forbidden, "this needs the permission %s", access.CodeServerLog)
	}
	q := r.URL.Query()
	size, err := number(q.Get("size"), maxLogLines)
	if err != nil {
		return err
	}
	from, err := number(q.Get("offset"), -1)
	if err != nil {
		return err
	}
	lines := []wire.LogLine{}
	for _, l := range a.o.Log(from, int(min(max(size, 1), maxLogLines))) {
		lines = append(lines, wire.LogLine{Content: l.Text, Num: l.Number})
	}
	if n := len(lines); from >= 0 && n == 1 && lines[0].Num == from { // nothing is newer than what the client has
		lines = lines[:0]
	}
	return writeJSON(w, lines)
}

func number(text string, otherwise int64) (int64, error) {
	if text == "" || text == "null" || text == "undefined" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0, fault.New(fault.Invalid, "size and offset must be whole numbers")
	}
	return n, nil
}
