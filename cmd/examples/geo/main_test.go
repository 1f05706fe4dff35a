package main

import (
	"strings"
	"testing"
)

// The expected locations are in testdata/geoip/source.json. A loopback address has no location, and
// an invalid address is an error.
func TestGeo(t *testing.T) {
	const city = "../../../testdata/geoip/city.mmdb"
	var out strings.Builder
	if err := locate(&out, city, "192.0.2.1", "192.0.2.65", "127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	if want := "192.0.2.1 Germany Berlin\n192.0.2.65 Switzerland Zurich\n127.0.0.1 not known\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	for _, bad := range []struct{ file, address string }{{"nowhere.mmdb", "192.0.2.1"}, {city, "192.0.2"}} {
		if err := locate(&out, bad.file, bad.address); err == nil {
			t.Error("no error for", bad)
		}
	}
}
