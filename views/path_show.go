package views

import (
	"net/url"
	"strconv"
)

// withQuery writes an address with those parameters that are not empty; params are pairs of a name and a value.
func withQuery(path string, params ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		if params[i+1] != "" {
			v.Set(params[i], params[i+1])
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// whole reads a number of an address; what is none is zero.
func whole(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// wholeText writes a number for an address unless it is the usual one.
func wholeText(n, usual int) string {
	if n == usual || n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
