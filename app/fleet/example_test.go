package fleet_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/nodeagent/wire"
)

// mirror is a deployment's own hook: it copies the fleet into a registry that others read, and lets in only what that
// registry has room for.
type mirror struct {
	fleet.NoHook // so that a method added later has an answer

	mu        sync.Mutex
	addresses map[string][]string
}

// RegisterNode runs before the addresses are probed, with each beat; an error refuses it, and the node prints the message.
func (m *mirror) RegisterNode(_ context.Context, info wire.NodeInfo, r *http.Request) error {
	if strings.HasPrefix(info.NodeName, "test-") && r.Header.Get("X-Stage") != "test" {
		return fault.New(fault.Forbidden, "%s may register on the test stage only", info.NodeName)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addresses[info.NodeName] = slices.Clone(info.NodeAddress)
	return nil
}

// RemoveNode runs when an instance leaves.
func (m *mirror) RemoveNode(_ context.Context, node string, _ *http.Request) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.addresses, node)
	return nil
}

// A deployment that builds its own binary passes its Hook to the server; here its methods are called as the node API calls them.
func ExampleHook() {
	m := &mirror{addresses: map[string][]string{}}
	var hook fleet.Hook = m
	ctx := context.Background()
	request := httptest.NewRequest(http.MethodPost, wire.RegisterPath, nil)

	err := hook.RegisterNode(ctx, wire.NodeInfo{NodeName: "orders", NodeAddress: []string{"http://10.0.3.17:8081/shop"}}, request)
	fmt.Println(m.addresses, err)
	err = hook.RegisterNode(ctx, wire.NodeInfo{NodeName: "test-orders"}, request)
	fmt.Println(err)
	err = hook.RemoveNode(ctx, "orders", request)
	fmt.Println(m.addresses, err)
	// Output:
	// map[orders:[http://10.0.3.17:8081/shop]] <nil>
	// test-orders may register on the test stage only
	// map[] <nil>
}
