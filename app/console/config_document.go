package console

import (
	"encoding/json"
	"strings"
	"time"

	"eruptcloud/views"
)

// configDocument is a configuration for scripts (U80), with secrets masked for who may not change it.
type configDocument struct {
	Node      string             `json:"node,omitempty"`
	Group     string             `json:"group,omitempty"`
	Revision  int64              `json:"revision"`
	Config    json.RawMessage    `json:"config"` // null: none
	Effective []configDocKey     `json:"effective,omitempty"`
	History   []configDocHistory `json:"history"`
}

// configDocKey is a key of what a node gets, and where it comes from.
type configDocKey struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Masked bool   `json:"masked,omitempty"`
	Group  string `json:"group,omitempty"` // name; empty: the node itself
}

type configDocHistory struct {
	Revision int64     `json:"revision"`
	Created  time.Time `json:"created"`
	Author   string    `json:"author"`
	Address  string    `json:"address,omitempty"`
	Note     string    `json:"note"`
	Size     int       `json:"size"` // bytes
}

func configDocumentOf(m views.ConfigEditor) configDocument {
	d := configDocument{Node: m.Node.Name, Group: m.Group, Revision: m.Revision, Config: rawConfig(m.Text), History: []configDocHistory{}}
	for _, e := range m.Effective {
		d.Effective = append(d.Effective, configDocKey{e.Key, e.Value, e.Masked, e.Origin})
	}
	for _, r := range m.History {
		d.History = append(d.History, configDocRevision(r))
	}
	return d
}

func configDocRevision(r views.RevisionRow) configDocHistory {
	return configDocHistory{r.Number, r.Created.UTC(), r.Author, r.Address, r.Note, r.Size}
}

// rawConfig is a text as a JSON value. One from before anybody checked that is no JSON goes out as a string.
func rawConfig(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("null")
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage("null") // a string always marshals
	}
	return quoted
}

// compareDocument is a comparison of two revisions for scripts.
type compareDocument struct {
	From    configDocHistory `json:"from"`
	To      configDocHistory `json:"to"`
	Changed []string         `json:"changed"` // keys
	Old     json.RawMessage  `json:"old"`
	New     json.RawMessage  `json:"new"`
}

func compareDocumentOf(m views.ConfigCompare, old, new string) compareDocument {
	return compareDocument{
		From: configDocRevision(m.From), To: configDocRevision(m.To), Changed: append([]string{}, m.Changed...), Old: rawConfig(old), New: rawConfig(new),
	}
}
