package console

import (
	"slices"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"eruptcloud/views"
)

// merge puts the lines of several instances in the order of the times that they carry. Within one instance the numbers
// decide: a line never stands before the one that its process wrote before it. Lines without a time stand with the line
// before them; those of an instance that writes none stand at the end, where they arrived.
func (v *logView) merge(readings []reading, keep int) views.LogChunk {
	chunk := views.LogChunk{Node: v.node, Merged: v.merged(), Order: orderOf(readings)}
	type stamped struct {
		views.LogLine
		at time.Time
	}
	var all []stamped
	for _, r := range readings {
		var at time.Time
		if i := slices.IndexFunc(r.lines, func(l views.LogLine) bool { return !l.Time.IsZero() }); i >= 0 {
			at = r.lines[i].Time
		} else {
			at = endOfTime
		}
		for _, l := range r.lines {
			if l.Time.After(at) {
				at = l.Time
			}
			all = append(all, stamped{l, at})
		}
	}
	slices.SortStableFunc(all, func(a, b stamped) int { return a.at.Compare(b.at) })
	if keep > 0 && len(all) > keep {
		all = all[len(all)-keep:]
	}
	firsts := map[string]int64{}
	for _, l := range all {
		chunk.Lines = append(chunk.Lines, l.LogLine)
		if _, seen := firsts[l.Instance]; !seen {
			firsts[l.Instance] = l.Num
		}
	}
	for _, r := range readings {
		switch first, shown := firsts[r.ID]; {
		case shown:
			r.First = first
		case len(r.lines) > 0 && r.First == 0:
			r.First = r.Last + 1 // read, and none of them is among the newest
		}
		chunk.Sources = append(chunk.Sources, r.LogSource)
	}
	return chunk
}

// endOfTime is later than what any line says.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func orderOf(readings []reading) views.LogOrder {
	with, without := 0, 0
	for _, r := range readings {
		switch {
		case slices.ContainsFunc(r.lines, func(l views.LogLine) bool { return !l.Time.IsZero() }):
			with++
		case len(r.lines) > 0:
			without++
		}
	}
	switch {
	case without == 0:
		return views.LogByTime
	case with == 0:
		return views.LogByArrival
	}
	return views.LogByBoth
}

// decodeLog reads bytes as text (S98). Without a choice UTF-8 comes first; what is none is GB18030 where its bytes come in the
// pairs of Chinese text, else Windows-1252, in which every byte is something. used is empty for UTF-8.
func decodeLog(content, choice string) (text, used string) {
	switch {
	case choice == "utf-8":
		return content, "" // bytes that are none become visible as U+FFFD
	case utf8.ValidString(content) && (choice == "" || ascii(content)):
		return content, ""
	case choice == "" && paired(content):
		choice = "gb18030"
	case choice == "":
		choice = "windows-1252"
	}
	set, err := htmlindex.Get(choice)
	if err != nil {
		return content, ""
	}
	if text, err = set.NewDecoder().String(content); err != nil {
		return content, ""
	}
	return text, choice
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// paired reports whether all bytes above ASCII come in pairs as GB 2312 has them.
func paired(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < utf8.RuneSelf {
			continue
		}
		if i+1 >= len(s) || s[i] < 0xa1 || s[i] > 0xf7 || s[i+1] < 0xa1 || s[i+1] == 0xff {
			return false
		}
		i++
	}
	return true
}
