package main

import (
	"testing"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/flagstest"
)

func TestPrice(t *testing.T) {
	f := flagstest.New(t).Bool("sale", true).Payload("sale-share", 0.5) // setup
	f.ForSubject("bob").Bool("sale", false)                             // setup
	for id, want := range map[string]float64{"ana": 500, "bob": 1000} {
		if got := price(t.Context(), f.Reader(), &flags.Subject{DistinctID: id}); got != want {
			t.Errorf("%s pays %v, want %v", id, got, want)
		}
	}
}
