package views

import (
	"context"
	"strconv"
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
