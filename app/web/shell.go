// Package web is what all handlers share: the front door before the router, sessions of browsers and scripts, errors as
// JSON, fragment or page, and rendering. It knows no feature.
package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a viewer may choose any zone, also where the machine has no zone files

	"github.com/gin-gonic/gin"
	"github.com/gorilla/sessions"
	"github.com/prometheus/client_golang/prometheus"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
)

// SessionSource finds the session of a token. fault.Unauthenticated if it is unknown or over.
type SessionSource interface {
	Get(ctx context.Context, token string, codes ...string) (access.Session, []bool, error)
}

// Values of Options.SecureCookie.
const (
	SecureAuto   = "auto"   // Secure when the request came by TLS or a trusted proxy says so
	SecureAlways = "always" //
	SecureNever  = "never"  //
)

// Options of a Shell. Sessions and CookieKeys are required.
type Options struct {
	BasePath       string         // "" or "/ops/fleet", as browsers see it
	TrustedProxies []netip.Prefix // whose X-Forwarded-… and X-Request-Id count
	Sessions       SessionSource
	CookieKeys     [][]byte // pairs of a signing key (32 bytes or more) and an AES key (16, 24 or 32); the first pair writes
	CookieName     string   // empty: made from the first key, so that two installations on one host do not collide (S88)
	SecureCookie   string   // empty: SecureAuto
	Logger         *slog.Logger
	Metrics        prometheus.Registerer
	Version        string
	Counts         func(context.Context) (nodes, down int) // for the navigation
	// Translate turns errors of packages that do not know fault into faults before they are answered; nil: none.
	Translate func(error) error
	Now       func() time.Time
}

// Shell owns the router and everything around it.
type Shell struct {
	o       Options
	engine  *gin.Engine
	cookies *sessions.CookieStore
	cross   *http.CrossOriginProtection
	faults  *prometheus.CounterVec
	zones   zoneCache

	bodyIdle, writeIdle time.Duration
}

// ownRoots are the first segments of our own paths: a base path must not begin with one, or a request could not be told
// from one whose prefix the proxy in front has cut.
var ownRoots = []string{"console", "api", "erupt-api", "erupt-cloud-api", "erupt-attachment", "eureka", "livez", "readyz", "static", "node-health", "badge", "status"}

// New returns a Shell. It fails on a base path that is no plain absolute path or hides one of our own.
func New(o Options) (*Shell, error) {
	if err := checkBasePath(o.BasePath); err != nil {
		return nil, err
	}
	if o.Sessions == nil {
		return nil, errors.New("web: no session source")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Shell{o: o, cross: http.NewCrossOriginProtection(), bodyIdle: bodyIdle, writeIdle: writeIdle}
	var err error
	if s.cookies, err = newCookieStore(o.CookieKeys); err != nil {
		return nil, err
	}
	if s.o.CookieName == "" {
		sum := sha256.Sum256(append([]byte("cookie name"), o.CookieKeys[0]...))
		s.o.CookieName = "ec_" + hex.EncodeToString(sum[:4])
	}
	if s.faults, err = newFaults(o.Metrics); err != nil {
		return nil, err
	}
	s.engine = s.newEngine()
	return s, nil
}

// Engine returns the router, for mounting.
func (s *Shell) Engine() *gin.Engine { return s.engine }

// Handler returns the router behind the front door: what a server serves.
func (s *Shell) Handler() http.Handler { return s.Front(s.engine) }

func (s *Shell) newEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	// Both redirects break clients that follow none (old nodes, Eureka clients) and would leave the base path.
	e.RedirectTrailingSlash, e.RedirectFixedPath = false, false
	e.UseRawPath, e.UnescapePathValues = true, true
	e.HandleMethodNotAllowed = true
	e.ContextWithFallback = true
	if err := e.SetTrustedProxies(nil); err != nil {
		panic(err) // cannot fail for nil
	}
	e.NoRoute(s.Handle(func(c *gin.Context) error {
		if c.Request.URL.Path == "/" && (c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead) {
			return Redirect(c, "/console/")
		}
		s.frameViewer(c)
		return fault.New(fault.NotFound, "nothing is at this address")
	}))
	e.NoMethod(s.Handle(func(c *gin.Context) error {
		return fault.New(fault.NotAllowed, "%s is not possible here", c.Request.Method)
	}))
	return e
}

func checkBasePath(base string) error {
	if base == "" {
		return nil
	}
	if !strings.HasPrefix(base, "/") || strings.HasSuffix(base, "/") || !saneBase(base) {
		return fmt.Errorf("base path %q: must be like /ops/fleet: segments of letters, digits, '.', '_', '~' or '-', no slash at the end", base)
	}
	if first, _, _ := strings.Cut(base[1:], "/"); slices.Contains(ownRoots, first) {
		return fmt.Errorf("base path %q: must not begin with /%s, which is a path of the server itself", base, first)
	}
	return nil
}
