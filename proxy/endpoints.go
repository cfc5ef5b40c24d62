package proxy

import (
	"net/http"
	"slices"
	"strings"
)

// Verify says where an endpoint takes session and erupt name from (erupt-wire 3.1).
type Verify string

// The ways to say who and what.
const (
	ByHeader Verify = "header" // headers token, erupt, eruptParent
	ByParam  Verify = "param"  // parameters _token, _erupt, _eruptParent; frames and pictures cannot send headers
)

// Kind groups endpoints by how their bodies are treated.
type kind string

const (
	kindData       kind = "data"       // JSON both ways
	kindBuild      kind = "build"      // answer is rewritten
	kindExcel      kind = "excel"      // download, with a check against other sites
	kindUpload     kind = "upload"     // request body of any size
	kindTemplate   kind = "template"   // HTML made by the node
	kindAttachment kind = "attachment" // a file of the node
	kindLocal      kind = "local"      // answered by the server itself
)

// Endpoint is one row of the table of everything that can be asked below /erupt-api and /erupt-attachment.
type Endpoint struct {
	Methods  []string // HEAD goes with GET; empty: any
	Pattern  string   // {e} is the erupt name, {f} a field or code, {id} any segment, ** the rest
	Verify   Verify
	Function Function
	Write    bool // changes something on the node

	kind   kind
	body   bodyKind            // what its body must be
	behind bool                // names in the body are of the class behind the field in the path
	jsonp  bool                // the node may write the call of a function that the query names
	words  []string            // of the pattern
	index  int                 // segment of the erupt name, -1 without one
	taken  map[string]*segment // words that stand where the name stands in other patterns
}

// Local reports whether the server answers this endpoint itself, whatever the name says (A18).
func (e *Endpoint) Local() bool { return e.kind == kindLocal }

// htmlField is the template of a form field; the front end names it by its path alone.
const htmlField = "erupt-api/tpl/html-field/{e}/{f}"

var (
	onGet    = []string{http.MethodGet}
	onPost   = []string{http.MethodPost}
	onPut    = []string{http.MethodPut}
	onDelete = []string{http.MethodDelete}
	onBoth   = []string{http.MethodGet, http.MethodPost}
)

