package flagstest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/flagstest"
)

// columns is the code under test.
func columns(ctx context.Context, r flags.Reader, user string) int {
	if r.String(ctx, "layout", &flags.Subject{DistinctID: user}, "narrow") == "wide" {
		return 3
	}
	return 1
}

func Example() {
	t := &testing.T{} // your test has its own

	f := flagstest.New(t).Bool("search", true).Variant("layout", "wide")
	fmt.Println(columns(context.Background(), f.Reader(), "ana"))

	f.ForSubject("bob").Variant("layout", "narrow")
	fmt.Println(columns(context.Background(), f.Reader(), "bob"), f.Exposures())
	// Output:
	// 3
	// 1 [{layout ana wide} {layout bob narrow}]
}
