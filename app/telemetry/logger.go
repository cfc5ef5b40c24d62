// Package telemetry sets up logs without secrets, metrics in a registry of their own, and the operators' listener.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// NewLogger returns a structured logger that writes to w. Attributes whose name speaks of a secret are masked, and so are
// tokens inside texts and URLs. Level is debug, info, warn or error; format is json or text.
func NewLogger(w io.Writer, level, format string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo // the configuration was validated; anything else logs too much rather than nothing
	}
	opts := &slog.HandlerOptions{Level: l, ReplaceAttr: redact}
	var h slog.Handler = slog.NewJSONHandler(w, opts)
	if format == "text" {
		h = slog.NewTextHandler(w, opts)
	}
	return slog.New(contextual{h})
}

type attrsKey struct{}

// With returns a context whose log lines carry attrs.
func With(ctx context.Context, attrs ...slog.Attr) context.Context {
	have, _ := ctx.Value(attrsKey{}).([]slog.Attr)
	return context.WithValue(ctx, attrsKey{}, append(have[:len(have):len(have)], attrs...))
}

// contextual adds the attributes of With.
type contextual struct{ slog.Handler }

func (c contextual) Handle(ctx context.Context, r slog.Record) error {
	if attrs, ok := ctx.Value(attrsKey{}).([]slog.Attr); ok {
		r.AddAttrs(attrs...)
	}
	return c.Handler.Handle(ctx, r)
}

func (c contextual) WithAttrs(a []slog.Attr) slog.Handler { return contextual{c.Handler.WithAttrs(a)} }
func (c contextual) WithGroup(n string) slog.Handler      { return contextual{c.Handler.WithGroup(n)} }

const masked = "***"

var (
	secretNames = []string{"token", "password", "passwd", "pwd", "secret", "cookie", "authorization", "dsn"}
	// secretPair finds name=value and "name":"value" in texts such as URLs, forms and JSON.
	secretPair = regexp.MustCompile(`(?i)((?:_?token|access-?token|accesstoken|password|pwd|secret|authorization)"?\s*[=:]\s*"?)(?:Bearer\s+)?[^&\s",}]+`)
	// userInfo finds the password of a DSN or URL.
	userInfo = regexp.MustCompile(`(://[^:/@\s]*:|^[A-Za-z0-9_]+:)[^@/\s]+@`)
)

func redact(_ []string, a slog.Attr) slog.Attr {
	if isSecretName(a.Key) && a.Value.Kind() != slog.KindBool {
		return slog.String(a.Key, masked)
	}
	switch a.Value.Kind() {
	case slog.KindDuration: // as text; JSON would show a bare number of nanoseconds
		return slog.String(a.Key, a.Value.Duration().String())
	case slog.KindString:
		return slog.String(a.Key, Redact(a.Value.String()))
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok {
			return slog.String(a.Key, Redact(err.Error()))
		}
	}
	return a
}

// isSecretName looks at the end of a name. It is asked for each attribute of each line, so it is no regular expression.
func isSecretName(key string) bool {
	for _, s := range secretNames {
		if len(key) >= len(s) && strings.EqualFold(key[len(key)-len(s):], s) {
			return true
		}
	}
	return false
}

// Redact masks the values of tokens and passwords inside a text.
func Redact(text string) string {
	if !strings.ContainsAny(text, "=:") {
		return text
	}
	return userInfo.ReplaceAllString(secretPair.ReplaceAllString(text, "${1}"+masked), "${1}"+masked+"@")
}
