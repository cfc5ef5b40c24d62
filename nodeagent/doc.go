// Package nodeagent makes a Go program a node of the control plane. It needs nothing but the standard library.
//
// A node has a profile on the server, made by an admin, with a name and an access token. With those two and the address of
// the server a program joins its fleet:
//
//	agent, err := nodeagent.New(nodeagent.Config{
//		NodeName:        "orders",
//		AccessToken:     os.Getenv("EC_NODE_TOKEN"),
//		ServerAddresses: []string{"http://control-plane:8080"},
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	log.Fatal(agent.Serve(ctx, &http.Server{Addr: ":8081", Handler: yourHandler}))
//
// [Agent.Serve] listens, registers, answers the server's probes at /node-health and /node-probe, beats every 15 s, and, when ctx
// ends, leaves without losing a request: the server takes the instance out of its routing, requests in flight are finished,
// and only then does the listener close. A program that runs its own servers calls [Agent.Run] in a goroutine and mounts
// [Agent.Handler]; programs that cannot embed Go use the command in the folder sidecar.
//
// # What only the server may call
//
// Below /erupt-api the agent answers the server and nobody else: a request with an Origin header is refused with 403, one
// without the node's access token with 401, one for an erupt that this node does not host with 404. For all others
// [UserFrom], [TokenFrom] and [EruptFrom] say who is behind the request. [Agent.Guard] puts the same checks before a handler
// of yours.
//
// # Pages
//
// A [Page] describes a table with its form; the console shows it as if it were its own. Fields are declared with [Input],
// [Number], [Choice], [ReferenceTable] and so on, rows come from a [Source]; [MemSource] keeps them in memory. The agent asks
// the server for the rights of the user behind each request, checks what comes in against the declaration and calls the
// page's [Hooks] before it changes anything.
//
// # Configuration
//
// [Agent.Effective] returns the node's configuration as the server merges it from the groups and the node;
// [Agent.OnConfigChange] tells of every new one. When the server is away, the last good configuration stays.
//
// # Logs
//
// A [LogRing] keeps the last 1000 events in memory; the console's log drawer reads them. Give your logger its
// [LogRing.Handler], or anything else that writes lines its [LogRing.Write].
package nodeagent
