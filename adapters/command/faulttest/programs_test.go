//go:build linux

package faulttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programs is the folder of the built programs.
var programs string

// bunting is the server under test, natsServer is NATS's own.
var (
	bunting    = builtOnce("TEST_BINARY", "bunting", "../../..", "./cmd/bunting")
	natsServer = builtOnce("TEST_NATS_SERVER", "nats-server", "../../../adapters/internal/natsstream/natstest", "github.com/nats-io/nats-server/v2")
)

// builtOnce returns the program that an environment variable names; without the variable the first
// test that needs the program builds it. TestMain would be too early to read the variable, since
// the cache of test results records only variables that tests read.
func builtOnce(variable, name, dir, pkg string) func(testing.TB) string {
	once := sync.OnceValues(func() (string, error) {
		if path := os.Getenv(variable); path != "" {
			return path, nil
		}
		path := filepath.Join(programs, name)
		build := exec.Command("go", "build", "-o", path, pkg)
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s does not build: %w\n%s", name, err, out)
		}
		return path, nil
	})
	return func(t testing.TB) string {
		t.Helper()
		path, err := once()
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
}
