package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/views"
)

// Cookies that remember how a viewer likes the list.
const (
	sizeCookie  = "ec_size"
	orderCookie = "ec_order"
	viewCookie  = "ec_view"
	shutCookie  = "ec_shut" // codes of collapsed groups
	defaultSize = 50
	maxShut     = 40 // groups that stay collapsed; more would not fit into a cookie
)

// listLook settles the layout: what the address asks for, which is then remembered, or what was remembered. Nobody having
// chosen, a fleet that does not fit on one page shows its worst nodes first, whatever their group (U10).
func listLook(c *gin.Context, q *views.NodeQuery, nodes int) look {
	l := look{size: pageSize(c, &q.Size), shut: shutGroups(c)}
	switch order := cmp.Or(q.Order, remembered(c, orderCookie)); order {
	case views.OrderWorst, views.OrderGroup:
		l.flat = order == views.OrderWorst
	default:
		l.flat = nodes > l.size
	}
	if q.Order != "" {
		remember(c, orderCookie, q.Order)
	}
	view := c.Query("view")
	if view == "cards" || view == "table" {
		remember(c, viewCookie, view)
	} else {
		view = remembered(c, viewCookie)
	}
	l.cards = view == "cards"
	return l
}

// shutGroups are the collapsed groups, after the address collapsed or opened one.
func shutGroups(c *gin.Context) []string {
	shut := slices.DeleteFunc(strings.Split(remembered(c, shutCookie), "."), func(s string) bool { return s == "" })
	before := len(shut)
	open := c.Query("open")
	shut = slices.DeleteFunc(shut, func(s string) bool { return s == open })
	if code := c.Query("fold"); code != "" && foldable(code) && !slices.Contains(shut, code) {
		shut = append(shut, code)
		shut = shut[max(0, len(shut)-maxShut):]
		before = -1
	}
	if len(shut) != before {
		remember(c, shutCookie, strings.Join(shut, "."))
	}
	return shut
}

// foldable reports whether a code fits into the cookie; those of adopted databases may hold anything.
func foldable(code string) bool {
	return len(code) <= 64 && strings.Trim(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// remember keeps a choice of the viewer in his browser.
func remember(c *gin.Context, name, value string) {
	http.SetCookie(c.Writer, &http.Cookie{
		Name: name, Value: value, Path: cookiePath(c), MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode, HttpOnly: true,
	})
}

func remembered(c *gin.Context, name string) string {
	v, err := c.Cookie(name)
	if err != nil {
		return ""
	}
	return v
}

// pageSize settles how many rows a page has: what the address asks for, which is then remembered, or what was remembered.
func pageSize(c *gin.Context, asked *int) int {
	if slices.Contains(views.PageSizes, *asked) {
		remember(c, sizeCookie, strconv.Itoa(*asked))
		return *asked
	}
	*asked = 0
	if n, err := strconv.Atoi(remembered(c, sizeCookie)); err == nil && slices.Contains(views.PageSizes, n) {
		return n
	}
	return defaultSize
}
