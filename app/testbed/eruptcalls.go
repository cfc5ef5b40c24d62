package testbed

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Answer is what a call to the server brought.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// errThrown is what the client of 2.2 and later makes of a status of 400 and above: an exception in the caller.
var errThrown = errors.New("the client throws")

// registration has the fields in the order in which nodes send them.
type registration struct {
	InstanceID   string              `json:"instanceId"`
	Version      string              `json:"version"`
	NodeName     string              `json:"nodeName"`
	AccessToken  string              `json:"accessToken"`
	NodeAddress  []string            `json:"nodeAddress"`
	EruptModules []string            `json:"eruptModules"`
	Erupts       []string            `json:"erupts"`
	Resources    map[string][]string `json:"resources,omitempty"` // 2.1+
}

// Register sends one registration, which is a heartbeat too.
func (n *EruptNode) Register() (Answer, error) {
	r := registration{
		InstanceID: n.Instance, Version: n.Version, NodeName: n.Name, AccessToken: n.token, NodeAddress: n.address, EruptModules: n.modules,
		Erupts: []string{"Customer", "PriceForm"},
	}
	if n.gen >= 21 {
		r.Resources = map[string][]string{"flow": {"approve-order", "审批"}}
	}
	body, err := json.Marshal(r)
	if err != nil {
		return Answer{}, err
	}
	return n.call(request{method: http.MethodPost, path: "/erupt-cloud-api/register-node", body: string(body), kind: "application/json;charset=UTF-8"})
}

// Remove sends the removal call. The fields stand in the order in which they were recorded; a value is encoded as forms are.
func (n *EruptNode) Remove() (Answer, error) {
	form := "nodeName=" + url.QueryEscape(n.Name) + "&accessToken=" + url.QueryEscape(n.token)
	if n.gen >= 21 {
		form += "&locations=" + url.QueryEscape(strings.Join(n.address, ","))
	}
	return n.call(request{method: http.MethodPost, path: "/erupt-cloud-api/remove-instance-node", body: form, kind: "application/x-www-form-urlencoded;charset=UTF-8"})
}

// Config returns what the node's application gets as its configuration.
func (n *EruptNode) Config() (string, error) {
	return n.read(request{path: "/erupt-cloud-api/node-config/" + n.Name, access: n.token})
}

// GroupConfig is Config for the node's group: the token goes in header and query.
func (n *EruptNode) GroupConfig() (string, error) {
	return n.read(request{path: "/erupt-cloud-api/node-group-config/" + n.Name + "?Access-Token=" + url.QueryEscape(n.token), access: n.token})
}

// UserInfo returns what the application hears of the person of a session, nil for nobody.
func (n *EruptNode) UserInfo(session string) (map[string]any, error) {
	body, err := n.read(request{path: "/erupt-cloud-api/userinfo/" + n.Name, access: n.token, session: session})
	if err != nil || strings.TrimSpace(body) == "" {
		return nil, err
	}
	var user map[string]any
	return user, json.Unmarshal([]byte(body), &user)
}

// Permission reports whether the application hears that the person of a session holds a menu value.
func (n *EruptNode) Permission(session, value string) (bool, error) {
	body, err := n.read(request{path: "/erupt-api/erupt-permission/" + value, session: session})
	return strings.EqualFold(strings.TrimSpace(body), "true"), err
}

// power is what a session may do with a class. What is not an object fails; an object without a flag grants it, whatever the
// status was up to 2.1 (erupt-wire 1.5).
func (n *EruptNode) power(session, erupt string) (func(flag string) bool, error) {
	query := url.Values{"nodeName": {n.Name}}.Encode() + "&eruptName=" + url.QueryEscape(erupt)
	body, err := n.read(request{path: "/erupt-cloud-api/erupt-power?" + query, session: session})
	if err != nil {
		return nil, err
	}
	var flags map[string]any
	if err := json.Unmarshal([]byte(body), &flags); err != nil || flags == nil {
		return nil, fmt.Errorf("power is no object: %.200s", body)
	}
	return func(flag string) bool { v, said := flags[flag].(bool); return v || !said }, nil
}

// read is a call whose body goes to the application.
func (n *EruptNode) read(r request) (string, error) {
	r.method = http.MethodGet
	answer, err := n.call(r)
	switch {
	case err != nil:
		return "", err
	case n.gen >= 22 && answer.Status >= 400:
		return "", fmt.Errorf("%w: %d %s", errThrown, answer.Status, answer.Body)
	case answer.Status >= 400 && answer.Body == "":
		return fmt.Sprint("Error request, response status: ", answer.Status), nil
	}
	return answer.Body, nil
}

// request is one call; only what is set is sent.
type request struct {
	method, path    string
	access, session string
	body, kind      string
}

// call sends a request on a connection of its own and reads the answer. No redirect is followed.
func (n *EruptNode) call(r request) (Answer, error) {
	server, err := url.Parse(n.server)
	if err != nil {
		return Answer{}, err
	}
	conn, err := net.DialTimeout("tcp", server.Host, 5*time.Second)
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	// Nodes wait for ever. A test does not: the server must answer within seconds.
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return Answer{}, err
	}
	target := server.Path + r.path // the address and the path are put together as they are
	if _, err := io.WriteString(conn, n.bytes(r, server.Host, target)); err != nil {
		return Answer{}, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.method})
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	var body io.Reader = resp.Body
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(resp.Body); err != nil {
			return Answer{}, err
		}
	}
	text, err := io.ReadAll(body)
	return Answer{resp.StatusCode, resp.Header, string(text)}, err
}

// bytes is the request as it goes out: Hutool's up to 2.1, the JDK's from 2.2 on. The JSON converter there cannot tell the
// length beforehand, so a body comes in chunks; which type it names was not readable, and the server must not care.
func (n *EruptNode) bytes(r request, host, target string) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + value + "\r\n")
		}
	}
	b.WriteString(r.method + " " + target + " HTTP/1.1\r\n")
	form := strings.HasPrefix(r.kind, "application/x-www-form-urlencoded")
	length := ""
	if r.body != "" {
		length = fmt.Sprint(len(r.body))
	}
	if n.gen >= 22 {
		chunked := r.body != "" && !form
		if !chunked {
			line("Content-Length", length)
		}
		line("Host", host)
		if chunked {
			line("Transfer-encoding", "chunked")
		}
		line("User-Agent", "Java-http-client/17.0.13")
		line("Access-Token", r.access)
		line("Content-Type", strings.TrimSuffix(r.kind, ";charset=UTF-8"))
		line("token", r.session)
		b.WriteString("\r\n")
		if chunked {
			fmt.Fprintf(&b, "%x\r\n%s\r\n0\r\n\r\n", len(r.body), r.body)
			return b.String()
		}
		return b.String() + r.body
	}
	line("Accept", "text/html,application/json,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	line("Access-Token", r.access)
	line("User-Agent", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/75.0.3770.142 Safari/537.36 Hutool")
	line("Accept-Encoding", "gzip, deflate")
	line("token", r.session)
	if r.body != "" {
		if !form {
			line("Content-Length", length)
		}
		line("Content-Type", r.kind)
		line("Cache-Control", "no-cache")
		line("Pragma", "no-cache")
	}
	line("Host", host)
	line("Connection", "keep-alive")
	if form {
		line("Content-Length", length)
	}
	b.WriteString("\r\n")
	return b.String() + r.body
}
