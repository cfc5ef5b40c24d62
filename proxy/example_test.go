package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"eruptcloud/proxy"
)

type everybody struct{}

func (everybody) Admit(context.Context, proxy.Wish) (proxy.User, error) { return proxy.User{}, nil }

// fixed is a directory of one node with one location.
type fixed struct{ location string }

func (f fixed) Known(node string) bool                { return node == "shop" }
func (f fixed) Evict(context.Context, string, string) {}
func (f fixed) Lookup(node string) (proxy.Target, error) {
	return proxy.Target{Node: node, Upstreams: []proxy.Upstream{{Location: f.location, Instance: "one"}}}, nil
}

// A program asks a node for a page's rows with the rights of a session, and reads what became of it.
func ExampleCaller() {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"asked":%q}`, r.URL.Path)
	}))
	defer node.Close()
	p, err := proxy.New(proxy.Options{
		Directory: fixed{node.URL}, Gate: everybody{}, Local: http.NotFoundHandler(),
		Fail: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()

	answer, err := p.Caller().Tree(context.Background(), "session-token", "shop.Customer")
	var failure *proxy.Failure
	if errors.As(err, &failure) {
		fmt.Println("no answer:", failure.Kind, failure.Message())
		return
	}
	fmt.Println(answer.Status, string(answer.Body), "from", answer.Instance)
	fmt.Println("why there:", p.Traces("shop", 1)[0].Retry)
	// Output:
	// 200 {"asked":"/erupt-api/data/tree/Customer"} from one
	// why there: answered
}
