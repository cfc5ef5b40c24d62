package console

import (
	"strings"

	"eruptcloud/views"
)

// Bounds of a comparison: lines around a change that are shown, and work above which a change counts as one block.
const (
	diffContext = 3
	maxDiffWork = 4_000_000
)

// diff compares two texts line by line; unchanged lines far from a change are left out.
func diff(old, new string) []views.DiffRow {
	a, b := lines(old), lines(new)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var rows []views.DiffRow
	for i := range head {
		rows = append(rows, views.DiffRow{OldNum: i + 1, NewNum: i + 1, Old: a[i], New: b[i]})
	}
	rows = append(rows, middle(a[head:len(a)-tail], b[head:len(b)-tail], head)...)
	for i := range tail {
		x, y := len(a)-tail+i, len(b)-tail+i
		rows = append(rows, views.DiffRow{OldNum: x + 1, NewNum: y + 1, Old: a[x], New: b[y]})
	}
	return folded(rows)
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// middle finds the longest common run of lines between two parts that differ at both ends.
func middle(a, b []string, offset int) []views.DiffRow {
	if len(a)*len(b) > maxDiffWork {
		return block(a, b, offset, offset)
	}
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var rows []views.DiffRow
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		if i < len(a) && j < len(b) && a[i] == b[j] {
			rows = append(rows, views.DiffRow{OldNum: offset + i + 1, NewNum: offset + j + 1, Old: a[i], New: b[j]})
			i, j = i+1, j+1
			continue
		}
		x, y := i, j
		for i < len(a) || j < len(b) {
			if i < len(a) && j < len(b) && a[i] == b[j] {
				break
			}
			if j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1] {
				i++
			} else {
				j++
			}
		}
		rows = append(rows, block(a[x:i], b[y:j], offset+x, offset+y)...)
	}
	return rows
}

// block puts what was removed beside what was added.
func block(a, b []string, fromA, fromB int) []views.DiffRow {
	rows := make([]views.DiffRow, max(len(a), len(b)))
	for i := range rows {
		rows[i].Changed = true
		if i < len(a) {
			rows[i].OldNum, rows[i].Old = fromA+i+1, a[i]
		}
		if i < len(b) {
			rows[i].NewNum, rows[i].New = fromB+i+1, b[i]
		}
	}
	return rows
}

// folded leaves out unchanged lines that are far from a change.
func folded(rows []views.DiffRow) []views.DiffRow {
	near := make([]bool, len(rows))
	for i, r := range rows {
		if r.Changed {
			for k := max(0, i-diffContext); k <= min(len(rows)-1, i+diffContext); k++ {
				near[k] = true
			}
		}
	}
	var out []views.DiffRow
	for i := 0; i < len(rows); {
		if near[i] {
			out = append(out, rows[i])
			i++
			continue
		}
		start := i
		for i < len(rows) && !near[i] {
			i++
		}
		out = append(out, views.DiffRow{Skipped: i - start})
	}
	return out
}
