package nodeagent

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Version is the version of this agent.
const Version = "1.0.0"

// Defaults and limits of Config.
const (
	DefaultHeartbeat    = 15 * time.Second
	DefaultDrainTimeout = 30 * time.Second
	DefaultDrainSettle  = 500 * time.Millisecond
	DefaultConfigPoll   = 5 * time.Minute
	maxHeartbeat        = 5 * time.Minute
	maxNodeName         = 64
	maxServers          = 16
)

// Config says who a node is and how it speaks to its control plane. The zero value of everything but NodeName, AccessToken
// and ServerAddresses is a good choice.
type Config struct {
	// EnableRegister false keeps the node silent: no registration, no heartbeat, no farewell. Nil means true.
	EnableRegister *bool
	// NodeName is the name of the node's profile on the server. Required.
	NodeName string
	// AccessToken is the token of that profile. The node shows it to the server, and the server shows it to the node:
	// without one the node refuses every request below /erupt-api.
	AccessToken string
	// ServerAddresses are base URLs of the server, its base path included. One is used until it fails, then the next.
	ServerAddresses []string

	// HostAddress is where the server reaches this node, as it stands: one or more base URLs. Empty means
	// {Schema}://{own IPv4}:{Port}{ContextPath}, where the own IPv4 is that of the way to the server.
	HostAddress []string
	// Schema is http (default) or https.
	Schema string
	// Port is the node's port. Serve takes it from its listener.
	Port int
	// ContextPath goes before all paths of the node, for instance "/shop".
	ContextPath string

	// HeartbeatTime is the pause between two registrations; the server may change it between 1 s and 2 min. Default 15 s.
	HeartbeatTime time.Duration
	// DrainTimeout is how long a leaving node waits for requests in flight. Default 30 s; negative means not at all.
	DrainTimeout time.Duration
	// DrainSettle is how long a leaving node must have been without requests before it stops answering: requests that
	// were sent on their way just before the server took the node out of routing still arrive. Default 500 ms.
	DrainSettle time.Duration
	// ConfigPoll is how often the configuration is asked for when no heartbeat says that it changed. Default 5 min.
	ConfigPoll time.Duration

	// InstanceID names this process among those of the node. Default: ten random letters and digits.
	InstanceID string
	// Version is the version of your program. It is registered as "go-VERSION", so that nobody takes it for a version of
	// erupt. Default: the agent's own.
	Version string
	// Modules are names that the console shows beside the node's erupts.
	Modules []string

	// Erupts are erupts that the node hosts beside its pages, answered by EruptHandler.
	Erupts []string
	// EruptHandler answers what comes for Erupts, and every path below /erupt-api that the agent does not know, behind
	// the guard.
	EruptHandler http.Handler
	// Healthy is asked before each probe is answered; an error makes it fail with that text. Nil means always healthy.
	Healthy func(r *http.Request) error

	// UploadDir is where files of ATTACHMENT fields are kept. Empty: uploads are refused.
	UploadDir string
	// MaxUpload limits one uploaded file of a field that states no limit itself, in bytes. Default 100 MiB.
	MaxUpload int64

	// LogRing holds the events that the server may read. Nil: one of 1000 events.
	LogRing *LogRing
	// Logger takes the agent's own lines. Nil: slog.Default, and LogRing.
	Logger *slog.Logger
	// HTTPClient is used for all calls to the server. Nil: one that follows no redirects.
	HTTPClient *http.Client
}

// registers reports whether the node registers at all.
func (c *Config) registers() bool { return c.EnableRegister == nil || *c.EnableRegister }

// FromEnv reads a Config from the environment: EC_NODE_NAME, EC_NODE_TOKEN, EC_NODE_SERVERS (comma separated),
// EC_NODE_HOST_ADDRESS (comma separated), EC_NODE_SCHEMA, EC_NODE_PORT, EC_NODE_CONTEXT_PATH, EC_NODE_HEARTBEAT_TIME,
// EC_NODE_DRAIN_TIMEOUT, EC_NODE_DRAIN_SETTLE (durations as 15s, or whole milliseconds), EC_NODE_ENABLE_REGISTER,
// EC_NODE_INSTANCE_ID, EC_NODE_VERSION, EC_NODE_MODULES, EC_NODE_ERUPTS (comma separated), EC_NODE_UPLOAD_DIR.
// An error names every variable that cannot be read.
func FromEnv() (Config, error) { return fromEnv(os.Getenv) }

