package views

import (
	"strings"
)

// Hit is one thing that a search of the whole console found.
type Hit struct {
	ID    string // of its option, unique on the page
	Icon  string
	Title string
	Mono  bool      // the title is an address
	State StateKind // empty: it has none
	Note  string    // what tells it from others of its name
	Path  string    // below the base path, with query and fragment; empty: Do says what happens
	// Do is what script does with it: one of the Do constants. Empty: it is a link.
	Do string
}

// What hits do that are no links.
const (
	DoTheme  = "theme"
	DoLang   = "lang"
	DoLogout = "logout"
	DoKeys   = "keys"
)

// HitGroup are the hits of one kind.
type HitGroup struct {
	Kind     string // "node", …; tests rely on it
	Key      string // of its heading
	Hits     []Hit
	More     int    // hits that are not shown
	MorePath string // where all of them are; empty: nowhere
}

// Search is what was found in the whole console.
type Search struct {
	Query  string
	Groups []HitGroup
}

// Total counts the hits that are shown.
func (s Search) Total() int {
	n := 0
	for _, g := range s.Groups {
		n += len(g.Hits)
	}
	return n
}

// Links is the search without what needs script.
func (s Search) Links() Search {
	out := Search{Query: s.Query}
	for _, g := range s.Groups {
		kept := g
		kept.Hits = nil
		for _, h := range g.Hits {
			if h.Path != "" {
				kept.Hits = append(kept.Hits, h)
			}
		}
		if len(kept.Hits) > 0 {
			out.Groups = append(out.Groups, kept)
		}
	}
	return out
}

// Words cuts a search into the words that must all occur, in lower case.
func Words(query string) []string {
	const most = 8
	words := strings.Fields(strings.ToLower(query))
	return words[:min(len(words), most)]
}

// markPart is a piece of a text; Hit: a word of the search is in it.
type markPart struct {
	Text string
	Hit  bool
}

// markParts cuts a text where words of the search occur.
func markParts(text, query string) []markPart {
	lower := strings.ToLower(text)
	if len(lower) != len(text) { // a letter that changes its length: its places do not match
		return []markPart{{Text: text}}
	}
	hit := make([]bool, len(text))
	for _, w := range Words(query) {
		for at := 0; ; {
			i := strings.Index(lower[at:], w)
			if i < 0 {
				break
			}
			for k := at + i; k < at+i+len(w); k++ {
				hit[k] = true
			}
			at += i + len(w)
		}
	}
	var parts []markPart
	for i, from := 1, 0; i <= len(text); i++ {
		if i == len(text) || hit[i] != hit[from] {
			parts = append(parts, markPart{text[from:i], hit[from]})
			from = i
		}
	}
	return parts
}
