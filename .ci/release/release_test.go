package release

import (
	"os"
	"os/exec"
	"testing"
)

// A package that is built twice has the same bytes.
func TestRelease_Reproducible(t *testing.T) {
	program, texts := program(t), t.TempDir()
	run(t, exec.Command("./texts", texts, program))
	var packages []string
	for range 2 {
		text, err := os.ReadFile(debian(t, program, texts, "0.1.0"))
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, string(text))
	}
	if packages[0] != packages[1] {
		t.Error("two packages differ")
	}
}
