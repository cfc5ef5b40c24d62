package eruptapi

import (
	"net/http"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
)

// logout handles GET and POST /erupt-api/logout.
func (a *API) logout(w http.ResponseWriter, r *http.Request) error {
	in, err := a.session(r)
	if err != nil {
		return err
	}
	if err := a.o.Sessions.Logout(r.Context(), in.Token); err != nil {
		return err
	}
	return result(w, r, nil)
}

// changePassword handles POST /erupt-api/change-pwd, and GET, which erupt 1.x sends.
func (a *API) changePassword(w http.ResponseWriter, r *http.Request) error {
	in, err := a.person(r)
	if err != nil {
		return err
	}
	var body struct {
		Pwd     string `json:"pwd"`
		NewPwd  string `json:"newPwd"`
		NewPwd2 string `json:"newPwd2"`
	}
	if r.Method == http.MethodGet {
		q := r.URL.Query()
		body.Pwd, body.NewPwd, body.NewPwd2 = q.Get("pwd"), q.Get("newPwd"), q.Get("newPwd2")
	} else if err := decode(w, r, &body); err != nil {
		return err
	}
	if err := a.patient(in); err != nil {
		return err
	}
	plain := a.decodeAll(body.Pwd, body.NewPwd, body.NewPwd2)
	if plain[1] != plain[2] {
		return result(w, r, fault.New(fault.Invalid, "the new passwords differ"))
	}
	// The session that asks lives on; the account's others end.
	return told(w, r, a.o.Users.ChangePassword(access.KeepSession(r.Context(), in.Token), in.Account, plain[0], plain[1]))
}

// verifyPassword handles POST /erupt-api/verify-pwd, which opens a locked screen.
func (a *API) verifyPassword(w http.ResponseWriter, r *http.Request) error {
	in, err := a.session(r)
	if err != nil {
		return err
	}
	var body struct {
		Pwd string `json:"pwd"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if err := a.patient(in); err != nil {
		return err
	}
	return told(w, r, a.o.Users.VerifyPassword(r.Context(), in.Account, a.decodeAll(body.Pwd)[0]))
}

// profile handles POST /erupt-api/profile: what somebody may change about himself. What is left out stays.
func (a *API) profile(w http.ResponseWriter, r *http.Request) error {
	in, err := a.person(r)
	if err != nil {
		return err
	}
	var body struct {
		Name   *string `json:"name"`
		Avatar *string `json:"avatar"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.Name == nil && body.Avatar == nil {
		return fault.New(fault.Invalid, "send name or avatar to change")
	}
	patch := access.UserPatch{Name: body.Name, By: access.Actor{Account: in.Account, Admin: in.Admin}}
	u, err := a.o.Users.ByAccount(r.Context(), in.Account)
	if err != nil {
		return err
	}
	if body.Avatar != nil && *body.Avatar != u.Avatar { // the front end sends it along whatever was changed
		patch.Avatar = body.Avatar
	}
	_, err = a.o.Users.Update(r.Context(), in.Account, patch)
	return told(w, r, err)
}

// avatar handles POST /erupt-api/profile/avatar, an upload in erupt 2.3. Replicas share no folder to keep it in.
func (a *API) avatar(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.person(r); err != nil {
		return err
	}
	return result(w, r, fault.New(fault.Invalid, "this server keeps no uploaded pictures; save the profile with the address of one that begins with https://"))
}

// patient bounds how often one account may try what guesses its secrets, beside the lock.
func (a *API) patient(in access.Session) error {
	if ok, retry := a.own.Allow(in.Account); !ok {
		return web.TooFast(retry)
	}
	return nil
}

// told answers a command: what its user can put right stands in the envelope, with status 200 as erupt does it.
func told(w http.ResponseWriter, r *http.Request, err error) error {
	switch fault.CodeOf(err) {
	case "", fault.Invalid, fault.Unauthenticated, fault.Conflict, fault.TooMany, fault.Forbidden:
		return result(w, r, err)
	}
	return err
}

// decodeAll undoes the front end's encoding of all, or of none: a script sends them as they are.
func (a *API) decodeAll(sent ...string) []string {
	plain := make([]string, len(sent))
	for i, s := range sent {
		p, err := a.o.Login.DecodeTransfer(s)
		if err != nil {
			return sent
		}
		plain[i] = p
	}
	return plain
}
