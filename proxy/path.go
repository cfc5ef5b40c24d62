package proxy

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// maxSegments bounds the depth of a path; the deepest page has eight, an attachment may lie in folders.
const maxSegments = 24

// address is a request path taken apart: each segment decoded once. Only what every reader understands in the same way gets
// this far, so that the permission check and the node see the same path (erupt-wire 10.6, S49).
type address struct {
	plain   [maxSegments]string
	n       int
	escaped bool // some segment was encoded
}

func (p *address) segments() []string { return p.plain[:p.n] }

// parsePath takes an escaped path apart. It refuses empty segments, dot segments, backslashes, path parameters, control
// characters and encoded slashes, encoded or not.
func parsePath(escaped string) (p address, err error) {
	if escaped == "" || escaped[0] != '/' {
		return p, Fail(Invalid, "the path must begin with a slash")
	}
	rest := escaped[1:]
	for more := true; more; {
		var word string
		word, rest, more = strings.Cut(rest, "/")
		if p.n == maxSegments {
			return p, Fail(Invalid, "the path has more than %d segments", maxSegments)
		}
		if strings.IndexByte(word, '%') >= 0 {
			p.escaped = true
			if word, err = url.PathUnescape(word); err != nil {
				return p, Fail(Invalid, "the path is not encoded correctly").Because(err)
			}
			if strings.IndexByte(word, '/') >= 0 {
				return p, Fail(Invalid, "the path contains an encoded slash")
			}
		}
		if err := checkSegment(word); err != nil {
			return p, err
		}
		p.plain[p.n] = word
		p.n++
	}
	return p, nil
}

func checkSegment(word string) error {
	switch word {
	case "":
		return Fail(Invalid, "the path contains an empty segment")
	case ".", "..":
		return Fail(Invalid, "the path contains a dot segment")
	}
	wide := false
	for i := range len(word) {
		switch c := word[i]; {
		case c < ' ' || c == 0x7f:
			return Fail(Invalid, "the path contains a control character")
		case c == '\\':
			return Fail(Invalid, "the path contains a backslash")
		case c == ';':
			return Fail(Invalid, "the path contains a semicolon")
		case c >= utf8.RuneSelf:
			wide = true
		}
	}
	if wide && !utf8.ValidString(word) {
		return Fail(Invalid, "the path is not UTF-8")
	}
	return nil
}

// join puts segments together again, plain and encoded; index is replaced by name, -1 for none. raw is empty where both
// are the same.
func (p *address) join(index int, name string) (plain, raw string) {
	size := 0
	for i, s := range p.segments() {
		if i == index {
			s = name
		}
		size += len(s) + 1
	}
	var b strings.Builder
	b.Grow(size)
	for i, s := range p.segments() {
		if i == index {
			s = name
		}
		b.WriteByte('/')
		b.WriteString(s)
	}
	plain = b.String()
	if !p.escaped {
		return plain, ""
	}
	var e strings.Builder
	for i, s := range p.segments() {
		if i == index {
			s = name
		}
		e.WriteByte('/')
		e.WriteString(url.PathEscape(s))
	}
	if raw = e.String(); raw == plain {
		raw = ""
	}
	return plain, raw
}

// below returns the decoded path after its first n segments.
func (p *address) below(n int) string { return strings.Join(p.plain[n:p.n], "/") }
