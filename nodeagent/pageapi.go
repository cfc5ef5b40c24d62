package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"eruptcloud/nodeagent/wire"
)

const maxFormBody = 10 << 20

// pageRequest is a request for one page, with what the endpoint pattern has found in the path.
type pageRequest struct {
	*http.Request
	agent *Agent
	page  *page      // named in the path
	field *Field     // named in the path, nil if the pattern has none
	id    string     // the row in the path
	power wire.Power // what the user may do: the server's word and the page's offer
	lang  string
	w     http.ResponseWriter
}

// say returns a text in the user's language.
func (r *pageRequest) say(format string, args ...any) string { return say(r.lang, format, args...) }

// endpoint is one line of the table below.
type endpoint struct {
	method  string
	pattern string // below /erupt-api: {e} erupt, {f} field, {id} row
	serve   func(r *pageRequest) error
	// child: also for a page that is only referred to by the page in the eruptParent header. Items of that page always are.
	child bool
}

// endpoints is what the agent answers for its pages (erupt-wire 3.5). The first that fits counts.
var endpoints = []endpoint{
	{http.MethodGet, "build/{e}", serveBuild, true},
	{http.MethodGet, "build/{e}/{f}", serveFieldBuild, true},
	{http.MethodPost, "data/table/{e}", serveTable, false},
	{http.MethodPost, "data/extra-row/{e}", serveExtraRow, false},
	{http.MethodGet, "data/tree/{e}", serveTree, true},
	{http.MethodGet, "data/depend-tree/{e}", serveDependTree, true},
	{http.MethodGet, "data/init-value/{e}", serveInitValue, false},
	{http.MethodPost, "data/modify/tab-add/{e}/{f}", serveTabRow, false},
	{http.MethodPost, "data/modify/tab-update/{e}/{f}", serveTabRow, false},
	{http.MethodPost, "data/modify/tab-delete/{e}/{f}", serveTabDelete, false},
	{http.MethodPost, "data/modify/{e}", serveInsert, false},
	{http.MethodPost, "data/modify/{e}/update", serveUpdate, false},
	{http.MethodPost, "data/modify/{e}/delete", serveDelete, false},
	{http.MethodPost, "data/{e}/reference-table/{f}", serveReferenceTable, false},
	{http.MethodGet, "data/{e}/reference-tree/{f}", serveReferenceTree, false},
	{http.MethodGet, "data/{e}/{id}", serveDetail, false},
	{http.MethodGet, "comp/choice-item/{e}/{f}", serveChoices, true},
	{http.MethodPost, "comp/choice-item-filter/{e}/{f}", serveChoices, true},
	{http.MethodPost, "comp/tags-item/{e}/{f}", serveTagChoices, true},
	{http.MethodGet, "comp/tags-item/{e}/{f}", serveTagChoices, true},
	{http.MethodPost, "excel/export/{e}", serveExport, false},
	{http.MethodPost, "file/upload/{e}/{f}", serveUpload, false},
	{http.MethodPost, "file/uploads/{e}/{f}", serveUploads, false},
}

// serveAPI routes a guarded request below /erupt-api.
func (a *Agent) serveAPI(w http.ResponseWriter, r *http.Request) {
	parts, ok := a.segments(r, wire.NodeAPI)
	if !ok {
		writeError(w, r, http.StatusBadRequest, "the path has empty, dotted or encoded segments")
		return
	}
	switch {
	case len(parts) == 2 && parts[0] == "tool" && (parts[1] == "erupt-log" || parts[1] == "log"):
		if r.Method != http.MethodGet {
			methodNotAllowed(w, r, http.MethodGet)
			return
		}
		a.serveLog(w, r)
		return
	case len(parts) > 2 && parts[0] == "file" && parts[1] == "download-attachment":
		a.serveFile(w, r, "/"+strings.Join(parts[2:], "/"), true)
		return
	case len(parts) == 2 && parts[0] == "tpl" && a.serveTemplate(w, r, parts[1]):
		return
	}
	if a.servePage(w, r, parts) {
		return
	}
	if a.cfg.EruptHandler != nil {
		a.cfg.EruptHandler.ServeHTTP(w, r)
		return
	}
	writeError(w, r, http.StatusNotFound, "this node has no such endpoint")
}

