package browsertest

import (
	"os"
	"testing"
)

// The tests read files that the go command does not track: those outside of the module, and those
// that other programs read. .ci/test passes a hash of all files of the repository in a variable.
// The go command runs the tests again if a variable has changed that a test reads; it does not
// track variables that TestMain reads.
func TestInputs(t *testing.T) {
	t.Log("inputs:", os.Getenv("TEST_INPUTS"), os.Getenv("TEST_BINARY"))
}
