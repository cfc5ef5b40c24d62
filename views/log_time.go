package views

import (
	"regexp"
	"time"
)

// How loggers write the time of a line: 2026-12-01 14:31:12.004, with T, a comma, slashes or a zone, or the time of day alone.
const dateTime = `(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?: ?(Z|[+-]\d\d:?\d\d))?`

var (
	headTime   = regexp.MustCompile(`^\s*\[?` + dateTime + `\]?`)
	insideTime = regexp.MustCompile(`\b(?:time|ts|timestamp)"?\s*[=:]\s*"?` + dateTime)
)

// timeAtHead reads the time at the beginning of a line; n is how many bytes it takes, 0 if there is none.
func timeAtHead(s string) (at time.Time, zoned bool, n int) {
	m := headTime.FindStringSubmatchIndex(s)
	if m == nil {
		return time.Time{}, false, 0
	}
	at, zoned, ok := timeOf(s, m)
	if !ok {
		return time.Time{}, false, 0
	}
	return at, zoned, m[1]
}

// timeInside reads a time that a line names, as JSON and logfmt do.
func timeInside(s string) (time.Time, bool) {
	if len(s) > 400 {
		s = s[:400]
	}
	m := insideTime.FindStringSubmatchIndex(s)
	if m == nil {
		return time.Time{}, false
	}
	at, zoned, _ := timeOf(s, m)
	return at, zoned
}

func timeOf(s string, m []int) (at time.Time, zoned, ok bool) {
	part := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return s[m[2*i]:m[2*i+1]]
	}
	num := func(i int) (n int) {
		for _, c := range []byte(part(i)) {
			n = n*10 + int(c-'0')
		}
		return n
	}
	nano := 0
	if f := part(7); f != "" {
		nano = num(7)
		for range 9 - len(f) {
			nano *= 10
		}
	}
	at = time.Date(num(1), time.Month(num(2)), num(3), num(4), num(5), num(6), nano, time.UTC)
	if at.Month() != time.Month(num(2)) || at.Day() != num(3) || at.Hour() != num(4) || num(5) > 59 || num(6) > 60 {
		return time.Time{}, false, false // 2026-13-40 is no date
	}
	zone := part(8)
	if zone == "" {
		return at, false, true
	}
	if zone != "Z" {
		digits := zone[1:3] + zone[len(zone)-2:]
		minutes := int(digits[0]-'0')*600 + int(digits[1]-'0')*60 + int(digits[2]-'0')*10 + int(digits[3]-'0')
		if zone[0] == '-' {
			minutes = -minutes
		}
		at = at.Add(-time.Duration(minutes) * time.Minute)
	}
	return at, true, true
}
