package config

import (
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"time"
)

// Dump writes the configuration in effect as TOML, secrets as "***".
func (c *Config) Dump(w io.Writer) error {
	root := reflect.ValueOf(c).Elem()
	for i := range root.NumField() {
		section := root.Type().Field(i)
		if _, err := fmt.Fprintf(w, "[%s]\n", section.Tag.Get("koanf")); err != nil {
			return err
		}
		for j := range section.Type.NumField() {
			f := section.Type.Field(j)
			text := render(root.Field(i).Field(j))
			if f.Tag.Get("secret") == "true" && !root.Field(i).Field(j).IsZero() {
				text = `"***"`
			}
			if _, err := fmt.Fprintf(w, "%s = %s\n", f.Tag.Get("koanf"), text); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}

func render(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return fmt.Sprintf("%q", x)
	case string:
		return fmt.Sprintf("%q", x)
	case []string:
		return list(x)
	case []netip.Prefix:
		texts := make([]string, len(x))
		for i, p := range x {
			texts[i] = p.String()
		}
		return list(texts)
	}
	return fmt.Sprint(v.Interface())
}

func list(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = fmt.Sprintf("%q", t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
