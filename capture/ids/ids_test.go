package ids

import (
	"testing"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Expected: the result of another program's uuid5 for the name in the namespace of DNS (RFC 9562,
// appendix A.4).
func TestOfName(t *testing.T) {
	dns, _ := wire.ParseUUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
	if got, want := OfName(dns, []byte("www.example.com")).String(), "2ed6657d-e927-568b-95e1-2665a8aea6a2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A random UUID has the version 4 and the variant of RFC 9562, and is another each time.
func TestRandom(t *testing.T) {
	first := Random()
	u, ok := wire.ParseUUID(first)
	if !ok || u[6]>>4 != 4 || u[8]>>6 != 2 || first == Random() {
		t.Errorf("%s", first)
	}
}
