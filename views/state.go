package views

// StateKind is the state of a node or an instance as people see it.
type StateKind string

// The states. The first six are those of an instance, the rest are of nodes only.
const (
	StateUp       StateKind = "up"
	StateSlow     StateKind = "slow"
	StateProbing  StateKind = "probe"
	StateDown     StateKind = "down"
	StateDraining StateKind = "drain"
	StateHeld     StateKind = "held"
	StateOffline  StateKind = "off"
	StateDisabled StateKind = "disabled"
	StateNever    StateKind = "never"
)

// Class is the class that gives parts their colour.
func (k StateKind) Class() string {
	switch k {
	case StateDisabled, StateNever:
		return "is-off"
	}
	return "is-" + string(k)
}

// Icon is the name of its symbol.
func (k StateKind) Icon() string { return string(k) }

// Key is the key of its word.
func (k StateKind) Key() string { return "state." + string(k) }

// Dim reports whether a row of that state is drawn in grey: nothing is expected of it.
func (k StateKind) Dim() bool { return k == StateDisabled || k == StateNever }

// States are all of them, the worst first.
func States() []StateKind { return stateOrder }
