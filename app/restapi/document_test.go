package restapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"eruptcloud/app/fault"
)

// operation is one row of the document.
type operation struct {
	method, path string
	item         *openapi3.PathItem
	op           *openapi3.Operation
}

func (o operation) String() string { return o.method + " " + o.path }

// loadDocument reads the document as clients do.
func loadDocument(t *testing.T, w *world) (*openapi3.T, []operation) {
	t.Helper()
	res := w.do("GET", "/api/v1/openapi.json", "", "")
	if res.Code != 200 {
		t.Fatalf("the document answered %d", res.Code)
	}
	doc, err := openapi3.NewLoader().LoadFromData(res.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatalf("the document is not valid: %v", err)
	}
	var all []operation
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			all = append(all, operation{method, path, item, op})
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.String(), b.String()) })
	return doc, all
}

func TestDocumentAndRoutesAreTheSame(t *testing.T) {
	w := newWorld(t)
	doc, documented := loadDocument(t, w)
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("version %s, want 3.1", doc.OpenAPI)
	}
	var routes []string
	for _, r := range w.shell.Engine().Routes() {
		if !strings.HasPrefix(r.Path, "/api/v1/") {
			continue
		}
		parts := strings.Split(r.Path, "/")
		for i, p := range parts {
			if name, ok := strings.CutPrefix(p, ":"); ok {
				parts[i] = "{" + name + "}"
			}
		}
		routes = append(routes, r.Method+" "+strings.Join(parts, "/"))
	}
	var rows []string
	for _, o := range documented {
		rows = append(rows, o.String())
	}
	slices.Sort(routes)
	if !slices.Equal(routes, rows) {
		t.Errorf("routes    %q\ndocument  %q", routes, rows)
	}
}

func TestDocumentNamesTheBasePath(t *testing.T) {
	w := newWorld(t)
	for _, target := range []string{"/api/v1/openapi.json", "/fleet/api/v1/openapi.json"} {
		if body := w.do("GET", target, "", "").Body.String(); !strings.Contains(body, `"url": "/fleet"`) {
			t.Errorf("%s does not name the base path", target)
		}
	}
}

// example is one request for which the document names the answer.
type example struct {
	op     string // "GET /api/v1/nodes/{nodeName}"
	target string
	body   string
	status int
}

const tooBig = 300 << 10

