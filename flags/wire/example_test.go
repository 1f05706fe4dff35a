package wire_test

import (
	"fmt"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Strings are written without the escapes for HTML of encoding/json.
func ExampleAppendQuoted() {
	fmt.Println(string(wire.AppendQuoted(nil, "<b>\n")))
	// Output: "<b>\n"
}
