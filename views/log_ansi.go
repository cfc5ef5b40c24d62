package views

import (
	"regexp"
	"strconv"
	"strings"
)

// An escape sequence: CSI … final byte, OSC … end, or a two-byte escape.
var escape = regexp.MustCompile("\x1b\\[[0-9;:?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b[@-Z\\\\-_]?")

// nextEscape cuts a text before and after its first escape sequence.
func nextEscape(s string) (text, seq, after string) {
	at := escape.FindStringIndex(s)
	if at == nil {
		return s, "", ""
	}
	return s[:at[0]], s[at[0]:at[1]], s[at[1]:]
}

// ansi is the look that escape sequences have set so far: one of few colours, dim, bold (U32).
type ansi struct {
	color     string // "31" … "36", or empty
	dim, bold bool
}

func (a ansi) class() string {
	var names []string
	switch {
	case a.color != "":
		names = append(names, "ansi-"+a.color)
	case a.dim:
		names = append(names, "ansi-2")
	}
	if a.bold && a.color == "" {
		names = append(names, "ansi-1")
	}
	return strings.Join(names, " ")
}

// apply follows a sequence of colours; others change nothing.
func (a *ansi) apply(seq string) {
	if !strings.HasPrefix(seq, "\x1b[") || !strings.HasSuffix(seq, "m") {
		return
	}
	var codes []int
	for part := range strings.SplitSeq(seq[2:len(seq)-1], ";") {
		numbers := colonCodes(part)
		if numbers == nil {
			return // a private sequence
		}
		codes = append(codes, numbers...)
	}
	for len(codes) > 0 {
		codes = codes[a.one(codes):]
	}
}

// colonCodes reads one parameter: a number, or a colour with its own parts, 38:2::255:0:0.
func colonCodes(part string) []int {
	var out []int
	for i, s := range strings.Split(part, ":") {
		if s == "" && i > 0 {
			continue // the colour space, which nobody fills in
		}
		n, err := strconv.Atoi(s)
		if err != nil && s != "" {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// one applies the first code and returns how many it took.
func (a *ansi) one(codes []int) int {
	switch n := codes[0]; {
	case n == 0:
		*a = ansi{}
	case n == 1:
		a.bold = true
	case n == 2:
		a.dim = true
	case n == 22:
		a.bold, a.dim = false, false
	case n == 30 || n == 37 || n == 39 || n == 97:
		a.color, a.dim = "", a.dim && n != 39 // black and white are the text's own colour
	case n == 90:
		a.color, a.dim = "", true
	case n >= 31 && n <= 36:
		a.color = hue(n)
	case n >= 91 && n <= 96:
		a.color = hue(n - 60)
	case n == 38 || n == 48:
		return a.extended(codes)
	}
	return 1
}

// extended reduces 256 and true colours to the few that there are.
func (a *ansi) extended(codes []int) int {
	foreground := codes[0] == 38
	switch {
	case len(codes) >= 3 && codes[1] == 5:
		if foreground {
			a.indexed(codes[2])
		}
		return 3
	case len(codes) >= 5 && codes[1] == 2:
		if foreground {
			a.rgb(codes[2], codes[3], codes[4])
		}
		return 5
	}
	return len(codes) // its arguments are no codes
}

func (a *ansi) indexed(n int) {
	switch {
	case n < 0 || n > 255:
	case n < 8:
		a.one([]int{30 + n})
	case n < 16:
		a.one([]int{90 + n - 8})
	case n < 232:
		level := func(i int) int {
			if i == 0 {
				return 0
			}
			return 55 + 40*i
		}
		n -= 16
		a.rgb(level(n/36), level(n/6%6), level(n%6))
	default:
		a.rgb(8+10*(n-232), 8+10*(n-232), 8+10*(n-232))
	}
}

// rgb takes the nearest hue; greys are the text's own colour, dim in the middle of the scale.
func (a *ansi) rgb(r, g, b int) {
	high, low := max(r, g, b), min(r, g, b)
	if high-low < 48 {
		a.color, a.dim = "", high > 64 && high < 176
		return
	}
	mid := (high + low) / 2
	n := 30
	for i, v := range []int{r, g, b} {
		if v > mid {
			n += 1 << i // red 1, green 2, blue 4, as the codes have it
		}
	}
	a.color, a.dim = hue(n), false
}

func hue(n int) string {
	if n == 34 {
		n = 36 // blue is hard to read on both papers
	}
	return strconv.Itoa(n)
}
