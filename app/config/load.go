package config

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	gotoml "github.com/pelletier/go-toml/v2"
)

// Sources are where settings come from; the first that has a key wins: Flags, Environ, File, Defaults, the built-in defaults.
type Sources struct {
	File     string            // path; empty: ./config.toml if it exists
	Flags    map[string]string // key → value, as given on the command line
	Environ  []string          // NAME=value; nil: none
	Defaults map[string]string // of a command, in place of the built-in ones
}

// notKeys are variables that begin like settings and are none: some are read elsewhere, by commands that ask a running server
// among others, EC_NODE_* belongs to the sidecar, EC_TEST_* and EC_DEV_* to tests and development.
var notKeys = []string{"EC_CONFIG", "EC_ADMIN_PASSWORD", "EC_SERVER_URL", "EC_TOKEN", "EC_PASSWORD", "EC_NODE_", "EC_TEST_", "EC_DEV_"}

// Load reads and validates the configuration. Its error lists every problem, one a line, each with the place and the remedy.
func Load(src Sources) (*Config, error) {
	k := koanf.New(".")
	if err := k.Load(confmap.Provider(defaults(), "."), nil); err != nil {
		return nil, fmt.Errorf("defaults: %w", err)
	}
	fromFile, err := readFile(src.File)
	if err != nil {
		return nil, err
	}
	fromEnv, err := readEnv(src.Environ)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, layer := range []struct {
		where  string
		values map[string]any
	}{{"default", texts(src.Defaults)}, {"file", fromFile}, {"environment", fromEnv}, {"flag", texts(src.Flags)}} {
		known, errs := canonical(layer.where, layer.values)
		problems = append(problems, errs...)
		if err := k.Load(confmap.Provider(known, "."), nil); err != nil {
			return nil, fmt.Errorf("%s: %w", layer.where, err)
		}
	}
	var c Config
	err = k.UnmarshalWithConf("", &c, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: &c, WeaklyTypedInput: true, TagName: "koanf", DecodeHook: mapstructure.TextUnmarshallerHookFunc(),
	}})
	if err != nil {
		return nil, errors.Join(append(problems, fmt.Errorf("settings: %w", err))...)
	}
	// what could not be read has its default here, so that the other rules are still checked and all is said at once
	if err := errors.Join(append(problems, c.Validate())...); err != nil {
		return nil, err
	}
	return &c, nil
}

func texts(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func defaults() map[string]any {
	out := make(map[string]any)
	for _, key := range Keys() {
		if key.Default == "" {
			continue
		}
		v, err := key.parse(key.Default)
		if err != nil {
			panic(fmt.Sprintf("config: default of %s: %v", key.Path, err)) // a constant; the tests load it
		}
		out[key.Path] = v
	}
	return out
}

func readFile(path string) (map[string]any, error) {
	if path == "" {
		if _, err := os.Stat("config.toml"); err != nil {
			return nil, nil
		}
		path = "config.toml"
	}
	f := koanf.New(".")
	if err := f.Load(file.Provider(path), toml.Parser()); err != nil {
		var syntax *gotoml.DecodeError
		if errors.As(err, &syntax) {
			line, column := syntax.Position()
			return nil, fmt.Errorf("config file %s, line %d, column %d: %w", path, line, column, err)
		}
		return nil, fmt.Errorf("config file %s: %w", path, err)
	}
	return f.All(), nil
}

func readEnv(environ []string) (map[string]any, error) {
	e := koanf.New("\x00") // the names hold no delimiter
	err := e.Load(env.Provider("\x00", env.Opt{
		Prefix: "EC_", EnvironFunc: func() []string { return environ },
		TransformFunc: func(k, v string) (string, any) {
			for _, n := range notKeys {
				if k == n || (strings.HasSuffix(n, "_") && strings.HasPrefix(k, n)) {
					return "", nil
				}
			}
			return k, v
		},
	}), nil)
	if err != nil {
		return nil, fmt.Errorf("environment: %w", err)
	}
	return e.All(), nil
}

// canonical maps every spelling to its key and refuses what is none.
func canonical(where string, values map[string]any) (map[string]any, []error) {
	out := make(map[string]any, len(values))
	var errs []error
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		raw := values[name]
		plain := strings.TrimPrefix(name, "EC_")
		key, ok := lookup(plain)
		if !ok && where == "environment" {
			if key, ok = lookup(strings.TrimSuffix(plain, "_FILE")); ok && strings.HasSuffix(plain, "_FILE") {
				content, err := os.ReadFile(fmt.Sprint(raw))
				if err != nil {
					errs = append(errs, fmt.Errorf("%s %s: %w", where, name, err))
					continue
				}
				raw = strings.TrimRight(string(content), "\r\n")
			} else {
				ok = false
			}
		}
		if !ok {
			errs = append(errs, unknown(where, name, plain))
			continue
		}
		v, err := key.parse(raw)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", where, name, err))
			continue
		}
		if _, twice := out[key.Path]; twice {
			errs = append(errs, fmt.Errorf("%s %s: %s is given twice under two spellings", where, name, key.Path))
			continue
		}
		out[key.Path] = v
	}
	return out, errs
}

