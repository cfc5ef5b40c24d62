package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/cluster"
	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/testbed"
	"eruptcloud/ent"
)

// TestOtherProcess: another process on the same database, without a bus, is heard of at the first need or the next refresh.
func TestOtherProcess(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		server, c := open(t, db)
		command, _ := open(t, db)
		_, token := mustNode(t, command, fleet.NewNode{Name: "n", Enabled: true})
		if _, ok := server.Nodes.Cached("n"); ok {
			t.Fatal("known without any way to know")
		}
		if _, err := server.Nodes.Authenticate(t.Context(), "n", token); err != nil {
			t.Errorf("the first beat of a node that another process made: %v", err)
		}
		if _, ok := server.Nodes.Cached("n"); !ok {
			t.Error("not remembered after the first beat")
		}
		if _, err := command.Nodes.Update(t.Context(), "n", fleet.NodePatch{Enabled: ptr(false)}); err != nil {
			t.Fatal(err)
		}
		mustNode(t, command, fleet.NewNode{Name: "m", Config: `{"a":1}`})
		if n, err := server.Nodes.ByName(t.Context(), "n"); err != nil || n.Enabled {
			t.Errorf("ByName = %+v, %v; want what the database has", n, err)
		}
		c.Advance(2 * time.Second) // lists may be a second old
		if all, total, err := server.Nodes.List(t.Context(), fleet.NodeFilter{}); err != nil || total != 2 || all[1].Enabled || all[0].Config != `{"a":1}` {
			t.Errorf("List = %+v, %v; want both as they are", all, err)
		}
		if err := command.Nodes.Delete(t.Context(), "m", ""); err != nil {
			t.Fatal(err)
		}
		if err := server.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, ok := server.Nodes.Cached("m"); ok {
			t.Error("a deleted node outlived a refresh")
		}
	})
}

// patient is a context that knows whether somebody waits with it.
type patient struct {
	context.Context
	waits atomic.Bool
}

func (p *patient) Done() <-chan struct{} {
	p.waits.Store(true)
	return p.Context.Done()
}

