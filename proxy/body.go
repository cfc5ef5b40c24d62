package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Bounds of a request body in bytes (erupt-wire 10.4). Uploads have a bound of their own, or none.
const (
	maxBody    = 10 << 20
	maxChecked = 1 << 20 // of one that is read before its node is asked
)

// bodyLimit is what a request to an endpoint may send, 0 for no limit.
func (p *Proxy) bodyLimit(e *Endpoint) int64 {
	limit := int64(maxBody)
	switch {
	case e.kind == kindUpload:
		return p.o.MaxUpload
	case e.body != bodyAny:
		limit = maxChecked
	}
	if p.o.MaxUpload > 0 {
		limit = min(limit, p.o.MaxUpload)
	}
	return limit
}

func tooLarge(e *Endpoint, limit int64) *Failure {
	if e.kind == kindUpload {
		return Fail(TooLarge, "the upload is larger than %d bytes", limit)
	}
	return Fail(TooLarge, "the request body is larger than %d bytes", limit)
}

// inspect reads a body that is to be checked and checks it. The bytes stay as they came, for the node.
func (p *Proxy) inspect(r *http.Request, rt *route, as User) error {
	if rt.endpoint.body == bodyAny || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	whole, err := readWhole(r.Context(), r.Body, r.ContentLength, rt.endpoint, p.bodyLimit(rt.endpoint))
	if err != nil {
		return err
	}
	if rt.body = whole; len(whole) == 0 {
		return nil
	}
	if !isUTF8(r.Header["Content-Type"]) {
		return Fail(Invalid, "the request body must be UTF-8")
	}
	names, err := checkBody(rt.endpoint.body, whole)
	if err != nil {
		return err
	}
	examiner, ok := p.o.Gate.(Examiner)
	if !ok || len(names.Sort)+len(names.Keys) == 0 {
		return nil
	}
	if rt.endpoint.behind {
		names.Field = rt.path[strings.LastIndexByte(rt.path, '/')+1:]
	}
	return examiner.Examine(r.Context(), rt.wish, as, names)
}

// check is inspect for callers in the process. What names a class has they know themselves.
func (e *exchange) check(ctx context.Context, call *Call) error {
	if e.endpoint.body == bodyAny || call.Body == nil {
		return nil
	}
	whole, err := readWhole(ctx, call.Body, 0, e.endpoint, maxChecked)
	if err != nil {
		return err
	}
	call.Body = bytes.NewReader(whole)
	if e.route.body = whole; len(whole) == 0 {
		return nil
	}
	_, err = checkBody(e.endpoint.body, whole)
	return err
}

// readWhole never returns nil without an error.
func readWhole(ctx context.Context, body io.Reader, length int64, e *Endpoint, limit int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(max(length, 0), 16<<10)) + bytes.MinRead)
	_, err := b.ReadFrom(io.LimitReader(body, limit+1))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(e, large.Limit).Because(err)
	case err != nil && (ctx.Err() != nil || clientLeft(err)):
		return nil, Fail(ClientGone, "the client left").Because(err)
	case err != nil:
		return nil, Fail(Invalid, "the request body cannot be read").Because(err)
	case int64(b.Len()) > limit:
		return nil, tooLarge(e, limit)
	}
	return b.Bytes(), nil
}

// isUTF8 reports whether a reader of the content type takes a body for UTF-8, as it is checked; JSON without a charset is.
func isUTF8(types []string) bool {
	for _, t := range types {
		if !strings.Contains(strings.ToLower(t), "charset") {
			continue
		}
		_, params, err := mime.ParseMediaType(t)
		if err != nil {
			return false
		}
		if set := params["charset"]; !strings.EqualFold(set, "utf-8") && !strings.EqualFold(set, "utf8") && !strings.EqualFold(set, "us-ascii") {
			return false
		}
	}
	return true
}