// endpoints are the rows of erupt-wire 3.5 and 3.6 for all versions: 1.x wrote with PUT and DELETE and had choice-trigger,
// 2.2 added update-cell. The node decides what its version offers. What is not listed is answered 404 under a dotted name.
var endpoints = []*Endpoint{
	{Methods: onGet, Pattern: "erupt-api/build/{e}", kind: kindBuild},
	{Methods: onGet, Pattern: "erupt-api/build/{e}/{f}"},

	{Methods: onPost, Pattern: "erupt-api/data/table/{e}", body: bodyQuery},
	{Methods: onGet, Pattern: "erupt-api/data/tree/{e}"},
	{Methods: onGet, Pattern: "erupt-api/data/init-value/{e}"},
	{Methods: onGet, Pattern: "erupt-api/data/{e}/{id}", Function: ViewDetail},
	{Methods: onPost, Pattern: "erupt-api/data/{e}/operator/{f}/form-value"},
	{Methods: onPost, Pattern: "erupt-api/data/{e}/operator/{f}", Write: true, body: bodyAction},
	{Methods: onGet, Pattern: "erupt-api/data/tab/tree/{e}/{f}"},
	{Methods: onGet, Pattern: "erupt-api/data/{e}/checkbox/{f}"},
	{Methods: onPost, Pattern: "erupt-api/data/{e}/reference-table/{f}", body: bodyQuery, behind: true},
	{Methods: onGet, Pattern: "erupt-api/data/{e}/reference-tree/{f}"},
	{Methods: onGet, Pattern: "erupt-api/data/depend-tree/{e}"},
	{Methods: onPost, Pattern: "erupt-api/data/extra-row/{e}", body: bodyQuery},
	{Methods: onPost, Pattern: "erupt-api/data/onchange/{e}/{f}"},
	{Methods: onGet, Pattern: "erupt-api/data/form-view/{e}", Function: AddOrEdit},
	{Methods: onPost, Pattern: "erupt-api/data/form-view/{e}", Function: AddOrEdit, Write: true},

	{Methods: onPost, Pattern: "erupt-api/data/modify/{e}", Function: Add, Write: true},
	{Methods: onPut, Pattern: "erupt-api/data/modify/{e}", Function: Edit, Write: true},
	{Methods: onDelete, Pattern: "erupt-api/data/modify/{e}", Function: Delete, Write: true},
	{Methods: onDelete, Pattern: "erupt-api/data/modify/{e}/{id}", Function: Delete, Write: true},
	{Methods: onPost, Pattern: "erupt-api/data/modify/{e}/update", Function: Edit, Write: true},
	{Methods: onPost, Pattern: "erupt-api/data/modify/{e}/update-cell", Function: Edit, Write: true, body: bodyCell},
	{Methods: onPost, Pattern: "erupt-api/data/modify/{e}/delete", Function: Delete, Write: true, body: bodyIDs},
	{Methods: onPost, Pattern: "erupt-api/data/modify/{e}/drag-sort", Function: Edit, Write: true, body: bodyOrder},
	{Methods: onPost, Pattern: "erupt-api/data/modify/tab-add/{e}/{f}"},
	{Methods: onPost, Pattern: "erupt-api/data/modify/tab-update/{e}/{f}"},
	{Methods: onPost, Pattern: "erupt-api/data/modify/tab-delete/{e}/{f}"},
	{Methods: onPost, Pattern: "erupt-api/data/modify/board/{e}/update_group", Function: Edit, Write: true, body: bodyVis},
	{Methods: onPost, Pattern: "erupt-api/data/modify/gantt/{e}/update_date", Function: Edit, Write: true, body: bodyVis},
	{Methods: onPost, Pattern: "erupt-api/data/modify/calendar/{e}/update_date", Function: Edit, Write: true, body: bodyVis},

	{Methods: onPost, Pattern: "erupt-api/comp/auto-complete/{e}/{f}"},
	{Methods: onGet, Pattern: "erupt-api/comp/choice-item/{e}/{f}"},
	{Methods: onPost, Pattern: "erupt-api/comp/choice-item-filter/{e}/{f}"},
	{Methods: onGet, Pattern: "erupt-api/comp/choice-trigger/{e}/{f}"},
	{Methods: onBoth, Pattern: "erupt-api/comp/tags-item/{e}/{f}"},
	{Methods: onPost, Pattern: "erupt-api/comp/button/{e}/{f}", Write: true},
	{Methods: onGet, Pattern: "erupt-api/comp/code-edit-hints/{e}/{f}"},

	{Methods: onGet, Pattern: "erupt-api/excel/template/{e}", Function: Importable, kind: kindExcel},
	{Methods: onPost, Pattern: "erupt-api/excel/export/{e}", Function: Export, kind: kindExcel, body: bodyExport},
	{Methods: onPost, Pattern: "erupt-api/excel/import/{e}", Function: Importable, Write: true, kind: kindUpload},
	{Methods: onPost, Pattern: "erupt-api/file/upload/{e}/{f}", Write: true, kind: kindUpload},
	{Methods: onPost, Pattern: "erupt-api/file/uploads/{e}/{f}", Write: true, kind: kindUpload},
	{Methods: onGet, Pattern: "erupt-api/file/upload-ueditor/{e}/{f}", Verify: ByParam, jsonp: true},
	{Methods: onPost, Pattern: "erupt-api/file/upload-ueditor/{e}/{f}", Verify: ByParam, Write: true, kind: kindUpload, jsonp: true},
	{Methods: onPost, Pattern: "erupt-api/file/upload-html-editor/{e}/{f}", Verify: ByParam, Write: true, kind: kindUpload},

	{Methods: onGet, Pattern: "erupt-api/tpl/operation-tpl/{e}/{f}", Verify: ByParam, kind: kindTemplate},
	{Methods: onGet, Pattern: "erupt-api/tpl/vis-tpl/{e}/{f}", Verify: ByParam, kind: kindTemplate},
	{Methods: onGet, Pattern: "erupt-api/tpl/view-tpl/{e}/{f}/{id}", Verify: ByParam, kind: kindTemplate},
	{Methods: onGet, Pattern: htmlField, Verify: ByParam, kind: kindTemplate},
	{Methods: onGet, Pattern: "erupt-api/tpl/**", Verify: ByParam, kind: kindTemplate},

	{Methods: onGet, Pattern: "erupt-api/file/download-attachment/**", Verify: ByParam, kind: kindAttachment},
	{Methods: onGet, Pattern: "erupt-attachment/**", Verify: ByParam, kind: kindAttachment},

	{Pattern: "erupt-api/file/upload-editor", kind: kindLocal},
	{Pattern: "erupt-api/file/upload-html-editor", kind: kindLocal}, // of the newest front ends, for all their editors
	{Pattern: "erupt-api/version", kind: kindLocal},
	{Pattern: "erupt-api/erupt-app", kind: kindLocal},
	{Pattern: "erupt-api/login", kind: kindLocal},
	{Pattern: "erupt-api/login-mfa", kind: kindLocal},
	{Pattern: "erupt-api/code-img", kind: kindLocal},
	{Pattern: "erupt-api/change-pwd", kind: kindLocal},
	{Pattern: "erupt-api/userinfo", kind: kindLocal},
	{Pattern: "erupt-api/menu", kind: kindLocal},
	{Pattern: "erupt-api/logout", kind: kindLocal},
	{Pattern: "erupt-api/verify-pwd", kind: kindLocal},
	{Pattern: "erupt-api/profile", kind: kindLocal},
	{Pattern: "erupt-api/profile/avatar", kind: kindLocal},
	{Pattern: "erupt-api/profile/**", kind: kindLocal},
	{Pattern: "erupt-api/mfa/status", kind: kindLocal},
	{Pattern: "erupt-api/mfa/enroll", kind: kindLocal},
	{Pattern: "erupt-api/mfa/enroll-confirm", kind: kindLocal},
	{Pattern: "erupt-api/mfa/recovery-codes", kind: kindLocal},
	{Pattern: "erupt-api/mfa/unbind", kind: kindLocal},
	{Pattern: "erupt-api/mfa/**", kind: kindLocal},
	{Pattern: "erupt-api/erupt-permission/**", kind: kindLocal},
	{Pattern: "erupt-api/open-api/create-token", kind: kindLocal},
	{Pattern: "erupt-api/open-api/get-appid", kind: kindLocal},
	{Pattern: "erupt-api/open-api/**", kind: kindLocal},
	{Pattern: "erupt-api/tool/erupt-log", kind: kindLocal},
	{Pattern: "erupt-api/tool/**", kind: kindLocal},
}

