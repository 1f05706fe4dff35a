package flagsdiff_test

import (
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/flagsdiff"
	"github.com/bunting-flags/bunting/flags"
)

// The example shows the change of a flag for a user and its cause in the definitions.
func ExampleDiff_Compare() {
	compile := func(rollout int) *flags.Set {
		d, err := flags.ParseDefinitions(fmt.Appendf(nil,
			`{"flags": [{"id": 1, "key": "beta-search", "active": true, "filters": {"groups": [{"rollout_percentage": %d}]}}]}`, rollout))
		if err != nil {
			panic(err)
		}
		return flags.Compile(d)
	}
	diff := flagsdiff.New(compile(0), compile(100), flagsdiff.Options{})
	for _, change := range diff.Compare(&flags.Subject{DistinctID: "user-61"}, time.Now()) {
		fmt.Println(change.Key, change.Before.Value, "->", change.After.Value, change.Why.Cause)
	}
	// Output:
	// beta-search false -> true rollout
}
