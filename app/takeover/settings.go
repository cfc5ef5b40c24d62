package takeover

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxSettings bounds a settings file.
const maxSettings = 1 << 20

// Settings are the properties of one Spring application, by their names in one spelling: lower case, without - and _.
type Settings struct {
	values map[string]setting
}

type setting struct{ name, value string }

// canonicalKey is the spelling under which Spring's relaxed binding finds a property (erupt-wire 8).
func canonicalKey(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(key))
}

// ReadSettings reads application.yml, .yaml or .properties files; later ones win. profiles are the active ones: documents for
// others are left out.
func ReadSettings(files, profiles []string) (*Settings, error) {
	s := &Settings{values: map[string]setting{}}
	for _, file := range files {
		raw, err := readBounded(file)
		if err != nil {
			return nil, err
		}
		if err := s.read(file, raw, profiles); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
	}
	return s, nil
}

func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err == nil && len(raw) > maxSettings {
		err = fmt.Errorf("%s is larger than %d bytes", file, maxSettings)
	}
	return raw, err
}

func (s *Settings) read(file string, raw []byte, profiles []string) error {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".properties":
		for _, doc := range splitProperties(raw) {
			s.add(properties(doc), profiles)
		}
		return nil
	case ".yml", ".yaml":
		dec := yaml.NewDecoder(bytes.NewReader(raw))
		for {
			var doc any
			err := dec.Decode(&doc)
			if errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return errors.New("it is no YAML that can be read") // the parser's words would quote what may be a password
			}
			flat := map[string]string{}
			if err := flatten(flat, "", doc, 0); err != nil {
				return err
			}
			s.add(flat, profiles)
		}
	}
	return errors.New("want a file ending in .yml, .yaml or .properties")
}

// add takes over one document, unless it is for a profile that is not active.
func (s *Settings) add(doc map[string]string, profiles []string) {
	byKey := map[string]setting{}
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		byKey[canonicalKey(name)] = setting{name, doc[name]}
	}
	for _, key := range []string{"spring.config.activate.onprofile", "spring.profiles"} {
		if want, ok := byKey[key]; ok && !slices.ContainsFunc(strings.Split(want.value, ","), func(p string) bool {
			return slices.Contains(profiles, strings.TrimSpace(p))
		}) {
			return
		}
	}
	maps.Copy(s.values, byKey)
}

// flatten writes a YAML document as properties.
func flatten(out map[string]string, prefix string, v any, depth int) error {
	if depth > 32 || len(out) > 20_000 {
		return errors.New("it is nested too deep or too large")
	}
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			if err := flatten(out, joined(prefix, name), below, depth+1); err != nil {
				return err
			}
		}
	case map[any]any:
		for name, below := range v {
			if err := flatten(out, joined(prefix, fmt.Sprint(name)), below, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for i, below := range v {
			if err := flatten(out, prefix+"["+strconv.Itoa(i)+"]", below, depth+1); err != nil {
				return err
			}
		}
	case nil:
		out[prefix] = ""
	default:
		out[prefix] = fmt.Sprint(v)
	}
	return nil
}

func joined(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// splitProperties parts a file at Spring's separator of documents.
func splitProperties(raw []byte) []string {
	return regexp.MustCompile(`(?m)^[#!]---\s*$`).Split(string(raw), -1)
}

// properties reads Java's form: key=value, key: value or key value, comments with # or !, lines that go on after a backslash,
// \uXXXX.
func properties(doc string) map[string]string {
	out := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(doc))
	lines.Buffer(nil, maxSettings+1)
	logical := ""
	for lines.Scan() {
		line := strings.TrimLeft(lines.Text(), " \t\f")
		if logical == "" && (line == "" || line[0] == '#' || line[0] == '!') {
			continue
		}
		line = strings.TrimSuffix(line, "\r")
		if odd(line) {
			logical += line[:len(line)-1]
			continue
		}
		if key, value := cutProperty(logical + line); key != "" {
			out[key] = value
		}
		logical = ""
	}
	return out
}

// odd reports whether a line ends in an odd number of backslashes, and so goes on.
func odd(line string) bool { return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1 }

func cutProperty(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=: \t\f", line[i]) >= 0 {
			end = i
			break
		}
	}
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return unescape(line[:end]), unescape(rest)
}

func unescape(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			out.WriteByte('\t')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 'f':
			out.WriteByte('\f')
		case 'u':
			if i+4 < len(s) {
				if r, err := strconv.ParseUint(s[i+1:i+5], 16, 16); err == nil {
					out.WriteRune(rune(r))
					i += 4
					continue
				}
			}
			out.WriteByte('u')
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// Get returns a property with its placeholders filled in. ok is false if it is not set or a placeholder stays open.
func (s *Settings) Get(name string) (value string, ok bool) {
	found, ok := s.values[canonicalKey(name)]
	if !ok {
		return "", false
	}
	return s.resolve(found.value, 0)
}

// List returns a property that is an array: by index, or parted by commas.
func (s *Settings) List(name string) []string {
	var out []string
	for i := 0; i < 256; i++ {
		v, ok := s.Get(name + "[" + strconv.Itoa(i) + "]")
		if !ok {
			break
		}
		out = append(out, v)
	}
	if v, ok := s.Get(name); ok && len(out) == 0 {
		for one := range strings.SplitSeq(v, ",") {
			if one = strings.TrimSpace(one); one != "" {
				out = append(out, one)
			}
		}
	}
	return out
}

// resolve fills in ${name:default}. The environment of this process is another one than the application's, so it counts for
// nothing.
func (s *Settings) resolve(value string, depth int) (string, bool) {
	if depth > 8 || len(value) > maxSettings {
		return "", false
	}
	open := strings.Index(value, "${")
	if open < 0 {
		return value, true
	}
	end := closing(value[open+2:])
	if end < 0 {
		return "", false
	}
	inner := value[open+2 : open+2+end]
	name, fallback, hasDefault := strings.Cut(inner, ":")
	filled, ok := "", false
	if found, known := s.values[canonicalKey(strings.TrimSpace(name))]; known {
		filled, ok = s.resolve(found.value, depth+1)
	}
	if !ok && hasDefault {
		filled, ok = s.resolve(fallback, depth+1)
	}
	if !ok {
		return "", false
	}
	rest, ok := s.resolve(value[open+3+end:], depth+1)
	return value[:open] + filled + rest, ok
}

// closing finds the brace that ends a placeholder, over nested ones.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch {
		case strings.HasPrefix(s[i:], "${"):
			depth++
		case s[i] == '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// Under returns the names, as they were written, of the properties below prefix.
func (s *Settings) Under(prefix string) []string {
	var out []string
	for key, found := range s.values {
		if strings.HasPrefix(key, canonicalKey(prefix)) {
			out = append(out, found.name)
		}
	}
	slices.Sort(out)
	return out
}
