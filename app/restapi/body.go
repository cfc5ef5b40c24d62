package restapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// clearable is a text in a PATCH that null or "" takes away; Set tells null from a field that is not there.
type clearable struct {
	Set   bool
	Value string
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *clearable) UnmarshalJSON(text []byte) error {
	f.Set = true
	if bytes.Equal(text, []byte("null")) {
		f.Value = ""
		return nil
	}
	if text[0] != '"' {
		return &json.UnmarshalTypeError{Value: kindOf(text[0]), Type: reflect.TypeFor[string]()}
	}
	return json.Unmarshal(text, &f.Value)
}

// MarshalJSON implements json.Marshaler, for the audit trail.
func (f clearable) MarshalJSON() ([]byte, error) { return json.Marshal(orNull(f.Value)) }

// IsZero leaves out what was not sent.
func (f clearable) IsZero() bool { return !f.Set }

func (f clearable) pointer() *string {
	if !f.Set {
		return nil
	}
	return &f.Value
}

func kindOf(first byte) string {
	switch {
	case first == '{':
		return "object"
	case first == '[':
		return "array"
	case strings.IndexByte("tf", first) >= 0:
		return "bool"
	}
	return "number"
}
