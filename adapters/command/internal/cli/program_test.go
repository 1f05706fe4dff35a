package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A dash is the standard input. The size is known for regular files only.
func TestProgram_Open(t *testing.T) {
	t.Parallel()
	p := &Program{Stdin: strings.NewReader("typed")}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"-": "typed 0", path: "four 4", os.DevNull: " 0"} {
		in, size, err := p.Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := io.ReadAll(in)
		if got := fmt.Sprint(string(text), " ", size); err != nil || in.Close() != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if _, _, err := p.Open(path + ".none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// Variables have a value up to the end, and the version is printed as text and as JSON.
func TestProgram_EnvironmentAndVersion(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(map[string]string{"A": "b=c", "EMPTY": "", "NONE": ""}, Environment([]string{"A=b=c", "EMPTY=", "NONE"})); diff != "" {
		t.Error(diff)
	}
	build := ReadBuild()
	var text, object strings.Builder
	if code := (&Program{Stdout: &text, Commands: []Command{Version}}).Run(t.Context(), []string{"-v"}); code != ExitOK || !strings.HasPrefix(text.String(), "bunting   "+build.Version+"\n") || !strings.HasSuffix(text.String(), "\ngo        "+build.Go+"\nplatform  "+build.Platform+"\n") {
		t.Errorf("%d %q", code, text.String())
	}
	var got Build
	code := (&Program{Stdout: &object, Commands: []Command{Version}}).Run(t.Context(), []string{"version", "--json"})
	if err := json.Unmarshal([]byte(object.String()), &got); code != ExitOK || err != nil || got != build {
		t.Errorf("%d %s %v", code, object.String(), err)
	}
}
