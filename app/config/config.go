// Package config reads settings from flags, environment and file, in this order of precedence, and validates them.
package config

import (
	"net/netip"
	"path/filepath"
	"time"
)

// Config is every setting. A key is the path of koanf tags, e.g. server.base_path, EC_SERVER_BASE_PATH. The tag doc is what
// `config keys` prints, default is the value without any source, secret keeps it out of dumps.
type Config struct {
	Server      Server      `koanf:"server"`
	Ops         Ops         `koanf:"ops"`
	Database    Database    `koanf:"database"`
	Redis       Redis       `koanf:"redis"`
	Session     Session     `koanf:"session"`
	Secrets     Secrets     `koanf:"secrets"`
	CloudServer CloudServer `koanf:"cloud_server"`
	Login       Login       `koanf:"login"`
	EruptApp    EruptApp    `koanf:"erupt_app"`
	Proxy       Proxy       `koanf:"proxy"`
	Uploads     Uploads     `koanf:"uploads"`
	Netguard    Netguard    `koanf:"netguard"`
	Reach       Reach       `koanf:"reach"`
	Log         Log         `koanf:"log"`
}

// Server is the listener for browsers and nodes.
type Server struct {
	Listen         string         `koanf:"listen" default:":8080" doc:"address of the listener; port 0 takes a free one"`
	BasePath       string         `koanf:"base_path" doc:"path that everything is served under, e.g. /fleet"`
	DataDir        string         `koanf:"data_dir" default:"data" doc:"directory of database, generated keys and uploads"`
	TLSCert        string         `koanf:"tls_cert" doc:"PEM file of the certificate chain; with tls_key"`
	TLSKey         string         `koanf:"tls_key" doc:"PEM file of the private key"`
	TrustedProxies []netip.Prefix `koanf:"trusted_proxies" doc:"addresses whose X-Forwarded-* headers are believed"`
	ShutdownGrace  time.Duration  `koanf:"shutdown_grace" default:"5s" doc:"time between not ready and closing the listener, so that a balancer notices"`
	DrainTimeout   time.Duration  `koanf:"drain_timeout" default:"30s" doc:"time that open requests have after that"`
}

// Ops is the operators' listener: metrics and profiles.
type Ops struct {
	Listen string `koanf:"listen" default:"127.0.0.1:9090" doc:"address of metrics and profiles; off switches it off; taken at its default: a warning"`
}

// Database is where profiles, accounts and the audit trail are.
type Database struct {
	Driver   string `koanf:"driver" default:"sqlite" doc:"sqlite or mysql"`
	DSN      string `koanf:"dsn" secret:"true" doc:"file of SQLite (default DATA_DIR/control.db) or user:password@tcp(host:3306)/name"`
	Migrate  string `koanf:"migrate" default:"auto" doc:"apply pending migrations at start: true, false, or auto: true for sqlite, false for mysql"`
	TimeZone string `koanf:"time_zone" doc:"zone of times without one in erupt's tables; empty: UTC, in an adopted database that of its session"`
}

// Redis holds leases and sessions when several replicas run.
type Redis struct {
	URL string `koanf:"url" secret:"true" doc:"redis://[:password@]host:6379/0; empty: leases and sessions are in memory"`
}

// Session is a browser's or script's login.
type Session struct {
	Keys         []string      `koanf:"keys" secret:"true" doc:"keys that seal the cookie, 32 bytes or more, newest first; generated in DATA_DIR when empty"`
	SecureCookie string        `koanf:"secure_cookie" default:"auto" doc:"auto (when the request came by TLS), always or never"`
	TTL          time.Duration `koanf:"ttl" default:"100m" doc:"life of a login"`
	Refresh      bool          `koanf:"refresh" default:"false" doc:"each request extends the login"`
}

// Secrets are the keys for what the database keeps sealed.
type Secrets struct {
	TokenKey string `koanf:"token_key" secret:"true" doc:"seals access tokens and delegated tokens, 32 bytes or more; generated in DATA_DIR when empty"`
}

// CloudServer has the names of erupt.cloud-server.*.
type CloudServer struct {
	NodeExpireTime       time.Duration `koanf:"node_expire_time" default:"10m" doc:"life of an instance without a heartbeat"`
	NodeSurviveCheckTime time.Duration `koanf:"node_survive_check_time" default:"2m" doc:"period of the survival check"`
	CloudNameSpace       string        `koanf:"cloud_name_space" default:"erupt-cloud:" doc:"prefix of all Redis keys"`
	ValidateAccessToken  bool          `koanf:"validate_access_token" default:"true" doc:"compare the token of a registering node"`
	NodeRequestTimeout   time.Duration `koanf:"node_request_timeout" default:"30s" doc:"time until a node's first answer byte"`
	ShareNamespace       bool          `koanf:"share_namespace" default:"false" doc:"share Redis with erupt servers of 2.1 or later: node entries carry access tokens, and what those servers register is taken over"`
	TakeOver             bool          `koanf:"take_over" default:"false" doc:"start although node entries of a stopped erupt server up to 2.0.4 are left in Redis; still refused while one of them is renewed"`
	TokenGrace           time.Duration `koanf:"token_grace" default:"24h" doc:"how long a node's token is still accepted after it was rotated"`
	HeartbeatTime        time.Duration `koanf:"heartbeat_time" default:"15s" doc:"heartbeat interval that agents are asked to keep"`
}

