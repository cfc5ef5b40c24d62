package eruptapi

import (
	"net/http"
	"net/url"
	"strings"

	"eruptcloud/app/access"
	"eruptcloud/app/web"
)

// permission handles GET /erupt-api/erupt-permission/:code, for users and for nodes on behalf of one: whether the code is
// held. Nodes ask at each evaluation of a button.
func (a *API) permission(w http.ResponseWriter, r *http.Request) error {
	code, err := codeOf(r)
	if err != nil {
		return err
	}
	token, asking := web.HeaderToken(r), ""
	delegated := access.IsDelegate(token) && a.o.OpenDelegate != nil
	if delegated {
		if token, asking, err = a.o.OpenDelegate(token); err != nil {
			return err
		}
	}
	in, held, err := a.o.Sessions.Check(r.Context(), token, code)
	if err != nil {
		return err
	}
	yes := in.Admin || len(held) == 1 && held[0]
	if _, limited := in.Scopes[strings.ToLower(code)]; limited && yes {
		groups, known := a.nodeOf(code)
		if !known {
			groups, _ = a.chain(asking)
		}
		// A user who asks for a code that is about no certain node hears whether he holds it at all.
		yes = !known && !delegated || in.Reaches(code, groups)
	}
	return writeJSON(w, yes)
}

// reaches reports whether a menu is of use to its holder: a page that he holds for other groups than its node's is not.
func (a *API) reaches(in access.Session, m access.Menu) bool {
	value, query, _ := strings.Cut(m.Value, "?")
	if _, limited := in.Scopes[strings.ToLower(value)]; !limited {
		return true
	}
	groups, known := a.nodeOf(value)
	if !known { // a template names its node beside
		if q, err := url.ParseQuery(query); err == nil {
			groups, known = a.chain(q.Get("_node"))
		}
	}
	return !known || in.Reaches(value, groups)
}

// nodeOf finds the node in a page's code and returns its groups. Names may hold dots: the longest that is known counts.
func (a *API) nodeOf(code string) (groups []int64, known bool) {
	for i := strings.LastIndexByte(code, '.'); i > 0; i = strings.LastIndexByte(code[:i], '.') {
		if groups, known = a.chain(code[:i]); known {
			return groups, true
		}
	}
	return nil, false
}

func (a *API) chain(node string) (groups []int64, known bool) {
	if a.o.Chain == nil || node == "" {
		return nil, false
	}
	return a.o.Chain(node)
}
