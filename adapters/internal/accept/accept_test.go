package accept_test

import (
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/accept"
)

// RFC 9110 §12.5.3: a coding is accepted if it is listed, and not with a weight of 0.
func TestGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.000, *": false, "x-gzip": false, "br": false, "": false,
	} {
		if got := accept.Gzip([]string{header}); got != want {
			t.Errorf("%q: %t, want %t", header, got, want)
		}
	}
	if !accept.Gzip([]string{"br", "gzip"}) {
		t.Error("a second header is not read")
	}
}

// RFC 9110 §12.4.2: the weight of a value is 1 by default.
func TestWeights(t *testing.T) {
	got := map[string]float64{}
	for value, weight := range accept.Weights([]string{"de-AT, de;q=0.9", "en; q=0.8, fr;q=much"}) {
		got[value] = weight
	}
	for value, want := range map[string]float64{"de-AT": 1, "de": 0.9, "en": 0.8, "fr": 1} {
		if got[value] != want {
			t.Errorf("%s: %v, want %v", value, got[value], want)
		}
	}
	for range accept.Weights([]string{"a, b"}) {
		break // stops without a panic
	}
}