func fromEnv(get func(string) string) (Config, error) {
	var c Config
	var problems []error
	for _, s := range c.settings() {
		name := "EC_NODE_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
		text := get(name)
		if text == "" {
			continue
		}
		if err := s.set(text); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return c, errors.Join(problems...)
}

// Flags adds a flag for each setting to fs; what c holds already is the default. -name, -token, -servers and so on are named
// like the variables of FromEnv.
func (c *Config) Flags(fs *flag.FlagSet) {
	for _, s := range c.settings() {
		usage := s.usage + " (EC_NODE_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_")) + ")"
		fs.Func(s.name, usage, s.set)
	}
}

type setting struct {
	name, usage string
	set         func(string) error
}

func (c *Config) settings() []setting {
	return []setting{
		{"name", "name of the node's profile on the server", text(&c.NodeName)},
		{"token", "access token of that profile", text(&c.AccessToken)},
		{"servers", "base URLs of the server, comma separated", list(&c.ServerAddresses)},
		{"host-address", "where the server reaches this node, comma separated; default schema://own-IPv4:port/context-path", list(&c.HostAddress)},
		{"schema", "http or https, for the default address", text(&c.Schema)},
		{"port", "the node's port, for the default address", whole(&c.Port)},
		{"context-path", "goes before all paths of the node", text(&c.ContextPath)},
		{"heartbeat-time", "pause between two registrations, default 15s", span(&c.HeartbeatTime)},
		{"drain-timeout", "how long to wait for requests in flight when leaving, default 30s", span(&c.DrainTimeout)},
		{"drain-settle", "how long to be without requests before the listener closes, default 500ms", span(&c.DrainSettle)},
		{"enable-register", "false: do not register", boolean(&c.EnableRegister)},
		{"instance-id", "name of this process among those of the node, default random", text(&c.InstanceID)},
		{"version", "version of the program", text(&c.Version)},
		{"modules", "names shown beside the erupts, comma separated", list(&c.Modules)},
		{"erupts", "erupts that the program hosts, comma separated", list(&c.Erupts)},
		{"upload-dir", "directory for uploaded files", text(&c.UploadDir)},
	}
}

func text(to *string) func(string) error {
	return func(s string) error { *to = s; return nil }
}

func list(to *[]string) func(string) error {
	return func(s string) error {
		*to = nil
		for _, part := range strings.Split(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*to = append(*to, part)
			}
		}
		return nil
	}
}

func whole(to *int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", s)
		}
		*to = n
		return nil
	}
}

// span accepts Go durations and, as erupt's own settings, whole milliseconds.
func span(to *time.Duration) func(string) error {
	return func(s string) error {
		if ms, err := strconv.ParseInt(s, 10, 32); err == nil {
			*to = time.Duration(ms) * time.Millisecond
			return nil
		}
		d, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%q is neither a duration such as 15s nor whole milliseconds", s)
		}
		*to = d
		return nil
	}
}

func boolean(to **bool) func(string) error {
	return func(s string) error {
		b, err := strconv.ParseBool(s)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", s)
		}
		*to = &b
		return nil
	}
}

