//go:build sdk

package sdktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
)

// userProgram is a user's program with the generated functions. The reader has the two methods of
// posthog-js, and the results of a server for the demo.
const userProgram = `
import { readCheckoutLayout, readCheckoutLayoutPayload, readNewOnboarding, type CheckoutLayout, type FlagReader } from './flags.js'

const answers: Record<string, string | boolean> = { 'new-onboarding': true, 'checkout-layout': 'steps' }
const reader: FlagReader = { getFeatureFlag: (key) => answers[key], getFeatureFlagPayload: () => ({ columns: 1, progress: true }) }
const empty: FlagReader = { getFeatureFlag: (key) => (key === 'checkout-layout' ? 'a-newer-one' : undefined), getFeatureFlagPayload: () => null }
const layout: CheckoutLayout = readCheckoutLayout(reader, 'control')
console.log(JSON.stringify([
  readNewOnboarding(reader), layout, readCheckoutLayoutPayload(reader)?.progress,
  readNewOnboarding(empty, true), readCheckoutLayout(empty, 'control'), readCheckoutLayoutPayload(empty) ?? 'none',
]))
`

// bunting generate ts: TypeScript's compiler accepts the output in its strictest mode, the
// functions read a client's results, and without a flag the code that reads it does not compile.
func TestGenerate_TypeScript(t *testing.T) {
	if err := installed(); err != nil {
		t.Fatal(err)
	}
	definitions, err := os.ReadFile("../../../testdata/demo.json")
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := filepath.Abs("node_modules/typescript/bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	in("package.json", `{"type": "module"}`)
	in("use.ts", userProgram)
	compile := func(definitions string) (string, error) {
		generate := exec.Command(served.Binary(t), "generate", "ts", in("flags.json", definitions), "--output", filepath.Join(dir, "flags.ts"))
		if out, err := generate.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.Command("node", compiler, "--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext",
			"--lib", "es2022,dom", "--outDir", dir, filepath.Join(dir, "use.ts")).CombinedOutput()
		return string(out), err
	}
	if out, err := compile(string(definitions)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("node", filepath.Join(dir, "use.js")).CombinedOutput()
	if want := `[true,"steps",true,true,"control","none"]`; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
	without := strings.Replace(string(definitions), `"key": "new-onboarding"`, `"key": "newer-onboarding"`, 1)
	if out, err := compile(without); err == nil || !strings.Contains(out, "readNewOnboarding") {
		t.Errorf("it compiles without the flag: %v\n%s", err, out)
	}
}
