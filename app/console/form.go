package console

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// text reads a field of a form without the blanks around it.
func text(c *gin.Context, name string) string { return strings.TrimSpace(c.PostForm(name)) }

// readForm reads the body of a request that changes something, at most limit bytes, before its handler asks for fields. gin itself takes a body
// that it cannot read for a form without fields, and in a form without fields every box is unticked.
func readForm(c *gin.Context, limit int64) error {
	r := c.Request
	r.Body = http.MaxBytesReader(c.Writer, r.Body, limit)
	if r.ContentLength == 0 && r.Header.Get("Content-Type") == "" {
		return nil // a button without fields
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/x-www-form-urlencoded":
		err = r.ParseForm()
	case "multipart/form-data":
		err = r.ParseMultipartForm(formMemory)
	default:
		return fault.New(fault.Invalid, "the request must be sent as a form").Because(err)
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return web.BodyFault(err)
	case err != nil:
		return fault.New(fault.Invalid, "the form cannot be read").Because(err)
	}
	for name, values := range r.PostForm {
		if !isText(name) || slices.ContainsFunc(values, func(v string) bool { return !isText(v) }) {
			return fault.New(fault.Invalid, "the form holds bytes that are no text")
		}
	}
	return nil
}

// Bounds of forms in bytes. A configuration may have 10 MiB, each byte of which a browser may send as three; so may the text
// of a record.
const (
	entryForm = 64 << 10 // before anybody has logged in
	usualForm = 512 << 10
	largeForm = 32 << 20
)

func formLimit(path string) int64 {
	if strings.Contains(path, "/config") || strings.HasPrefix(path, "/pages/") {
		return largeForm
	}
	return usualForm
}

// formMemory is what of a form in parts is kept in memory; files are in none of ours.
const formMemory = 1 << 20

func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// complete refuses a form in which one of the fields is missing that every browser sends, even empty: what somebody left
// out must not be taken for what somebody emptied.
func complete(c *gin.Context, names ...string) error {
	for _, name := range names {
		if _, ok := c.GetPostForm(name); !ok {
			return fault.New(fault.Invalid, "the form is not complete").Field(name, "is missing")
		}
	}
	return nil
}

// list reads names that are separated by commas, in either script, or line ends.
func list(s string) []string {
	var out []string
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",，、;\n\r", r) }) {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// formFault turns a refusal that the person at the form can put right into messages at its fields, with status 422, or 403 where
// a right is missing for what a field names; any other error comes back as it is. Nil is an untouched form.
func formFault(c *gin.Context, refused error) (views.Fields, error) {
	if refused == nil {
		return views.Fields{}, nil
	}
	f := fault.Of(refused)
	switch {
	case f.Code == fault.Forbidden && len(f.Fields) > 0 && !isFragment(c): // a part of a page goes to its place with 422 alone
		c.Status(http.StatusForbidden)
	case f.Code == fault.Invalid, f.Code == fault.Forbidden && len(f.Fields) > 0:
		c.Status(http.StatusUnprocessableEntity)
	case f.Code == fault.Conflict:
		c.Status(http.StatusConflict)
	default:
		return views.Fields{}, refused
	}
	lang := views.FrameOf(c.Request.Context()).Lang
	out := views.Fields{Errors: map[string]string{}}
	for name, message := range f.Fields {
		out.Errors[name] = views.Translate(lang, message)
		if message == f.Message() {
			out.Errors[name] = views.Translate(lang, f.Format, f.Args...)
		}
	}
	if len(out.Errors) == 0 {
		out.Message = views.Translate(lang, f.Format, f.Args...)
	}
	return out, nil
}

// saidWords are the messages that a page may show about the request before it; the address carries only their names.
var saidWords = []string{
	"saved", "created", "deleted", "enabled", "disabled", "held", "lifted", "draining", "undrained", "rotated", "grace_ended", "removed", "published", "password", "ended", "offered",
	"locked", "unlocked", "moved", "unbound",
}

// said is the message that the address asks for.
func said(c *gin.Context) string {
	word := c.Query("said")
	if !slices.Contains(saidWords, word) {
		return ""
	}
	return views.T(c.Request.Context(), "said."+word)
}

// back returns to a page of the console, with a message.
func (p *pages) back(c *gin.Context, path, word string) error {
	path = web.SafeNext(path)
	path, query, _ := strings.Cut(path, "?")
	params := []string{"said", word}
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if key != "" && key != "said" {
			params = append(params, unescape(key), unescape(value))
		}
	}
	return web.Redirect(c, path, params...)
}

// server is the address of this server, with its base path, as nodes reach it.
func (p *pages) server(c *gin.Context) string {
	if p.Server != "" {
		return strings.TrimSuffix(p.Server, "/")
	}
	return web.Origin(c.Request) + web.Base(c.Request)
}

// snippet is what connects an instance of a node; without a token it is masked.
func (p *pages) snippet(c *gin.Context, node fleet.Node, token string) views.SnippetModel {
	return views.SnippetModel{Node: node.Name, Server: p.server(c), Token: token, Can: p.can(c, node.GroupID)}
}

// cookiePath is where our cookies are valid: below the base path only, so that two installations keep theirs apart.
func cookiePath(c *gin.Context) string {
	if base := web.Base(c.Request); base != "" {
		return base
	}
	return "/"
}

func unescape(s string) string {
	out, err := url.QueryUnescape(s)
	if err != nil {
		return ""
	}
	return out
}
