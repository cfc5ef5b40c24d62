package web_test

import (
	"testing"

	"github.com/gin-gonic/gin"

	"eruptcloud/views"
)

// The address of a page stands in its links, its forms and in the way back after a login: no token may come along.
func TestNoTokenInThePageAddress(t *testing.T) {
	for sent, want := range map[string]string{
		"/console/x?a=1&_token=s3cret&b=2":       "/console/x?a=1&b=2",
		"/console/x?token=s3cret":                "/console/x",
		"/console/x?%5Ftoken=s3cret&a=%20":       "/console/x?a=%20",
		"/console/x?Access-Token=s3cret":         "/console/x",
		"/console/x?access_token=s&accessToken=": "/console/x",
		"/console/x?s.tokenNo=7&a=1":             "/console/x?s.tokenNo=7&a=1",
		"/console/x?token%zz=s3cret&a=1":         "/console/x?a=1",
		"/console/x?q=a;b":                       "/console/x?q=a;b",
	} {
		f := newShell(t)
		got := ""
		f.Engine().GET("/console/x", func(c *gin.Context) { got = views.FrameOf(c.Request.Context()).Path })
		if f.do("GET", sent); got != want {
			t.Errorf("%s: the page's address is %q, want %q", sent, got, want)
		}
	}
}
