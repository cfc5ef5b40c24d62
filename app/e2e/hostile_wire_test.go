package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// say opens a connection, writes text as it stands and reads answers until the server closes or has nothing more to say.
// gone: the client then closes its side.
func (a *arena) say(text string, gone bool) []got {
	a.t.Helper()
	u, err := url.Parse(a.URL)
	if err != nil {
		a.t.Fatal(err)
	}
	conn, err := net.DialTimeout("tcp", u.Host, 5*time.Second)
	if err != nil {
		a.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		a.t.Fatal(err)
	}
	go func() {
		_, _ = io.WriteString(conn, strings.ReplaceAll(text, "{host}", u.Host)) // the server may refuse before it has read all
		if gone {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	}()
	var all []got
	for r := bufio.NewReader(conn); ; {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return all
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			a.t.Errorf("an answer broke off: %v", err)
		}
		g := got{resp.StatusCode, resp.Header, body}
		a.checkLeaks(shot{method: "raw", target: firstLine(text)}, g)
		all = append(all, g)
		if err := conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			a.t.Fatal(err)
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\r\n")
	return fmt.Sprintf("%.100q", line)
}

// F18: requests that proxies and servers cut in different places. Behind each stands a second request; it must never be
// carried out as somebody else's, and nothing of the first may reach a node.
func rawSockets(t *testing.T, a *arena) {
	const (
		page  = "/erupt-api/data/table/orders.Secret"
		heads = "Host: {host}\r\nerupt: orders.Secret\r\ntoken: {token}\r\nContent-Type: application/json\r\n"
		chunk = "2\r\n{}\r\n0\r\n\r\n"
	)
	second := "POST " + page + "?smuggled HTTP/1.1\r\n" + heads + "Content-Length: 2\r\n\r\n{}"
	tests := map[string]struct {
		text string
		want []int // of the first answer; nil: the client is gone before one, or asks nothing
		ok   bool  // the first request is good and reaches the node once
	}{
		"length and chunks":                 {"POST " + page + " HTTP/1.1\r\n" + heads + "Content-Length: " + fmt.Sprint(len(chunk)+len(second)) + "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + second, []int{200, 400}, true},
		"chunks and length":                 {"POST " + page + " HTTP/1.1\r\n" + heads + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + chunk + second, []int{200, 400}, true},
		"two lengths":                       {"POST " + page + " HTTP/1.1\r\n" + heads + "Content-Length: 2\r\nContent-Length: 400\r\n\r\n{}" + second, []int{400}, false},
		"a list of lengths":                 {"POST " + page + " HTTP/1.1\r\n" + heads + "Content-Length: 2, 400\r\n\r\n{}" + second, []int{400}, false},
		"a signed length":                   {"POST " + page + " HTTP/1.1\r\n" + heads + "Content-Length: +2\r\n\r\n{}" + second, []int{400}, false},
		"a negative length":                 {"POST " + page + " HTTP/1.1\r\n" + heads + "Content-Length: -2\r\n\r\n{}" + second, []int{400}, false},
		"a hexadecimal length":              {"POST " + page + " HTTP/1.1\r\n" + heads + "Content-Length: 0x2\r\n\r\n{}" + second, []int{400}, false},
		"a length beyond all numbers":       {"POST " + page + " HTTP/1.1\r\n" + heads + "Content-Length: 99999999999999999999\r\n\r\n{}" + second, []int{400}, false},
		"two encodings":                     {"POST " + page + " HTTP/1.1\r\n" + heads + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunk + second, []int{400, 501}, false},
		"a list of encodings":               {"POST " + page + " HTTP/1.1\r\n" + heads + "Transfer-Encoding: identity, chunked\r\n\r\n" + chunk + second, []int{400, 501}, false},
		"an encoding of another name":       {"POST " + page + " HTTP/1.1\r\n" + heads + "Transfer-Encoding: xchunked\r\n\r\n" + chunk + second, []int{400, 501}, false},
		"an encoding with a tab":            {"POST " + page + " HTTP/1.1\r\n" + heads + "Transfer-Encoding:\tchunked\x0b\r\n\r\n" + chunk + second, []int{400, 501}, false},
		"a blank before the colon":          {"POST " + page + " HTTP/1.1\r\n" + heads + "Transfer-Encoding : chunked\r\n\r\n" + chunk + second, []int{400}, false},
		"chunks that are none":              {"POST " + page + " HTTP/1.1\r\n" + heads + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n" + second, []int{400}, false},
		"a chunk of a negative size":        {"POST " + page + " HTTP/1.1\r\n" + heads + "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n" + second, []int{400}, false},
		"a chunk of more than all":          {"POST " + page + " HTTP/1.1\r\n" + heads + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n" + second, []int{400}, false},
		"chunks without an end":             {"POST " + page + " HTTP/1.1\r\n" + heads + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", nil, false},
		"a body that ends early":            {"POST " + page + " HTTP/1.1\r\n" + heads + "Content-Length: 200\r\n\r\n{}", nil, false},
		"a header over two lines":           {"GET /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\nX-A: b\r\n token: {token}\r\n\r\n", []int{400, 401}, false},
		"a header without a name":           {"GET /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\n: x\r\ntoken: {token}\r\n\r\n", []int{400}, false},
		"a header with a blank in the name": {"GET /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\nto ken: {token}\r\n\r\n", []int{400}, false},
		"a header with NUL":                 {"GET /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\nX-A: a\x00b\r\ntoken: {token}\r\n\r\n", []int{400}, false},
		"a header with a bare line end":     {"GET /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\nX-A: a\rtoken: {token}\r\n\r\n", []int{400}, false},
		"a header of 80 KiB":                {"GET /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\nX-A: " + strings.Repeat("a", 80<<10) + "\r\ntoken: {token}\r\n\r\n", []int{431}, false},
		"10,000 headers":                    {"GET /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\n" + strings.Repeat("X-A: 1\r\n", 10_000) + "token: {token}\r\n\r\n", []int{431}, false},
		"10,000 headers to a node":          {"POST " + page + " HTTP/1.1\r\n" + heads + strings.Repeat("X-A: 1\r\n", 10_000) + "Content-Length: 2\r\n\r\n{}", []int{431}, false},
		"a line of a mebibyte":              {"GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: {host}\r\n\r\n", []int{431, 414, 400}, false},
		"two hosts":                         {"GET /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\ntoken: {token}\r\n\r\n", []int{400}, false},
		"no host":                           {"GET /api/v1/nodes HTTP/1.1\r\ntoken: {token}\r\n\r\n", []int{400}, false},
		"a host that is none":               {"GET /api/v1/nodes HTTP/1.1\r\nHost: a b/c\r\ntoken: {token}\r\n\r\n", []int{400}, false},
		"no version":                        {"GET /api/v1/nodes\r\n\r\n", []int{400}, false},
		"version 0.9":                       {"GET /api/v1/nodes HTTP/0.9\r\nHost: {host}\r\ntoken: {token}\r\n\r\n", []int{400, 505}, false},
		"version 2 without a handshake":     {"GET /api/v1/nodes HTTP/2.0\r\nHost: {host}\r\ntoken: {token}\r\n\r\n", []int{400, 505}, false},
		"the preface of version 2":          {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{400, 404, 405, 505}, false},
		"version 9":                         {"GET /api/v1/nodes HTTP/9.9\r\nHost: {host}\r\ntoken: {token}\r\n\r\n", []int{400, 505}, false},
		"a method with a blank":             {"GE T /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\n\r\n", []int{400}, false},
		"a method that is none":             {"EVIL " + page + " HTTP/1.1\r\n" + heads + "\r\n", []int{400, 404, 405}, false},
		"TRACE":                             {"TRACE " + page + " HTTP/1.1\r\n" + heads + "\r\n", []int{404, 405}, false},
		"CONNECT":                           {"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: {host}\r\ntoken: {token}\r\n\r\n", []int{400, 404, 405}, false},
		"an address with a blank":           {"GET /api/v1/nodes /x HTTP/1.1\r\nHost: {host}\r\n\r\n", []int{400}, false},
		"another server's address":          {"GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\r\nHost: {host}\r\ntoken: {token}\r\n\r\n", []int{404}, false},
		"an address without a slash":        {"GET api/v1/nodes HTTP/1.1\r\nHost: {host}\r\ntoken: {token}\r\n\r\n", []int{400}, false},
		"a raw NUL in the address":          {"GET /api/v1/nodes\x00 HTTP/1.1\r\nHost: {host}\r\ntoken: {token}\r\n\r\n", []int{400}, false},
		"bad encoding in the address":       {"GET /api/v1/nodes/%zz HTTP/1.1\r\nHost: {host}\r\ntoken: {token}\r\n\r\n", []int{400}, false},
		"TLS to a plain port":               {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{400}, false},
		"nothing but line ends":             {"\r\n\r\n\r\n\r\n", nil, false},
		"a wish to be told to go on":        {"POST /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\nExpect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}", []int{417}, false},
		"a trailer that names a session":    {"GET /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nTrailer: token\r\n\r\n0\r\ntoken: {token}\r\n\r\n", []int{401}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := a.at(t)
			a.unchanged(name, func() {
				all := a.say(strings.ReplaceAll(tt.text, "{token}", a.sessions[admin]), tt.want == nil)
				if tt.want == nil {
					return
				}
				if len(all) == 0 || !slices.Contains(tt.want, all[0].status) {
					t.Errorf("answered %v, want %v first", summary(all), tt.want)
				}
				if len(all) > 1 {
					t.Errorf("the second request was answered: %v", summary(all))
				}
			})
			whole := 0
			for _, s := range a.reached() {
				switch {
				case strings.Contains(s.Query, "smuggled"):
					t.Errorf("the second request reached the node: %s %s?%s", s.Method, s.Path, s.Query)
				case tt.ok && string(s.Body) == "{}" && s.Path == "/erupt-api/data/table/Secret":
					whole++
				default:
					t.Errorf("the node was asked %s %s with %q", s.Method, s.Path, s.Body)
				}
			}
			if whole > 1 {
				t.Errorf("the node was asked %d times", whole)
			}
			a.forget()
		})
	}
	a.must(http.MethodGet, "/api/v1/nodes", nil, http.StatusOK, nil)
}

func summary(all []got) []string {
	var out []string
	for _, g := range all {
		out = append(out, fmt.Sprintf("%d %.120s", g.status, g.body))
	}
	return out
}