// servePage answers if an endpoint fits the path and its page is hosted here. False means that nothing was answered.
func (a *Agent) servePage(w http.ResponseWriter, r *http.Request, parts []string) bool {
	var allowed string
	for _, e := range endpoints {
		found, fits := matchPattern(e.pattern, parts)
		if !fits {
			continue
		}
		p := a.pages.page(found["{e}"])
		if p == nil && slices.Contains(reservedNames, found["{e}"]) {
			continue // another pattern's word
		}
		if p == nil {
			if a.hosts(found["{e}"]) {
				return false // an erupt of the program's own
			}
			w.WriteHeader(http.StatusNotFound)
			return true
		}
		if e.method != r.Method {
			allowed = e.method
			continue
		}
		req := &pageRequest{Request: r, agent: a, page: p, id: found["{id}"], lang: callerOf(r.Context()).lang, w: w}
		a.answerPage(req, e, found["{f}"])
		return true
	}
	if allowed != "" {
		methodNotAllowed(w, r, allowed)
		return true
	}
	return false
}

func methodNotAllowed(w http.ResponseWriter, r *http.Request, allowed string) {
	w.Header().Set("Allow", allowed)
	writeError(w, r, http.StatusMethodNotAllowed, "method "+printable(r.Method, 10)+" is not allowed here")
}

// matchPattern compares a pattern with the segments of a path.
func matchPattern(pattern string, parts []string) (found map[string]string, ok bool) {
	want := strings.Split(pattern, "/")
	if len(want) != len(parts) {
		return nil, false
	}
	found = map[string]string{}
	for i, w := range want {
		switch {
		case w[0] == '{':
			found[w] = parts[i]
		case w != parts[i]:
			return nil, false
		}
	}
	return found, true
}

// answerPage checks header against path, settles rights, and calls the endpoint.
func (a *Agent) answerPage(r *pageRequest, e endpoint, field string) {
	c := callerOf(r.Context())
	if c.erupt != "" && !strings.EqualFold(c.erupt, r.page.Name) {
		r.w.WriteHeader(http.StatusNotFound) // rights would be those of one erupt, data those of another
		return
	}
	subject := a.subject(r.page, c.parent, e.child)
	if subject == nil {
		r.w.WriteHeader(http.StatusNotFound)
		return
	}
	if field != "" {
		if r.field = r.page.byName[field]; r.field == nil {
			writeError(r.w, r.Request, http.StatusNotFound, "there is no field "+printable(field, 60))
			return
		}
	}
	server, err := a.Power(r.Context(), subject.Name)
	if err != nil {
		a.log.Warn("rights are unknown, so nothing is allowed", "node", a.cfg.NodeName, "erupt", subject.Name, "error", err,
			"request_id", r.Header.Get(wire.HeaderRequestID))
	}
	r.power = both(server, subject.offered())
	if r.page != subject {
		r.power = both(r.power, r.page.offered())
	}
	if !r.power.Query {
		a.fail(r, errForbidden)
		return
	}
	a.fail(r, e.serve(r))
}

// subject returns the page whose rights count for a request about p: p itself, or the page in the eruptParent header if p
// belongs to its form; the owner of items if the header is missing. Nil means that the two do not go together.
func (a *Agent) subject(p *page, parent string, child bool) *page {
	if i := strings.LastIndexByte(parent, '.'); i >= 0 {
		parent = parent[i+1:] // a full name
	}
	if parent == "" || strings.EqualFold(parent, p.Name) {
		if p.owner != nil {
			return p.owner
		}
		return p
	}
	holder := a.pages.page(parent)
	if holder == nil || !holder.contains(p) || p.owner != holder && !child {
		return nil
	}
	return holder
}

var errForbidden = errors.New("not permitted")