// complete fills in defaults, brings addresses into one form, and returns everything that is wrong at once.
func (c *Config) complete() error {
	var p problemList
	c.NodeName = strings.TrimSpace(c.NodeName)
	p.check(c.NodeName != "", "NodeName is empty")
	p.check(validNodeName(c.NodeName), "NodeName %q: at most %d characters, no blanks, slashes or control characters", c.NodeName, maxNodeName)
	p.check(!strings.ContainsFunc(c.AccessToken, notHeaderSafe), "AccessToken: only visible ASCII characters can travel in a header")
	if c.registers() {
		p.check(c.AccessToken != "", "AccessToken is empty: the server shows it at \"View Token\"")
		p.check(len(c.ServerAddresses) > 0, "ServerAddresses is empty")
	}
	p.check(len(c.ServerAddresses) <= maxServers, "ServerAddresses: more than %d", maxServers)
	servers := make([]string, 0, len(c.ServerAddresses))
	for i, raw := range c.ServerAddresses {
		p.wrap(checkURL(raw), "ServerAddresses[%d]", i)
		servers = append(servers, strings.TrimRight(raw, "/"))
	}
	c.ServerAddresses = servers
	for i, raw := range c.HostAddress {
		p.wrap(checkURL(raw), "HostAddress[%d]", i)
	}
	c.Schema = orDefault(strings.ToLower(c.Schema), "http")
	p.check(c.Schema == "http" || c.Schema == "https", "Schema %q is neither http nor https", c.Schema)
	p.check(c.Port >= 0 && c.Port <= 65535, "Port %d is not between 0 and 65535", c.Port)
	contextPath, err := cleanContextPath(c.ContextPath)
	p.wrap(err, "ContextPath")
	c.ContextPath = contextPath
	c.completeTimes(&p)
	c.completeIdentity(&p)
	p.check(c.MaxUpload >= 0, "MaxUpload %d is negative", c.MaxUpload)
	c.MaxUpload = orDefault(c.MaxUpload, 100<<20)
	return p.err()
}

func (c *Config) completeTimes(p *problemList) {
	c.HeartbeatTime = orDefault(c.HeartbeatTime, DefaultHeartbeat)
	p.check(c.HeartbeatTime >= 100*time.Millisecond && c.HeartbeatTime <= maxHeartbeat,
		"HeartbeatTime %s is not between 100ms and %s", c.HeartbeatTime, maxHeartbeat)
	c.DrainTimeout = orDefault(c.DrainTimeout, DefaultDrainTimeout)
	c.DrainSettle = orDefault(c.DrainSettle, DefaultDrainSettle)
	c.ConfigPoll = orDefault(c.ConfigPoll, DefaultConfigPoll)
	p.check(c.ConfigPoll >= time.Second, "ConfigPoll %s is shorter than 1s", c.ConfigPoll)
}

func (c *Config) completeIdentity(p *problemList) {
	if c.InstanceID == "" {
		c.InstanceID = randomName(10)
	}
	p.check(len(c.InstanceID) <= 128 && !strings.ContainsFunc(c.InstanceID, notHeaderSafe),
		"InstanceID %q: at most 128 visible ASCII characters", c.InstanceID)
	c.Version = strings.TrimPrefix(orDefault(c.Version, Version), "go-")
	p.check(len(c.Version) <= 64 && !strings.ContainsFunc(c.Version, notHeaderSafe),
		"Version %q: at most 64 visible ASCII characters", c.Version)
	for _, name := range c.Erupts {
		p.check(simpleName.MatchString(name), "Erupts: %q is not a simple name", name)
	}
}

func validNodeName(name string) bool {
	return utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxNodeName &&
		!strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '/' || r == '\\' })
}

func notHeaderSafe(r rune) bool { return r < 0x21 || r > 0x7e }

func checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("%q is not a URL", raw)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("%q is not an absolute http or https URL", raw)
	case u.User != nil:
		return fmt.Errorf("the address of %q carries a user name", u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%q has a query or a fragment", raw)
	}
	return nil
}

func cleanContextPath(raw string) (string, error) {
	trimmed := strings.Trim(raw, "/")
	if trimmed == "" {
		return "", nil
	}
	cleaned := "/" + trimmed
	if path.Clean(cleaned) != cleaned || strings.ContainsAny(cleaned, "?#%\\ ") {
		return "", fmt.Errorf("%q is not a plain path", raw)
	}
	return cleaned, nil
}

func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// problemList collects everything that is wrong with a declaration, so that one start shows all of it.
type problemList struct{ found []error }

func (p *problemList) check(ok bool, format string, args ...any) {
	if !ok {
		p.found = append(p.found, fmt.Errorf(format, args...))
	}
}

func (p *problemList) wrap(err error, format string, args ...any) {
	if err != nil {
		p.found = append(p.found, fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err))
	}
}

func (p *problemList) err() error { return errors.Join(p.found...) }
