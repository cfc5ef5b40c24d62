package views

import (
	"slices"
	"strconv"
)

func (r AuditRow) took() string {
	return strconv.FormatInt(r.Took.Milliseconds(), 10) + " ms"
}

// hasBefore reports whether an old value of anything is known.
func (r AuditRow) hasBefore() bool {
	return slices.ContainsFunc(r.Changes, func(c AuditChange) bool { return c.Known })
}

func (m AuditList) olderPath() string {
	if m.Older == "" {
		return ""
	}
	return m.Filter.At(m.Older).Path(AuditPath)
}

func (q AuditQuery) withAccount(account string) AuditQuery {
	q.Account, q.Place = account, ""
	return q
}

func (m LoginList) olderPath() string {
	if m.Older == "" {
		return ""
	}
	return m.Path(LoginsPath, m.Older)
}
