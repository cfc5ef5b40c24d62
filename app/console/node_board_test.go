package console

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
)

// shown is what people see of a state.
func shown(s *nodeState) string {
	return fmt.Sprint(s.node, s.kind, s.rank, s.up, s.versions(), s.refused, s.verdict(), len(s.instances), s.drainVerdict())
}

// TestTheBoardIsNeverBehind: whatever happens, what it kept is what judging all nodes anew gives.
func TestTheBoardIsNeverBehind(t *testing.T) {
	const nodes = 12
	w := multitude(nodes)
	deep := w.deepen()
	p := &pages{Options: Options{Nodes: fakeNodes{w}, Registry: fakeRegistry{w}, Holds: fakeHolds{w}, Fresh: w.freshNumber}}
	deep.fill(&p.Options)
	chance, seq := rand.New(rand.NewPCG(1, 2)), registry.Seq(50_000)
	for step := range 600 {
		i := chance.IntN(nodes)
		name, in := fmt.Sprintf("sim-%04d", i), oneOfMany(i, step)
		seq++
		in.Rev = seq
		what := ""
		switch chance.IntN(9) {
		case 0, 1:
			what = "another version"
			w.table.Apply([]registry.Change{{Seq: seq, At: now, Action: registry.Modified, In: in}})
		case 2:
			what = "gone"
			w.table.Apply([]registry.Change{{Seq: seq, At: now, Action: registry.Deleted, Reason: registry.Leave, In: in}})
		case 3:
			what = "says goodbye"
			in.Status = registry.OutOfService
			w.table.Apply([]registry.Change{{Seq: seq, At: now, Action: registry.Modified, In: in}})
		case 4:
			what = "works on something"
			deep.loads[in.Locations[0]] = InFlight{Count: step, Known: true}
		case 5:
			what = "a wrong token, or no more"
			deep.refusals = nil
			if step%2 == 0 {
				deep.refusals = []fleet.Refusal{{Node: name, Address: "10.0.0.9", Reason: fleet.WrongToken, Since: now, Last: now, Count: step}}
			}
		case 6:
			what = "held, or lifted"
			w.generation++
			w.holds = nil
			if step%2 == 0 {
				w.holds = []fleet.Hold{{Node: name, Location: in.Locations[0], Account: "chen.jie", Reason: fmt.Sprint(step)}}
			}
		case 7:
			what = "drained"
			w.generation++
			deep.drains = []fleet.Drain{{Node: name, Instance: in.ID, Account: "lin.wei"}}
		case 8:
			what = "another profile"
			w.generation++
			w.nodes[i].Enabled, w.nodes[i].Display = !w.nodes[i].Enabled, fmt.Sprint(step)
		}
		kept, err := p.judged(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		anew := judgeBy(w.nodes, w.table.View(), p.orders())
		for n := range anew {
			if got, want := shown(kept[n]), shown(anew[n]); got != want {
				t.Fatalf("step %d, %s of %s: the board says\n%s, it is\n%s", step, what, name, got, want)
			}
		}
	}
}

// TestTheBoardJudgesWhatChanged: of all nodes a change concerns one, and the others stay as they were judged.
func TestTheBoardJudgesWhatChanged(t *testing.T) {
	w := multitude(50)
	p := &pages{Options: Options{Nodes: fakeNodes{w}, Registry: fakeRegistry{w}, Holds: fakeHolds{w}, Fresh: w.freshNumber}}
	before, err := p.judged(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.change(7, 3)
	after, err := p.judged(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var changed []int
	for i := range after {
		if before[i] != after[i] {
			changed = append(changed, i)
		}
	}
	if !reflect.DeepEqual(changed, []int{7}) {
		t.Errorf("nodes %v were judged anew, want the one that changed", changed)
	}
	if before[7].versions()[0].Version != "1.0.0" {
		t.Error("what was handed out before is another one now")
	}
}

// TestViewersShareNothingOfTheirs: what is kept from one request to the next holds no rights and no language (D21, U71).
func TestViewersShareNothingOfTheirs(t *testing.T) {
	w := multitude(60)
	const viewers = 6
	for i := range viewers {
		w.limit(fmt.Sprintf("viewer%d", i), []int64{int64(i + 1)}, "CloudNode", "CloudNode@EDIT", "CloudNodeGroup")
	}
	s := newSite(t, w)
	for i := range viewers {
		s.cookie(fmt.Sprintf("viewer%d", i))
	}
	s.cookie("admin")
	var all sync.WaitGroup
	for i := range viewers {
		all.Go(func() {
			account, language := fmt.Sprintf("viewer%d", i), []func(*http.Request){htmx("")}
			title := "Instances"
			if i%2 == 1 {
				language, title = append(language, chinese), "实例"
			}
			for range 20 {
				body := s.as(account, http.MethodGet, "/console/nodes", nil, language...).body
				if n := strings.Count(body, `data-testid="node-row"`); n != 3 || strings.Contains(body, fmt.Sprintf("Group %02d", (i+1)%20)) {
					t.Errorf("%s sees %d nodes, or the group of another one; want the three of his own", account, n)
				}
				if !strings.Contains(body, title) || strings.Contains(body, map[string]string{"实例": "Instances", "Instances": "实例"}[title]) {
					t.Errorf("%s does not read in his own language", account)
				}
				if s.as("admin", http.MethodGet, "/console/nodes", nil, htmx("")).body == body {
					t.Errorf("%s sees what an administrator sees", account)
				}
			}
		})
	}
	all.Wait()
}

// TestAnOpenPageAsksTheMemory: the parts that a page asks for after a change cost no question to the database; a page that somebody
// opens, or a search, does ask, since other processes write there.
func TestAnOpenPageAsksTheMemory(t *testing.T) {
	w := multitude(3)
	var memory []bool
	s := newSite(t, w)
	w.asked = func(ctx context.Context) { memory = append(memory, fleet.OnlyMemory(ctx)) }
	for _, tt := range []struct {
		name string
		opts []func(*http.Request)
		want bool
	}{{"a page", nil, false}, {"a search", []func(*http.Request){htmx("nodes-list")}, false}, {"the parts of an open page", []func(*http.Request){htmx("")}, true}} {
		memory = nil
		s.get("/console/nodes", tt.opts...).must(t, http.StatusOK)
		if len(memory) == 0 || memory[0] != tt.want {
			t.Errorf("%s: from memory alone %v, want %v", tt.name, memory, tt.want)
		}
	}
}
