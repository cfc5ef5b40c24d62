package views

// LoginForm is the sign-in page.
type LoginForm struct {
	Fields
	Account string
	Next    string // where a login leads
	Ended   bool   // a session ended: say so
	Changed bool   // a new password was chosen: it is asked for now
	Fresh   bool   // nobody has ever logged in here
	Server  string // name of this installation, as its address says
	Reason  string // why a login failed: "wrong", "busy", "refused"
}

// MePage is the viewer's own account.
type MePage struct {
	Fields
	Account, Name, Phone, Email string
	Admin                       bool
	Roles                       []RoleChoice
	Rights                      []RightArea
	RightNotes                  []Say
	Sessions                    []SessionRow
	Zones                       []string
	Zone                        string
	Said                        string
}

// FirstPassword is where somebody chooses a password of his own before he goes on.
type FirstPassword struct {
	Fields
	Account, Next string
	Fresh         bool // the first account of a new installation
}

// deep reports whether the login leads to a page that somebody asked for.
func (m LoginForm) deep() bool { return m.Next != "" && m.Next != "/console/" && m.Next != "/console" }

// langNames are the languages in their own words, so that everybody finds his.
var langNames = map[string]string{"en": "English", "zh": "中文"}
