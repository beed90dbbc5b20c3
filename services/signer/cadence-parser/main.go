//go:build js && wasm

// Package main is the parser of Cadence 1.x as WebAssembly, so that the signer sees a script as the chain's
// own parser does. It gives JavaScript one function, countersignParseCadence(source) → JSON {"program": …} or
// {"error": …}.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall/js"
	"unicode"

	"github.com/onflow/cadence/ast"
	"github.com/onflow/cadence/parser"
)

// Limits of a script before the parser sees it. The parser recurses at each bracket.
const (
	maxBytes    = 64 * 1024
	maxBrackets = 100
)

// maxMessage is in characters: the parser's messages may quote the script.
const maxMessage = 160

// bracketsTooDeep counts in comments and texts as well: a bound, not a parser.
func bracketsTooDeep(source string) bool {
	depth := 0
	for i := range len(source) {
		switch source[i] {
		case '(', '[', '{':
			depth++
			if depth > maxBrackets {
				return true
			}
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return false
}

// failure returns an error without a tree: a partly parsed script counts as not parsed.
func failure(reason any) string {
	text, err := json.Marshal(map[string]string{"error": fmt.Sprint(reason)})
	if err != nil {
		return `{"error":"unknown"}`
	}
	return string(text)
}

// notCadence says where the script's first syntax error is, and what the parser expected there. Lines count
// from 1, columns from 0, as in the messages of Cadence's own tools.
func notCadence(err error) string {
	var parsed parser.Error
	if !errors.As(err, &parsed) {
		return "the script is not Cadence"
	}
	var first error
	var at ast.Position
	for _, each := range parsed.Errors {
		placed, ok := each.(ast.HasPosition)
		if ok && (first == nil || placed.StartPosition().Compare(at) < 0) {
			first, at = each, placed.StartPosition()
		}
	}
	if first == nil {
		return "the script is not Cadence"
	}
	return fmt.Sprintf("the script is not Cadence: line %d, column %d: %s", at.Line, at.Column, oneLine(first.Error()))
}

// oneLine cuts a message to maxMessage characters and replaces what is not printable.
func oneLine(message string) string {
	printable := strings.Map(func(character rune) rune {
		if unicode.IsPrint(character) && character != unicode.ReplacementChar {
			return character
		}
		return ' '
	}, message)
	characters := []rune(printable)
	if len(characters) <= maxMessage {
		return printable
	}
	return string(characters[:maxMessage]) + "…"
}

func parse(source string) (answer string) {
	defer func() {
		if reason := recover(); reason != nil {
			answer = failure(reason)
		}
	}()
	if len(source) > maxBytes {
		return failure("the script is too long")
	}
	if bracketsTooDeep(source) {
		return failure("the script is too deep")
	}
	program, err := parser.ParseProgram(nil, []byte(source), parser.Config{})
	if err != nil {
		return failure(notCadence(err))
	}
	return `{"program":` + string(encodeProgram(program)) + "}"
}

func main() {
	js.Global().Set("countersignParseCadence", js.FuncOf(func(_ js.Value, arguments []js.Value) any {
		return parse(arguments[0].String())
	}))
	select {}
}
