package command

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// Returning memory removes most of the program's file from the memory of the process, and the program
// runs on.
func TestReturnMemory(t *testing.T) {
	newProgram(nil, nil, nil, nil) // uses pages of this package
	before := residentFile(t)
	returnMemory()
	after := residentFile(t)
	if after > before/2 {
		t.Errorf("%d kB of files are resident, of %d kB before", after, before)
	}
}

// residentFile returns the memory of this process that consists of pages of files, in kB, as Linux
// reports it.
func residentFile(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^RssFile:\s+(\d+) kB$`).FindSubmatch(status)
	if found == nil {
		t.Fatal("/proc/self/status has no RssFile")
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
