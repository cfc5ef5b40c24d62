package takeover

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Bounds of what is read of a serialized object: it comes from a store that others write.
const (
	serialBytes   = 4 << 20
	serialDepth   = 64
	serialHandles = 200_000
)

// The marks of the Java object serialization stream protocol, version 5.
const (
	tcNull           = 0x70
	tcReference      = 0x71
	tcClassDesc      = 0x72
	tcObject         = 0x73
	tcString         = 0x74
	tcArray          = 0x75
	tcBlockData      = 0x77
	tcEndBlockData   = 0x78
	tcBlockDataLong  = 0x7A
	tcLongString     = 0x7C
	tcEnum           = 0x7E
	scWriteMethod    = 0x01
	scSerializable   = 0x02
	serialBaseHandle = 0x7E0000
)

var errSerial = errors.New("it is no serialized Java object that can be read")

// javaObject is an object as it was written: its fields, those of its superclasses too, and what its class wrote beside them.
type javaObject struct {
	class  string
	fields map[string]any
	extra  []any // of collections: their elements
}

// javaClass describes a class; no class is ever loaded.
type javaClass struct {
	name   string
	flags  byte
	fields []javaField
	super  *javaClass
}

type javaField struct {
	name string
	kind byte
}

// readSerialized reads one object. Values are nil, string, int64, float64, bool, []any and *javaObject. Whatever the bytes are,
// it ends soon and takes memory in proportion to them.
func readSerialized(b []byte) (obj *javaObject, err error) {
	if len(b) > serialBytes {
		return nil, fmt.Errorf("%w: it is larger than %d bytes", errSerial, serialBytes)
	}
	r := &serialReader{b: b}
	if r.uint16() != 0xACED || r.uint16() != 5 {
		return nil, errSerial
	}
	v := r.content(0)
	if r.bad {
		return nil, fmt.Errorf("%w: it breaks off or is damaged at byte %d", errSerial, r.at)
	}
	obj, ok := v.(*javaObject)
	if !ok {
		return nil, errSerial
	}
	return obj, nil
}

// serialReader remembers its first error; after it every read gives zero values.
type serialReader struct {
	b       []byte
	at      int
	bad     bool
	handles []any
}

func (r *serialReader) fail() any { r.bad = true; return nil }

func (r *serialReader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b)-r.at {
		r.bad = true
		return nil
	}
	out := r.b[r.at : r.at+n]
	r.at += n
	return out
}

