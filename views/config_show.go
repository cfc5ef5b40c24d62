package views

import (
	"context"
	"strconv"
	"strings"
)

func lineNum(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// revisionTitle names a revision: number, author, time.
func revisionTitle(ctx context.Context, r RevisionRow) string {
	if r.Number == 0 {
		return T(ctx, "config.none")
	}
	return revText(r.Number) + ", " + dash(r.Author) + ", " + Clock(ctx, r.Created)
}

// rowsFor is how high an editor starts: as its text needs, within reason.
func rowsFor(text string) int { return min(max(strings.Count(text, "\n")+4, 12), 36) }
