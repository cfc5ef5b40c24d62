package nodeagent

import (
	"net/http"
	"strings"
)

// serveExport streams the page's download.
func serveExport(r *pageRequest) error {
	if !r.power.Export || r.page.Export == nil {
		return errForbidden
	}
	body, err := r.body(maxQueryBody)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		body = []byte(`{"pageIndex":1,"pageSize":1}`)
	}
	_, q, err := r.page.decodeTable(body)
	if err != nil {
		return err
	}
	q.Offset, q.Limit = 0, 0
	if q.Conditions, err = r.chosenRows(q.Conditions); err != nil {
		return err
	}
	if err := r.page.restrict(r.Context(), &q); err != nil {
		return err
	}
	out := &exportWriter{r: r, export: r.page.Export}
	if err := r.page.Export.Write(r.Context(), q, out); err != nil {
		if !out.begun {
			return err
		}
		r.agent.log.Warn("export broke off", "node", r.agent.cfg.NodeName, "erupt", r.page.Name, "error", err)
		panic(http.ErrAbortHandler) // half a file must not look like a whole one
	}
	out.begin()
	return nil
}

// chosenRows narrows an export to the rows that were ticked.
func (r *pageRequest) chosenRows(conditions []Condition) ([]Condition, error) {
	ids := r.URL.Query()["ids"]
	if len(ids) == 0 {
		return conditions, nil
	}
	c := Condition{Field: r.page.Key, Operator: IN}
	for part := range strings.SplitSeq(strings.Join(ids, ","), ",") {
		id, ok := parseID(part, r.page.TextKey)
		if !ok || id == nil || len(c.Values) >= maxMembers {
			return nil, invalid("ids: not a list of up to %d ids", maxMembers)
		}
		c.Values = append(c.Values, id)
	}
	return append(conditions, c), nil
}

// exportWriter sends the headers with the first byte, so that an error before it can still be told.
type exportWriter struct {
	r      *pageRequest
	export *Export
	begun  bool
}

func (e *exportWriter) begin() {
	if e.begun {
		return
	}
	e.begun = true
	h := e.r.w.Header()
	h.Set("Content-Type", orDefault(e.export.ContentType, "application/x-download"))
	h.Set("Content-Disposition", contentDisposition(orDefault(e.export.Name, e.r.page.Name)))
	e.r.w.WriteHeader(http.StatusOK)
}

// Write implements io.Writer.
func (e *exportWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	e.begin()
	return e.r.w.Write(p)
}

// Flush lets an export hand over what it has written so far.
func (e *exportWriter) Flush() {
	e.begin()
	_ = http.NewResponseController(e.r.w).Flush() // a writer that cannot flush sends when it is full
}