func unknown(where, name, plain string) error {
	near := nearest(plain)
	if near == "" {
		return fmt.Errorf("%s %s: no such setting; `config keys` lists all", where, name)
	}
	if where == "environment" {
		near = Key{Path: near}.Env()
	}
	return fmt.Errorf("%s %s: no such setting; did you mean %s?", where, name, near)
}

// parse turns what a source holds into the setting's type.
func (k Key) parse(raw any) (any, error) {
	switch {
	case k.kind == durationType:
		return parseDuration(raw)
	case k.kind == prefixesType:
		return parsePrefixes(listOf(raw))
	case k.kind.Kind() == reflect.Slice:
		return listOf(raw), nil
	case k.kind.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(strings.TrimSpace(fmt.Sprint(raw)))
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", fmt.Sprint(raw))
		}
		return b, nil
	case k.kind.Kind() == reflect.Int || k.kind.Kind() == reflect.Int64:
		n, err := strconv.ParseInt(strings.TrimSpace(fmt.Sprint(raw)), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", fmt.Sprint(raw))
		}
		return n, nil
	}
	return fmt.Sprint(raw), nil
}

// parseDuration reads a Go duration, or a bare number of milliseconds as erupt and Eureka write them.
func parseDuration(raw any) (time.Duration, error) {
	text := strings.TrimSpace(fmt.Sprint(raw))
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		if ms > int64(1<<63-1)/int64(time.Millisecond) || ms < 0 {
			return 0, fmt.Errorf("%q is out of range", text)
		}
		return time.Duration(ms) * time.Millisecond, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration such as 30s, 10m or 15000 (milliseconds)", text)
	}
	return d, nil
}

func listOf(raw any) []string {
	var parts []string
	switch v := raw.(type) {
	case []any:
		for _, p := range v {
			parts = append(parts, fmt.Sprint(p))
		}
	case []string:
		parts = v
	default:
		parts = strings.Split(fmt.Sprint(v), ",")
	}
	out := make([]string, 0, len(parts))
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// parsePrefixes returns prefixes as texts: koanf copies what it is given by its exported fields, and netip's values have
// none.
func parsePrefixes(parts []string) ([]string, error) {
	out := make([]string, 0, len(parts))
	for _, p := range parts {
		if addr, err := netip.ParseAddr(p); err == nil {
			out = append(out, netip.PrefixFrom(addr, addr.BitLen()).String())
			continue
		}
		prefix, err := netip.ParsePrefix(p)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a prefix such as 10.0.0.0/8", p)
		}
		out = append(out, prefix.Masked().String())
	}
	return out, nil
}

// SQLitePath returns where the embedded database is.
func (c *Config) SQLitePath() string {
	if c.Database.DSN != "" {
		return c.Database.DSN
	}
	return filepath.Join(c.Server.DataDir, "control.db")
}
