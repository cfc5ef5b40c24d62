package buildmodel

import (
	"encoding/json"
	"math/big"
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

func fromJSON(raw json.RawMessage) Value {
	v, err := decode(orNull(raw))
	if err != nil {
		return Value{}
	}
	return wrap(v)
}

func wrap(v any) Value {
	switch x := v.(type) {
	case bool, string, json.Number:
		return Value{x}
	case []any:
		list := make([]Value, len(x))
		for i, e := range x {
			list[i] = wrap(e)
		}
		return Value{list}
	case map[string]any:
		return Value{string(rawOf(x))}
	}
	return Value{}
}

func includes(in, what Value) Value {
	if what.isBroken() {
		return what
	}
	switch x := in.v.(type) {
	case string:
		return Value{strings.Contains(x, what.Text())}
	case []Value:
		for _, e := range x {
			if same(e, what) {
				return Value{true}
			}
		}
		return Value{false}
	}
	return Value{broken{}}
}

func length(v Value) Value {
	switch x := v.v.(type) {
	case string:
		return Value{json.Number(strconv.Itoa(len([]rune(x))))}
	case []Value:
		return Value{json.Number(strconv.Itoa(len(x)))}
	}
	return Value{broken{}}
}

func apply(op string, a, b Value) Value {
	if a.isBroken() {
		return a
	}
	switch op {
	case "||":
		if a.Truth() {
			return a
		}
		return b
	case "&&":
		if a.Truth() {
			return b
		}
		return a
	}
	if b.isBroken() {
		return b
	}
	switch op {
	case "===", "==":
		return Value{same(a, b)}
	case "!==", "!=":
		return Value{!same(a, b)}
	case "<", ">", "<=", ">=":
		return compare(op, a, b)
	}
	if _, ok := a.v.(string); op == "+" && (ok || isText(b)) {
		joined := joinText(a) + joinText(b)
		if len(joined) > maxText {
			return Value{broken{}}
		}
		return Value{joined}
	}
	return arithmetic(op, a, b)
}

func isText(v Value) bool { _, ok := v.v.(string); return ok }

func joinText(v Value) string {
	if v.v == nil {
		return "null"
	}
	return v.Text()
}

// same compares as == does between a text and a number, too: nodes write numbers either way.
func same(a, b Value) bool {
	if a.v == nil || b.v == nil {
		return a.v == nil && b.v == nil
	}
	if a.Text() == b.Text() {
		return true
	}
	x, y := rational(a), rational(b)
	return x != nil && y != nil && !(isText(a) && isText(b)) && x.Cmp(y) == 0
}

func compare(op string, a, b Value) Value {
	sign := strings.Compare(a.Text(), b.Text())
	if !isText(a) || !isText(b) {
		x, y := rational(a), rational(b)
		if x == nil || y == nil {
			return Value{false}
		}
		sign = x.Cmp(y)
	}
	switch op {
	case "<":
		return Value{sign < 0}
	case ">":
		return Value{sign > 0}
	case "<=":
		return Value{sign <= 0}
	}
	return Value{sign >= 0}
}

// rational returns a value as an exact number, nil if it is none. Exponents are refused: they can be made enormous.
func rational(v Value) *big.Rat {
	t := v.Text()
	if b, ok := v.v.(bool); ok {
		if t = "0"; b {
			t = "1"
		}
	}
	if !isNumber(t) || len(t) > 60 || strings.ContainsAny(t, "eE") {
		return nil
	}
	r, ok := new(big.Rat).SetString(t)
	if !ok {
		return nil
	}
	return r
}

func arithmetic(op string, a, b Value) Value {
	x, y := rational(a), rational(b)
	if x == nil || y == nil {
		return Value{broken{}}
	}
	r := new(big.Rat)
	switch op {
	case "+":
		r.Add(x, y)
	case "-":
		r.Sub(x, y)
	case "*":
		r.Mul(x, y)
	case "/":
		if y.Sign() == 0 {
			return Value{broken{}}
		}
		r.Quo(x, y)
	case "%":
		if !x.IsInt() || !y.IsInt() || y.Sign() == 0 {
			return Value{broken{}}
		}
		r.SetInt(new(big.Int).Rem(x.Num(), y.Num()))
	}
	out := strings.TrimRight(strings.TrimRight(r.FloatString(10), "0"), ".")
	if r.IsInt() {
		out = r.Num().String()
	}
	if len(out) > 60 {
		return Value{broken{}}
	}
	return Value{json.Number(out)}
}
