package registry

import "time"

// Pace notices that a periodic loop lost time: this process was stopped, the machine slept, or the clock jumped. Then
// leases look old and answers late through no fault of the nodes, and whoever would remove something waits first.
type Pace struct {
	Interval time.Duration
	Now      func() time.Time // the clock that leases are compared with

	wall, mono time.Time
}

// Lost is called once a round. It reports whether more than two intervals went by since the last call, or the clock and
// the monotonic time disagree by as much. The first call only starts the count.
func (p *Pace) Lost() bool {
	wall, mono := p.Now().Round(0), time.Now()
	first := p.mono.IsZero()
	passed, ticked := wall.Sub(p.wall), mono.Sub(p.mono)
	p.wall, p.mono = wall, mono
	if first {
		return false
	}
	return ticked > 2*p.Interval || (passed-ticked).Abs() > 2*p.Interval
}
