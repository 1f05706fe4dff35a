package flags_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// TestParse_LongDocuments verifies that documents above 1 MiB, which are read in pieces, have
// the same results and errors as short ones. Both are the same documents, one of them with
// many spaces added.
func TestParse_LongDocuments(t *testing.T) {
	demo, err := os.ReadFile("../testdata/demo.json")
	if err != nil {
		t.Fatal(err)
	}
	const flag = `{"id": 1, "key": "a", "active": true, "filters": {"groups": [{"rollout_percentage": 33.3}]}}`
	for name, text := range map[string]string{
		"a file":           string(demo),
		"a payload":        `{"flags": [` + flag + `, 7, null], "cohorts": {"1": {"type": "AND", "values": []}}, "revision": 12345678901234567}`,
		"a member twice":   `{"flags": [], "flags": [` + flag + `], "timezone": "UTC", "timezone": "Europe/Oslo"}`,
		"no flags":         `{"flags": []}`,
		"flags are null":   `{"flags": null}`,
		"flags, an object": `{"flags": {"a": ` + flag + `}}`,
		"projects, text":   `{"projects": "x"}`,
		"project, number":  `{"projects": [1]}`,
		"a list":           `[` + flag + `]`,
		"cut in a flag":    `{"flags": [` + flag[:40],
		"cut after a flag": `{"flags": [` + flag,
		"no comma":         `{"flags": [` + flag + ` ` + flag + `]}`,
		"a comma too many": `{"flags": [` + flag + `,]}`,
		"text behind":      `{"flags": []} {}`,
		"no text":          ``,
	} {
		t.Run(name, func(t *testing.T) {
			read := func(text string) (payload, problem string) {
				d, err := flags.ParseDefinitions([]byte(text))
				if err != nil {
					return "", err.Error()
				}
				body, err := d.Payload()
				if err != nil {
					t.Fatal(err)
				}
				return string(body), ""
			}
			payload, problem := read(text)
			long, longProblem := read(text + strings.Repeat(" ", 1<<20))
			if diff := cmp.Diff(payload, long); diff != "" {
				t.Errorf("short and long (-want +got):\n%s", diff)
			}
			// Positions count from the start; only the end of the document differs.
			if !strings.Contains(problem, "ends in the middle") && problem != longProblem || (problem == "") != (longProblem == "") {
				t.Errorf("short: %s\nlong: %s", problem, longProblem)
			}
		})
	}
}
