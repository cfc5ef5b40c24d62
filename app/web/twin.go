package web

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/gin-gonic/gin"
)

// Twin answers with the page, or with value as JSON where the request asks for that (Accept: application/json; U80): the
// same address for people and for scripts. value is what the viewer may see on the page, no more: the handler has checked
// his rights. The fragments are those of Render. Neither form can stand in for the other in a cache (S78).
//
// A script may name its session by the header "token" or as a bearer instead of a cookie; see RequireCookie.
func Twin(c *gin.Context, value any, page templ.Component, fragments ...any) error {
	c.Writer.Header().Add("Vary", "Accept")
	if !PrefersJSON(c.Request) {
		return Render(c, page, fragments...)
	}
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the twin of a page: %w", err)
	}
	h := c.Writer.Header()
	h.Add("Vary", "HX-Request")
	h.Set("Cache-Control", "no-store")
	c.Data(c.Writer.Status(), "application/json", append(body, '\n'))
	return nil
}

// PrefersJSON reports whether the request names application/json and does not like HTML better. Wildcards name nothing:
// what browsers and curl send by default gets the page.
func PrefersJSON(r *http.Request) bool {
	json, html := accepts(r.Header.Values("Accept"), "application/json"), accepts(r.Header.Values("Accept"), "text/html")
	if json.quality != html.quality {
		return json.quality > html.quality
	}
	return json.quality > 0 && json.place < html.place
}

// accepted is how much a media type is wanted, from 0 to 1000, and which one it is in the header.
type accepted struct{ quality, place int }

func accepts(lines []string, media string) accepted {
	ranges := strings.Split(strings.Join(lines, ","), ",")
	for i, part := range ranges[:min(len(ranges), 64)] {
		name, params, err := mime.ParseMediaType(part)
		if err != nil || name != media {
			continue
		}
		quality := 1.0
		if raw, given := params["q"]; given {
			if quality, err = strconv.ParseFloat(raw, 64); err != nil || quality < 0 || quality > 1 {
				continue
			}
		}
		return accepted{int(quality * 1000), i}
	}
	return accepted{0, len(ranges)}
}
