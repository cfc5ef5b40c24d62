package nodeagent_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"

	"eruptcloud/nodeagent"
	"eruptcloud/nodeagent/wire"
)

// A complete node: it joins the fleet, answers, and leaves without losing a request. In a program of yours ctx comes from
// signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM), Addr is ":8081", and FromEnv says who the node is.
func Example() {
	registered := make(chan struct{})
	plane := httpServer(func(_ http.ResponseWriter, r *http.Request) { // in a fleet this is the server
		switch {
		case r.URL.Path == wire.RegisterPath:
			fmt.Println("a node has registered")
			close(registered)
		case r.FormValue(wire.FormDrain) != "":
			fmt.Println("it leaves: no more requests for it")
		default:
			fmt.Println("it has gone")
		}
	})
	defer plane.close()

	agent, err := nodeagent.New(nodeagent.Config{
		NodeName:        "orders",
		AccessToken:     "7H2KQ9ZX4M1CVB0P",
		ServerAddresses: []string{plane.url},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- agent.Serve(ctx, &http.Server{Addr: "127.0.0.1:0", Handler: http.NotFoundHandler()}) }()

	<-registered
	stop()
	if err := <-done; err != nil {
		log.Fatal(err)
	}
	// Output:
	// a node has registered
	// it leaves: no more requests for it
	// it has gone
}

// A page: customers of a shop, kept in memory. The control plane is played by a few lines here; in a fleet it is the server that
// asks.
func ExampleAgent_Host() {
	plane := httpServer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == wire.PowerPath { // what the user may do
			_, _ = io.WriteString(w, `{"query":true,"add":true,"viewDetails":true}`)
		}
	})
	defer plane.close()

	agent, err := nodeagent.New(nodeagent.Config{
		NodeName: "shop", AccessToken: "7H2KQ9ZX4M1CVB0P", ServerAddresses: []string{plane.url}, EnableRegister: new(false),
	})
	if err != nil {
		log.Fatal(err)
	}
	err = agent.Host(nodeagent.Page{
		Name: "Customer", Title: "Customers",
		Fields: []nodeagent.Field{
			nodeagent.Input("name", "Name").Required().Search().Sortable(),
			nodeagent.Choice("level", "Level", nodeagent.Option{Value: "V", Label: "VIP"}, nodeagent.Option{Value: "N", Label: "Normal"}).Search(),
			nodeagent.Decimal("balance", "Balance", 2).Sortable(),
		},
		Source: nodeagent.NewMemSource(
			nodeagent.Row{"name": "Lin Yu", "level": "V", "balance": 1250.5},
			nodeagent.Row{"name": "Ada", "level": "N", "balance": 80.0},
		),
		Hooks: nodeagent.Hooks{
			BeforeAdd: func(ctx context.Context, row nodeagent.Row) error {
				if user, ok := nodeagent.UserFrom(ctx); !ok || user.Account != "lin" {
					return nodeagent.Refuse("only lin adds customers")
				}
				return nil
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	node := httpServer(agent.Handler().ServeHTTP)
	defer node.close()

	// What the server sends when a user opens the page and adds a row.
	ask := func(path, body string) string {
		r, _ := http.NewRequest(http.MethodPost, node.url+path, strings.NewReader(body))
		r.Header.Set(wire.HeaderAccessToken, "7H2KQ9ZX4M1CVB0P")
		r.Header.Set(wire.HeaderToken, "handle of the session")
		r.Header.Set(wire.HeaderErupt, "Customer")
		r.Header.Set(wire.HeaderUser, base64.StdEncoding.EncodeToString([]byte(`{"uid":12,"account":"lin","name":"Lin Yu"}`)))
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Do(r)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		answer, _ := io.ReadAll(res.Body)
		return string(answer)
	}
	fmt.Println(ask("/erupt-api/data/modify/Customer", `{"name":"Grace","level":"X"}`))
	fmt.Println(ask("/erupt-api/data/modify/Customer", `{"name":"Grace","level":"N","balance":"7.25"}`))
	fmt.Println(ask("/erupt-api/data/table/Customer", `{"pageIndex":1,"pageSize":10,"sort":[{"field":"balance"}],"condition":[{"key":"level","value":"N"}]}`))
	// Output:
	// {"data":null,"message":"Level: \"X\" is not one of the options","success":false,"status":"ERROR","promptWay":"MESSAGE","fields":{"level":"Level: \"X\" is not one of the options"}}
	// {"data":null,"message":null,"success":true,"status":"SUCCESS","promptWay":"MESSAGE"}
	// {"linkTreeVal":null,"condition":[{"key":"level","expression":"EQ","value":"N"}],"vis":null,"pageIndex":1,"pageSize":10,"sort":[{"field":"balance","direction":"ASC"}],"totalPage":1,"total":2,"list":[{"balance":7.25,"id":3,"level":"N","name":"Grace"},{"balance":80,"id":2,"level":"N","name":"Ada"}],"alert":null,"extraContent":null}
}

type server struct {
	url   string
	close func()
}

func httpServer(h http.HandlerFunc) server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	return server{"http://" + l.Addr().String(), func() { _ = s.Close(); <-done }}
}
