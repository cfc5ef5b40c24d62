package eruptapi

import (
	"net/http"
	"strings"
)

// mfaStatus handles GET /erupt-api/mfa/status.
func (a *API) mfaStatus(w http.ResponseWriter, r *http.Request) error {
	in, err := a.session(r)
	if err != nil {
		return err
	}
	s, err := a.o.MFA.Status(r.Context(), in.Account)
	if err != nil {
		return err
	}
	return writeJSON(w, map[string]any{"enable": s.On || s.Bound, "bound": s.Bound, "recoveryCodeCount": s.RecoveryCodes})
}

// mfaEnroll handles POST /erupt-api/mfa/enroll.
func (a *API) mfaEnroll(w http.ResponseWriter, r *http.Request) error {
	in, err := a.person(r)
	if err != nil {
		return err
	}
	e, err := a.o.MFA.Enroll(r.Context(), in.Account)
	if err != nil {
		return told(w, r, err)
	}
	return resultOf(w, map[string]string{"secret": e.Secret, "uri": e.URI})
}

// mfaBody is what the front end sends to change a second factor.
type mfaBody struct {
	Pwd  string `json:"pwd"`
	Code loose  `json:"code"`
}

// mfaConfirm handles POST /erupt-api/mfa/enroll-confirm and answers with the recovery codes.
func (a *API) mfaConfirm(w http.ResponseWriter, r *http.Request) error {
	return a.mfaCodes(w, r, a.o.MFA.Confirm)
}

// mfaRecovery handles POST /erupt-api/mfa/recovery-codes.
func (a *API) mfaRecovery(w http.ResponseWriter, r *http.Request) error {
	return a.mfaCodes(w, r, a.o.MFA.NewCodes)
}

func (a *API) mfaCodes(w http.ResponseWriter, r *http.Request, make codeMaker) error {
	in, err := a.person(r)
	if err != nil {
		return err
	}
	var body mfaBody
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if err := a.patient(in); err != nil {
		return err
	}
	codes, err := make(r.Context(), in.Account, strings.TrimSpace(string(body.Code)))
	if err != nil {
		return told(w, r, err)
	}
	return resultOf(w, codes)
}

// mfaUnbind handles POST /erupt-api/mfa/unbind: it takes the password and a code.
func (a *API) mfaUnbind(w http.ResponseWriter, r *http.Request) error {
	in, err := a.person(r)
	if err != nil {
		return err
	}
	var body mfaBody
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if err := a.patient(in); err != nil {
		return err
	}
	return told(w, r, a.o.MFA.Unbind(r.Context(), in.Account, a.decodeAll(body.Pwd)[0], string(body.Code)))
}
