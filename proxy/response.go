package proxy

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// maxErrorText bounds what is kept of an answer that is no success, in bytes.
const maxErrorText = 64 << 10

// passed are the headers of a node that reach the browser (A22). Content-Encoding belongs to the bytes: a node that
// compresses unasked would be unreadable without it.
var passed = set("Content-Type", "Content-Disposition", "Content-Length", "Content-Range", "Accept-Ranges", "Cache-Control",
	"Etag", "Last-Modified", "Content-Encoding")

// handshake are the headers of an accepted upgrade.
var handshake = set("Connection", "Upgrade", "Sec-Websocket-Accept", "Sec-Websocket-Protocol", "Sec-Websocket-Extensions")

// refusedTrailers never pass, not even behind the body.
var refusedTrailers = set("Set-Cookie", "Set-Cookie2", "Location", "Refresh", "Clear-Site-Data", "Www-Authenticate",
	"Content-Security-Policy", "Strict-Transport-Security", "Content-Type", "Content-Disposition")

// answer is the body of a node's answer on its way back. It notices when the node breaks off.
type answer struct {
	body    io.ReadCloser
	trailer *http.Header
	err     error // why the node broke off
	keep    bool
	kept    []byte
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if a.keep && len(a.kept) < maxErrorText {
		a.kept = append(a.kept, p[:min(n, maxErrorText-len(a.kept))]...)
	}
	if err != nil {
		a.end(err)
	}
	return n, err
}

// end is apart from Read, which waits for hours below a stream and should stand on little.
//
//go:noinline
func (a *answer) end(err error) {
	if err == io.EOF {
		filterTrailers(*a.trailer)
		return
	}
	a.err = err
}

func (a *answer) Close() error { return a.body.Close() }

// text returns the beginning of an unsuccessful answer.
func (a *answer) text() string { return strings.ToValidUTF8(string(a.kept), "�") }

func filterTrailers(t http.Header) {
	for key := range t {
		if refusedTrailers[key] || strings.HasPrefix(key, "Access-Control-") {
			delete(t, key)
		}
	}
}

// receive makes a node's answer fit for the browser: only known headers, types where they are missing, a build model with
// full names. Everything else is left to stream.
func (e *exchange) receive(res *http.Response) error {
	e.status = res.StatusCode
	if res.StatusCode == http.StatusSwitchingProtocols {
		keepOnly(res.Header, handshake)
		return nil
	}
	keepOnly(res.Header, passed)
	filterTrailers(res.Trailer)
	e.answer = answer{body: res.Body, trailer: &res.Trailer, keep: isRefusal(res.StatusCode) && e.p.o.Recorder != nil}
	res.Body = &e.answer
	setType(res.Header, e.endpoint, e.route.query)
	if e.route.search && res.StatusCode != http.StatusNotFound {
		e.p.o.Gate.(Finder).Found(e.route.wish)
	}
	if e.endpoint.kind == kindBuild && !e.raw && res.StatusCode == http.StatusOK {
		return e.receiveBuild(res)
	}
	return nil
}

func keepOnly(h http.Header, allowed map[string]bool) {
	for key := range h {
		if !allowed[key] {
			delete(h, key)
		}
	}
}

func isRefusal(status int) bool {
	return status >= 300 && status != http.StatusNotModified
}

// setType completes the content type. Templates of 1.x come without one, and texts without a charset would be read in
// the browser's own; both are UTF-8 (A22). A file that is no picture must not open in our origin.
func setType(h http.Header, to *Endpoint, query string) {
	given := h.Get("Content-Type")
	if to.kind == kindAttachment {
		setDisposition(h, given)
		return
	}
	if given == "" {
		switch {
		case to.kind == kindTemplate:
			h.Set("Content-Type", "text/html; charset=utf-8")
		case to.jsonp && strings.Contains(query, "callback="):
			h.Set("Content-Type", "text/javascript; charset=utf-8")
		case to.jsonp:
			h.Set("Content-Type", "application/json;charset=UTF-8")
		}
		return
	}
	lower := strings.ToLower(given)
	if !strings.Contains(lower, "charset") && (strings.HasPrefix(lower, "text/") || strings.HasPrefix(lower, "application/json")) {
		h.Set("Content-Type", given+";charset=UTF-8")
	}
}

// pictures are the types that a browser shows without running anything; SVG is not among them.
var pictures = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/avif": true, "image/bmp": true,
	"image/x-icon": true, "image/vnd.microsoft.icon": true,
}

func setDisposition(h http.Header, given string) {
	if base, _, err := mime.ParseMediaType(given); err == nil && pictures[base] {
		return
	}
	how := h.Get("Content-Disposition")
	kind, rest, _ := strings.Cut(how, ";")
	if strings.EqualFold(strings.TrimSpace(kind), "attachment") {
		return
	}
	if rest != "" {
		rest = ";" + rest
	}
	h.Set("Content-Disposition", "attachment"+rest)
}

// maxBuild bounds a build model, in bytes.
const maxBuild = 16 << 20

// receiveBuild replaces a build model by one with full names.
func (e *exchange) receiveBuild(res *http.Response) error {
	res.Header.Del("Accept-Ranges")
	if res.Request != nil && res.Request.Method == http.MethodHead {
		res.Header.Del("Content-Length")
		return nil
	}
	body, err := readLimited(res.Body, res.ContentLength, maxBuild)
	switch {
	case errors.Is(err, errTooLong):
		return Fail(UpstreamUnreachable, "the build model of '%s' is larger than %d MiB", e.route.wish.Erupt, maxBuild>>20)
	case err != nil:
		return err
	}
	full, err := PrefixBuild(body, e.target.Node)
	if err != nil || res.Header.Get("Content-Encoding") != "" {
		return Fail(UpstreamUnreachable, "the build model of '%s' cannot be read", e.route.wish.Erupt).Because(err)
	}
	_ = res.Body.Close() // read to its end
	res.Body = io.NopCloser(bytes.NewReader(full))
	res.ContentLength = int64(len(full))
	res.Header.Set("Content-Length", strconv.Itoa(len(full)))
	if res.Header.Get("Content-Type") == "" {
		res.Header.Set("Content-Type", "application/json;charset=UTF-8")
	}
	return nil
}

var errTooLong = errors.New("longer than allowed")

// readLimited reads all of body, errTooLong past limit bytes. length is the announced length, -1 if unknown.
func readLimited(body io.Reader, length, limit int64) ([]byte, error) {
	if length > limit {
		return nil, errTooLong
	}
	var b bytes.Buffer
	if length > 0 {
		b.Grow(int(length) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(body, limit+1))
	if err == nil && n > limit {
		return nil, errTooLong
	}
	return b.Bytes(), err
}
