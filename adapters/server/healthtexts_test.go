package server

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	catalogueText = regexp.MustCompile(`(?m)^    (\w+): (".*"),$`)
	placeholder   = regexp.MustCompile(`\{\w+\}`)
)

// readCatalogue returns the texts of checks in a catalogue of the console, by code.
func readCatalogue(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.ReadFile("../console/src/words/" + path)
	if err != nil {
		t.Fatal(err)
	}
	_, file, _ = bytes.Cut(file, []byte("\n  messages: {\n"))
	file, _, _ = bytes.Cut(file, []byte("\n  },\n"))
	out := map[string]string{}
	for _, m := range catalogueText.FindAllSubmatch(append(file, '\n'), -1) {
		var text string
		if err := json.Unmarshal(m[2], &text); err != nil {
			t.Fatalf("%s: %s: %v", path, m[0], err)
		}
		out[string(m[1])] = text
	}
	return out
}

// console.md N20: the console has every text of the checks, in English as the server has it, and in
// German with the same placeholders.
func TestHealth_TextsOfTheConsole(t *testing.T) {
	if diff := cmp.Diff(healthTexts, readCatalogue(t, "health.ts")); diff != "" {
		t.Errorf("English (-server +console):\n%s", diff)
	}
	german := readCatalogue(t, "de/health.ts")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(healthTexts)), slices.Sorted(maps.Keys(german))); diff != "" {
		t.Errorf("German (-server +console):\n%s", diff)
	}
	for code, text := range healthTexts {
		want, got := placeholder.FindAllString(text, -1), placeholder.FindAllString(german[code], -1)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("%s has the placeholders %q in English and %q in German", code, want, got)
		}
	}
}

// checkCode matches the code of a text in the sources of the checks.
var checkCode = regexp.MustCompile(`"((?:store|storage|segments|commits|intake|definitions|stream|mail|exports|changes|see|rollouts?|webhooks|backup|certificate|clock)_\w+)"`)

// The checks use all texts, and no code without a text.
func TestHealth_EveryCodeHasAText(t *testing.T) {
	used := map[string]bool{}
	for _, name := range []string{"healthchecks.go", "backups.go"} {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range checkCode.FindAllSubmatch(source, -1) {
			used[string(m[1])] = true
		}
	}
	isValue := func(code string) bool { // the name of a placeholder
		return strings.HasSuffix(code, "_bytes") || strings.HasSuffix(code, "_seconds")
	}
	maps.DeleteFunc(used, func(code string, _ bool) bool { return isValue(code) })
	if diff := cmp.Diff(slices.Sorted(maps.Keys(healthTexts)), slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("(-texts +checks)\n%s", diff)
	}
}

// The response has a check's messages with their values, for other languages, and their texts in
// English. Values are inserted once: a text of an error is no pattern.
func TestHealth_Messages(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	f := finding{details: []message{
		say("stream_waiting", values{"waiting": 3, "oldest_seconds": 90*time.Second + 400*time.Millisecond}),
		say("backup_last", values{"at": at, "written_bytes": size(3 << 19)}),
		say("exports_failing", values{"failing": 1, "total": 2, "names": []string{"{total}", "b"}}),
		say("clock_steady", nil),
	}}
	const want = "waiting messages: 3, the oldest for 1m30s; the last good backup is of 2026-03-01 11:00:00 UTC, 1.5 MiB; exports whose last run failed: 1 of 2: {total}, b; steady"
	if got := f.detail(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	got, err := json.Marshal(f.messages())
	const wire = `[{"code":"stream_waiting","values":{"oldest_seconds":90,"waiting":3}},{"code":"backup_last","values":{"at":"2026-03-01T11:00:00Z","written_bytes":1572864}},` +
		`{"code":"exports_failing","values":{"failing":1,"names":["{total}","b"],"total":2}},{"code":"clock_steady","values":{}}]`
	if err != nil || string(got) != wire {
		t.Errorf("%s, %v\nwant %s", got, err, wire)
	}
}
