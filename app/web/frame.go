package web

import (
	"net/http"
	"slices"
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
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
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

// withViewer adds who is looking.
func (s *Shell) withViewer(f views.Frame, in *access.Session) views.Frame {
	f.Account, f.Name, f.Admin, f.May = in.Account, in.Name, in.Admin, in.Holds
	if s.o.Counts != nil {
		f.Nodes, f.Down = s.o.Counts()
	}
	return f
}

func cookieOf(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
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
