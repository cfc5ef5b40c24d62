package takeover

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"eruptcloud/app/config"
)

// plan is what the settings of the Java server come to.
type plan struct {
	dsn, redisURL string // with their secrets: only to read with
	namespace     string
	expire        time.Duration
	port, base    string
	url           string
	values        map[string]string // key of ours → TOML value
	missing       []string          // settings whose value stays open
}

// kinds of values.
const (
	asText = iota
	asBool
	asInt
	asMillis
	asMinutes
	asList
)

// counterparts are the settings of erupt that have one here (erupt-wire 8).
var counterparts = []struct {
	java, ours string
	kind       int
}{
	{"erupt.cloud-server.nodeExpireTime", "cloud_server.node_expire_time", asMillis},
	{"erupt.cloud-server.nodeSurviveCheckTime", "cloud_server.node_survive_check_time", asMillis},
	{"erupt.cloud-server.cloudNameSpace", "cloud_server.cloud_name_space", asText},
	{"erupt.cloud-server.validateAccessToken", "cloud_server.validate_access_token", asBool},
	{"erupt.cloud-server.nodeRequestTimeout", "cloud_server.node_request_timeout", asMillis},
	{"erupt.redisSessionRefresh", "session.refresh", asBool},
	{"erupt.upms.expireTimeByLogin", "session.ttl", asMinutes},
	{"erupt.upms.login-lock.enable", "login.lock", asBool},
	{"erupt.upms.login-lock.max-failures", "login.max_failures", asInt},
	{"erupt.upms.login-lock.lock-minutes", "login.lock_minutes", asInt},
	{"erupt-app.pwdTransferEncrypt", "login.pwd_transfer_encrypt", asBool},
	{"erupt-app.verifyCodeCount", "login.captcha_after", asInt},
	{"erupt-app.mfa.enable", "login.mfa_enable", asBool},
	{"erupt-app.mfa.issuer", "login.mfa_issuer", asText},
	{"erupt-app.mfa.window", "login.mfa_window", asInt},
	{"erupt-app.waterMark", "erupt_app.water_mark", asBool},
	{"erupt-app.waterMarkDate", "erupt_app.water_mark_date", asBool},
	{"erupt-app.waterMarkContent", "erupt_app.water_mark_content", asText},
	{"erupt-app.loginPagePath", "erupt_app.login_page_path", asText},
	{"erupt-app.locales", "erupt_app.locales", asList},
	{"erupt-app.resetPwd", "erupt_app.reset_pwd", asBool},
	{"erupt-app.resetPwdPrompt", "erupt_app.reset_pwd_prompt", asBool},
	{"erupt.uploadPath", "uploads.dir", asText},
}

// settings reads the files: those of nodes each by itself, all others together as the server's. server is nil without files.
func (o Options) settings() (server *Settings, nodes []*Settings, err error) {
	var files []string
	for _, file := range o.Applications {
		one, err := ReadSettings([]string{file}, o.Profiles)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrUsage, err)
		}
		if _, ok := one.values[canonicalKey("erupt.cloud-node.nodeName")]; ok {
			nodes = append(nodes, one)
		} else {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, nodes, nil
	}
	if server, err = ReadSettings(files, o.Profiles); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return server, nodes, nil
}

func planOf(s *Settings, o Options) plan {
	p := plan{namespace: "erupt-cloud:", expire: 10 * time.Minute, port: "8080", values: map[string]string{}}
	if s != nil {
		p.read(s)
	}
	if o.Namespace != "" {
		p.namespace = o.Namespace
		p.values["cloud_server.cloud_name_space"] = quoted(o.Namespace)
	}
	p.url = strings.TrimRight(o.URL, "/")
	if p.url == "" {
		p.url = "http://THIS-SERVER:" + p.port + p.base
	}
	return p
}

