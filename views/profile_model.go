package views

import "strconv"

// LoginForm is the sign-in page.
type LoginForm struct {
	Fields
	Account string
	Next    string // where a login leads
	Ended   bool   // a session ended: say so
	Changed bool   // a new password was chosen: it is asked for now
	Fresh   bool   // nobody has ever logged in here
	Server  string // name of this installation, as its address says
	Reason  string // why a login failed: "wrong", "code", "busy", "refused"
	Captcha bool   // it takes the characters of a picture
	Mark    string // number of that picture
}

// LoginCode is the second step of a login.
type LoginCode struct {
	Ticket, Account, Next string
	Message               string // why the code was refused
}

// MFAPath is where somebody binds a second factor to his account.
const MFAPath = "/console/me/mfa"

// MFAPage is the second factor of one's own account.
type MFAPage struct {
	Fields
	Account   string
	On, Bound bool // it can be bound here; it is
	Left      int  // recovery codes
	Secret    string
	QRSize    int    // squares to a side
	QRPath    string // the dark ones
	Codes     []string
	Unbinding bool // the refused form is that of removing
	Said      string
}

// viewBox of the QR code: it needs four light squares around.
func (m MFAPage) viewBox() string {
	side := strconv.Itoa(m.QRSize + 8)
	return "-4 -4 " + side + " " + side
}

// MFACard is what the page of one's account says of the second factor.
type MFACard struct {
	Shown, On, Bound bool
	Left             int
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
	MFA                         MFACard
	Weak                        bool // passwords are kept in a form that can be guessed
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
