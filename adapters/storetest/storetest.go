// Package storetest contains tests for the storage interfaces of flags, capture and
// management, which every implementation must pass. Each exported function tests one
// contract and takes a function that opens an empty store.
package storetest

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

// Backend is the store for Ledger: the ledger, and the interface that reads its
// contents.
type Backend interface {
	capture.Ledger
	capture.History
	capture.UsageReader
}

// equal checks that two values are equal; what describes them in the error.
func equal(t testing.TB, want, got any, what string, args ...any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprintf(what, args...), diff)
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
