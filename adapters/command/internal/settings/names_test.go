package settings

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// For each option that a text of the server names, the command prints the setting. Options without
// a setting, which only programs can set, never occur in them.
func TestNamed_EveryOption(t *testing.T) {
	files, err := filepath.Glob("../../../../adapters/server/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	options := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range regexp.MustCompile(`"[^"\n]*Options\.[^"\n]*"`).FindAllString(string(source), -1) {
			if strings.HasSuffix(file, "_test.go") || regexp.MustCompile(`Options\.(Without|Authenticate)`).MatchString(text) {
				continue
			}
			if options++; strings.Contains(ReplaceNames(text), "Options.") || !strings.Contains(ReplaceNames(text), "--") {
				t.Errorf("%s: %s", file, ReplaceNames(text))
			}
		}
	}
	if options < 10 {
		t.Errorf("only %d texts were looked at", options)
	}
	var out bytes.Buffer
	log := NewLogger((&Config{}).LogHandler(&out))
	log.With("a", 1).WithGroup("g").Warn("choose Options.Data", "b", 2)
	if !strings.Contains(out.String(), `level=WARN msg="choose --data" a=1 g.b=2`) || log.Enabled(t.Context(), slog.LevelDebug) {
		t.Error(out.String())
	}
}
