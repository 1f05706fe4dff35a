package local

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const demo = "../../../../testdata/demo.json"

// noSignals is the check of variables of OpenTelemetry if there are none.
func noSignals(map[string]string) ([]string, error) { return nil, nil }

func call(t *testing.T, stdin string, env []string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Call(t.Context(), []cli.Command{Eval, Check, Diff, Backup, Restore, Move, Doctor(noSignals), DeadLetters}, stdin, env, args...)
}
