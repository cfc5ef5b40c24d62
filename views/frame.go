// Package views turns view models into HTML. A component takes one view model; what belongs to the request as a whole
// (language, base path, who is looking) travels in the context as a Frame.
package views

import (
	"context"
	"strings"
	"time"
)

// Frame is what every page of one request has in common. The zero value is an anonymous English page at the root.
type Frame struct {
	Base    string // server.base_path, "" or "/fleet"
	Lang    string // "en" or "zh"
	Theme   string // "light", "dark" or "" for the system's choice
	Zone    *time.Location
	Path    string // path of this request below Base, with its query
	Account string // empty: nobody is logged in
	Name    string
	Admin   bool
	// May answers whether the viewer holds a permission code; nil answers no.
	May       func(code string) bool
	Now       time.Time
	RequestID string
	Version   string
	// Nodes and Down are the counts beside the navigation: profiles, and those that should be up and are not.
	Nodes, Down int
	// LiveBoot and LiveVersion say what the event stream was at when this page was made; older pages ask what they missed.
	LiveBoot    string
	LiveVersion uint64
	// Why is the path of the way of the request to a node that failed for this one; empty: there was none, or it is not for the
	// viewer.
	Why string
	// Partial: only named parts of the page are asked for.
	Partial bool
	// Cookies that remember the look.
	ShortHeader, SideHidden bool
}

type frameKey struct{}

// WithFrame returns a context that carries f.
func WithFrame(ctx context.Context, f Frame) context.Context {
	return context.WithValue(ctx, frameKey{}, &f)
}

// FrameOf returns the frame of ctx, never nil.
func FrameOf(ctx context.Context) *Frame {
	if f, ok := ctx.Value(frameKey{}).(*Frame); ok {
		return f
	}
	return &Frame{Lang: "en", Now: time.Now(), Zone: time.UTC}
}

// URL returns path with the base path before it; every link, form and stream of a page goes through it.
func URL(ctx context.Context, path string) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return FrameOf(ctx).Base + path
}

// May reports whether the viewer holds a permission code.
func May(ctx context.Context, code string) bool {
	f := FrameOf(ctx)
	return f.Admin || (f.May != nil && f.May(code))
}
