// Package storetest says what the ports promise, as tests that every store has to
// pass. A function a contract; each takes a function that opens an empty store.
package storetest

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

// Backend is what Ledger asks for: the ledger, and what reads it back.
type Backend interface {
	capture.Ledger
	capture.History
	capture.UsageReader
}

// equal wants two values to be equal; what says which ones they are.
func equal(t testing.TB, want, got any, what string, args ...any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprintf(what, args...), diff)
	}
}

// must ends a test that cannot go on.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
