package boot_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"

	"eruptcloud/app/boot"
	"eruptcloud/app/config"
	"eruptcloud/proxy"
)

// A program with the control plane inside it reads pages of nodes with the rights of whoever is logged in: token is that person's
// session token. Choice of instance, failover and permission checks are those of a browser's request.
func ExampleServer_Caller() {
	c, err := config.Load(config.Sources{Flags: map[string]string{"server.listen": "127.0.0.1:8080", "server.data_dir": "data"}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	server, err := boot.New(ctx, boot.Options{Config: c, Log: slog.Default()})
	if err != nil {
		log.Fatal(err)
	}
	err = server.Run(ctx, func() { // called once requests are accepted
		go report(ctx, server.Caller(), "the session token of a person")
	})
	if err != nil {
		log.Fatal(err)
	}
}

// report counts the rows of every page that a person may open.
func report(ctx context.Context, nodes *proxy.Caller, token string) {
	for _, page := range nodes.Names() {
		answer, err := nodes.TableQuery(ctx, token, page, []byte(`{"pageIndex":1,"pageSize":10}`))
		var refused *proxy.Failure
		switch {
		case errors.As(err, &refused):
			fmt.Println(page, "was not asked:", refused.Kind, refused.Message())
		case err == nil:
			fmt.Println(page, answer.Status, "from", answer.Instance, string(answer.Body))
		}
	}
}