// Endpoints returns the table, for documents and tests.
func Endpoints() []Endpoint {
	all := make([]Endpoint, len(endpoints))
	for i, e := range endpoints {
		all[i] = *e
	}
	return all
}

func (e *Endpoint) allows(method string) bool {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return len(e.Methods) == 0 || slices.Contains(e.Methods, method)
}

// segment is a node of the tree that the patterns make. A word goes before a gap, a gap before the rest,
// as in the routers of the nodes.
type segment struct {
	words map[string]*segment
	any   *segment
	ends  []*Endpoint // patterns that end here
	rest  []*Endpoint // patterns that take everything below
}

var tree = plant(endpoints)

func plant(all []*Endpoint) *segment {
	root := &segment{}
	for _, e := range all {
		if e.kind == "" {
			e.kind = kindData
		}
		if e.Verify == "" {
			e.Verify = ByHeader
		}
		e.index, e.words = -1, strings.Split(e.Pattern, "/")
		at := root
		for i, word := range e.words {
			switch word {
			case "**":
				at.rest = append(at.rest, e)
				at = nil
			case "{e}":
				e.index = i
				at = at.gap()
			case "{f}", "{id}":
				at = at.gap()
			default:
				at = at.word(word)
			}
		}
		if at != nil {
			at.ends = append(at.ends, e)
		}
	}
	for _, e := range all {
		if e.index >= 0 {
			e.taken = root.at(e.words[:e.index]).words
		}
	}
	return root
}

func (s *segment) gap() *segment {
	if s.any == nil {
		s.any = &segment{}
	}
	return s.any
}

func (s *segment) word(w string) *segment {
	if s.words == nil {
		s.words = map[string]*segment{}
	}
	if s.words[w] == nil {
		s.words[w] = &segment{}
	}
	return s.words[w]
}

func (s *segment) at(words []string) *segment {
	for _, w := range words {
		s = s.words[w]
	}
	return s
}

// find returns the endpoints of the most exact pattern that fits.
func (s *segment) find(path []string) []*Endpoint {
	if len(path) == 0 {
		return s.ends
	}
	if next := s.words[path[0]]; next != nil {
		if found := next.find(path[1:]); found != nil {
			return found
		}
	}
	if s.any != nil {
		if found := s.any.find(path[1:]); found != nil {
			return found
		}
	}
	return s.rest
}

// match returns the endpoint for a method and a path, and the methods that the path offers if this one is not among them.
func match(method string, path []string) (e *Endpoint, offered []string) {
	found := tree.find(path)
	for _, e := range found {
		if e.allows(method) {
			return e, nil
		}
	}
	for _, e := range found {
		offered = append(offered, e.Methods...)
	}
	return nil, offered
}
