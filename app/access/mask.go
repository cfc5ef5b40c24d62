package access

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// masked stands for a value that must not be kept.
const masked = "******"

// maxParams is how much of a request's parameters the trail keeps, as erupt's recordOperateLogMaxBodySize.
const maxParams = 1 << 20

// secretKey reports whether a value under key is a password, secret or token, however the key is written: pwd, newPwd2,
// Access-Token, accessToken, _token, client_secret.
func secretKey(key string) bool {
	key = strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(key))
	for _, part := range []string{"pwd", "password", "passwd", "secret"} {
		if strings.Contains(key, part) {
			return true
		}
	}
	for _, end := range []string{"token", "authorization", "apikey", "cookie"} {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return false
}

// maskParams returns params as JSON text without secrets; empty for none. What is no JSON, or too much, is told instead of
// kept: it cannot be searched for secrets.
func maskParams(params json.RawMessage) string {
	if len(bytes.TrimSpace(params)) == 0 {
		return ""
	}
	if len(params) > maxParams {
		return `{"omitted":"larger than 1 MiB"}`
	}
	v, ok := decodeJSON(params)
	if !ok {
		return `{"omitted":"not JSON"}`
	}
	out, err := json.Marshal(maskValue(v, 0))
	if err != nil {
		return `{"omitted":"not JSON"}`
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

// decodeJSON reads exactly one JSON value and keeps numbers as they are written.
func decodeJSON(text []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, false
	}
	return v, !d.More()
}

// maskValue masks below v. Texts that hold JSON themselves, such as a node's config, are looked into, three levels deep.
func maskValue(v any, level int) any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if secretKey(key) && inner != nil && inner != "" {
				v[key] = masked
			} else {
				v[key] = maskValue(inner, level)
			}
		}
	case []any:
		for i := range v {
			v[i] = maskValue(v[i], level)
		}
	case string:
		trimmed := strings.TrimSpace(v)
		if level < 3 && (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")) {
			if inner, ok := decodeJSON([]byte(trimmed)); ok {
				if out, err := json.Marshal(maskValue(inner, level+1)); err == nil {
					return string(out)
				}
			}
		}
	}
	return v
}

// maskURL masks secrets in the query and drops user info; what cannot be read as a URL loses its query.
func maskURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		raw, _, _ = strings.Cut(raw, "?")
		return raw
	}
	u.User = nil
	if u.RawQuery == "" {
		return u.String()
	}
	pairs := strings.Split(u.RawQuery, "&")
	for i, p := range pairs {
		key, _, _ := strings.Cut(p, "=")
		if plain, err := url.QueryUnescape(key); err != nil || secretKey(plain) {
			pairs[i] = key + "=" + masked
		}
	}
	u.RawQuery = strings.Join(pairs, "&")
	return u.String()
}

// foreignParams is paramsOf for what was written without masking: JSON, or lines like _token=[…].
func foreignParams(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(maskParams(json.RawMessage(text)))
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if key, _, found := strings.Cut(line, "="); found && secretKey(key) {
			lines[i] = key + "=" + masked
		}
	}
	return paramsOf(strings.Join(lines, "\n"))
}

// paramsOf reads what the trail holds; a Java server may have written parameters that are no JSON.
func paramsOf(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string always has a JSON form
	return quoted
}
