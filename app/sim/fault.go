package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Fault is something that an instance of a crowd does wrong for a while.
type Fault string

// The faults. But for Stop and Crash the process lives on.
const (
	Stop    Fault = "stop"    // leaves with a goodbye; a new process takes its place afterwards
	Crash   Fault = "crash"   // dies without one; a new process takes its place afterwards
	Flap    Fault = "flap"    // its port closes and opens again and again
	Refuse  Fault = "refuse"  // its port is closed, its beats go on
	Hang    Fault = "hang"    // takes requests and never answers
	Slow    Fault = "slow"    // answers late
	Fail    Fault = "fail"    // answers everything with 500
	Mute    Fault = "mute"    // answers, but its beats stop
	Lie     Fault = "lie"     // /node-health gives another node's name
	Pose    Fault = "pose"    // registers under another node's name with its own token
	Claim   Fault = "claim"   // registers with the address of another instance
	Forge   Fault = "forge"   // registers with a wrong token
	Garble  Fault = "garble"  // sends registrations that cannot be read
	Chatty  Fault = "chatty"  // logs 2,000 lines a second
	Endless Fault = "endless" // its log has lines of a megabyte
)

// AllFaults returns every fault there is.
func AllFaults() []Fault {
	return []Fault{Stop, Crash, Flap, Refuse, Hang, Slow, Fail, Mute, Lie, Pose, Claim, Forge, Garble, Chatty, Endless}
}

// ParseFaults reads a list separated by commas; "all" and "none" are words for themselves.
func ParseFaults(list string) ([]Fault, error) {
	switch strings.TrimSpace(list) {
	case "all":
		return AllFaults(), nil
	case "none", "":
		return []Fault{}, nil
	}
	var out []Fault
	for word := range strings.SplitSeq(list, ",") {
		f := Fault(strings.TrimSpace(word))
		if !slices.Contains(AllFaults(), f) {
			return nil, fmt.Errorf("%q is no fault; there are %s", string(f), names(AllFaults()))
		}
		out = append(out, f)
	}
	return out, nil
}

func names(faults []Fault) string {
	words := make([]string, len(faults))
	for i, f := range faults {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}

// step is one fault of an instance: when it begins after the one before, and how long it lasts.
type step struct {
	wait  time.Duration
	fault Fault
	last  time.Duration
	delay time.Duration // of answers, for Slow
	other int           // which other instance it takes for a model, counted from its own
	again bool          // a new process gets the address of the old one
}

// plan makes the faults of one instance, one after the other, from its own random numbers: the same seed gives the same.
type plan struct {
	random *rand.Rand
	faults []Fault
	churn  time.Duration // mean pause
	last   time.Duration // mean duration
	others int           // how many instances there are beside this one
}

func (p *plan) next() step {
	s := step{wait: p.about(p.churn), last: p.about(p.last), fault: p.faults[p.random.IntN(len(p.faults))]}
	s.delay = 300*time.Millisecond + time.Duration(p.random.IntN(2500))*time.Millisecond
	s.other = 1 + p.random.IntN(max(p.others, 1))
	s.again = p.random.IntN(2) == 0
	return s
}

// about returns a random time, exponential around mean, between a tenth and three times of it.
func (p *plan) about(mean time.Duration) time.Duration {
	x := -math.Log(1 - p.random.Float64())
	return time.Duration(float64(mean) * min(max(x, 0.1), 3))
}

// traits are what an instance is for all its life.
type traits struct {
	version string        // of its software
	skew    time.Duration // of its clock
}

// versions are what nodes of all ages report.
var versions = []string{"1.12.4", "1.12.23", "1.13.2", "2.0.1", "2.1.0", "2.2.3", "2.3.0", "2.3.0", "2.3.0", "go-1.0.0"}

// traitsOf draws traits: most instances of a node share the version, and one clock of five is wrong, by seconds or by days.
func traitsOf(r *rand.Rand, nodeVersion string) traits {
	t := traits{version: nodeVersion}
	if r.IntN(6) == 0 {
		t.version = versions[r.IntN(len(versions))]
	}
	if r.IntN(5) == 0 {
		t.skew = []time.Duration{-72 * time.Hour, -10 * time.Minute, -5 * time.Second, 5 * time.Second, 10 * time.Minute, 24 * time.Hour}[r.IntN(6)]
	}
	return t
}
