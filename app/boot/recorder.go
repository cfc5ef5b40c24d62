package boot

import (
	"encoding/json"
	"strings"

	"eruptcloud/app/access"
	"eruptcloud/proxy"
)

// auditTrail keeps entries without blocking.
type auditTrail interface{ Record(access.Entry) }

// recorder turns forwarded requests into rows of the audit trail: everything that changes something on a node or takes data
// away from it, and every refusal of a node. It implements proxy.Recorder.
type recorder struct{ audit auditTrail }

// operations are erupt's names for what a function does (erupt-wire 6.8).
var operations = map[proxy.Function]string{
	proxy.Add: "INSERT", proxy.Edit: "UPDATE", proxy.Delete: "DELETE", proxy.Export: "Export Excel",
	proxy.Importable: "Import Excel", proxy.AddOrEdit: "FORM-VIEW",
}

// Record implements proxy.Recorder.
func (r *recorder) Record(e proxy.Entry) {
	if !e.Wish.Write && e.Wish.Function != proxy.Export && e.Status < 400 {
		return
	}
	subject := e.Wish.Node
	if e.Wish.Erupt != "" {
		subject += "." + e.Wish.Erupt
	}
	if e.Wish.Template != "" {
		subject += " " + e.Wish.Template
	}
	action, ok := operations[e.Wish.Function]
	if !ok {
		action = strings.ToUpper(e.Method)
	}
	entry := access.Entry{
		At: e.At, User: e.User.Name, Account: e.User.Account, Address: e.Address,
		Action: action + " | " + subject, Subject: e.Wish.Node, Method: e.Method, URL: e.Path,
		OK: e.Status == 200, Error: e.Error, Took: e.Took, RequestID: e.RequestID,
	}
	if json.Valid(e.Params) {
		entry.Params = e.Params
	}
	r.audit.Record(entry)
}
