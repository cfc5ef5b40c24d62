package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"
)

var basePath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

// Validate checks each setting and the rules between them; its error lists all problems.
func (c *Config) Validate() error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
	c.Server.BasePath = strings.TrimRight(c.Server.BasePath, "/")
	if c.Server.BasePath != "" && (!basePath.MatchString(c.Server.BasePath) || strings.Contains(c.Server.BasePath, "..")) {
		bad("server.base_path", "%q must look like /fleet or /ops/fleet", c.Server.BasePath)
	}
	checkListen(bad, "server.listen", c.Server.Listen)
	if c.Ops.Listen != "off" {
		checkListen(bad, "ops.listen", c.Ops.Listen)
	}
	if (c.Server.TLSCert == "") != (c.Server.TLSKey == "") {
		bad("server.tls_cert", "certificate and key belong together: set both or neither")
	} else if c.Server.TLSCert != "" {
		if _, err := tls.LoadX509KeyPair(c.Server.TLSCert, c.Server.TLSKey); err != nil {
			bad("server.tls_cert", "%v", err)
		}
	}
	checkAddresses(bad, "netguard.deny", c.Netguard.Deny, "link-local", "metadata", "multicast", "unspecified", "loopback", "private")
	checkAddresses(bad, "netguard.allow", c.Netguard.Allow)
	oneOf(bad, "database.driver", c.Database.Driver, "sqlite", "mysql")
	oneOf(bad, "database.migrate", c.Database.Migrate, "auto", "true", "false")
	oneOf(bad, "session.secure_cookie", c.Session.SecureCookie, "auto", "always", "never")
	oneOf(bad, "proxy.header_policy", c.Proxy.HeaderPolicy, "copied", "listed")
	oneOf(bad, "netguard.allow_loopback", c.Netguard.AllowLoopback, "auto", "true", "false")
	oneOf(bad, "log.level", c.Log.Level, "debug", "info", "warn", "error")
	oneOf(bad, "log.format", c.Log.Format, "json", "text")
	if c.Database.Driver == "mysql" && c.Database.DSN == "" {
		bad("database.dsn", "mysql needs one: user:password@tcp(host:3306)/name")
	}
	if _, err := time.LoadLocation(c.Database.TimeZone); err != nil {
		bad("database.time_zone", "%q is no time zone such as UTC or Asia/Shanghai", c.Database.TimeZone)
	}
	c.checkRedis(bad)
	for i, key := range c.Session.Keys {
		if len(key) < 32 {
			bad("session.keys", "key %d has %d bytes, 32 or more are needed", i+1, len(key))
		}
	}
	if c.Secrets.TokenKey != "" && len(c.Secrets.TokenKey) < 32 {
		bad("secrets.token_key", "has %d bytes, 32 or more are needed", len(c.Secrets.TokenKey))
	}
	c.checkTimes(bad)
	return errors.Join(errs...)
}

func (c *Config) checkRedis(bad func(key, format string, args ...any)) {
	if c.Embedded() {
		return
	}
	if u, err := url.Parse(c.Redis.URL); err != nil || (u.Scheme != "redis" && u.Scheme != "rediss") || u.Host == "" {
		bad("redis.url", "must look like redis://host:6379/0")
	}
	if c.Database.Driver != "mysql" {
		bad("redis.url", "needs database.driver = mysql: several replicas cannot share one SQLite file")
	}
	if len(c.Session.Keys) == 0 {
		bad("session.keys", "must be set when redis.url is: all replicas need the same")
	}
	if c.Secrets.TokenKey == "" {
		bad("secrets.token_key", "must be set when redis.url is: all replicas need the same")
	}
}

