package takeover_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"eruptcloud/app/config"
	"eruptcloud/app/takeover"
	"eruptcloud/app/testbed"
)

// checkConfig loads what a report prints, with its secrets in the environment.
func checkConfig(t *testing.T, toml string) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	key := strings.Repeat("k", 32)
	c, err := config.Load(config.Sources{File: file, Environ: []string{
		"EC_DATABASE_DSN=u:p@tcp(h:3306)/n", "EC_SESSION_KEYS=" + key, "EC_SECRETS_TOKEN_KEY=" + key,
	}})
	if err != nil {
		t.Fatalf("the configuration is not accepted: %v\n%s", err, toml)
	}
	return c
}

// Each setting has its counterpart's value, whichever way Spring lets it be written.
func TestConfigOfSettings(t *testing.T) {
	tests := map[string]struct {
		file, text string
		profiles   []string
		got        func(c *config.Config) any
		want       any
	}{
		"yaml":          {"a.yml", "server:\n  port: 81\n", nil, func(c *config.Config) any { return c.Server.Listen }, ":81"},
		"properties":    {"a.properties", "server.port=81", nil, func(c *config.Config) any { return c.Server.Listen }, ":81"},
		"relaxed":       {"a.properties", "ERUPT.UPMS.expire_time-by.Login=5\nerupt.upms.expiretime-by_login=7", nil, func(c *config.Config) any { return c.Session.TTL.Minutes() }, 7.0},
		"default":       {"a.yml", "server.port: ${X:${Y:82}}", nil, func(c *config.Config) any { return c.Server.Listen }, ":82"},
		"other":         {"a.yml", "server.port: ${p}\np: 83", nil, func(c *config.Config) any { return c.Server.Listen }, ":83"},
		"open":          {"a.yml", "server.port: ${PATH}", nil, func(c *config.Config) any { return c.Server.Listen }, ":8080"},
		"circle":        {"a.yml", "server.port: ${server.port}", nil, func(c *config.Config) any { return c.Server.Listen }, ":8080"},
		"profile off":   {"a.yml", "server.port: 84\n---\nspring.config.activate.on-profile: prod\nserver.port: 85", nil, func(c *config.Config) any { return c.Server.Listen }, ":84"},
		"profile on":    {"a.yml", "server.port: 84\n---\nspring.config.activate.on-profile: prod\nserver.port: 85", []string{"prod"}, func(c *config.Config) any { return c.Server.Listen }, ":85"},
		"escapes":       {"a.properties", `erupt-app.waterMarkContent = caf\u00e9 \` + "\n    \\\"au lait\\\"", nil, func(c *config.Config) any { return c.EruptApp.WaterMarkContent }, `café "au lait"`},
		"no number":     {"a.yml", "erupt.cloud-server.nodeExpireTime: soon", nil, func(c *config.Config) any { return c.CloudServer.NodeExpireTime.Minutes() }, 10.0},
		"milliseconds":  {"a.yml", "erupt.cloud-server.node-request-timeout: 2000", nil, func(c *config.Config) any { return c.CloudServer.NodeRequestTimeout.Seconds() }, 2.0},
		"a toml string": {"a.yml", `erupt.cloud-server.cloudNameSpace: "a\"]\n[server]\nlisten = \":1\""`, nil, func(c *config.Config) any { return c.CloudServer.CloudNameSpace }, "a\"]\n[server]\nlisten = \":1\""},
		"a list":        {"a.yml", "erupt-app.locales: [de-DE, 'en-US']", nil, func(c *config.Config) any { return strings.Join(c.EruptApp.Locales, " ") }, "de-DE en-US"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), tt.file)
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := takeover.Read(t.Context(), takeover.Options{Applications: []string{file}, Profiles: tt.profiles})
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.got(checkConfig(t, r.Config)); got != tt.want {
				t.Errorf("got %v, want %v, from\n%s", got, tt.want, r.Config)
			}
		})
	}
}

func TestSettingsThatCannotBeRead(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for _, n := range "bcdefghi" {
		p := string(n - 1)
		bomb += string(n) + ": &" + string(n) + " [*" + p + ",*" + p + ",*" + p + ",*" + p + ",*" + p + ",*" + p + ",*" + p + ",*" + p + ",*" + p + "]\n"
	}
	tests := map[string]struct{ file, text string }{
		"no yaml":      {"a.yml", "password: 'of-the-database\n\t- x"},
		"another kind": {"a.xml", "<a/>"},
		"large":        {"a.yml", strings.Repeat("#", 1<<20+1)},
		"deep":         {"a.yml", strings.Repeat("[", 100) + strings.Repeat("]", 100)},
		"a yaml bomb":  {"a.yml", bomb},
		"not there":    {"", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), tt.file)
			if tt.file == "" {
				file += "missing.yml"
			} else if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := takeover.Read(t.Context(), takeover.Options{Applications: []string{file}})
			if err == nil || strings.Contains(err.Error(), "of-the-database") {
				t.Errorf("Read = %v, want an error without its content", err)
			}
		})
	}
	if _, err := takeover.Read(t.Context(), takeover.Options{}); err == nil {
		t.Error("a report on nothing is no error")
	}
}

// Both kinds of entries in one namespace, an old Redis, and sessions without an end.
func TestRedisFindings(t *testing.T) {
	url := loadRedis(t, "redis-2.0.json")
	client := dial(t, url)
	client.Set(t.Context(), "erupt-cloud:node:bill", `{"nodeName":"bill","version":"2.2.0","locations":["http://10.0.0.1"]}`, 0)
	client.Set(t.Context(), "erupt-auth:token:endless", "lin", 0)
	client.Set(t.Context(), "eruptAuth:token:old", "lin", 0)
	r := read(t, takeover.Options{RedisURL: url})
	out := text(t, r)
	for _, want := range []string{"they cannot share it", "without an end; they end here when the user logs out or is disabled: 1", "erupt 1.10", "bill (2.2.0)", "shop (2.0.4)", "at http://127.0.0.1:19301"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report does not say %q:\n%s", want, out)
		}
	}
	if r.CanBeTakenOver {
		t.Error("two kinds of servers on one namespace can be taken over")
	}
	if r.Redis.Sessions != 4 {
		t.Errorf("%d sessions, want 4", r.Redis.Sessions)
	}
	elsewhere := read(t, takeover.Options{RedisURL: testbed.Redis(t), Namespace: "other:"})
	if elsewhere.Redis.OldEntries != 0 || !elsewhere.CanBeTakenOver {
		t.Errorf("an empty Redis gives %+v", elsewhere.Findings)
	}
}
