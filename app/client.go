package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"eruptcloud/app/boot"
)

// requestLimit is how long one call may take; a server that does not answer in it counts as not reached.
const requestLimit = 15 * time.Second

// remote are the flags of commands that ask a running server.
type remote struct {
	server, token, account, passwordFile string
}

func (r *remote) bind(f *pflag.FlagSet) {
	f.StringVar(&r.server, "server", "", "address of the server with its base path (EC_SERVER_URL; default: from the configuration)")
	f.StringVar(&r.token, "token", "", "token of a session (EC_TOKEN); better in the environment, where other users do not see it")
	f.StringVar(&r.account, "account", "", "account to log in with, and out again; its password is in EC_PASSWORD or --password-file")
	f.StringVar(&r.passwordFile, "password-file", "", "file that holds the password, - for standard input")
}

// client calls the API of a running server.
type client struct {
	base  string
	token string
	http  *http.Client
}

// problem is what the server answered instead of what was asked.
type problem struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (p *problem) Error() string { return p.Message }

// unreached tells that no answer came.
type unreached struct{ err error }

func (e unreached) Error() string { return e.err.Error() }
func (e unreached) Unwrap() error { return e.err }

// open returns a client with a session. done ends the session if it was begun here.
func (r *remote) open(ctx context.Context, s *settings, in io.Reader) (c *client, done func(), err error) {
	c = &client{base: r.server, token: r.token, http: &http.Client{Timeout: requestLimit}}
	if c.base == "" {
		c.base = os.Getenv("EC_SERVER_URL")
	}
	if c.base == "" {
		settings, err := s.load(nil)
		if err != nil {
			return nil, nil, err
		}
		c.base = boot.LocalURL(settings)
	}
	if u, err := url.Parse(c.base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, usageError{fmt.Errorf("--server %s: want an address such as https://fleet.example/ops", c.base)}
	}
	c.base = strings.TrimRight(c.base, "/")
	if c.token == "" && r.account == "" {
		c.token = os.Getenv("EC_TOKEN")
	}
	switch {
	case r.account != "" && r.token != "":
		return nil, nil, usageError{errors.New("--token and --account exclude each other")}
	case r.account != "":
		return c, func() { c.logout(ctx) }, c.login(ctx, r, in)
	case c.token == "":
		return nil, nil, usageError{errors.New("who asks? set EC_TOKEN to the token of a session, or --account and EC_PASSWORD")}
	}
	return c, func() {}, nil
}

func (c *client) login(ctx context.Context, r *remote, in io.Reader) error {
	password := os.Getenv("EC_PASSWORD")
	if r.passwordFile != "" {
		var err error
		if password, err = readSecret(in, r.passwordFile); err != nil {
			return err
		}
	}
	if password == "" {
		return usageError{errors.New("the password is missing: set EC_PASSWORD or --password-file")}
	}
	var out struct {
		Pass   bool
		Token  string
		Reason string
	}
	err := c.call(ctx, http.MethodPost, "/erupt-api/login", map[string]string{"account": r.account, "pwd": transfer(password)}, &out)
	if err != nil {
		return err
	}
	if !out.Pass {
		return &problem{Status: http.StatusUnauthorized, Message: out.Reason}
	}
	c.token = out.Token
	return nil
}

// transfer encodes a password as erupt's front end does where the server could take the plain one for encoded.
func transfer(password string) string {
	decoded := []byte(password)
	for range 3 {
		next, err := base64.StdEncoding.DecodeString(string(decoded))
		if err != nil {
			return password // what is not encoded arrives as it is
		}
		decoded = next
	}
	encoded := url.QueryEscape(password)
	for range 3 {
		encoded = base64.StdEncoding.EncodeToString([]byte(encoded))
	}
	return encoded
}

// logout ends the session, also after a signal; one that stays ends by itself.
func (c *client) logout(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = c.call(ctx, http.MethodPost, "/erupt-api/logout", nil, nil)
}

// call sends a request and decodes the answer into out. *problem if the server refuses, unreached if it does not answer.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return usageError{err}
	}
	req.Header.Set("Accept", "application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("token", c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return unreached{err}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return unreached{err}
	}
	if resp.StatusCode >= 300 {
		return refusal(resp, raw)
	}
	if out == nil || len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return c.nobody()
	}
	return nil
}

// nobody tells that something else answers at the address.
func (c *client) nobody() error {
	return unreached{fmt.Errorf("no server of ours is found at this address: %s; is its base path right?", c.base)}
}

// located tells a thing that the server does not have from a server that is not at this address: both are answered 404.
func (c *client) located(ctx context.Context, err error) error {
	var p *problem
	if c == nil || !errors.As(err, &p) || p.Status != http.StatusNotFound {
		return err
	}
	if c.call(ctx, http.MethodGet, "/livez", nil, nil) == nil {
		return err
	}
	return c.nobody()
}

// refusal reads an error document. An answer that is none comes from something else, such as a proxy before the server.
func refusal(resp *http.Response, raw []byte) error {
	p := &problem{Status: resp.StatusCode}
	if json.Unmarshal(raw, p) != nil || p.Code == "" {
		p.Message = fmt.Sprintf("%s answered %s", resp.Request.URL.Redacted(), resp.Status)
	}
	return p
}
