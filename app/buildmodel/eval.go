package buildmodel

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Scope is what an expression may look at: the value it stands at, and the row.
type Scope struct {
	Value json.RawMessage
	Item  Row
}

// Value is the outcome of an expression: nil, bool, string, json.Number, []Value, or broken.
type Value struct{ v any }

// broken is what a script would throw or call NaN. It spoils everything made from it, but not a branch that is not taken.
type broken struct{}

func (v Value) isBroken() bool { _, ok := v.v.(broken); return ok }

// Text returns the value as JavaScript would put it into a text; null and undefined are empty.
func (v Value) Text() string {
	switch x := v.v.(type) {
	case string:
		return x
	case json.Number:
		return x.String()
	case bool:
		return strconv.FormatBool(x)
	case []Value:
		parts := make([]string, len(x))
		for i, e := range x {
			parts[i] = e.Text()
		}
		return strings.Join(parts, ",")
	}
	return ""
}

// Truth returns the value as a condition.
func (v Value) Truth() bool {
	switch x := v.v.(type) {
	case bool:
		return x
	case string:
		return x != ""
	case json.Number:
		f, err := x.Float64()
		return err != nil || f != 0
	}
	return v.v != nil
}

// Eval computes the subset of JavaScript that pages commonly use in ifExpr, template and dynamic: literals, value, item.x,
// comparison, && || !, parentheses, ?:, arithmetic, text joining, includes. ok is false for everything else, and then the
// caller falls back to the rule of erupt-wire 10.7: no script of a node is ever run.
func Eval(source string, in Scope) (v Value, ok bool) {
	if len(source) > maxSource {
		return Value{}, false
	}
	tokens, ok := scan(source)
	if !ok || len(tokens) == 0 {
		return Value{}, false
	}
	p := &parser{tokens: tokens, in: in}
	v = p.ternary(0)
	if p.failed || p.at < len(tokens) || v.isBroken() {
		return Value{}, false
	}
	return v, true
}

// Limits: longer or deeper expressions are not computed.
const (
	maxSource = 2000
	maxNest   = 40
	maxText   = 10000
)

// parser computes while it reads. Both branches of ?:, && and || are read, and computed, too: nothing has side effects.
type parser struct {
	tokens []token
	at     int
	in     Scope
	failed bool
}

func (p *parser) fail() Value {
	p.failed = true
	return Value{}
}

func (p *parser) peek() string {
	if p.at < len(p.tokens) && p.tokens[p.at].kind == punct {
		return p.tokens[p.at].text
	}
	return ""
}

// take consumes one of the operators and returns it, or "".
func (p *parser) take(ops ...string) string {
	next := p.peek()
	for _, op := range ops {
		if next == op && next != "" {
			p.at++
			return op
		}
	}
	return ""
}

func (p *parser) ternary(depth int) Value {
	if depth > maxNest {
		return p.fail()
	}
	cond := p.binary(0, depth+1)
	if p.take("?") == "" {
		return cond
	}
	yes := p.ternary(depth + 1)
	if p.take(":") == "" {
		return p.fail()
	}
	no := p.ternary(depth + 1)
	switch {
	case cond.isBroken():
		return cond
	case cond.Truth():
		return yes
	}
	return no
}

// levels are the binary operators from loose to tight.
var levels = [][]string{
	{"||"}, {"&&"}, {"===", "!==", "==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"},
}

func (p *parser) binary(level, depth int) Value {
	if level == len(levels) {
		return p.unary(depth)
	}
	left := p.binary(level+1, depth)
	for !p.failed {
		op := p.take(levels[level]...)
		if op == "" {
			break
		}
		left = apply(op, left, p.binary(level+1, depth))
	}
	return left
}

func (p *parser) unary(depth int) Value {
	if depth > maxNest || p.failed {
		return p.fail()
	}
	switch p.take("!", "-", "+") {
	case "!":
		if v := p.unary(depth + 1); !v.isBroken() {
			return Value{!v.Truth()}
		}
		return Value{broken{}}
	case "-":
		return apply("-", Value{json.Number("0")}, p.unary(depth+1))
	case "+":
		return apply("-", p.unary(depth+1), Value{json.Number("0")})
	}
	return p.postfix(p.primary(depth), depth)
}

// postfix handles .includes(x) and .length.
func (p *parser) postfix(v Value, depth int) Value {
	for !p.failed && p.take(".") != "" {
		switch p.word() {
		case "includes":
			if p.take("(") == "" {
				return p.fail()
			}
			arg := p.ternary(depth + 1)
			if p.take(")") == "" {
				return p.fail()
			}
			v = includes(v, arg)
		case "length":
			v = length(v)
		default:
			return p.fail()
		}
	}
	return v
}

func (p *parser) word() string {
	if p.at < len(p.tokens) && p.tokens[p.at].kind == name {
		p.at++
		return p.tokens[p.at-1].text
	}
	return ""
}

func (p *parser) primary(depth int) Value {
	if p.failed || p.at >= len(p.tokens) {
		return p.fail()
	}
	t := p.tokens[p.at]
	p.at++
	switch {
	case t.kind == text:
		return Value{t.text}
	case t.kind == number:
		return Value{json.Number(t.text)}
	case t.kind == name:
		return p.named(t.text)
	case t.text == "(":
		v := p.ternary(depth + 1)
		if p.take(")") == "" {
			return p.fail()
		}
		return v
	case t.text == "[":
		return p.array(depth)
	}
	return p.fail()
}

func (p *parser) array(depth int) Value {
	list := []Value{}
	for !p.failed && p.take("]") == "" {
		if len(list) > 0 && p.take(",") == "" {
			return p.fail()
		}
		list = append(list, p.ternary(depth+1))
	}
	return Value{list}
}

func (p *parser) named(word string) Value {
	switch word {
	case "true":
		return Value{true}
	case "false":
		return Value{false}
	case "null", "undefined":
		return Value{}
	case "value":
		return fromJSON(p.in.Value)
	case "item":
		if p.take(".") != "" {
			if key := p.word(); key != "" {
				return fromJSON(p.in.Item[key])
			}
		}
	}
	return p.fail()
}
