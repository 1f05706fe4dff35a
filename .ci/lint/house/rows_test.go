package house

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const top = "../../.."

// Each row of a table is for an existing package.
func TestRows(t *testing.T) {
	names := slices.Concat(
		slices.Collect(maps.Keys(table)),
		slices.Collect(maps.Keys(mostExported)),
	)
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join(top, name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("there is no package %s: %v", name, err)
		}
	}
	for _, name := range slices.Concat(contextFiles, []string{openFile}) {
		if _, err := os.Stat(filepath.Join(top, name)); err != nil {
			t.Error(err)
		}
	}
}
