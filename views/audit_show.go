package views

import (
	"strconv"
	"strings"
)

// detail is what an entry keeps besides its columns.
func (r AuditRow) detail() string {
	var b strings.Builder
	line := func(s string) {
		if strings.TrimSpace(s) != "" {
			b.WriteString(s + "\n")
		}
	}
	line(r.Method + " " + r.URL)
	line(r.Params)
	line(r.Error)
	line(r.RequestID)
	return b.String()
}

func (r AuditRow) took() string {
	return strconv.FormatInt(r.Took.Milliseconds(), 10) + " ms"
}
