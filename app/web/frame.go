package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/views"
)

// Cookies that remember how a viewer likes the console. Script may read and write them; none is a secret.
const (
	LangCookie   = "ec_lang"   // "en" or "zh"
	ThemeCookie  = "ec_theme"  // "light" or "dark"
	ZoneCookie   = "ec_zone"   // IANA name
	HeaderCookie = "ec_header" // "short"
	SideCookie   = "ec_side"   // "hidden"
)

func (s *Shell) frame(q *request, r *http.Request) views.Frame {
	path := q.path
	if query := withoutSessions(r.URL.RawQuery); query != "" {
		path += "?" + query
	}
	f := views.Frame{
		Base: q.base, Path: path, Now: s.o.Now(), RequestID: q.id, Version: s.o.Version,
		Lang: cookieOf(r, LangCookie), Zone: s.zones.load(cookieOf(r, ZoneCookie)),
		ShortHeader: cookieOf(r, HeaderCookie) == "short", SideHidden: cookieOf(r, SideCookie) == "hidden",
	}
	if !slices.Contains(views.Langs, f.Lang) {
		f.Lang = views.MatchLang(r.Header.Get("Accept-Language"))
	}
	if t := cookieOf(r, ThemeCookie); t == "light" || t == "dark" {
		f.Theme = t
	}
	return f
}

// withoutSessions cuts the parameters by which erupt's own front end sends tokens from a raw query: the address stands in
// links and forms of ours, and in the way back after a login, where no token belongs.
func withoutSessions(raw string) string {
	if !strings.Contains(strings.ToLower(raw), "token") {
		return raw
	}
	kept := slices.DeleteFunc(strings.Split(raw, "&"), func(pair string) bool {
		key, _, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(key)
		return err != nil || slices.Contains(sessionParams, strings.ToLower(name))
	})
	return strings.Join(kept, "&")
}

var sessionParams = []string{"_token", "token", "access_token", "access-token", "accesstoken"}

// withViewer adds who is looking.
func (s *Shell) withViewer(ctx context.Context, f views.Frame, in *access.Session) views.Frame {
	f.Account, f.Name, f.Admin, f.May = in.Account, in.Name, in.Admin, in.Holds
	if s.o.Counts != nil {
		f.Nodes, f.Down = s.o.Counts(ctx)
	}
	return f
}

func cookieOf(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	value, err := url.PathUnescape(c.Value) // the page's script escapes what it writes: Asia%2FShanghai
	if err != nil {
		return ""
	}
	return value
}

// zoneCache keeps loaded zones: each load reads a file. Only names that exist are kept, some 600 in all.
type zoneCache struct{ known sync.Map }

// load returns the zone of that name, UTC if there is none.
func (z *zoneCache) load(name string) *time.Location {
	if name == "" || len(name) > 64 || name == "Local" {
		return time.UTC
	}
	if loc, ok := z.known.Load(name); ok {
		return loc.(*time.Location)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	z.known.Store(name, loc)
	return loc
}
