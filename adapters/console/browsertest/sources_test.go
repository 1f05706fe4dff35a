package browsertest

import (
	"os/exec"
	"testing"
)

// §6.4: the types of the sources hold.
func TestSources_Types(t *testing.T) {
	if out, err := exec.Command("node", "node_modules/typescript/bin/tsc", "-p", "../src").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
