package views_test

import (
	"net/url"
	"testing"

	"eruptcloud/views"
)

func parsePath(t *testing.T, path string) views.NodeQuery {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	return views.ParseNodeQuery(u.Query())
}