func (p *plan) read(s *Settings) {
	if port, ok := s.Get("server.port"); ok && number(port) {
		p.port = port
	}
	host, _ := s.Get("server.address")
	p.values["server.listen"] = quoted(host + ":" + p.port)
	if base, ok := s.Get("server.servlet.context-path"); ok && strings.Trim(base, "/") != "" {
		p.base = "/" + strings.Trim(base, "/")
		p.values["server.base_path"] = quoted(p.base)
	}
	known := config.Keys()
	for _, c := range counterparts {
		if !slices.ContainsFunc(known, func(k config.Key) bool { return k.Path == c.ours }) {
			continue
		}
		if value, ok := converted(s, c.java, c.kind); ok {
			p.values[c.ours] = value
		} else if _, there := s.values[canonicalKey(c.java)]; there {
			p.missing = append(p.missing, c.java)
		}
	}
	if ns, ok := s.Get("erupt.cloud-server.cloudNameSpace"); ok && ns != "" {
		p.namespace = ns
	}
	if ms, ok := s.Get("erupt.cloud-server.nodeExpireTime"); ok {
		if n, err := strconv.ParseInt(ms, 10, 32); err == nil && n > 0 {
			p.expire = time.Duration(n) * time.Millisecond
		}
	}
	p.database(s)
	p.redis(s)
}

func number(s string) bool { n, err := strconv.ParseUint(s, 10, 16); return err == nil && n > 0 }

// converted returns a setting as a TOML value. ok is false if it is not set or does not read as what it should be.
func converted(s *Settings, name string, kind int) (string, bool) {
	if kind == asList {
		list := s.List(name)
		for i, one := range list {
			list[i] = quoted(one)
		}
		return "[" + strings.Join(list, ", ") + "]", len(list) > 0
	}
	v, ok := s.Get(name)
	v = strings.TrimSpace(v)
	if !ok || v == "" {
		return "", false
	}
	switch kind {
	case asBool:
		b, err := strconv.ParseBool(strings.ToLower(v))
		return strconv.FormatBool(b), err == nil
	case asInt:
		n, err := strconv.ParseInt(v, 10, 32)
		return strconv.FormatInt(n, 10), err == nil
	case asMillis:
		n, err := strconv.ParseInt(v, 10, 40)
		return quoted((time.Duration(n) * time.Millisecond).String()), err == nil && n > 0
	case asMinutes:
		n, err := strconv.ParseInt(v, 10, 24)
		return quoted(strconv.FormatInt(n, 10) + "m"), err == nil && n > 0
	}
	return quoted(v), true
}

// quoted writes a TOML string: its escapes are those of Go for everything that can be in it.
func quoted(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case unreadable(string(r)):
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// database turns a JDBC address into a DSN.
func (p *plan) database(s *Settings) {
	raw, ok := s.Get("spring.datasource.url")
	rest, isMySQL := strings.CutPrefix(raw, "jdbc:mysql://")
	if !isMySQL {
		rest, isMySQL = strings.CutPrefix(raw, "jdbc:mariadb://")
	}
	if !ok || !isMySQL {
		return
	}
	u, err := url.Parse("mysql://" + rest)
	if err != nil || u.Host == "" {
		p.missing = append(p.missing, "spring.datasource.url")
		return
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.DBName = "tcp", u.Host, strings.Trim(u.Path, "/")
	if u.Port() == "" {
		c.Addr = u.Hostname() + ":3306"
	}
	c.User, _ = s.Get("spring.datasource.username")
	if c.User == "" {
		c.User = u.Query().Get("user")
	}
	c.Passwd, ok = s.Get("spring.datasource.password")
	if zone := cmp.Or(u.Query().Get("serverTimezone"), u.Query().Get("connectionTimeZone")); zone != "" {
		if _, err := time.LoadLocation(zone); err == nil && zone != "LOCAL" && zone != "SERVER" {
			p.values["database.time_zone"] = quoted(zone)
		}
	}
	if ok && c.User != "" {
		p.dsn = c.FormatDSN()
	}
}

// redis turns the settings of either Spring Boot into an address.
func (p *plan) redis(s *Settings) {
	for _, prefix := range []string{"spring.data.redis.", "spring.redis."} {
		if len(s.Under(prefix)) == 0 {
			continue
		}
		if whole, ok := s.Get(prefix + "url"); ok && whole != "" {
			p.redisURL = whole
			return
		}
		get := func(name, fallback string) string {
			v, _ := s.Get(prefix + name)
			return cmp.Or(v, fallback)
		}
		u := url.URL{Scheme: "redis", Host: get("host", "localhost") + ":" + get("port", "6379"), Path: "/" + get("database", "0")}
		if get("ssl", "") == "true" || get("ssl.enabled", "") == "true" {
			u.Scheme = "rediss"
		}
		if password := get("password", ""); password != "" {
			u.User = url.UserPassword(get("username", ""), password)
		}
		p.redisURL = u.String()
		return
	}
}