// fail turns the error of an endpoint into an answer: what people should read becomes an R envelope with 200 (erupt-wire 3.2),
// everything else an error object.
func (a *Agent) fail(r *pageRequest, err error) {
	var (
		rejected  *rejection
		refused   *Refusal
		unfit     *invalidError
		missing   *searchMissing
		duplicate *DuplicateError
		tooLarge  *http.MaxBytesError
	)
	switch {
	case err == nil:
	case errors.As(err, &rejected):
		writeJSON(r.w, http.StatusOK, rejected.result())
	case errors.As(err, &refused):
		writeJSON(r.w, http.StatusOK, refused.result())
	case errors.As(err, &duplicate):
		writeJSON(r.w, http.StatusOK, r.duplicate(duplicate))
	case errors.As(err, &missing):
		writeJSON(r.w, http.StatusOK, result(wire.StatusInfo, wire.PromptMessage, r.say("%s must have a value to search", missing.field.Title)))
	case errors.As(err, &unfit):
		writeError(r.w, r.Request, http.StatusBadRequest, unfit.text)
	case errors.Is(err, errForbidden):
		writeError(r.w, r.Request, http.StatusForbidden, r.say("Insufficient permissions. This operation will be recorded !"))
	case errors.Is(err, ErrNoRow):
		writeError(r.w, r.Request, http.StatusNotFound, r.say("The row no longer exists"))
	case errors.As(err, &tooLarge):
		writeError(r.w, r.Request, http.StatusRequestEntityTooLarge, "the body is larger than allowed")
	case r.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the server has gone away; there is nobody to answer
	default:
		a.log.Error("request failed", "node", a.cfg.NodeName, "erupt", r.page.Name, "path", r.URL.Path, "error", err,
			"request_id", r.Header.Get(wire.HeaderRequestID))
		writeError(r.w, r.Request, http.StatusInternalServerError, "internal error")
	}
}

func result(status, prompt, message string) wire.Result {
	return wire.Result{Message: &message, Status: status, PromptWay: prompt}
}

// done answers success without data.
func (r *pageRequest) done() error {
	writeJSON(r.w, http.StatusOK, wire.Result{Success: true, Status: wire.StatusSuccess, PromptWay: wire.PromptMessage})
	return nil
}

func (e *Refusal) result() wire.Result {
	res := result(wire.StatusError, wire.PromptDialog, e.Message)
	if e.Info {
		res.Status, res.PromptWay = wire.StatusInfo, wire.PromptNotify
	}
	if e.Field != "" {
		res.Fields = map[string]string{e.Field: e.Message}
	}
	return res
}

func (r *pageRequest) duplicate(e *DuplicateError) wire.Result {
	title := e.Field
	if f := r.page.byName[e.Field]; f != nil {
		title = f.Title
	}
	res := result(wire.StatusError, wire.PromptMessage, r.say("The value of %s is taken", title))
	res.Fields = map[string]string{e.Field: *res.Message}
	return res
}

// body reads the whole request body.
func (r *pageRequest) body(limit int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(r.w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) {
		return nil, invalid("the body broke off")
	}
	return body, err
}

// form reads a JSON object. An empty body is an empty form.
func (r *pageRequest) form() (map[string]any, error) {
	body, err := r.body(maxFormBody)
	if err != nil || len(body) == 0 {
		return nil, err
	}
	var form map[string]any
	if err := decodeJSON(body, &form); err != nil {
		return nil, err
	}
	return form, nil
}

// templateName is one path segment: a permission code with a slash could not be asked for.
var templateName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)

// HandleTemplate serves a template page of this node at /erupt-api/tpl/{name}, for all methods. The server lets users through who
// hold the name as a permission code, and the agent asks again. h sees the user in its context; event streams and WebSockets are
// fine.
func (a *Agent) HandleTemplate(name string, h http.Handler) error {
	if !templateName.MatchString(name) {
		return fmt.Errorf("nodeagent: template %q: a name is letters, digits, dots and dashes", name)
	}
	a.templates[name] = h
	return nil
}

// serveTemplate answers if name is a template page of this node.
func (a *Agent) serveTemplate(w http.ResponseWriter, r *http.Request, name string) bool {
	h, ok := a.templates[name]
	if !ok {
		return false
	}
	held, err := a.Permission(r.Context(), strings.ToLower(name))
	if !held {
		a.log.Warn("template page refused", "node", a.cfg.NodeName, "template", name, "error", err)
		writeError(w, r, http.StatusForbidden, say(callerOf(r.Context()).lang, "Insufficient permissions. This operation will be recorded !"))
		return true
	}
	h.ServeHTTP(w, r)
	return true
}

// afterQuery lets the page's hook change rows before they leave the node.
func (p *page) afterQuery(ctx context.Context, rows []Row) error {
	if p.Hooks.AfterQuery == nil || len(rows) == 0 {
		return nil
	}
	return p.Hooks.AfterQuery(ctx, rows)
}
