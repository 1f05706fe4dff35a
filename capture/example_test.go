package capture_test

import (
	"fmt"
	"log"

	"github.com/bunting-flags/bunting/capture"
)

// This example decodes a body of /batch/ in the form that SDKs send.
func ExampleDecode() {
	submission, err := capture.Decode(`{"api_key": "phc_example", "batch": [
		{"event": "order placed", "distinct_id": "ana", "properties": {"amount": 49}},
		{"event": "order paid", "distinct_id": "ana"}]}`, capture.DecodeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	token, err := submission.Token()
	fmt.Println(len(submission.Items), token, err)
	// Output: 2 phc_example <nil>
}

// Members are sorted, and values are not changed.
func ExampleParseObject() {
	object, err := capture.ParseObject(`{"b": 1.50, "a": [1, 2]}`)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range object {
		fmt.Println(m.Key, m.Value)
	}
	// Output:
	// a [1, 2]
	// b 1.50
}
