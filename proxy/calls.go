package proxy

import (
	"bytes"
	"context"
	"net/http"
)

// The calls that pages make most. Each acts as the session's user and with that user's rights.

// Build returns the model of a page, with full names as a browser gets it.
func (c *Caller) Build(ctx context.Context, token, full string) (*Answer, error) {
	return c.Do(ctx, Call{Full: full, Path: "build/{e}", Token: token})
}

// TableQuery returns one page of rows; body is a table query (erupt-wire 4.7).
func (c *Caller) TableQuery(ctx context.Context, token, full string, body []byte) (*Answer, error) {
	return c.post(ctx, token, full, "data/table/{e}", body)
}

// Tree returns the rows of a tree page.
func (c *Caller) Tree(ctx context.Context, token, full string) (*Answer, error) {
	return c.Do(ctx, Call{Full: full, Path: "data/tree/{e}", Token: token})
}

// FindByID returns one record.
func (c *Caller) FindByID(ctx context.Context, token, full, id string) (*Answer, error) {
	return c.Do(ctx, Call{Full: full, Path: "data/{e}/{id}", Params: []string{id}, Token: token})
}

// InitValue returns the values that a new record starts with.
func (c *Caller) InitValue(ctx context.Context, token, full string) (*Answer, error) {
	return c.Do(ctx, Call{Full: full, Path: "data/init-value/{e}", Token: token})
}

// Insert adds a record.
func (c *Caller) Insert(ctx context.Context, token, full string, record []byte) (*Answer, error) {
	return c.post(ctx, token, full, "data/modify/{e}", record)
}

// Update changes a record; it contains its primary key.
func (c *Caller) Update(ctx context.Context, token, full string, record []byte) (*Answer, error) {
	return c.post(ctx, token, full, "data/modify/{e}/update", record)
}

// Delete removes records; ids is a JSON list.
func (c *Caller) Delete(ctx context.Context, token, full string, ids []byte) (*Answer, error) {
	return c.post(ctx, token, full, "data/modify/{e}/delete", ids)
}

func (c *Caller) post(ctx context.Context, token, full, path string, body []byte) (*Answer, error) {
	return c.Do(ctx, Call{Full: full, Method: http.MethodPost, Path: path, Body: bytes.NewReader(body), Token: token})
}

// Fetch returns the model of an erupt as its node wrote it. The gate is not asked: it is the one who asks, for a user it
// has admitted.
func (c *Caller) Fetch(ctx context.Context, node, erupt string, as User) ([]byte, error) {
	return c.Describe(ctx, Wish{Node: node, Erupt: erupt}, "", as)
}

// Describe is Fetch for the class that a wish is for, in the name of the page that authorises it, or for the class behind
// one of its fields.
func (c *Caller) Describe(ctx context.Context, w Wish, field string, as User) ([]byte, error) {
	node, erupt := w.Node, w.Erupt
	ctx, cancel := context.WithTimeout(ctx, c.p.o.ConnectTimeout+2*c.p.o.RequestTimeout)
	defer cancel()
	if Dry(ctx) {
		return nil, Fail(NodeNotReady, "the page %s is not known yet: open it once, then ask again", node+"."+erupt)
	}
	if err := checkErupt(erupt); err != nil {
		return nil, err
	}
	target, err := c.p.o.Directory.Lookup(node)
	if err != nil {
		return nil, err
	}
	pattern, path := "build/{e}", "/erupt-api/build/"+erupt
	if field != "" {
		pattern, path = "build/{e}/{f}", path+"/"+field
		if !isCode(field) {
			return nil, Fail(Invalid, "the path contains a name that no field or code can have")
		}
	}
	endpoint, err := endpointOf(http.MethodGet, pattern)
	if err != nil {
		return nil, err
	}
	e := &exchange{
		p: c.p, endpoint: endpoint, user: as, target: target, method: http.MethodGet, started: c.p.o.Now(), raw: true, quiet: true,
		route: &route{endpoint: endpoint, wish: Wish{Node: node, Erupt: erupt, Parent: w.Parent}, path: path},
	}
	out, err := e.request(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.p.whole(e, out, maxBuild)
	switch {
	case err != nil:
		return nil, err
	case answer.Status == http.StatusNotFound:
		return nil, Fail(NotFound, "'%s' has no page '%s'", node, erupt)
	case answer.Status != http.StatusOK:
		return nil, Fail(UpstreamUnreachable, "the build model of '%s' cannot be read", erupt)
	}
	return answer.Body, nil
}

// Model implements Models.
func (c *Caller) Model(ctx context.Context, node, erupt string, as User) ([]byte, error) {
	return c.Fetch(ctx, node, erupt, as)
}
