package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// change is a place in a JSON document: either something to do there, or members to look into. "*" stands for all members
// of an object or all elements of a list.
type change struct {
	do      func(value json.RawMessage, node string) json.RawMessage
	members map[string]*change
}

// prefixed and hushed are the places of erupt-wire 2.8.
var buildChanges = changes(map[string]func(json.RawMessage, string) json.RawMessage{
	"eruptModel.eruptName":                           withNode,
	"eruptModel.eruptJson.drills.*.link.linkErupt":   withNode,
	"operationErupts.*.eruptName":                    withNode,
	"tabErupts.*.eruptModel.eruptName":               withNode,
	"combineErupts.*.eruptName":                      withNode,
	"power.comment":                                  never,
	"eruptModel.eruptJson.power.comment":             never,
	"tabErupts.*.power.comment":                      never,
	"tabErupts.*.eruptModel.eruptJson.power.comment": never,
})

func changes(places map[string]func(json.RawMessage, string) json.RawMessage) *change {
	root := &change{}
	for place, do := range places {
		at := root
		for step := range strings.SplitSeq(place, ".") {
			if at.members == nil {
				at.members = map[string]*change{}
			}
			if at.members[step] == nil {
				at.members[step] = &change{}
			}
			at = at.members[step]
		}
		at.do = do
	}
	return root
}

// withNode puts the node before an erupt name. What is no text stays as it is.
func withNode(value json.RawMessage, node string) json.RawMessage {
	var name string
	if json.Unmarshal(value, &name) != nil || name == "" || value[0] != '"' {
		return value
	}
	return appendText(nil, node+"."+name)
}

// never answers a power that the server does not offer: comments on records stay with the server, and ours has none.
func never(json.RawMessage, string) json.RawMessage { return json.RawMessage("false") }

// PrefixBuild returns a build model with the node's name before the erupt names, as the browser needs it. Keys that are
// not known here stay, and so does the text of every number; only the order of keys may change.
func PrefixBuild(model []byte, node string) ([]byte, error) {
	model = bytes.Trim(model, " \t\r\n")
	if !json.Valid(model) {
		return nil, fmt.Errorf("the answer is no JSON")
	}
	return apply(model, buildChanges, node)
}

func apply(value json.RawMessage, c *change, node string) (json.RawMessage, error) {
	if c.do != nil {
		return c.do(value, node), nil
	}
	switch value[0] {
	case '{':
		return applyObject(value, c, node)
	case '[':
		return applyList(value, c, node)
	}
	return value, nil // null, or a shape of another version
}

func applyObject(value json.RawMessage, c *change, node string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return nil, err
	}
	for key, member := range members {
		next := c.members[key]
		if next == nil {
			next = c.members["*"]
		}
		if next == nil {
			continue
		}
		changed, err := apply(member, next, node)
		if err != nil {
			return nil, err
		}
		members[key] = changed
	}
	return encode(members)
}

func applyList(value json.RawMessage, c *change, node string) (json.RawMessage, error) {
	next := c.members["*"]
	if next == nil {
		return value, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return nil, err
	}
	for i := range list {
		changed, err := apply(list[i], next, node)
		if err != nil {
			return nil, err
		}
		list[i] = changed
	}
	return encode(list)
}

// encode writes JSON without changing the texts inside.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
