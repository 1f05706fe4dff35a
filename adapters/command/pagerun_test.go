package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// scene prepares the environment for a block of commands of a page, and lists the output that its
// commands must print. A block without setup continues in the environment of the previous block.
type scene struct {
	setup      func(*stage)
	wantOutput []string
}

// scenes maps each page to the scenes of its blocks of commands, in their order. A block without a
// scene fails the test.
var scenes = map[string][]scene{
	"README.md": {
		{setup: (*stage).empty, wantOutput: []string{"Open the console: http://"}},
		{wantOutput: []string{"made-up events of", "/console/p/1/experiments/1"}},
		{setup: (*stage).empty, wantOutput: []string{"new-checkout", "50"}},
		{setup: (*stage).clone},
		{wantOutput: []string{`"beta-program":{"key":"beta-program","enabled":true`}},
	},
	"cmd/bunting/README.md": {
		{setup: (*stage).createdFolder, wantOutput: []string{"phx_"}},
		{setup: (*stage).own, wantOutput: []string{"(Demo)", "with 6 insights", "/shared/", "18 made-up records and"}},
		{setup: (*stage).empty, wantOutput: []string{"+ flag new-checkout", "1 changed"}},
		{}, // in the same environment
		{setup: (*stage).clone, wantOutput: []string{"beta-program"}},
		{setup: (*stage).demo},
		{setup: (*stage).own},
		{setup: (*stage).empty, wantOutput: []string{"phx_"}},
		{setup: (*stage).database},
		{setup: (*stage).database},
	},
	"cmd/bunting/UPGRADING.md": {
		{setup: (*stage).createdFolder, wantOutput: []string{"made by bunting"}},
		{wantOutput: []string{"bunting.db.before-"}},
	},
	"management/EXPERIMENTS.md": {
		{setup: (*stage).own, wantOutput: []string{"experiment       Demo: the checkout on one page"}},
		{wantOutput: []string{"short-form", "variant: sha1 of"}},
		{wantOutput: []string{"variant  people", "control  ", "test     "}},
		{wantOutput: []string{`"recommended_sample_size":830,"recommended_running_time_days":21`}},
		{wantOutput: []string{`"status":"draft"`, `"status":"running"`}},
		{wantOutput: []string{"Orders,funnel,increase,,test,", ",true,significant,", "Errors,mean,decrease,,test,"}},
		{wantOutput: []string{`"status":"stopped"`, `answer: "test"`, "rollout_percentage"}},
		{wantOutput: []string{`"archived":true`, "made-up people with their events are deleted"}},
	},
	"flags/README.md":                             {{setup: (*stage).service}},
	"adapters/remote/README.md":                   {{setup: (*stage).service}},
	"adapters/httpapi/README.md":                  {{setup: (*stage).posthogJS}},
	"cmd/examples/README.md":                      {{setup: (*stage).repository, wantOutput: []string{"Germany Berlin", "new-onboarding true STATIC", "ana true", "bob false", "1000"}}},
	"adapters/command/internal/convert/README.md": {{setup: (*stage).otherMachine, wantOutput: []string{"1 user would change"}}},
}

// notRun maps pages whose commands are only checked, not run, to the reason.
var notRun = map[string]string{
	"CONTRIBUTING.md": "they run this test",
	"bench/README.md": "they take minutes, and an idle machine",
	// The test in the same package checks whether the files that they generate are up to date.
	"testdata/geoip/README.md": "they write into the repository",
}

// exits are the exit codes of commands that may differ from 0.
var exits = map[string]int{"bunting flags plan": 2}

// Every command of a page works as written, with a free port and with the keys that were printed. A
// program prints the text in the comments behind its Println calls.
func TestPages_CommandsRun(t *testing.T) {
	for page, text := range docPages(t) {
		blocks := fenced(text, "sh")
		if why := notRun[page]; why != "" {
			for _, line := range commandsOf(strings.Join(blocks, "")) {
				checkCommand(t, filepath.Join("../..", filepath.Dir(page)), line)
			}
			continue
		}
		if programs := len(fenced(text, "go")); programs > 1 || programs > 0 && len(blocks) == 0 {
			t.Errorf("%s has %d programs, of which commands run one", page, programs)
		}
		if len(blocks) != len(scenes[page]) {
			t.Errorf("%s has %d blocks of commands and %d scenes", page, len(blocks), len(scenes[page]))
			continue
		}
		t.Run(page, func(t *testing.T) {
			var s *stage
			for i, block := range blocks {
				scene := scenes[page][i]
				if scene.setup != nil {
					s = newStage(t)
					s.page = text
					scene.setup(s)
				}
				output := ""
				for _, line := range commandsOf(block) {
					output += s.run(line)
				}
				for _, want := range append(scene.wantOutput, s.prints...) {
					if !strings.Contains(output, want) {
						t.Errorf("no %q in what the block\n%s\nsays:\n%s", want, block, output)
					}
				}
			}
		})
	}
}

// docPages returns the pages of the repository by path, without the specifications.
func docPages(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "*.md").Output()
	if err != nil {
		t.Fatalf("this test wants a clone: %v", err)
	}
	all := map[string]string{}
	for page := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(page, "testdata/spec/") && !strings.HasSuffix(page, "README.md") {
			continue // they quote paths of the API in the form of links
		}
		data, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		all[page] = string(data)
	}
	return all
}

// fenced returns the code blocks of a language on a page.
func fenced(page, language string) (out []string) {
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

// commandsOf returns the commands of a block, with continued lines joined.
func commandsOf(block string) (out []string) {
	for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
		line = regexp.MustCompile(`\s+#\s.*`).ReplaceAllString(strings.TrimSpace(line), "")
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// checkCommand checks without running it that what a command names exists: the folder of a program
// and its options, or a script.
func checkCommand(t *testing.T, dir, line string) {
	t.Helper()
	words := strings.Fields(line)
	if words[0] == "go" && words[2] == "-C" { // the path is relative to the root
		dir, words = filepath.Join("../..", words[3]), slices.Delete(words, 2, 4)
	}
	switch {
	case words[0] == "cd" || words[0] == "go" && words[1] == "test":
	case words[0] == "go" && words[1] == "run":
		var sources bytes.Buffer
		files, _ := filepath.Glob(filepath.Join(dir, words[2], "*.go"))
		for _, file := range files {
			data, _ := os.ReadFile(file)
			sources.Write(data)
		}
		for _, word := range words[2:] {
			name, isOption := strings.CutPrefix(word, "-")
			if isOption && !strings.Contains(sources.String(), fmt.Sprintf("%q, ", name)) {
				t.Errorf("%s: the program has no option -%s", line, name)
			}
		}
		if len(files) == 0 {
			t.Errorf("%s: there is no such program", line)
		}
	default:
		if _, err := os.Stat(filepath.Join(dir, words[0])); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
