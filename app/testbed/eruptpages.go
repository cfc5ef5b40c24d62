package testbed

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mask stands in every answer for a password that is stored.
const mask = "••••••"

// eruptRow is a customer.
type eruptRow struct {
	ID     int64
	Name   string
	Level  string // V, S or none
	Active *bool
	Secret *string
	Big    int64
	Since  string // yyyy-MM-ddTHH:mm:ss
}

// add stores a row under the next key; n.mu is held or nobody else has n yet.
func (n *EruptNode) add(r eruptRow) {
	n.next++
	r.ID = n.next
	n.rows = append(n.rows, r)
}

// find returns the place of a row, -1 if there is none; n.mu is held.
func (n *EruptNode) find(id int64) int {
	for i, r := range n.rows {
		if r.ID == id {
			return i
		}
	}
	return -1
}

// serveErupt answers below /erupt-api after the checks that a node makes (erupt-wire 2.6).
func (n *EruptNode) serveErupt(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.inFlight++
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.inFlight--
		close(n.done)
		n.done = make(chan struct{})
	}()
	erupt := r.Header.Get("erupt")
	switch {
	case erupt != "" && !strings.EqualFold(erupt, "Customer") && !strings.EqualFold(erupt, "PriceForm"):
		w.WriteHeader(http.StatusNotFound)
		return
	case n.gen >= 21 && r.Header.Get("Origin") != "":
		w.WriteHeader(http.StatusForbidden)
		return
	case r.Header.Get("Access-Token") != n.token:
		n.fails(w, r, "AccessToken incorrect")
		return
	}
	if err := n.user(r.Header.Get("user")); err != nil {
		n.fails(w, r, err.Error())
		return
	}
	if n.gen == 20 {
		w.Header().Set("Access-Control-Allow-Origin", "255.255.255.255")
	}
	n.answer(w, r, strings.Split(strings.TrimPrefix(r.URL.Path, "/erupt-api/"), "/"))
}

// user reads the header of that name: up to 2.1 with a decoder that takes much, from 2.2 on with one that takes nothing but
// padded standard base64 without blanks.
func (n *EruptNode) user(header string) error {
	if header == "" {
		return nil
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(header)
	if n.gen < 22 {
		easy := strings.NewReplacer("-", "+", "_", "/", "=", "", " ", "").Replace(header)
		raw, err = base64.RawStdEncoding.DecodeString(easy)
	} else if strings.ContainsAny(header, "\r\n") { // Go skips them
		err = base64.CorruptInputError(0)
	}
	if err != nil {
		return fmt.Errorf("illegal base64 character: %w", err)
	}
	var user struct {
		UID           *int64
		Account, Name *string
	}
	if err := json.Unmarshal(raw, &user); err != nil || user.UID == nil || user.Account == nil || user.Name == nil {
		return fmt.Errorf("the user is %s", raw)
	}
	return nil
}

// answer finds the endpoint and the power that it needs.
func (n *EruptNode) answer(w http.ResponseWriter, r *http.Request, path []string) {
	at := func(words ...string) bool {
		if len(words) != len(path) {
			return false
		}
		for i, word := range words {
			switch word {
			case "{e}":
				if !strings.EqualFold(path[i], "Customer") {
					return false
				}
			case "{id}":
			default:
				if word != path[i] {
					return false
				}
			}
		}
		return true
	}
	read, write := r.Method == http.MethodGet, r.Method == http.MethodPost
	switch {
	case read && at("tool", "erupt-log"):
		n.logLines(w, r)
	case read && at("build", "{e}"):
		n.may(w, r, "", func(power func(string) bool) { writeJSON(w, n.build(power)) })
	case read && at("data", "init-value", "{e}"):
		writeJSON(w, map[string]any{"active": true, "level": "S"})
	case write && at("data", "table", "{e}"):
		n.may(w, r, "", func(func(string) bool) { n.table(w, r) })
	case read && at("data", "{e}", "{id}"):
		n.may(w, r, "", func(func(string) bool) { n.detail(w, r, path[2]) })
	case write && at("data", "modify", "{e}"):
		n.may(w, r, "add", func(func(string) bool) { n.insert(w, r) })
	case write && at("data", "modify", "{e}", "update"):
		n.may(w, r, "edit", func(func(string) bool) { n.update(w, r) })
	case write && at("data", "modify", "{e}", "delete"):
		n.may(w, r, "delete", func(func(string) bool) { n.remove(w, r) })
	case read && at("comp", "choice-item", "{e}", "{id}"), write && at("comp", "choice-item-filter", "{e}", "{id}"):
		writeJSON(w, levels)
	case write && at("data", "{e}", "operator", "block"):
		n.mu.Lock()
		blocked := n.blocked
		n.mu.Unlock()
		select {
		case <-blocked:
			n.done200(w)
		case <-r.Context().Done():
		}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// may asks the server for the power of the session and goes on if it has the flag.
func (n *EruptNode) may(w http.ResponseWriter, r *http.Request, flag string, then func(power func(string) bool)) {
	power, err := n.power(r.Header.Get("token"), r.Header.Get("erupt"))
	switch {
	case err != nil:
		n.fails(w, r, err.Error())
	case flag != "" && !power(flag):
		n.fails(w, r, "Insufficient permissions. This operation will be recorded !")
	default:
		then(power)
	}
}

func (n *EruptNode) logLines(w http.ResponseWriter, r *http.Request) {
	size, err := strconv.Atoi(r.URL.Query().Get("size"))
	if err != nil {
		size = 1000
	}
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	type line struct {
		Content string `json:"content"`
		Num     int    `json:"num"`
	}
	lines := []line{}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, content := range n.log {
		// The offset is inclusive, and one line more than asked comes; the newest alone is nothing new.
		if num := i + 1; num >= offset && offset != len(n.log) && len(lines) <= size {
			lines = append(lines, line{content, num})
		}
	}
	writeJSON(w, lines)
}

// done200 is R without data.
func (n *EruptNode) done200(w http.ResponseWriter) {
	writeText(w, http.StatusOK, `{"data":null,"message":null,"success":true,"status":"SUCCESS","promptWay":"MESSAGE"}`)
}

// refuses is R with a reason.
func (n *EruptNode) refuses(w http.ResponseWriter, message string) {
	raw, _ := json.Marshal(message)
	writeText(w, http.StatusOK, `{"data":null,"message":`+string(raw)+`,"success":false,"status":"ERROR","promptWay":"MESSAGE"}`)
}

// fails is the object of an exception (erupt-wire 1.8).
func (n *EruptNode) fails(w http.ResponseWriter, r *http.Request, message string) {
	raw, _ := json.Marshal(map[string]any{
		"timestamp": time.Now().Format("2006-01-02T15:04:05.000"), "path": r.URL.Path, "status": 500, "error": "erupt exception", "message": message,
	})
	w.Header().Set("Connection", "close")
	writeText(w, http.StatusInternalServerError, string(raw))
}

func writeJSON(w http.ResponseWriter, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of this file only
	}
	writeText(w, http.StatusOK, string(raw))
}

func writeText(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}
