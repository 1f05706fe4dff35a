package plain_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/plain"
)

// Addresses that look like another one or have invisible parts are invalid.
func TestNormalizeEmail(t *testing.T) {
	for text, want := range map[string]string{
		"Ann@Example.com": "Ann@example.com", "owner@localhost": "owner@localhost", "jos\u00e9@example.com": "jos\u00e9@example.com",
		"ann\u200b@example.com": "", "ann@exam\u00adple.com": "", "\u202eann@example.com": "", "ann\u2060@example.com": "", "ann@example.com\ufeff": "",
		"\uff41nn@example.com": "", "ann\uff20example.com": "", "ann@example\uff0ecom": "", "ann@example\u3002com": "", "ann@exampl\ufe52com.com": "",
		"ann\u3164@example.com": "", "ann\u115f@example.com": "", "ann\u00a0@example.com": "", "ann\u3000@example.com": "", "ann\ufe0f@example.com": "",
		"ann\u034f@example.com": "", "ann\x00@example.com": "", "ann@example.com\n": "", "ann": "", "@example.com": "",
	} {
		if got, ok := plain.NormalizeEmail(text); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, ok, want)
		}
	}
}
