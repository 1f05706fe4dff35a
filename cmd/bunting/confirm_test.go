package main

import (
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
)

func TestManager_DeletionsWantYes(t *testing.T) {
	s := serve(t, time.Second)
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + printedKey.FindString(s.stdout.String())}
	for want, args := range map[string][]string{
		`Delete the flag "x" in project 1 (Default project)?`: {"flags", "delete", "x"},
		"in project 1 (Default project)?":                     {"flags", "apply", "--prune", demo},
		"--yes is missing":                                    {"projects", "delete", "1"},
	} {
		r := call(t, "", env, args...)
		if r.Code != cli.ExitUsage || !strings.Contains(r.Stderr, "--yes is missing") || !strings.Contains(r.Stderr, want) {
			t.Errorf("%v: exit %d, %q", args, r.Code, r.Stderr)
		}
	}
	s.stop()
	s.wait(0)
}
