package convert_test

import (
	"fmt"
	"log"

	"github.com/bunting-flags/bunting/adapters/command/internal/convert"
)

// One flag of flagd is converted with all of its values. The other one has shares, which flagd
// selects by its own hash: it is left out, with the position and the reason.
func ExampleFind() {
	format, _ := convert.Find("flagd")
	result, err := format.Read([]convert.Input{{Name: "flags.json", Data: []byte(`{"flags": {
		"new-checkout": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off",
			"targeting": {"if": [{"==": [{"var": "plan"}, "pro"]}, "on", "off"]}},
		"color": {"state": "ENABLED", "variants": {"red": "red", "blue": "blue"}, "defaultVariant": "red",
			"targeting": {"fractional": [["red", 50], ["blue", 50]]}}}}`)}}, convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Converted)
	for _, omission := range result.Omissions {
		if omission.IsFlagOmitted {
			fmt.Println("left out:", omission.Flag, omission.Place)
		}
	}
	// Output:
	// [new-checkout]
	// left out: color targeting
}

// The result can be written as a document of flags, which bunting flags apply reads.
func ExampleResult_Document() {
	format, _ := convert.Find("gofeatureflag")
	result, err := format.Read([]convert.Input{{Name: "flags.yaml", Data: []byte("beta:\n  variations: {yes: true, no: false}\n  defaultRule: {variation: yes}\n")}}, convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	document, err := result.Document()
	fmt.Println(len(document) > 0, result.Converted, err)
	// Output: true [beta] <nil>
}