func (r *serialReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *serialReader) uint16() int {
	if b := r.take(2); b != nil {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *serialReader) uint32() int {
	if b := r.take(4); b != nil {
		return int(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *serialReader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *serialReader) utf() string { return string(r.take(r.uint16())) }

// keep gives a value its handle and returns the index under which it can be replaced.
func (r *serialReader) keep(v any) int {
	if len(r.handles) >= serialHandles {
		r.bad = true
		return 0
	}
	r.handles = append(r.handles, v)
	return len(r.handles) - 1
}

func (r *serialReader) reference() any {
	i := r.uint32() - serialBaseHandle
	if r.bad || i < 0 || i >= len(r.handles) {
		return r.fail()
	}
	return r.handles[i]
}

// blockData marks primitive data of a class's own.
type blockData struct{}

// endOfBlock marks the end of what a class wrote.
type endOfBlock struct{}

func (r *serialReader) content(depth int) any {
	if depth > serialDepth || r.bad {
		return r.fail()
	}
	switch mark := r.byte(); mark {
	case tcNull:
		return nil
	case tcReference:
		return r.reference()
	case tcObject:
		return r.object(depth)
	case tcString:
		s := r.utf()
		r.keep(s)
		return s
	case tcLongString:
		n := r.uint64()
		if n > serialBytes {
			return r.fail()
		}
		s := string(r.take(int(n)))
		r.keep(s)
		return s
	case tcArray:
		return r.array(depth)
	case tcEnum:
		r.classDesc(depth + 1)
		i := r.keep(nil)
		name := r.content(depth + 1)
		if !r.bad {
			r.handles[i] = name
		}
		return name
	case tcBlockData:
		r.take(int(r.byte()))
		return blockData{}
	case tcBlockDataLong:
		r.take(r.uint32())
		return blockData{}
	case tcEndBlockData:
		return endOfBlock{}
	}
	return r.fail()
}

func (r *serialReader) classDesc(depth int) *javaClass {
	if depth > serialDepth || r.bad {
		r.bad = true
		return nil
	}
	switch r.byte() {
	case tcNull:
		return nil
	case tcReference:
		c, ok := r.reference().(*javaClass)
		if !ok {
			r.bad = true
		}
		return c
	case tcClassDesc:
	default: // a proxy's, which no entry holds
		r.bad = true
		return nil
	}
	c := &javaClass{name: r.utf()}
	r.uint64() // serialVersionUID
	r.keep(c)
	c.flags = r.byte()
	for n := r.uint16(); n > 0 && !r.bad; n-- {
		f := javaField{kind: r.byte(), name: r.utf()}
		if f.kind == 'L' || f.kind == '[' {
			r.content(depth + 1) // the name of its type
		}
		c.fields = append(c.fields, f)
	}
	r.annotation(depth)
	c.super = r.classDesc(depth + 1)
	return c
}

// annotation reads what a class wrote beside its fields.
func (r *serialReader) annotation(depth int) []any {
	var out []any
	for !r.bad {
		switch v := r.content(depth + 1).(type) {
		case endOfBlock:
			return out
		case blockData:
		default:
			out = append(out, v)
		}
	}
	return nil
}

func (r *serialReader) object(depth int) any {
	c := r.classDesc(depth + 1)
	if c == nil {
		return r.fail()
	}
	out := &javaObject{class: c.name, fields: map[string]any{}}
	r.keep(out)
	var chain []*javaClass
	for ; c != nil; c = c.super {
		if len(chain) > serialDepth {
			return r.fail()
		}
		chain = append(chain, c)
	}
	for i := len(chain) - 1; i >= 0 && !r.bad; i-- { // the topmost class was written first
		c := chain[i]
		if c.flags&scSerializable == 0 {
			return r.fail()
		}
		for _, f := range c.fields {
			out.fields[f.name] = r.value(f.kind, depth)
		}
		if c.flags&scWriteMethod != 0 {
			out.extra = append(out.extra, r.annotation(depth)...)
		}
	}
	return out
}

func (r *serialReader) array(depth int) any {
	c := r.classDesc(depth + 1)
	if c == nil || len(c.name) < 2 {
		return r.fail()
	}
	i := r.keep(nil)
	n := r.uint32()
	if n > len(r.b)-r.at { // each element takes a byte at least
		return r.fail()
	}
	out := make([]any, 0, min(n, 1024))
	for ; n > 0 && !r.bad; n-- {
		out = append(out, r.value(c.name[1], depth))
	}
	if !r.bad {
		r.handles[i] = out
	}
	return out
}

func (r *serialReader) value(kind byte, depth int) any {
	switch kind {
	case 'B':
		return int64(int8(r.byte()))
	case 'Z':
		return r.byte() != 0
	case 'C':
		return int64(r.uint16())
	case 'S':
		return int64(int16(r.uint16()))
	case 'I':
		return int64(int32(r.uint32()))
	case 'J':
		return int64(r.uint64())
	case 'F':
		return float64(math.Float32frombits(uint32(r.uint32())))
	case 'D':
		return math.Float64frombits(r.uint64())
	case 'L', '[':
		switch v := r.content(depth + 1).(type) {
		case blockData, endOfBlock:
			return r.fail()
		default:
			return v
		}
	}
	return r.fail()
}

// texts returns the strings of an array or collection.
func texts(v any) []string {
	var list []any
	switch v := v.(type) {
	case []any:
		list = v
	case *javaObject:
		list = v.extra
	}
	var out []string
	for _, one := range list {
		if s, ok := one.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
