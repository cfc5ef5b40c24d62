package nodeagent

import (
	"flag"
	"io"
	"strings"
	"testing"
	"time"
)

func TestNewNamesEverythingThatIsWrong(t *testing.T) {
	valid := func() Config {
		return Config{NodeName: "orders", AccessToken: testToken, ServerAddresses: []string{"http://plane:8080/ops/"}}
	}
	tests := map[string]struct {
		change func(*Config)
		want   string // part of the error; empty: none
	}{
		"valid":                     {func(*Config) {}, ""},
		"no name":                   {func(c *Config) { c.NodeName = " " }, "NodeName is empty"},
		"name with a slash":         {func(c *Config) { c.NodeName = "a/b" }, "NodeName"},
		"name with a line break":    {func(c *Config) { c.NodeName = "a\nb" }, "NodeName"},
		"name too long":             {func(c *Config) { c.NodeName = strings.Repeat("x", 65) }, "at most 64 characters"},
		"name in Chinese":           {func(c *Config) { c.NodeName = "订单服务" }, ""},
		"no token":                  {func(c *Config) { c.AccessToken = "" }, "AccessToken is empty"},
		"token with a line break":   {func(c *Config) { c.AccessToken = "a\r\nX: y" }, "AccessToken"},
		"no servers":                {func(c *Config) { c.ServerAddresses = nil }, "ServerAddresses is empty"},
		"server without scheme":     {func(c *Config) { c.ServerAddresses = []string{"plane:8080"} }, "ServerAddresses[0]"},
		"server with credentials":   {func(c *Config) { c.ServerAddresses = []string{"http://a:b@plane"} }, "user name"},
		"server of another scheme":  {func(c *Config) { c.ServerAddresses = []string{"http://a", "ftp://b"} }, "ServerAddresses[1]"},
		"host address with a query": {func(c *Config) { c.HostAddress = []string{"http://a/?x"} }, "HostAddress[0]"},
		"schema":                    {func(c *Config) { c.Schema = "gopher" }, "Schema"},
		"port":                      {func(c *Config) { c.Port = 70000 }, "Port 70000"},
		"context path with dots":    {func(c *Config) { c.ContextPath = "/a/../b" }, "ContextPath"},
		"heartbeat too short":       {func(c *Config) { c.HeartbeatTime = time.Millisecond }, "HeartbeatTime"},
		"heartbeat negative":        {func(c *Config) { c.HeartbeatTime = -time.Second }, "HeartbeatTime"},
		"instance id":               {func(c *Config) { c.InstanceID = "a b" }, "InstanceID"},
		"erupt with a dot":          {func(c *Config) { c.Erupts = []string{"a.B"} }, "Erupts"},
		"silent node needs neither": {func(c *Config) { c.EnableRegister, c.AccessToken, c.ServerAddresses = new(false), "", nil }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := valid()
			tt.change(&c)
			_, err := New(c)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("New = %v, want an error with %q", err, tt.want)
			}
		})
	}
	_, err := New(Config{Schema: "x", Port: -1})
	for _, part := range []string{"NodeName", "AccessToken", "ServerAddresses", "Schema", "Port"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("New of an empty Config = %v, want it to name %s too", err, part)
		}
	}
}

func TestErrorsDoNotShowSecrets(t *testing.T) {
	_, err := New(Config{NodeName: "x", AccessToken: "se\ncret", ServerAddresses: []string{"http://user:pass@h"}})
	if err == nil || strings.Contains(err.Error(), "se\ncret") || strings.Contains(err.Error(), "pass") {
		t.Errorf("New = %v, want an error without the token and the password", err)
	}
}

func TestDefaultsAreThoseOfErupt(t *testing.T) {
	a := newAgent(t, Config{NodeName: "orders", AccessToken: testToken, ServerAddresses: []string{"http://plane//"}})
	c := a.cfg
	if c.HeartbeatTime != 15*time.Second || c.DrainTimeout != 30*time.Second || c.Schema != "http" || !c.registers() {
		t.Errorf("defaults = %+v, want 15 s, 30 s, http and registering", c)
	}
	if c.ServerAddresses[0] != "http://plane" || len(c.InstanceID) != 10 || a.version() != "go-"+Version {
		t.Errorf("server %q, instance %q, version %q", c.ServerAddresses[0], c.InstanceID, a.version())
	}
}

func TestFromEnv(t *testing.T) {
	env := map[string]string{
		"EC_NODE_NAME": "orders", "EC_NODE_TOKEN": testToken, "EC_NODE_SERVERS": "http://a:1, http://b:2,",
		"EC_NODE_HEARTBEAT_TIME": "20000", "EC_NODE_DRAIN_TIMEOUT": "45s", "EC_NODE_ENABLE_REGISTER": "false", "EC_NODE_PORT": "8081",
	}
	c, err := fromEnv(func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	if c.NodeName != "orders" || len(c.ServerAddresses) != 2 || c.ServerAddresses[1] != "http://b:2" || c.HeartbeatTime != 20*time.Second ||
		c.DrainTimeout != 45*time.Second || c.registers() || c.Port != 8081 {
		t.Errorf("fromEnv = %+v", c)
	}
	env["EC_NODE_PORT"], env["EC_NODE_HEARTBEAT_TIME"] = "many", "soon"
	_, err = fromEnv(func(k string) string { return env[k] })
	if err == nil || !strings.Contains(err.Error(), "EC_NODE_PORT") || !strings.Contains(err.Error(), "EC_NODE_HEARTBEAT_TIME") {
		t.Errorf("fromEnv = %v, want both variables named", err)
	}
}

func TestFlagsKeepWhatTheEnvironmentSaid(t *testing.T) {
	c := Config{NodeName: "from-env", Port: 1}
	fs := flag.NewFlagSet("x", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c.Flags(fs)
	if err := fs.Parse([]string{"-port", "8081", "-servers", "http://a,http://b"}); err != nil {
		t.Fatal(err)
	}
	if c.NodeName != "from-env" || c.Port != 8081 || len(c.ServerAddresses) != 2 {
		t.Errorf("flags = %+v", c)
	}
	if err := fs.Parse([]string{"-port", "x"}); err == nil {
		t.Error("a port that is no number was accepted")
	}
}