// TestListsDoNotQueue: while one reader of a list reads the database, the others are answered with what is known, unless that is
// old.
func TestListsDoNotQueue(t *testing.T) {
	db := testbed.SQLite(t)
	f, c := open(t, db)
	mustNode(t, f, fleet.NewNode{Name: "n"})
	if err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	reading, goOn := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	db.Client.Group.Intercept(ent.InterceptFunc(func(next ent.Querier) ent.Querier {
		return ent.QuerierFunc(func(ctx context.Context, q ent.Query) (ent.Value, error) {
			if held.CompareAndSwap(false, true) {
				close(reading)
				<-goOn
			}
			return next.Query(ctx, q)
		})
	}))
	c.Advance(2 * time.Second)
	first := make(chan error, 1)
	go func() {
		_, _, err := f.Nodes.List(t.Context(), fleet.NodeFilter{})
		first <- err
	}()
	<-reading
	beside := patient{Context: t.Context()}
	if all, _, err := f.Nodes.List(&beside, fleet.NodeFilter{}); err != nil || len(all) != 1 || beside.waits.Load() {
		t.Errorf("List beside a reader = %v, %v, waits: %v; want what is known, at once", all, err, beside.waits.Load())
	}
	c.Advance(10 * time.Second)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	late := patient{Context: over}
	if _, err := f.Groups.List(&late); err != nil || !late.waits.Load() {
		t.Errorf("an old list = %v, waits: %v; want it to wait for the reader", err, late.waits.Load())
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestUnknownNamesAreCheap: a flood of beats with names that nobody knows does not reach the database.
func TestUnknownNamesAreCheap(t *testing.T) {
	db := testbed.SQLite(t)
	f, c := open(t, db)
	var queries atomic.Int64
	db.Client.Node.Intercept(ent.InterceptFunc(func(next ent.Querier) ent.Querier {
		return ent.QuerierFunc(func(ctx context.Context, q ent.Query) (ent.Value, error) {
			queries.Add(1)
			return next.Query(ctx, q)
		})
	}))
	for range 100 {
		_, err := f.Nodes.Authenticate(t.Context(), "ghost", "x")
		wantFault(t, "Authenticate", err, fault.NotFound, "NodeName: 'ghost' not found")
	}
	first := queries.Load()
	if first == 0 || first > 3 {
		t.Errorf("%d queries for one unknown name, want the first beat's only", first)
	}
	c.Advance(3 * time.Second)
	if _, err := f.Nodes.Authenticate(t.Context(), "ghost", "x"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if queries.Load() == first {
		t.Error("an unknown name is never asked for again")
	}
	refused := 0
	for i := range 1000 {
		if _, err := f.Nodes.Authenticate(t.Context(), fmt.Sprint("made-up-", i), "x"); fault.Is(err, fault.TooMany) && fault.Of(err).RetryAfter > 0 {
			refused++
		}
	}
	if refused < 700 || queries.Load() > 1000 {
		t.Errorf("%d of 1000 made-up names were refused after %d queries; want most of them, unasked", refused, queries.Load())
	}
	if _, err := f.Nodes.Authenticate(t.Context(), strings.Repeat("x", 5000), "x"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a name that no row can have: %v", err)
	}
}

// TestReplicasFollowTheBus: each change is told once to the listeners of both, and the memory is right by then.
func TestReplicasFollowTheBus(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		bus := cluster.NewSolo("test")
		heard := [2]chan string{make(chan string, 100), make(chan string, 100)}
		var fleets [2]*fleet.Fleet
		for i := range fleets {
			f, _ := open(t, db, func(o *fleet.Options) { o.Bus = bus })
			f.Listen(func(kind, id string) {
				n, ok := f.Nodes.Cached("n")
				_, held := f.Holds.Held("n", "http://a")
				heard[i] <- fmt.Sprintf("%s %s known=%t enabled=%t revision=%d held=%t", kind, id, ok, n.Enabled, n.Revision, held)
			})
			fleets[i] = f
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, f := range fleets {
			wg.Go(func() {
				if err := f.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		defer wg.Wait()
		defer cancel()
		// The buses of the two are connected once a message arrives at the other.
		ready := make(chan struct{})
		go func() {
			defer close(ready)
			for i := 0; ; i++ {
				if _, err := fleets[0].Groups.Create(ctx, fleet.NewGroup{Code: fmt.Sprint("g", i)}); err != nil {
					t.Error(err)
					return
				}
				<-heard[0]
				select {
				case <-heard[1]:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		}()
		<-ready
		expect := func(want string, do func() error) {
			t.Helper()
			if err := do(); err != nil {
				t.Fatal(err)
			}
			for i := range heard {
				select {
				case got := <-heard[i]:
					if got != want {
						t.Errorf("replica %d heard %q, want %q", i, got, want)
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("replica %d heard nothing of %q", i, want)
				}
			}
		}
		nodes := fleets[0].Nodes
		expect("node n known=true enabled=true revision=0 held=false", func() error { _, _, err := nodes.Create(ctx, fleet.NewNode{Name: "n", Enabled: true}); return err })
		expect("node n known=true enabled=false revision=0 held=false", func() error {
			_, err := nodes.Update(ctx, "n", fleet.NodePatch{Enabled: ptr(false)})
			return err
		})
		expect("node n known=true enabled=false revision=1 held=false", func() error { _, err := nodes.SetConfig(ctx, "n", fleet.ConfigEdit{JSON: "{}"}); return err })
		expect("hold n known=true enabled=false revision=1 held=true", func() error {
			_, err := fleets[1].Holds.Set(ctx, fleet.Hold{Node: "n", Location: "http://a", Account: "li"})
			return err
		})
		expect("hold n known=true enabled=false revision=1 held=false", func() error { return fleets[0].Holds.Lift(ctx, "n", "http://a", "li") })
		expect("drain n known=true enabled=false revision=1 held=false", func() error {
			_, err := fleets[1].Drains.Start(ctx, fleet.Drain{Node: "n", Instance: "i1", Account: "li"})
			return err
		})
		if _, drains := fleets[0].Drains.Draining("n", "i1"); !drains {
			t.Error("the other replica heard of a drain and does not know it")
		}
		expect("drain n known=true enabled=false revision=1 held=false", func() error { return fleets[0].Drains.Forget(ctx, "n", "i1") })
		if _, drains := fleets[1].Drains.Draining("n", "i1"); drains {
			t.Error("the other replica heard of the end of a drain and does not know it")
		}
		expect("node n known=false enabled=false revision=0 held=false", func() error { return nodes.Delete(ctx, "n", "li") })
		for i := range heard {
			select {
			case extra := <-heard[i]:
				t.Errorf("replica %d heard %q once more", i, extra)
			default:
			}
		}
	})
}

// lostBus says that messages were lost, as a bus does after a broken connection.
type lostBus struct{ lose chan struct{} }

func (lostBus) Publish(context.Context, string, []byte) error {
	return fault.New(fault.Unavailable, "down")
}

func (b lostBus) Subscribe(ctx context.Context, _ string, handle func([]byte)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.lose:
			handle(nil)
			handle([]byte("not JSON"))
			b.lose <- struct{}{}
		}
	}
}

func TestABrokenBusCostsOnlyTime(t *testing.T) {
	db := testbed.SQLite(t)
	bus := lostBus{lose: make(chan struct{})}
	f, _ := open(t, db, func(o *fleet.Options) { o.Bus = bus })
	other, _ := open(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = f.Run(ctx) })
	defer wg.Wait()
	defer cancel()
	mustNode(t, f, fleet.NewNode{Name: "own"}) // written although nobody can be told
	mustNode(t, other, fleet.NewNode{Name: "other"})
	bus.lose <- struct{}{}
	<-bus.lose
	for _, name := range []string{"own", "other"} {
		if _, ok := f.Nodes.Cached(name); !ok {
			t.Errorf("%q is not known after messages were lost", name)
		}
	}
}

// TestAWrittenChangeIsNoError: the caller's context ends between the commit and the answer.
func TestAWrittenChangeIsNoError(t *testing.T) {
	db := testbed.SQLite(t)
	ctx, cancel := context.WithCancel(t.Context())
	f, _ := open(t, db)
	f.Listen(func(string, string) { cancel() })
	n, _, err := f.Nodes.Create(ctx, fleet.NewNode{Name: "n"})
	if err != nil || n.Name != "n" {
		t.Errorf("Create = %+v, %v; want the node that was written", n, err)
	}
}

func TestWithoutALoad(t *testing.T) {
	db := testbed.SQLite(t)
	f := fleet.New(fleet.Options{DB: db, ValidateToken: true})
	if _, ok := f.Nodes.Cached("n"); ok || f.Nodes.Tokens("n") != nil {
		t.Error("an empty memory knows a node")
	}
	if _, ok := f.Holds.Held("n", "x"); ok {
		t.Error("an empty memory knows a hold")
	}
	_, token := mustNode(t, f, fleet.NewNode{Name: "n"})
	g := fleet.New(fleet.Options{DB: db, ValidateToken: true})
	if _, err := g.Nodes.Authenticate(t.Context(), "n", token); err != nil {
		t.Errorf("Authenticate before Load: %v", err)
	}
	if !slices.Contains(g.Nodes.Tokens("n"), token) {
		t.Error("the first question did not fill the memory")
	}
}

func TestADeadDatabaseIsUnavailable(t *testing.T) {
	db := testbed.MySQL(t)
	f, _ := open(t, db)
	_, token := mustNode(t, f, fleet.NewNode{Name: "n"})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Nodes.Authenticate(t.Context(), "n", token); err != nil {
		t.Errorf("a known node's beat needs the database: %v", err)
	}
	if all, _, err := f.Nodes.List(t.Context(), fleet.NodeFilter{}); err != nil || len(all) != 1 {
		t.Errorf("List = %v, %v; want what is known", all, err)
	}
	if _, err := f.Nodes.ByName(t.Context(), "n"); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("ByName = %v, want a failure", err)
	}
}
