package storetest_test

import (
	"testing"

	"github.com/bunting-flags/bunting/adapters/storetest"
)

// store is your store; it implements the interfaces of the contracts.
type store struct {
	storetest.Backend
	storetest.DefinitionsStore
}

func newStore(testing.TB) store { return store{} }

// The tests of a store run the contracts of the interfaces that it implements. Each contract opens
// as many empty stores as it needs.
func Example() {
	contracts := func(t *testing.T) { // TestStore of your package
		storetest.Ledger(t, func(t testing.TB) storetest.Backend { return newStore(t) })
		storetest.Definitions(t, func(t testing.TB) storetest.DefinitionsStore { return newStore(t) })
	}
	_ = contracts
}
