package convert_test

import (
	"fmt"
	"log"

	"github.com/bunting-flags/bunting/adapters/convert"
)

// A flag of flagd that keeps every answer, and one whose shares it decides by a hash
// of its own: that one is left out, with the place and the reason.
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

// What was converted is a document of flags as code, as bunting apply reads it.
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
