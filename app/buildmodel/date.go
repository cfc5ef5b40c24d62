package buildmodel

import (
	"strconv"
	"strings"
	"time"
)

// Moment is a date, a time, or both, as a node wrote it. Nodes write local time without a zone almost everywhere; Offset tells
// the exception.
type Moment struct {
	Time    time.Time
	HasDate bool
	HasTime bool
	// Offset is the zone as written ("+00:00", "Z"), empty if there was none.
	Offset string
}

var momentLayouts = []struct {
	layout     string
	date, time bool
}{
	{"2006-01-02T15:04:05.999999999Z07:00", true, true},
	{"2006-01-02T15:04:05.999999999Z0700", true, true},
	{"2006-01-02T15:04:05.999999999", true, true},
	{"2006-01-02T15:04", true, true},
	{"2006-01-02 15:04:05.999999999", true, true},
	{"2006-01-02 15:04", true, true},
	{"2006-01-02", true, false},
	{"15:04:05", false, true},
	{"15:04", false, true},
}

// ParseMoment reads the shapes in which nodes and browsers write dates and times, and milliseconds since 1970 as application
// serializers write them. ok is false for anything else, month, week and year values included: those stay text.
func ParseMoment(s string) (m Moment, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) < 5 || len(s) > 40 {
		return Moment{}, false
	}
	for _, l := range momentLayouts {
		if t, err := time.Parse(l.layout, s); err == nil {
			return Moment{Time: t, HasDate: l.date, HasTime: l.time, Offset: offsetOf(s)}, true
		}
	}
	// 12 digits: after 1973. A shorter number is more likely an amount or an id.
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && len(s) >= 12 && len(s) <= 14 && n > 0 {
		return Moment{Time: time.UnixMilli(n).UTC(), HasDate: true, HasTime: true, Offset: "Z"}, true
	}
	return Moment{}, false
}

func offsetOf(s string) string {
	if strings.HasSuffix(s, "Z") {
		return "Z"
	}
	if i := strings.LastIndexAny(s, "+-"); i > len("2006-01-02") {
		return s[i:]
	}
	return ""
}

// day returns the calendar day that was meant. Jackson writes a java.util.Date that holds a day as midnight of the node's zone
// in UTC: a quarter hour that is not midnight was midnight somewhere, so the day is that of the nearest midnight.
func (m Moment) day() string {
	t := m.Time
	if m.Offset != "" && t.Second() == 0 && t.Nanosecond() == 0 && t.Minute()%15 == 0 && t.Hour() >= 10 {
		if ahead := 24*60 - (t.Hour()*60 + t.Minute()); ahead <= 14*60 { // zones reach UTC+14
			t = t.Add(time.Duration(ahead) * time.Minute)
		}
	}
	return t.Format("2006-01-02")
}

// DateText returns a stored value of a DATE field as the form and the table show it: day, time of day, or both to the second.
// What is not understood, and month, week and year, comes back unchanged.
func (f *Field) DateText(stored string) string {
	if f.Edit.Type != "DATE" {
		return stored
	}
	return dateText(f.Edit.Date.Kind, stored)
}

func dateText(kind, stored string) string {
	m, ok := ParseMoment(stored)
	if !ok {
		return stored
	}
	switch {
	case kind == "DATE" && m.HasDate:
		return m.day()
	case kind == "TIME" && m.HasTime:
		return m.Time.Format("15:04:05")
	case kind == "DATE_TIME" && m.HasDate:
		return m.Time.Format("2006-01-02 15:04:05")
	}
	return stored
}

// zoneOf returns the offset that a stored DATE_TIME carries, for the hint beside the field.
func zoneOf(stored string) string {
	if m, ok := ParseMoment(stored); ok {
		return m.Offset
	}
	return ""
}

// dateOK reports whether text is a complete value of the kind, and returns it in canonical form.
func dateOK(kind, text string) (string, bool) {
	text = strings.TrimSpace(text)
	m, ok := ParseMoment(text)
	switch kind {
	case "DATE":
		return m.Time.Format("2006-01-02"), ok && m.HasDate
	case "TIME":
		return m.Time.Format("15:04:05"), ok && m.HasTime && !m.HasDate
	case "DATE_TIME":
		return m.Time.Format("2006-01-02 15:04:05"), ok && m.HasDate
	case "MONTH":
		_, err := time.Parse("2006-01", text)
		return text, err == nil
	case "WEEK":
		return weekOK(text)
	case "YEAR":
		_, err := time.Parse("2006", text)
		return text, err == nil
	}
	return text, text != ""
}

// weekOK takes 2026-29 and the browser's 2026-W29.
func weekOK(text string) (string, bool) {
	year, week, ok := strings.Cut(strings.Replace(text, "-W", "-", 1), "-")
	n, err := strconv.Atoi(week)
	if _, yerr := time.Parse("2006", year); !ok || err != nil || yerr != nil || n < 1 || n > 53 {
		return text, false
	}
	return year + "-" + week, true
}

// datePayload writes a DATE value that a person entered. stored is what the node sent before, empty for a new row: it tells
// 1.x types apart, whose model does not name them.
func (m *Model) datePayload(f *Field, text, stored string) (string, bool) {
	text, ok := dateOK(f.Edit.Date.Kind, text)
	if ok && m.Classic && f.Edit.Date.Kind == "DATE" && strings.Contains(stored, "T") && zoneOf(stored) == "" {
		return text + " 00:00:00", true // a LocalDateTime behind a day picker
	}
	if !ok || f.Edit.Date.Kind != "DATE_TIME" {
		return text, ok
	}
	if zone := zoneOf(stored); zone != "" {
		return strings.Replace(text, " ", "T", 1) + ".000" + zone, true // same zone as shown: the same instant
	}
	if m.Classic || f.Returns == "String" && !strings.Contains(stored, "T") {
		return text, true
	}
	return strings.Replace(text, " ", "T", 1) + ".000", true
}

// dateAsRead is the payload for a DATE value that nobody touched. Only LocalDateTime on 1.x is refused in the form in which
// details have it (ISO without zone); everything else goes back as it came.
func (m *Model) dateAsRead(stored string) string {
	if t, ok := ParseMoment(stored); ok && m.Classic && t.HasDate && t.HasTime && t.Offset == "" && strings.Contains(stored, "T") {
		return t.Time.Format("2006-01-02 15:04:05")
	}
	return stored
}

// DateFits reports whether text is a complete value of the field's kind: only then can a browser's own input show it.
func (f *Field) DateFits(text string) bool {
	_, ok := dateOK(f.Edit.Date.Kind, text)
	return ok
}