// examples hold a request for each documented answer but those that all operations share: 401, 403 and the failure of a store.
func examples() []example {
	big := `{"name":"` + strings.Repeat("a", tooBig) + `"}`
	var all []example
	// crud adds the examples of a kind: path parameter, an id that exists, bodies, and what changes and deletions conflict with.
	crud := func(kind, param, id, create, again, patch string, stuckPatch, stuckDelete bool) {
		list, item := "/api/v1/"+kind, "/api/v1/"+kind+"/{"+param+"}"
		all = append(all,
			example{"GET " + list, list, "", 200}, example{"GET " + list, list + "?page=2&pageSize=1", "", 200},
			example{"GET " + list, list + "?page=0", "", 400},
			example{"POST " + list, list, create, 201}, example{"POST " + list, list, again, 409},
			example{"POST " + list, list, `{`, 400}, example{"POST " + list, list, big, 413},
			example{"GET " + item, list + "/" + id, "", 200}, example{"GET " + item, list + "/nosuch", "", 404},
			example{"PATCH " + item, list + "/" + id, patch, 200}, example{"PATCH " + item, list + "/nosuch", patch, 404},
			example{"PATCH " + item, list + "/" + id, `{}`, 400}, example{"PATCH " + item, list + "/" + id, big, 413},
			example{"DELETE " + item, list + "/nosuch", "", 404},
		)
		if stuckPatch {
			all = append(all, example{"PATCH " + item, list + "/stuck", patch, 409})
		}
		if stuckDelete {
			all = append(all, example{"DELETE " + item, list + "/stuck", "", 409})
		}
		all = append(all, example{"DELETE " + item, list + "/" + id, "", 204})
	}
	all = append(all, dictExamples()...)
	all = append(all, drainExamples(big)...)
	all = append(all, configExamples()...)
	const holds = "/api/v1/nodes/{nodeName}/holds"
	const instances, instance = "/api/v1/nodes/{nodeName}/instances", "/api/v1/nodes/{nodeName}/instances/{instanceId}"
	all = append(all,
		example{"GET /api/v1/openapi.json", "/api/v1/openapi.json", "", 200},
		example{"GET " + instances, "/api/v1/nodes/orders/instances", "", 200}, example{"GET " + instances, "/api/v1/nodes/nosuch/instances", "", 404},
		example{"GET " + instances, "/api/v1/nodes/orders/instances?pageSize=501", "", 400},
		example{"PUT " + instance + "/hold", "/api/v1/nodes/orders/instances/i1/hold", `{"reason":"memory leak"}`, 200},
		example{"PUT " + instance + "/hold", "/api/v1/nodes/orders/instances/i1/hold", `{"why":1}`, 400},
		example{"PUT " + instance + "/hold", "/api/v1/nodes/orders/instances/i1/hold", big, 413},
		example{"PUT " + instance + "/hold", "/api/v1/nodes/orders/instances/nosuch/hold", `{}`, 404},
		example{"GET " + instances, "/api/v1/nodes/orders/instances", "", 200}, // with a hold
		example{"DELETE " + instance + "/hold", "/api/v1/nodes/orders/instances/i1/hold", "", 204},
		example{"DELETE " + instance + "/hold", "/api/v1/nodes/orders/instances/i1/hold", "", 404},
		example{"PUT " + instance + "/hold", "/api/v1/nodes/orders/instances/i1/hold", `{}`, 200},
		example{"GET " + holds, "/api/v1/nodes/orders/holds", "", 200}, example{"GET " + holds, "/api/v1/nodes/nosuch/holds", "", 404},
		example{"GET " + holds, "/api/v1/nodes/orders/holds?page=0", "", 400}, example{"DELETE " + holds, "/api/v1/nodes/orders/holds", "", 400},
		example{"DELETE " + holds, "/api/v1/nodes/orders/holds?location=http://10.0.0.1:8080", "", 204},
		example{"DELETE " + holds, "/api/v1/nodes/orders/holds?location=http://10.0.0.1:8080", "", 404},
		example{"DELETE " + instance, "/api/v1/nodes/orders/instances/i1", "", 204},
		example{"DELETE " + instance, "/api/v1/nodes/orders/instances/i1", "", 404},
	)
	crud("nodes", "nodeName", "orders", `{"nodeName":"new"}`, `{"nodeName":"new","name":"New","group":"eu","enabled":false}`, `{"name":"X","group":null,"enabled":true}`, false, false)
	crud("groups", "code", "de", `{"code":"fr","parent":"eu"}`, `{"code":"fr"}`, `{"name":"X","parent":null}`, false, true)
	crud("users", "account", "lin", `{"account":"new","password":"long enough","roles":["clerk"]}`, `{"account":"new","password":"long enough"}`, `{"name":"X"}`, true, true)
	crud("roles", "code", "clerk", `{"code":"new","menus":["m1"]}`, `{"code":"new"}`, `{"sort":5}`, true, true)
	crud("menus", "code", "page", `{"code":"new","name":"New","type":"table","value":"orders.New","parent":"page","status":"hidden","sort":3,"icon":"fa fa-user"}`, `{"code":"new","name":"N"}`, `{"name":"X","parent":null,"status":"open"}`, false, true)
	return all
}

