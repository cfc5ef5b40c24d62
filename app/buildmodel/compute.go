package buildmodel

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

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
