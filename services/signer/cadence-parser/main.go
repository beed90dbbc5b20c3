//go:build js && wasm

// The parser of Cadence 1.x as WebAssembly: what the signer knows of a script is what the chain's own parser sees.
// Gives JavaScript one function, countersignParseCadence(source) → JSON {"program": …} or {"error": …}.
package main

import (
	"encoding/json"
	"fmt"
	"syscall/js"

	"github.com/onflow/cadence/parser"
)

// What a script may be before the parser sees it. It recurses where brackets do.
const (
	maxBytes    = 64 * 1024
	maxBrackets = 100
)

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

// failure never carries a tree: what was half understood is not understood.
func failure(reason any) string {
	text, err := json.Marshal(map[string]string{"error": fmt.Sprint(reason)})
	if err != nil {
		return `{"error":"unknown"}`
	}
	return string(text)
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
		return failure("the script is not Cadence")
	}
	return `{"program":` + string(encodeProgram(program)) + "}"
}

func main() {
	js.Global().Set("countersignParseCadence", js.FuncOf(func(_ js.Value, arguments []js.Value) any {
		return parse(arguments[0].String())
	}))
	select {}
}
