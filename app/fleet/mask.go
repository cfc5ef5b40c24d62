package fleet

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// secretKey finds keys whose values are not shown to those who may not edit a config.
var secretKey = regexp.MustCompile(`(?i)passw|pwd|secret|token|credential|private|api[-_.]?key|access[-_.]?key`)

// SecretKey reports whether the value under a key of a config is a secret, by the key's name.
func SecretKey(key string) bool { return secretKey.MatchString(key) }

// MaskConfig returns a config without the values of secret keys and of what lies below them, also inside of lists; keys keep
// their order. It is empty for a text that is no JSON, as an adopted database may hold: that cannot be searched for secrets.
func MaskConfig(text string) string {
	if !json.Valid([]byte(text)) { // which bounds the depth, too
		return ""
	}
	m := masker{dec: json.NewDecoder(strings.NewReader(text))}
	m.dec.UseNumber()
	m.enc = json.NewEncoder(&m.out)
	m.enc.SetEscapeHTML(false)
	if m.value(false) != nil {
		return ""
	}
	return m.out.String()
}

type masker struct {
	dec *json.Decoder
	enc *json.Encoder
	out bytes.Buffer
}

func (m *masker) value(secret bool) error {
	tok, err := m.dec.Token()
	if err != nil {
		return err
	}
	open, nested := tok.(json.Delim)
	switch {
	case !nested && secret:
		return m.scalar("••••••••")
	case !nested:
		return m.scalar(tok)
	}
	m.out.WriteByte(byte(open))
	for first := true; m.dec.More(); first = false {
		if !first {
			m.out.WriteByte(',')
		}
		if err := m.member(open == '{', secret); err != nil {
			return err
		}
	}
	m.out.WriteByte(byte(open) + 2) // } and ] are two after { and [
	_, err = m.dec.Token()
	return err
}

func (m *masker) member(named, secret bool) error {
	if named {
		key, err := m.dec.Token()
		if err != nil {
			return err
		}
		if err := m.scalar(key); err != nil {
			return err
		}
		m.out.WriteByte(':')
		name, _ := key.(string)
		secret = secret || SecretKey(name)
	}
	return m.value(secret)
}

func (m *masker) scalar(v any) error {
	if err := m.enc.Encode(v); err != nil {
		return err
	}
	m.out.Truncate(m.out.Len() - 1) // its line end
	return nil
}
