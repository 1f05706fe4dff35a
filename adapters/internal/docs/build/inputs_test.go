package main

import (
	"os"
	"testing"
)

// These tests read files that the go command does not track: files outside of the module, and files
// that other programs read. .ci/test sets a variable to a hash of all files of the repository. The
// go command invalidates its cached result when a variable that a test reads has changed; it does
// not track reads in TestMain.
func TestInputs(t *testing.T) {
	t.Log("inputs:", os.Getenv("TEST_INPUTS"))
}
