package browsertest

import (
	"os"
	"testing"
)

// These tests read files that the go command does not know of: those outside of the
// module, and those that other programs read. .ci/test gives a hash of all files of the
// repository in a variable. The go command runs the tests anew when a variable has
// changed that a test reads; it does not see what TestMain reads.
func TestInputs(t *testing.T) {
	t.Log("inputs:", os.Getenv("TEST_INPUTS"), os.Getenv("TEST_BINARY"))
}
