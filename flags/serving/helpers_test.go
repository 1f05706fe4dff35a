package serving_test

import (
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

func parse(t testing.TB, doc string) flags.Definitions {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