func (c *Config) checkTimes(bad func(key, format string, args ...any)) {
	for key, d := range map[string]time.Duration{
		"cloud_server.node_expire_time": c.CloudServer.NodeExpireTime, "cloud_server.node_survive_check_time": c.CloudServer.NodeSurviveCheckTime,
		"cloud_server.node_request_timeout": c.CloudServer.NodeRequestTimeout, "cloud_server.heartbeat_time": c.CloudServer.HeartbeatTime,
		"cloud_server.token_grace": c.CloudServer.TokenGrace,
		"proxy.connect_timeout":    c.Proxy.ConnectTimeout, "session.ttl": c.Session.TTL, "server.drain_timeout": c.Server.DrainTimeout,
	} {
		if d <= 0 {
			bad(key, "must be longer than nothing")
		}
	}
	if c.Server.ShutdownGrace < 0 {
		bad("server.shutdown_grace", "must not be negative")
	}
	if c.CloudServer.NodeSurviveCheckTime >= c.CloudServer.NodeExpireTime {
		bad("cloud_server.node_survive_check_time", "%s must be shorter than node_expire_time, %s", c.CloudServer.NodeSurviveCheckTime, c.CloudServer.NodeExpireTime)
	}
	if 2*c.CloudServer.HeartbeatTime > c.CloudServer.NodeExpireTime {
		bad("cloud_server.heartbeat_time", "%s must be at most half of node_expire_time, %s, or one lost beat ends a lease", c.CloudServer.HeartbeatTime, c.CloudServer.NodeExpireTime)
	}
	if c.Login.MaxFailures < 1 {
		bad("login.max_failures", "must be 1 or more; login.lock = false switches the lock off")
	}
	if c.Login.LockMinutes < 1 {
		bad("login.lock_minutes", "must be 1 or more; login.lock = false switches the lock off")
	}
	if c.Login.CaptchaAfter < -1 || c.Login.CaptchaAfter > 1000 {
		bad("login.captcha_after", "must be between -1 (never) and 1000")
	}
	if c.Login.MFAWindow < 0 || c.Login.MFAWindow > 10 {
		bad("login.mfa_window", "must be between 0 and 10")
	}
	c.checkEruptApp(bad)
	if c.Proxy.MaxUpload < 0 {
		bad("proxy.max_upload", "must not be negative; 0 means no limit")
	}
	if c.Uploads.MaxFile < 1 || c.Uploads.MaxTotal < c.Uploads.MaxFile {
		bad("uploads.max_file", "must be 1 or more, and uploads.max_total not less")
	}
	if c.Uploads.MaxAccount < 0 {
		bad("uploads.max_account", "must not be negative; 0 means a tenth of uploads.max_total")
	}
	if c.Proxy.MaxOpen < 0 {
		bad("proxy.max_open", "must not be negative; 0 means no limit")
	}
}

func (c *Config) checkEruptApp(bad func(key, format string, args ...any)) {
	if len(c.EruptApp.Locales) == 0 {
		bad("erupt_app.locales", "needs one language at least")
	}
	for _, l := range c.EruptApp.Locales {
		if _, err := language.Parse(l); err != nil {
			bad("erupt_app.locales", "%q is no language such as en-US", l)
		}
	}
	if at := c.EruptApp.LoginPagePath; at != "" {
		if u, err := url.Parse(at); err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			bad("erupt_app.login_page_path", "%q must be a path or an http(s) URL", at)
		}
	}
	for _, p := range c.EruptApp.Properties {
		if name, _, ok := strings.Cut(p, "="); !ok || name == "" {
			bad("erupt_app.properties", "%q must look like name=value", p)
		}
	}
}

// Warnings lists what is allowed and unwise.
func (c *Config) Warnings() []string {
	var out []string
	if !c.CloudServer.ValidateAccessToken {
		out = append(out, "cloud_server.validate_access_token is false: anybody who knows a node's name may register an address for it")
	}
	if c.Session.SecureCookie == "never" {
		out = append(out, "session.secure_cookie is never: the session cookie also travels over plain HTTP")
	}
	return out
}

func checkListen(bad func(key, format string, args ...any), key, addr string) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		bad(key, "%q must look like :8080 or 127.0.0.1:8080", addr)
	}
}

// checkAddresses refuses what is neither an address, a prefix nor one of the words.
func checkAddresses(bad func(key, format string, args ...any), key string, entries []string, words ...string) {
	for _, e := range entries {
		if slices.Contains(words, e) {
			continue
		}
		if _, err := parsePrefixes([]string{e}); err != nil {
			if len(words) > 0 {
				bad(key, "%v, nor one of %s", err, strings.Join(words, ", "))
			} else {
				bad(key, "%v", err)
			}
		}
	}
}

func oneOf(bad func(key, format string, args ...any), key, got string, allowed ...string) {
	for _, a := range allowed {
		if got == a {
			return
		}
	}
	bad(key, "%q must be one of %s", got, strings.Join(allowed, ", "))
}
