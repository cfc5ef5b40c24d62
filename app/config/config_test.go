package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/config"
)

func load(t *testing.T, file string, env []string, flags map[string]string) (*config.Config, error) {
	t.Helper()
	path := ""
	if file != "" {
		path = filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Load(config.Sources{File: path, Environ: env, Flags: flags})
}

func TestDefaultsAreValid(t *testing.T) {
	c, err := load(t, "", nil, nil)
	if err != nil {
		t.Fatalf("Load without sources: %v", err)
	}
	if c.CloudServer.NodeExpireTime != 10*time.Minute || c.CloudServer.CloudNameSpace != "erupt-cloud:" || !c.CloudServer.ValidateAccessToken { // A1
		t.Errorf("defaults of A1 are %+v", c.CloudServer)
	}
	if !c.Embedded() || !c.MigrateAtStart() || !c.LoopbackAllowed() {
		t.Error("the default must be the embedded server that migrates and may reach loopback")
	}
}

func TestPrecedence(t *testing.T) {
	file := "[server]\nlisten = \":1\"\nbase_path = \"/file\"\n[log]\nlevel = \"warn\"\n"
	env := []string{"EC_SERVER_LISTEN=:2", "EC_SERVER_BASE_PATH=/env"}
	c, err := load(t, file, env, map[string]string{"server.listen": ":3"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Server.Listen != ":3" || c.Server.BasePath != "/env" || c.Log.Level != "warn" {
		t.Errorf("listen %q base_path %q level %q, want flag :3, environment /env, file warn", c.Server.Listen, c.Server.BasePath, c.Log.Level)
	}
}

func TestSpellings(t *testing.T) {
	tests := map[string]string{
		"ours":           "[cloud_server]\nnode_expire_time = \"1m30s\"\nnode_survive_check_time = \"10s\"\n",
		"erupt's":        "[erupt.cloud-server]\nnodeExpireTime = 90000\nnodeSurviveCheckTime = 10000\n",
		"relaxed":        "[Cloud-Server]\nnode-expire-time = \"90000\"\nNODESURVIVECHECKTIME = \"10s\"\n",
		"erupt's nested": "erupt.cloud-server.nodeExpireTime = 90000\nerupt.cloud-server.node-survive-check-time = 10000\n",
	}
	for name, file := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := load(t, file, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.CloudServer.NodeExpireTime != 90*time.Second {
				t.Errorf("node_expire_time = %s, want 1m30s", c.CloudServer.NodeExpireTime)
			}
		})
	}
}

func TestTrustedProxiesArriveWhole(t *testing.T) {
	want := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, src := range map[string]struct {
		file string
		env  []string
	}{
		"environment": {"", []string{"EC_SERVER_TRUSTED_PROXIES=127.0.0.1, 10.9.8.7/8,fd00::/8"}},
		"file":        {"[server]\ntrusted_proxies = [\"127.0.0.1\", \"10.0.0.0/8\", \"fd00::/8\"]\n", nil},
	} {
		c, err := load(t, src.file, src.env, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Server.TrustedProxies, want) {
			t.Errorf("from the %s: %v, want %v", name, c.Server.TrustedProxies, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	mysql := "EC_DATABASE_DRIVER=mysql"
	tests := map[string]struct {
		file string
		env  []string
		want string
	}{
		"unknown key names the nearest":      {"[server]\nlissten = \":1\"\n", nil, "did you mean server.listen?"},
		"unknown variable names the nearest": {"", []string{"EC_SERVER_LISTN=:1"}, "did you mean EC_SERVER_LISTEN?"},
		"nothing near":                       {"", []string{"EC_ZZZZZZZZZZZZZZZZZZZZZZZZZ=1"}, "config keys"},
		"broken file":                        {"[server\n", nil, "config file"},
		"number for a duration":              {"[session]\nttl = \"soon\"\n", nil, "is not a duration"},
		"text for a number":                  {"[login]\nmax_failures = \"many\"\n", nil, "not a whole number"},
		"same key twice":                     {"[cloud_server]\nnode_expire_time = \"5m\"\nnodeExpireTime = 1\n", nil, "given twice"},
		"base path with dots":                {"[server]\nbase_path = \"/a/..\"\n", nil, "server.base_path"},
		"half a certificate":                 {"[server]\ntls_cert = \"a.pem\"\n", nil, "belong together"},
		"redis with sqlite":                  {"", []string{"EC_REDIS_URL=redis://h:6379/0"}, "several replicas"},
		"redis without keys":                 {"", []string{mysql, "EC_DATABASE_DSN=u@tcp(h)/d", "EC_REDIS_URL=redis://h:6379/0"}, "session.keys"},
		"short key":                          {"", []string{"EC_SECRETS_TOKEN_KEY=short"}, "32 or more"},
		"survey slower than the lease":       {"[cloud_server]\nnode_survive_check_time = \"11m\"\n", nil, "must be shorter"},
		"beat slower than the lease":         {"[cloud_server]\nheartbeat_time = \"6m\"\n", nil, "at most half"},
		"proxy that is no address":           {"[server]\ntrusted_proxies = [\"ten\"]\n", nil, "neither an address nor a prefix"},
		"no such zone":                       {"[database]\ntime_zone = \"Mars\"\n", nil, "no time zone"},
		"certificate that is not there":      {"[server]\ntls_cert = \"/nope.pem\"\ntls_key = \"/nope.key\"\n", nil, "server.tls_cert: open /nope.pem"},
		"address class that is none":         {"[netguard]\ndeny = [\"foo\"]\n", nil, "netguard.deny"},
		"broken file says where":             {"[server]\nlisten = \":1\"\n[log\n", nil, "line 3"},
		"missing secret file":                {"", []string{"EC_SECRETS_TOKEN_KEY_FILE=/nonexistent"}, "no such file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tt.file, tt.env, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) { // F5
	_, err := config.Load(config.Sources{File: empty(t), Flags: map[string]string{
		"session.keys": "short", "server.trusted_proxies": "abc", "netguard.deny": "foo", "database.time_zone": "Mars/X",
		"login.max_failures": "abc", "log.level": "loud", "server.listn": ":1",
	}})
	for _, want := range []string{"session.keys", "trusted_proxies", "netguard.deny", "time_zone", "max_failures", "log.level", "server.listen"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s:\n%v", want, err)
		}
	}
}

func TestDefaultsOfACommandYield(t *testing.T) { // F5: one precedence, also for demo
	c, err := config.Load(config.Sources{
		File: empty(t), Environ: []string{"EC_LOG_LEVEL=debug"},
		Defaults: map[string]string{"log.level": "warn", "log.format": "text"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Log.Level != "debug" || c.Log.Format != "text" {
		t.Errorf("level %q format %q, want the environment's debug and the command's text", c.Log.Level, c.Log.Format)
	}
}

// empty is a configuration file without settings, so that no ./config.toml is read.
func empty(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVariablesThatAreNoKeys(t *testing.T) {
	env := []string{"EC_CONFIG=x", "EC_ADMIN_PASSWORD=x", "EC_SERVER_URL=http://x", "EC_TOKEN=x", "EC_PASSWORD=x", "EC_TEST_REQUIRE=1", "EC_NODE_NAME=x", "PATH=/bin"}
	if _, err := load(t, "", env, nil); err != nil {
		t.Errorf("Load = %v, want those variables left alone", err)
	}
}

func TestSecretFromFileAndDump(t *testing.T) {
	secret := strings.Repeat("k", 40)
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, "", []string{"EC_SECRETS_TOKEN_KEY_FILE=" + path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Secrets.TokenKey != secret {
		t.Errorf("token_key = %q, want the file's content without its line end", c.Secrets.TokenKey)
	}
	var out strings.Builder
	if err := c.Dump(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), secret) || !strings.Contains(out.String(), `token_key = "***"`) {
		t.Errorf("Dump shows the secret or hides that there is one:\n%s", out.String())
	}
	if _, err := load(t, strings.ReplaceAll(out.String(), `"***"`, `"`+secret+`"`), nil, nil); err != nil {
		t.Errorf("a dump cannot be loaded again: %v", err)
	}
}

func TestSpellingsAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, k := range config.Keys() {
		if other, twice := seen[k.Env()]; twice {
			t.Errorf("%s and %s share the variable %s", k.Path, other, k.Env())
		}
		seen[k.Env()] = k.Path
		if k.Doc == "" {
			t.Errorf("%s has no description", k.Path)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("[server]\nlisten = \":1\"\n", "EC_LOG_LEVEL=debug")
	f.Add("erupt.cloud-server.nodeExpireTime = 1", "EC_=")
	f.Fuzz(func(t *testing.T, file, env string) {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := config.Load(config.Sources{File: path, Environ: []string{env}}); err == nil && c.Validate() != nil {
			t.Error("a loaded configuration is not valid")
		}
	})
}
