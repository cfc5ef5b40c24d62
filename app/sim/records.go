package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"eruptcloud/nodeagent/wire"
)

// displayMark begins the display name of every record that a crowd makes: only such records are removed.
const displayMark = "Simulated "

// Records makes and removes the nodes' records through the server's REST API.
type Records struct {
	server, account, password string
	client                    *http.Client

	mu    sync.Mutex
	token string // of the session
}

// NewRecords returns records that log in with account and password.
func NewRecords(server, account, password string) *Records {
	return &Records{
		server: strings.TrimRight(server, "/"), account: account, password: password,
		client: &http.Client{Transport: newTransport(32), Timeout: time.Minute},
	}
}

// refusal is an answer of the API that is not 2xx.
type refusal struct {
	status        int
	code, message string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the server answered %d: %s", r.status, r.message)
}

func (r *Records) session() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.token
}

// login begins a session, unless another caller has done so since old was in use.
func (r *Records) login(ctx context.Context, old string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.token != old {
		return nil
	}
	body, _ := json.Marshal(map[string]string{"account": r.account, "pwd": r.password})
	var answer struct {
		Pass          bool
		Reason, Token *string
	}
	if err := r.send(ctx, http.MethodPost, wire.NodeAPI+"/login", "", body, &answer); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	if !answer.Pass || answer.Token == nil {
		reason := "refused"
		if answer.Reason != nil {
			reason = *answer.Reason
		}
		return fmt.Errorf("log in as %s: %s", r.account, reason)
	}
	r.token = *answer.Token
	return nil
}

// call sends one request with a session; a session that has ended is begun anew, and one that is asked to wait waits.
func (r *Records) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		body, _ = json.Marshal(in)
	}
	for try := 0; ; try++ {
		token := r.session()
		if token == "" {
			if err := r.login(ctx, ""); err != nil {
				return err
			}
			token = r.session()
		}
		err := r.send(ctx, method, "/api/v1"+path, token, body, out)
		var no *refusal
		switch {
		case try >= 3 || !errors.As(err, &no):
			return err
		case no.status == http.StatusUnauthorized:
			if err := r.login(ctx, token); err != nil {
				return err
			}
		case no.status == http.StatusTooManyRequests || no.status == http.StatusServiceUnavailable:
			if !sleep(ctx, time.Second) {
				return ctx.Err()
			}
		default:
			return err
		}
	}
}

func (r *Records) send(ctx context.Context, method, path, token string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, r.server+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set(wire.HeaderToken, token)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err != nil {
		return err
	}
	if res.StatusCode > 299 {
		no := &refusal{status: res.StatusCode, message: strings.TrimSpace(string(text))}
		var said struct{ Code, Message string }
		if json.Unmarshal(text, &said) == nil && said.Message != "" {
			no.code, no.message = said.Code, said.Message
		}
		return no
	}
	if out == nil || len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, out)
}

func statusOf(err error) int {
	var no *refusal
	if errors.As(err, &no) {
		return no.status
	}
	return 0
}

// make makes the records and returns the nodes' access tokens. Records of an earlier crowd are replaced, others are not touched.
func (r *Records) make(ctx context.Context, nodes, groups []string) (map[string]string, error) {
	for i, code := range groups {
		err := r.call(ctx, http.MethodPost, "/groups", map[string]string{"code": code, "name": fmt.Sprintf("%sgroup %d", displayMark, i+1)}, nil)
		if err != nil && statusOf(err) != http.StatusConflict {
			return nil, fmt.Errorf("make group %s: %w", code, err)
		}
	}
	var mu sync.Mutex
	tokens := map[string]string{}
	err := each(ctx, nodes, func(ctx context.Context, i int, name string) error {
		in := map[string]string{"nodeName": name, "name": fmt.Sprintf("%s%04d", displayMark, i+1)}
		if len(groups) > 0 {
			in["group"] = groups[i%len(groups)]
		}
		token, err := r.makeNode(ctx, in)
		if err != nil {
			return fmt.Errorf("make node %s: %w", name, err)
		}
		mu.Lock()
		tokens[name] = token
		mu.Unlock()
		return nil
	})
	return tokens, err
}

func (r *Records) makeNode(ctx context.Context, in map[string]string) (token string, err error) {
	var out struct{ AccessToken string }
	err = r.call(ctx, http.MethodPost, "/nodes", in, &out)
	if statusOf(err) != http.StatusConflict {
		return out.AccessToken, err
	}
	if err := r.removeNode(ctx, in["nodeName"]); err != nil {
		return "", err
	}
	err = r.call(ctx, http.MethodPost, "/nodes", in, &out)
	return out.AccessToken, err
}

var errForeign = errors.New("this node exists and no simulation made it; choose another prefix")

// removeNode deletes a record of a crowd; that there is none is no error, that it is somebody else's is errForeign.
func (r *Records) removeNode(ctx context.Context, name string) error {
	var is struct{ Name string }
	err := r.call(ctx, http.MethodGet, "/nodes/"+url.PathEscape(name), nil, &is)
	if statusOf(err) == http.StatusNotFound {
		return nil
	} else if err != nil {
		return err
	}
	if !strings.HasPrefix(is.Name, displayMark) {
		return errForeign
	}
	err = r.call(ctx, http.MethodDelete, "/nodes/"+url.PathEscape(name), nil, nil)
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// remove deletes what make made, as much of it as it can, and returns the first error.
func (r *Records) remove(ctx context.Context, nodes, groups []string) error {
	var mu sync.Mutex
	var failed error
	_ = each(ctx, nodes, func(ctx context.Context, _ int, name string) error {
		if err := r.removeNode(ctx, name); err != nil && !errors.Is(err, errForeign) {
			mu.Lock()
			defer mu.Unlock()
			if failed == nil {
				failed = fmt.Errorf("remove node %s: %w", name, err)
			}
		}
		return nil
	})
	for _, code := range groups {
		if err := r.call(ctx, http.MethodDelete, "/groups/"+url.PathEscape(code), nil, nil); err != nil && statusOf(err) != http.StatusNotFound {
			failed = errors.Join(failed, fmt.Errorf("remove group %s: %w", code, err))
		}
	}
	r.client.CloseIdleConnections()
	return failed
}

// each calls do for all, four at a time, until the first error.
func each(ctx context.Context, all []string, do func(ctx context.Context, i int, name string) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := w; i < len(all) && ctx.Err() == nil; i += 4 {
				if err := do(ctx, i, all[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