// TestAnswersAreAsDocumented holds every documented answer, with every field, against a real one, and the other way round.
func TestAnswersAreAsDocumented(t *testing.T) {
	w := newWorld(t)
	doc, documented := loadDocument(t, w)
	w.register(t, "orders", "i1", "2.0.4", "http://10.0.0.1:8080")
	byName, seen := map[string]operation{}, map[string]bool{}
	for _, o := range documented {
		byName[o.String()] = o
	}
	check := func(o operation, target, body, token string, status int) {
		t.Helper()
		res := w.do(o.method, target, body, token)
		answer := fmt.Sprintf("%s %d", o, res.Code)
		if o.op.Responses.Status(res.Code) == nil {
			answer = fmt.Sprintf("%s default", o)
		}
		seen[answer] = true
		if res.Code != status {
			t.Errorf("%s %s answered %d %.300s, want %d", o.method, target, res.Code, res.Body, status)
			return
		}
		if err := validate(t.Context(), doc, o, target, body, res); err != nil {
			t.Errorf("%s %s answered %d, which is not as documented: %v\n%.500s", o.method, target, res.Code, err, res.Body)
		}
	}
	for _, o := range documented {
		if o.path == "/api/v1/openapi.json" {
			continue
		}
		target := strings.NewReplacer("{nodeName}", "orders", "{instanceId}", "i1", "{code}", "stuck", "{account}", "stuck").Replace(o.path)
		if o.method == "DELETE" && strings.HasSuffix(target, "/holds") {
			target += "?location=x"
		}
		check(o, target, "", "", 401)
		check(o, target, "", "poor", 403)
		body := ""
		if o.op.RequestBody != nil {
			body = map[string]string{"POST": `{"nodeName":"x"}`, "PATCH": `{"name":"x"}`, "PUT": `{}`}[o.method]
		}
		if o.method == "POST" && o.path != "/api/v1/nodes" {
			body = map[string]string{"groups": `{"code":"x"}`, "users": `{"account":"x","password":"long enough"}`, "roles": `{"code":"x"}`, "menus": `{"code":"x","name":"X"}`}[o.path[len("/api/v1/"):]]
		}
		w.broken = fault.New(fault.Unavailable, "the database does not answer")
		check(o, target, body, "root", 503)
		w.broken = nil
	}
	for _, e := range examples() {
		o, ok := byName[e.op]
		if !ok {
			t.Fatalf("the document has no %s", e.op)
		}
		check(o, e.target, e.body, "root", e.status)
	}
	for _, o := range documented {
		for status := range o.op.Responses.Map() {
			if !seen[o.String()+" "+status] {
				t.Errorf("%s documents the answer %s, which no example here gets", o, status)
			}
		}
	}
}

// validate holds an answer against the schema of its operation.
func validate(ctx context.Context, doc *openapi3.T, o operation, target, body string, res *httptest.ResponseRecorder) error {
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: httptest.NewRequest(o.method, target, strings.NewReader(body)),
			Route:   &routers.Route{Spec: doc, Path: o.path, PathItem: o.item, Method: o.method, Operation: o.op},
		},
		Status: res.Code, Header: res.Header(), Body: io.NopCloser(strings.NewReader(res.Body.String())),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	return openapi3filter.ValidateResponse(ctx, in)
}

// TestDocumentedBodiesAreAccepted: what the document calls a valid request must not be refused for its form.
func TestDocumentedBodiesAreAccepted(t *testing.T) {
	w := newWorld(t)
	doc, documented := loadDocument(t, w)
	for _, e := range examples() {
		if e.body == "" || len(e.body) > tooBig {
			continue
		}
		for _, o := range documented {
			if o.String() != e.op {
				continue
			}
			r := httptest.NewRequest(o.method, e.target, strings.NewReader(e.body))
			r.Header.Set("Content-Type", "application/json")
			err := openapi3filter.ValidateRequestBody(t.Context(), &openapi3filter.RequestValidationInput{
				Request: r, Route: &routers.Route{Spec: doc, Path: o.path, PathItem: o.item, Method: o.method, Operation: o.op},
			}, o.op.RequestBody.Value)
			wellFormed := e.status != 400 || e.body == `{}` // that a PATCH needs a field is said in words
			if (err == nil) != wellFormed {
				t.Errorf("%s with %s: by the document %v, the server answers %d", o, e.body, err, e.status)
			}
		}
	}
}
