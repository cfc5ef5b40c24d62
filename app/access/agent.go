package access

import "strings"

// client is what a User-Agent tells about the other side, in erupt's three columns. It is what the client claims.
type client struct{ System, Browser, Device string }

// The order matters: browsers name those that they want to be taken for, and Android names Linux.
var (
	systems = []named{
		{"Windows", "Windows"}, {"Android", "Android"}, {"iPhone", "iOS"}, {"iPad", "iOS"}, {"Mac OS X", "macOS"},
		{"CrOS", "ChromeOS"}, {"Linux", "Linux"},
	}
	browsers = []named{
		{"MicroMessenger/", "WeChat"}, {"Edg/", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Version/", "Safari"}, {"curl/", "curl"},
	}
)

type named struct{ mark, name string }

func describeAgent(agent string) client {
	c := client{System: "unknown", Browser: "unknown", Device: "Computer"}
	for _, s := range systems {
		if strings.Contains(agent, s.mark) {
			c.System = s.name
			break
		}
	}
	for _, b := range browsers {
		if _, rest, ok := strings.Cut(agent, b.mark); ok {
			c.Browser = strings.TrimSpace(b.name + " " + leadingDigits(rest))
			break
		}
	}
	switch {
	case strings.Contains(agent, "iPad") || strings.Contains(agent, "Tablet"):
		c.Device = "Tablet"
	case strings.Contains(agent, "Mobile"):
		c.Device = "Mobile"
	}
	return c
}

func leadingDigits(s string) string {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || i == 6 {
			return s[:i]
		}
	}
	return s
}

// BrowserOf says in words what browser and system a User-Agent claims: "Firefox 140, Windows"; what is not known is shown as it is,
// shortened.
func BrowserOf(agent string) string {
	c := describeAgent(agent)
	switch {
	case c.Browser == "unknown":
		return shorten(agent, 60)
	case c.System == "unknown":
		return c.Browser
	}
	return c.Browser + ", " + c.System
}
