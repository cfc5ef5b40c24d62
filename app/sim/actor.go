package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"eruptcloud/nodeagent"
)

// actor plays one instance of a node: one process after the other, and what goes wrong with them.
type actor struct {
	crowd *Crowd
	node  string
	index int // among all instances of the crowd
	plan  plan
	traits
	random *rand.Rand // of what it logs
	births int
	life   *life // nil: there is no process just now

	alive atomic.Pointer[life] // the same, for others to read
	calm  atomic.Int64         // Unix nanoseconds since when nothing is wrong; zero: something is
}

// run plays until ctx ends.
func (a *actor) run(ctx context.Context, start time.Duration) error {
	if !sleep(ctx, start) {
		return nil
	}
	if err := a.born(""); err != nil {
		return err
	}
	a.crowd.report(Event{
		Event: EventStart, Node: a.node, Instance: a.life.id, Location: a.life.location, Version: a.version, Skew: skewText(a.skew),
	})
	defer func() {
		if a.life != nil {
			a.life.leave()
		}
	}()
	for len(a.plan.faults) > 0 && a.plan.churn > 0 {
		s := a.plan.next()
		if !sleep(ctx, s.wait) {
			return nil
		}
		if err := a.suffer(ctx, s); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// born starts the next process.
func (a *actor) born(address string) error {
	a.births++
	l, err := begin(birth{
		server: a.crowd.spec.Server, node: a.node, token: a.crowd.tokens[a.node], id: fmt.Sprintf("%s-%d-%d", a.crowd.spec.Prefix, a.index+1, a.births),
		address: address, traits: a.traits, pages: ticketPages(a.crowd.tickets), base: a.crowd.transport, random: a.random, logEvery: a.crowd.spec.LogEvery,
	})
	if err != nil {
		return fmt.Errorf("instance %d of %s: %w", a.births, a.node, err)
	}
	a.life = l
	a.alive.Store(l)
	a.calm.Store(time.Now().UnixNano())
	return nil
}

// suffer plays one fault from beginning to end.
func (a *actor) suffer(ctx context.Context, s step) error {
	a.calm.Store(0)
	l := a.life
	wrong := &act{fault: s.fault, delay: s.delay, over: make(chan struct{})}
	if other := a.crowd.actors[(a.index+s.other)%len(a.crowd.actors)]; s.fault == Claim {
		wrong.other = other.location(l.location)
	} else if s.fault == Lie || s.fault == Pose {
		wrong.other = other.nameUnlike(a.node)
	}
	e := Event{Event: EventBegin, Fault: s.fault, Node: a.node, Instance: l.id, Location: l.location, Other: wrong.other, For: s.last.Round(time.Millisecond).String()}
	a.crowd.report(e)
	defer func() {
		e.Event, e.At, e.For, e.Instance, e.Location = EventEnd, time.Time{}, "", a.life.id, a.life.location
		a.crowd.report(e)
		a.calm.Store(time.Now().UnixNano())
	}()
	switch s.fault {
	case Stop, Crash:
		return a.replaced(ctx, s)
	case Flap:
		a.flap(ctx, s.last)
	case Refuse:
		l.listener.suspend()
		sleep(ctx, s.last)
		l.listener.resume()
	default:
		l.act.Store(wrong)
		if s.fault == Chatty {
			l.shout(ctx, s.last)
		} else {
			sleep(ctx, s.last)
		}
		l.act.Store(nil)
	}
	close(wrong.over)
	return nil
}

// replaced ends the process and starts another one after a while, for some at the address of the old.
func (a *actor) replaced(ctx context.Context, s step) error {
	old := a.life
	a.alive.Store(nil)
	if s.fault == Crash {
		old.kill()
	} else {
		old.leave()
	}
	sleep(ctx, s.last)
	address := ""
	if s.again {
		address = old.listener.Addr().String()
	}
	return a.born(address)
}

func (a *actor) flap(ctx context.Context, last time.Duration) {
	for end := time.Now().Add(last); time.Now().Before(end) && ctx.Err() == nil; {
		a.life.listener.suspend()
		sleep(ctx, last/8)
		a.life.listener.resume()
		sleep(ctx, last/8)
	}
}

// location is where others may claim to be; own if this one is nowhere.
func (a *actor) location(own string) string {
	if l := a.alive.Load(); l != nil {
		return l.location
	}
	return own
}

// nameUnlike is the actor's node, or a name that nobody has if that is the asker's own.
func (a *actor) nameUnlike(own string) string {
	if a.node == own {
		return own + "-x"
	}
	return a.node
}

// calmFor reports whether the instance has been without a fault for at least d.
func (a *actor) calmFor(d time.Duration) bool {
	since := a.calm.Load()
	return since > 0 && time.Since(time.Unix(0, since)) >= d
}

// update reports another version of the software, at once.
func (a *actor) update(ctx context.Context, n int) bool {
	l := a.alive.Load()
	return l != nil && a.calm.Load() != 0 && l.change(ctx, a.crowd.spec.Server, a.version+"+"+strconv.Itoa(n))
}

func skewText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// makeTickets makes the rows that all nodes of a crowd share.
func makeTickets(r *rand.Rand) []nodeagent.Row {
	var rows []nodeagent.Row
	for i := range 60 {
		rows = append(rows, nodeagent.Row{
			"id": int64(i + 1), "title": pick(r, visitTopics), "owner": person(r, false), "opened": moment(r, 90), "open": r.IntN(3) > 0,
		})
	}
	return rows
}

// ticketPages are what every node of a crowd hosts.
func ticketPages(tickets *nodeagent.MemSource) []nodeagent.Page {
	return []nodeagent.Page{{
		Name: "Ticket", Title: "工单 Tickets", Source: tickets,
		Fields: []nodeagent.Field{
			nodeagent.Input("title", "主题 Topic").Required().Length(80).Search(),
			nodeagent.Input("owner", "负责人 Owner").Length(40),
			nodeagent.DateTime("opened", "时间 Opened").Sortable(),
			nodeagent.Boolean("open", "状态 State", "open", "closed"),
		},
	}}
}

// newTransport is what all agents of a crowd send through.
func newTransport(connections int) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.IdleConnTimeout = connections, connections, 30*time.Second
	t.ResponseHeaderTimeout = 10 * time.Second
	return t
}
