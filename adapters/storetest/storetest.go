// Package storetest says what the ports promise, as tests that every store has to
// pass. A function a contract; each takes a function that opens an empty store.
package storetest

import (
	"github.com/bunting-flags/bunting/capture"
)

// Backend is what Ledger asks for: the ledger, and what reads it back.
type Backend interface {
	capture.Ledger
	capture.History
	capture.UsageReader
}
