package takeover

import (
	"crypto/md5"
	"crypto/sha512"
	"database/sql"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// Forms of passwords (erupt-wire 3.4).
const (
	formSHA512     = "SHA512 with salt"
	formSHA512Bare = "SHA512 without salt"
	formMD5        = "MD5"
	formPlain      = "plain text"
	formUnusable   = "unusable"
)

var (
	md5Hash    = regexp.MustCompile(`^[0-9a-f]{32}$`)
	sha512Hash = regexp.MustCompile(`^[0-9a-f]{128}$`)
)

// formOf tells how a password is kept. What no password can match is unusable on erupt, too.
func formOf(password, kind, salt string, isMD5 flag) string {
	switch {
	case password == "":
		return formUnusable
	case strings.EqualFold(kind, "SHA512"):
		if !sha512Hash.MatchString(password) {
			return formUnusable
		}
		if salt == "" {
			return formSHA512Bare
		}
		return formSHA512
	case !isMD5.known:
		return formUnusable
	case isMD5.set && md5Hash.MatchString(password):
		return formMD5
	case isMD5.set:
		return formUnusable
	}
	return formPlain
}

// opens reports whether a word opens a password of this form.
func opens(word, password, form, salt string) bool {
	switch form {
	case formSHA512, formSHA512Bare:
		sum := sha512.Sum512([]byte(word + salt))
		return hex.EncodeToString(sum[:]) == password
	case formMD5:
		sum := md5.Sum([]byte(word))
		return hex.EncodeToString(sum[:]) == password
	}
	return form == formPlain && word == password
}

const userTable = "e_upms_user"

// userNotes are accounts by what is to be said of them.
type userNotes struct {
	seen                                                            map[string]int
	double, nullStatus, locked, plain, unusable, odd, long, halfway []string
	admins                                                          int // that can log in
	factor                                                          int
	defaultOpen                                                     bool
}

func (q *reader) users() {
	c := func(name string) string { return q.column(userTable, name) }
	n := userNotes{seen: map[string]int{}}
	query := fmt.Sprintf("SELECT COALESCE(account, ''), COALESCE(%s, ''), status, is_admin, is_md5, COALESCE(password, ''), COALESCE(%s, ''), COALESCE(%s, ''), %s, %s IS NOT NULL AND %s <> '' FROM %s ORDER BY id LIMIT %d",
		c("name"), c("encrypt_type"), c("salt"), c("mfa_enabled"), c("mfa_secret"), c("mfa_secret"), userTable, maxRows)
	q.rows(query, func(rows *sql.Rows) error {
		var account, name, password, kind, salt string
		var status, admin, isMD5, factor flag
		var secret sql.NullBool
		if err := rows.Scan(&account, &name, &status, &admin, &isMD5, &password, &kind, &salt, &factor, &secret); err != nil {
			return err
		}
		form := formOf(password, kind, salt, isMD5)
		q.d.Passwords[form]++
		if admin.set {
			q.d.Admins++
		}
		n.note(account, name, form, status, admin, factor.set, secret.Bool)
		if account == "erupt" && status.set && opens("erupt", password, form, salt) {
			n.defaultOpen = true
		}
		return nil
	})
	q.d.SecondFactor = n.factor
	q.sayUsers(n)
}

func (n *userNotes) note(account, name, form string, status, admin flag, factor, secret bool) {
	folded := strings.ToLower(account)
	if n.seen[folded]++; n.seen[folded] == 2 {
		n.double = append(n.double, account)
	}
	switch {
	case !status.known:
		n.nullStatus = append(n.nullStatus, account)
	case !status.set:
		n.locked = append(n.locked, account)
	case admin.set && form != formUnusable:
		n.admins++
	}
	switch form {
	case formPlain:
		n.plain = append(n.plain, account)
	case formUnusable:
		n.unusable = append(n.unusable, account)
	}
	if unreadable(account) || unreadable(name) || account == "" {
		n.odd = append(n.odd, account)
	}
	if len([]rune(account)) > 64 {
		n.long = append(n.long, account)
	}
	if factor && secret {
		n.factor++
	} else if factor {
		n.halfway = append(n.halfway, account)
	}
}

func (q *reader) sayUsers(n userNotes) {
	for _, f := range []struct {
		level Level
		names []string
		text  string
	}{
		{Refused, n.double, "several rows have this account, or differ in case alone: nobody can tell whose password counts, so it cannot log in. Rename or delete all but one"},
		{Care, n.nullStatus, "status is null: the account counts as locked (a Java server answers 500)"},
		{Care, n.plain, "the password is kept in plain text; it works, and is kept as a hash once login.rehash is set and the user logs in"},
		{Care, n.unusable, "no password opens the account, on erupt neither: the hash is missing, in upper case or of unknown form. Set a new one"},
		{Care, n.odd, "account or name is empty or holds control characters: they have to be changed before the account can be saved here"},
		{Care, n.long, "the account is longer than 64 characters; it works and cannot be saved again as it is"},
		{Note, n.halfway, "a second factor was begun and never finished: it asks for none"},
		{Note, n.locked, "locked accounts stay locked"},
	} {
		if len(f.names) > 0 {
			q.r.add(f.level, "accounts", f.names, "%s", f.text)
		}
	}
	if n.defaultOpen {
		q.r.add(Care, "accounts", []string{"erupt"}, "the password erupt still opens the account erupt: this program refuses to listen on other than loopback addresses until it is changed")
	}
	if n.admins == 0 && q.err == nil {
		q.r.add(Care, "accounts", nil, "no administrator can log in: make one with eruptcloud admin create NAME")
	}
	if n.factor > 0 {
		q.r.add(Note, "accounts", nil, "second factors are asked for here, too: %s", count(n.factor, "account"))
	}
}

func (q *reader) roles() {
	if !q.has("e_upms_role") {
		return
	}
	var disabled, odd []string
	q.rows("SELECT COALESCE(code, ''), COALESCE("+q.column("e_upms_role", "name")+", ''), status FROM e_upms_role ORDER BY id", func(rows *sql.Rows) error {
		var code, name string
		var status flag
		if err := rows.Scan(&code, &name, &status); err != nil {
			return err
		}
		if !status.set {
			disabled = append(disabled, code)
		}
		if code == "" || unreadable(code) || unreadable(name) {
			odd = append(odd, code)
		}
		return nil
	})
	if len(disabled) > 0 {
		q.r.add(Note, "accounts", disabled, "disabled roles give nothing, here as there")
	}
	if len(odd) > 0 {
		q.r.add(Care, "accounts", odd, "roles without a code, or with control characters: they have to be changed before they can be saved here")
	}
}
