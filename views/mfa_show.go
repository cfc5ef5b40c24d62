package views

import "strings"

// codeLines are recovery codes as they are copied.
func codeLines(codes []string) string { return strings.Join(codes, "\n") }

// unbindErr reports whether a field of the form that removes the factor was refused.
func (m MFAPage) unbindErr(name string) bool { return m.Unbinding && m.Err(name) != "" }
