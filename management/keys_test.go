package management_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management"
)

// The hash and the masks are those of spec/management.md §1.3.
func TestManagement_1_3_Hash(t *testing.T) {
	if got, want := management.HashKey("test_key_12345"), "sha256$45af89b510a3279a817f851de5d3f95b73485d58ec2672a39e52d8aeeb014059"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for key, want := range map[string]string{"phx_0123456789abcd": "phx_...abcd", "phx_demo": "********", "": "********"} {
		if got := management.MaskKey(key); got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
}