// Login protects accounts.
type Login struct {
	Lock               bool `koanf:"lock" default:"true" doc:"lock an account for an address after too many failures"`
	MaxFailures        int  `koanf:"max_failures" default:"10" doc:"failures until the lock"`
	LockMinutes        int  `koanf:"lock_minutes" default:"10" doc:"minutes of the lock"`
	Rehash             bool `koanf:"rehash" default:"false" doc:"in an adopted database keep a weaker password as SHA512 at its next login; a Java server of 1.x cannot read that"`
	PwdTransferEncrypt bool `koanf:"pwd_transfer_encrypt" default:"true" doc:"passwords of /erupt-api/login arrive encoded as erupt's front end does it"`
	CaptchaAfter       int  `koanf:"captcha_after" default:"2" doc:"failures of an account from an address until a login has to read a captcha; 0: always, -1: never"`
	// MFA switches the binding of second factors; what is bound is asked for in any case.
	MFA       bool   `koanf:"mfa_enable" default:"true" doc:"users may bind an authenticator as their second factor"`
	MFAIssuer string `koanf:"mfa_issuer" default:"Erupt Cloud" doc:"name of this installation in authenticators"`
	MFAWindow int    `koanf:"mfa_window" default:"1" doc:"steps of 30 s by which the clock of an authenticator may be off"`
}

// EruptApp has the names of erupt-app.*: what erupt's own front end asks for before a login.
type EruptApp struct {
	WaterMark        bool     `koanf:"water_mark" default:"true" doc:"erupt's front end writes the user's name across its pages"`
	WaterMarkDate    bool     `koanf:"water_mark_date" default:"false" doc:"and the date"`
	WaterMarkContent string   `koanf:"water_mark_content" doc:"text in place of the name"`
	LoginPagePath    string   `koanf:"login_page_path" doc:"path or URL of a login page of one's own for erupt's front end"`
	Locales          []string `koanf:"locales" default:"en-US,fr-FR,de-DE,zh-CN,zh-TW,ja-JP,ko-KR,ru-RU,es-ES,pt-PT,id-ID,ar-SA" doc:"languages that erupt's front end offers"`
	ResetPwd         bool     `koanf:"reset_pwd" default:"true" doc:"erupt's front end lets users change their passwords"`
	ResetPwdPrompt   bool     `koanf:"reset_pwd_prompt" default:"false" doc:"and asks those to do so who never did"`
	Properties       []string `koanf:"properties" doc:"further name=value pairs for erupt's front end"`
}

// Proxy forwards to nodes.
type Proxy struct {
	ConnectTimeout time.Duration `koanf:"connect_timeout" default:"5s" doc:"time to connect to an instance"`
	HeaderPolicy   string        `koanf:"header_policy" default:"copied" doc:"copied: all but the withheld ones; listed: only those that nodes are known to need"`
	ExtraHeaders   []string      `koanf:"extra_headers" doc:"headers that go to nodes all the same"`
	MaxUpload      int64         `koanf:"max_upload" default:"0" doc:"bytes of a request body; 0: no limit"`
	MaxOpen        int           `koanf:"max_open" default:"10000" doc:"requests and streams that are open to one instance at a time; 0: no limit"`
	QueryTokens    bool          `koanf:"query_tokens" default:"true" doc:"_token in the address counts where frames and pictures ask; false: headers and cookies only"`
	CAFile         string        `koanf:"ca_file" doc:"PEM file of authorities for the certificates of nodes at https addresses, beside the system's"`
	// PublicAttachments are nodes whose files anybody may see.
	PublicAttachments []string `koanf:"public_attachments" doc:"nodes whose uploaded files need no login; * is all of them"`
}

// Uploads are pictures that editors of erupt's front ends put on the server itself.
type Uploads struct {
	Dir        string `koanf:"dir" doc:"folder of pictures from editors of erupt's front ends; empty: DATA_DIR/uploads, with redis.url none; several replicas need one that they share"`
	MaxFile    int64  `koanf:"max_file" default:"10485760" doc:"bytes of one picture"`
	MaxTotal   int64  `koanf:"max_total" default:"1073741824" doc:"bytes of all pictures"`
	MaxAccount int64  `koanf:"max_account" default:"0" doc:"bytes of all pictures of one account; 0: a tenth of uploads.max_total"`
}

// Netguard decides which addresses may be dialled.
type Netguard struct {
	Deny          []string `koanf:"deny" default:"link-local,metadata,multicast,unspecified" doc:"classes or prefixes that are never dialled"`
	Allow         []string `koanf:"allow" doc:"addresses or prefixes that are dialled although deny refuses them, e.g. fe80::/10"`
	AllowLoopback string   `koanf:"allow_loopback" default:"auto" doc:"true, false, or auto: true only without redis.url"`
}

// Reach is how instances are probed.
type Reach struct {
	AcceptBlankHealth bool `koanf:"accept_blank_health" default:"false" doc:"an empty /node-health body counts, for nodes of 1.10 and 1.11"`
}

// Log is the server's own log, on standard error.
type Log struct {
	Level  string `koanf:"level" default:"info" doc:"debug, info, warn or error"`
	Format string `koanf:"format" default:"json" doc:"json or text"`
}

// UploadsDir resolves uploads.dir; empty: there is none that all replicas share.
func (c *Config) UploadsDir() string {
	if c.Uploads.Dir != "" || !c.Embedded() {
		return c.Uploads.Dir
	}
	return filepath.Join(c.Server.DataDir, "uploads")
}

// Embedded reports whether this server is alone: leases and sessions in memory.
func (c *Config) Embedded() bool { return c.Redis.URL == "" }

// MigrateAtStart resolves database.migrate.
func (c *Config) MigrateAtStart() bool {
	return c.Database.Migrate == "true" || (c.Database.Migrate == "auto" && c.Database.Driver == "sqlite")
}

// LoopbackAllowed resolves netguard.allow_loopback.
func (c *Config) LoopbackAllowed() bool {
	return c.Netguard.AllowLoopback == "true" || (c.Netguard.AllowLoopback == "auto" && c.Embedded())
}
