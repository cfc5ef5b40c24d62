package views

import "strings"

// codeLines are recovery codes as they are copied.
func codeLines(codes []string) string { return strings.Join(codes, "\n") }

// yesNo is a value of an ARIA attribute.
func yesNo(yes bool) string {
	if yes {
		return "true"
	}
	return "false"
}
