package proxy

import (
	"slices"
	"strings"
	"testing"
)

func TestParsePathRefuses(t *testing.T) { // erupt-wire 10.6, S49
	tests := map[string]string{
		"no slash":                 "erupt-api/menu",
		"empty":                    "",
		"double slash":             "/erupt-api//menu",
		"leading double slash":     "//erupt-api/menu",
		"trailing slash":           "/erupt-api/build/shop.Customer/",
		"dot":                      "/erupt-api/./menu",
		"two dots":                 "/erupt-api/data/../menu",
		"encoded dot":              "/erupt-api/%2e/menu",
		"encoded dots":             "/erupt-api/%2e%2E/menu",
		"half encoded dots":        "/erupt-api/.%2e/menu",
		"encoded slash":            "/erupt-api/x/a%2Fb",
		"encoded slash lower case": "/erupt-api/x/a%2fb",
		"backslash":                "/erupt-api\\menu",
		"encoded backslash":        "/erupt-api/a%5Cb",
		"null":                     "/erupt-api/a%00b",
		"line feed":                "/erupt-api/a%0Ab",
		"delete":                   "/erupt-api/a%7Fb",
		"path parameter":           "/erupt-api/data/table/shop.Product;x=1",
		"encoded semicolon":        "/erupt-api/data/table/shop.Product%3Bx",
		"cut escape":               "/erupt-api/a%2",
		"bad escape":               "/erupt-api/a%zz",
		"no UTF-8":                 "/erupt-api/a%ff",
		"too deep":                 strings.Repeat("/a", maxSegments+1),
	}
	for name, path := range tests {
		t.Run(name, func(t *testing.T) {
			if p, err := parsePath(path); KindOf(err) != Invalid || err == nil {
				t.Errorf("parsePath(%q) = %q, %v, want it refused as invalid", path, p.segments(), err)
			}
		})
	}
}

func TestParsePath(t *testing.T) {
	tests := map[string]struct {
		path       string
		want       []string
		plain, raw string
	}{
		"plain":            {"/erupt-api/menu", []string{"erupt-api", "menu"}, "/erupt-api/menu", ""},
		"blank and UTF-8":  {"/a/%E4%BD%A0%20b", []string{"a", "你 b"}, "/a/你 b", "/a/%E4%BD%A0%20b"},
		"encoded percent":  {"/a/b%252Fc", []string{"a", "b%2Fc"}, "/a/b%2Fc", "/a/b%252Fc"},
		"needless escape":  {"/a/%41", []string{"a", "A"}, "/a/A", ""},
		"question mark":    {"/a/b%3Fc", []string{"a", "b?c"}, "/a/b?c", "/a/b%3Fc"},
		"allowed specials": {"/a/b@c:d+e=f,g", []string{"a", "b@c:d+e=f,g"}, "/a/b@c:d+e=f,g", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := parsePath(tt.path)
			if err != nil || !slices.Equal(p.segments(), tt.want) {
				t.Fatalf("parsePath(%q) = %q, %v, want %q", tt.path, p.segments(), err, tt.want)
			}
			if plain, raw := p.join(-1, ""); plain != tt.plain || raw != tt.raw {
				t.Errorf("join = %q, %q, want %q, %q", plain, raw, tt.plain, tt.raw)
			}
		})
	}
}

func TestParseQuery(t *testing.T) {
	tests := map[string]struct {
		raw     string
		want    query
		forNode string
	}{
		"nothing of ours goes byte for byte": {
			"q=a;b=1&c=%3B&&=&%zz&d=+%20", query{}, "q=a;b=1&c=%3B&&=&%zz&d=+%20",
		},
		"token leaves": {
			"ids=6,7&_token=T&_erupt=shop.Customer&_lang=en-US", query{token: "T", erupt: "shop.Customer", hasToken: true, hasErupt: true},
			"ids=6,7&_erupt=Customer&_lang=en-US",
		},
		"only a token":    {"_token=T", query{token: "T", hasToken: true}, ""},
		"token first":     {"_token=T&a=1", query{token: "T", hasToken: true}, "a=1"},
		"encoded key":     {"%5Ftoken=T&a=1", query{token: "T", hasToken: true}, "a=1"},
		"encoded value":   {"_erupt=shop%2ECustomer", query{erupt: "shop.Customer", hasErupt: true}, "_erupt=Customer"},
		"empty parent":    {"_eruptParent=&a=1", query{hasParent: true}, "a=1"},
		"other case":      {"_TOKEN=T", query{}, "_TOKEN=T"},
		"node stays":      {"_node=shop&x=1", query{node: "shop", hasNode: true}, "_node=shop&x=1"},
		"semicolon in it": {"_erupt=a;_erupt=b", query{erupt: "a;_erupt=b", hasErupt: true}, "_erupt=Customer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { // S50
			q, err := parseQuery(tt.raw)
			tt.want.raw = tt.raw
			if err != nil || q != tt.want {
				t.Fatalf("parseQuery(%q) = %+v, %v, want %+v", tt.raw, q, err, tt.want)
			}
			if got := q.forNode("Customer", ""); got != tt.forNode {
				t.Errorf("for the node: %q, want %q", got, tt.forNode)
			}
		})
	}
}

func TestParseQueryRefusesRepeatedNames(t *testing.T) {
	for _, raw := range []string{"_token=a&_token=a", "_erupt=a&%5Ferupt=b", "_node=a&x=1&_node=b", "_eruptParent=a&_eruptParent="} {
		if _, err := parseQuery(raw); KindOf(err) != Invalid || err == nil {
			t.Errorf("parseQuery(%q): %v, want it refused as invalid", raw, err)
		}
	}
	if _, err := parseQuery("_erupt=%zz"); KindOf(err) != Invalid || err == nil {
		t.Errorf("a name with a bad escape: %v, want it refused as invalid", err)
	}
}
