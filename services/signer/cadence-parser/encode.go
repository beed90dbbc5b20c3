package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/onflow/cadence/ast"
	"github.com/onflow/cadence/common"
)

// maxDepth bounds what walks the tree afterwards; honest scripts stay below 60.
const maxDepth = 200

// maxNodes bounds the work that a script can cause; ordinary scripts have a few hundred.
const maxNodes = 5_000

// Fields that only repeat what is elsewhere in the tree, or memoize it.
var memos = map[string]bool{
	"ParameterList.parametersByIdentifier":         true,
	"TypeParameterList.typeParametersByIdentifier": true,
}

var (
	positionType   = reflect.TypeOf(ast.Position{})
	rangeType      = reflect.TypeOf(ast.Range{})
	identifierType = reflect.TypeOf(ast.Identifier{})
	bytesType      = reflect.TypeOf([]byte{})
)

type encoder struct {
	out   []byte
	depth int
	nodes int
}

// encodeProgram writes the tree as JSON objects {"node": <Go type>, "at": "line:column", …children}, without
// empty values, comments and end positions. It uses reflection, so that no child can be forgotten: a kind
// that it does not know makes it panic.
func encodeProgram(program *ast.Program) []byte {
	e := &encoder{}
	e.raw(`{"node":"Program","Declarations":`)
	e.declarations(program.Declarations())
	e.raw("}")
	return e.out
}

func (e *encoder) raw(text string) { e.out = append(e.out, text...) }

func (e *encoder) string(text string) {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	e.out = append(e.out, quoted...)
}

func (e *encoder) declarations(declarations []ast.Declaration) {
	e.raw("[")
	for i, declaration := range declarations {
		if i > 0 {
			e.raw(",")
		}
		e.value(reflect.ValueOf(declaration))
	}
	e.raw("]")
}

func (e *encoder) value(v reflect.Value) {
	e.depth++
	if e.depth > maxDepth {
		panic("the script is too deep")
	}
	defer func() { e.depth-- }()

	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if members, ok := v.Interface().(*ast.Members); ok {
			e.declarations(members.Declarations())
			return
		}
		e.value(v.Elem())
	case reflect.Struct:
		e.structure(v)
	case reflect.Slice, reflect.Array:
		e.raw("[")
		for i := range v.Len() {
			if i > 0 {
				e.raw(",")
			}
			if nothing(v.Index(i)) {
				e.raw("null")
			} else {
				e.value(v.Index(i))
			}
		}
		e.raw("]")
	case reflect.String:
		e.string(v.String())
	case reflect.Bool:
		e.raw(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if named, ok := v.Interface().(fmt.Stringer); ok {
			e.string(named.String())
		} else {
			e.raw(fmt.Sprint(v.Interface()))
		}
	default:
		panic("unknown syntax: " + v.Type().String())
	}
}

func (e *encoder) structure(v reflect.Value) {
	switch node := v.Interface().(type) {
	case ast.Identifier:
		e.string(node.Identifier)
		return
	case common.AddressLocation:
		e.raw(`{"node":"AddressLocation","address":`)
		e.string(hex.EncodeToString(node.Address.Bytes()))
		e.raw("}")
		return
	}
	e.nodes++
	if e.nodes > maxNodes {
		panic("the script is too large")
	}
	t := v.Type()
	e.raw(`{"node":`)
	e.string(t.Name())
	if at, ok := position(v); ok {
		e.raw(fmt.Sprintf(`,"at":"%d:%d"`, at.Line, at.Column))
	}
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() {
			if !memos[t.Name()+"."+field.Name] {
				panic("unknown syntax: " + t.Name() + "." + field.Name)
			}
			continue
		}
		if skipped(field) || nothing(v.Field(i)) {
			continue
		}
		e.raw(",")
		e.string(field.Name)
		e.raw(":")
		e.value(v.Field(i))
	}
	e.raw("}")
}

// position returns a node's own position: asking its first child, which asks its own, would recurse as deep
// as an attacker likes.
func position(v reflect.Value) (ast.Position, bool) {
	for _, name := range []string{"StartPos", "Pos", "Range", "Identifier"} {
		field := v.FieldByName(name)
		if !field.IsValid() {
			continue
		}
		switch own := field.Interface().(type) {
		case ast.Position:
			return own, true
		case ast.Range:
			return own.StartPos, true
		case ast.Identifier:
			return own.Pos, true
		}
	}
	return ast.Position{}, false
}

// skipped: positions, comments, digits of numbers, and links back to parents.
func skipped(field reflect.StructField) bool {
	t := field.Type
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t == positionType || t == rangeType || t == bytesType || field.Tag.Get("json") == "-" || field.Name == "DocString"
}

// nothing: absent children, empty lists and texts, false.
func nothing(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return v.IsNil() || (v.Kind() == reflect.Interface && nothing(v.Elem()))
	case reflect.Slice:
		return v.Len() == 0
	case reflect.String:
		return v.Len() == 0
	case reflect.Bool:
		return !v.Bool()
	case reflect.Struct:
		return v.Type() == identifierType && v.Interface().(ast.Identifier).Identifier == ""
	}
	return false
}
