package access

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"eruptcloud/app/fault"
)

// Page sizes of lists.
const (
	usualPage   = 20
	largestPage = 500
)

// pageOf turns a page number from 1 into offset and limit.
func pageOf(page, size int) (offset, limit int) {
	if size <= 0 {
		size = usualPage
	}
	size = min(size, largestPage)
	return (min(max(page, 1), 1<<30) - 1) * size, size
}

// codeRule is what a code of a role or menu is made of; menus of functions have an @ in theirs, roots a $.
var codeRule = regexp.MustCompile(`^[A-Za-z0-9_.$@-]{1,64}$`)

// isCode reports whether a new code is one. Dots alone are a step in an address, which browsers take out.
func isCode(code string) bool { return codeRule.MatchString(code) && strings.Trim(code, ".") != "" }

func checkNewUser(n NewUser) error {
	err := accountFault(n.Account)
	for name, text := range map[string]string{"name": n.Name, "phone": n.Phone, "email": n.Email} {
		err = textFault(err, name, text, 255)
	}
	err = addressesFault(err, n.AllowedIPs)
	return orNil(textFault(err, "remark", n.Remark, 2000))
}

func checkPatch(p UserPatch) error {
	var err *fault.Error
	for name, text := range map[string]*string{"name": p.Name, "phone": p.Phone, "email": p.Email} {
		if text != nil {
			err = textFault(err, name, *text, 255)
		}
	}
	if p.Name != nil && strings.TrimSpace(*p.Name) == "" {
		err = fieldFault(err, "name", "must not be empty")
	}
	if p.Remark != nil {
		err = textFault(err, "remark", *p.Remark, 2000)
	}
	if p.Avatar != nil {
		err = avatarFault(err, *p.Avatar)
	}
	if p.AllowedIPs != nil {
		err = addressesFault(err, *p.AllowedIPs)
	}
	return orNil(err)
}

// avatarFault adds a fault unless the picture is one that browsers load by http or https: it stands in pages of others.
func avatarFault(err *fault.Error, avatar string) *fault.Error {
	if avatar == "" {
		return err
	}
	at, bad := url.Parse(avatar)
	if bad != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || strings.ContainsAny(avatar, " \"'<>\\\n\r\t") {
		return fieldFault(err, "avatar", "needs the address of a picture that begins with https:// or http://")
	}
	return textFault(err, "avatar", avatar, 1023)
}

// accountFault checks an account: it stands in URLs, keys and logs.
func accountFault(account string) *fault.Error {
	if account == "" {
		return fieldFault(nil, "account", "is needed")
	}
	if utf8.RuneCountInString(account) > 64 {
		return fieldFault(nil, "account", "has more than 64 characters")
	}
	for _, r := range account {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-@+", r) {
			return fieldFault(nil, "account", "may hold letters, digits and . _ - @ + only")
		}
	}
	if strings.Trim(account, ".") == "" {
		return fieldFault(nil, "account", "must not consist of dots")
	}
	return nil
}

// addressesFault adds a fault if a line is neither an address nor a CIDR range: it would lock out whom it should let in.
func addressesFault(err *fault.Error, list string) *fault.Error {
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		_, one := netip.ParseAddr(line)
		_, many := netip.ParsePrefix(line)
		if line != "" && one != nil && many != nil {
			return fieldFault(err, "allowedIPs", "needs an address or a CIDR range in each line")
		}
	}
	return textFault(err, "allowedIPs", list, 2000)
}

// textFault adds a fault if text is too long for its column, no valid UTF-8 or holds control characters, those among them
// that turn the direction of writing: they make one name look like another.
func textFault(err *fault.Error, field, text string, limit int) *fault.Error {
	switch {
	case !utf8.ValidString(text):
		return fieldFault(err, field, "is not valid UTF-8")
	case utf8.RuneCountInString(text) > limit:
		return fieldFault(err, field, "has more than %d characters", limit)
	case strings.ContainsFunc(text, func(r rune) bool {
		return unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	}):
		return fieldFault(err, field, "holds control characters")
	}
	return err
}

// fieldFault adds what is wrong with one input to err, which may be nil.
func fieldFault(err *fault.Error, field, format string, args ...any) *fault.Error {
	if err == nil {
		err = fault.New(fault.Invalid, "some fields need correction")
	}
	return err.Field(field, format, args...)
}

// orNil avoids the nil pointer that is no nil error.
func orNil(err *fault.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// setText writes a text unless it is empty, which stays null as in erupt.
func setText[T any](text string, set func(string) T) {
	if text != "" {
		set(text)
	}
}

func setPatch[T any](text *string, set func(string) T) {
	if text != nil {
		set(*text)
	}
}

func orZero[T any](p *T) (zero T) {
	if p == nil {
		return zero
	}
	return *p
}
