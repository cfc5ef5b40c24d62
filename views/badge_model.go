package views

import (
	"fmt"
	"html"
	"net/url"
	"unicode"
)

// BadgeModel are the links by which others read the state of a node; empty if it has no token that they could follow from.
type BadgeModel struct {
	Node, Display string
	Badge, Status string // whole addresses
	Preview       string // of the badge, below the base path
}

// BadgePath and StatusPath are where a badge and a status are, without their token.
func BadgePath(node string) string  { return "/badge/" + url.PathEscape(node) + ".svg" }
func StatusPath(node string) string { return "/status/" + url.PathEscape(node) + ".json" }

// badgeColours are the paper of the state's word; white is read on each of them.
var badgeColours = map[StateKind]string{
	StateUp: "#2a6b46", StateSlow: "#7f5000", StateProbing: "#1d6288", StateDown: "#ab2a1f", StateDraining: "#77447a",
	StateHeld: "#5c574d", StateOffline: "#ab2a1f", StateDisabled: "#5c574d", StateNever: "#5c574d",
}

// Badge draws the state of a node: a label and the state's word. It holds text only, whatever the label is.
func Badge(label string, state StateKind, lang string) []byte {
	const most = 60
	runes := []rune(clean(label))
	if len(runes) > most {
		runes = append(runes[:most-1], '…')
	}
	label = string(runes)
	word := Text(lang, state.Key())
	left, right := widthOf(label)+16, widthOf(word)+16
	name := html.EscapeString(label + ": " + word)
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="%[5]s"><title>%[5]s</title>`+
		`<rect width="%[1]d" height="20" rx="4" fill="#3b3a36"/><path d="M%[2]d 0h%[3]da4 4 0 0 1 4 4v12a4 4 0 0 1-4 4h-%[3]dz" fill="%[4]s"/>`+
		`<g fill="#fff" font-family="Verdana,DejaVu Sans,Noto Sans CJK SC,PingFang SC,sans-serif" font-size="11" text-anchor="middle">`+
		`<text x="%[6]d" y="14">%[7]s</text><text x="%[8]d" y="14">%[9]s</text></g></svg>`,
		left+right, left, right-4, badgeColours[state], name, left/2, html.EscapeString(label), left+right/2, html.EscapeString(word))
}

// widthOf is about how wide a text is, in pixels at 11.
func widthOf(s string) int {
	w := 0
	for _, r := range s {
		switch {
		case r >= 0x1100 && (unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) || r >= 0x3000):
			w += 12
		case unicode.IsUpper(r) || r == 'm' || r == 'w':
			w += 8
		default:
			w += 7
		}
	}
	return w
}
