package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/storetest"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/clitest"
)

// asBunting makes the test binary the program that it tests.
const asBunting = "RUN_AS_BUNTING"

// scene is what stands before a block of commands of a page, and what its commands
// must have said. A block without setup goes on where the one before it has ended.
type scene struct {
	setup func(*stage)
	says  []string
}

// scenes are those of the blocks of commands of each page, in their order. A block
// without a scene fails the test.
var scenes = map[string][]scene{
	"README.md": {
		{setup: (*stage).clone},
		{says: []string{`"beta-program":{"key":"beta-program","enabled":true`}},
		{setup: (*stage).empty, says: []string{"new-checkout", "50"}},
	},
	"cmd/bunting/README.md": {
		{setup: (*stage).made, says: []string{"phx_"}},
		{setup: (*stage).empty, says: []string{"+ flag new-checkout", "1 changed"}},
		{setup: (*stage).clone, says: []string{"beta-program"}},
		{setup: (*stage).demo},
		{setup: (*stage).own},
		{setup: (*stage).database},
		{setup: (*stage).database},
	},
	"flags/README.md":            {{setup: (*stage).service, says: []string{"true true condition_match"}}},
	"adapters/remote/README.md":  {{setup: (*stage).service, says: []string{"<nil> 3 events sent"}}},
	"adapters/httpapi/README.md": {{setup: (*stage).posthogJS}},
	"adapters/convert/README.md": {{setup: (*stage).elsewhere, says: []string{"1 user would change"}}},
}

// notRun are the commands that are only looked at, by the page, and why.
var notRun = map[string]string{
	"CONTRIBUTING.md": "they run this test",
	"bench/README.md": "they take minutes, and an idle machine",
}

// exits are the exit codes of commands that may have another than 0.
var exits = map[string]int{"bunting flags plan": 2}

// Every command that a page shows works as it stands there, on a port of its own
// and with the keys that were printed.
func TestPages_CommandsRun(t *testing.T) {
	for page, text := range docPages(t) {
		blocks := fenced(text, "sh")
		if why := notRun[page]; why != "" {
			for _, line := range commandsOf(strings.Join(blocks, "")) {
				checkCommand(t, filepath.Join("../..", filepath.Dir(page)), line)
			}
			continue
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
				said := ""
				for _, line := range commandsOf(block) {
					said += s.run(line)
				}
				for _, want := range scene.says {
					if !strings.Contains(said, want) {
						t.Errorf("no %q in what the block\n%s\nsays:\n%s", want, block, said)
					}
				}
			}
		})
	}
}

// Programs that a page shows compile, run and print what stands behind their
// Println: those of a client ask a server with the demo's flags.
func TestPages_ProgramsRun(t *testing.T) {
	s := newStage(t)
	s.demo()
	programs := 0
	printed := regexp.MustCompile(`(?m)^\s*fmt\.Println\(.*\)\s*// (.*)$`)
	for page, text := range docPages(t) {
		for _, block := range fenced(text, "go") {
			programs++
			var want strings.Builder
			for _, m := range printed.FindAllStringSubmatch(block, -1) {
				want.WriteString(m[1] + "\n")
			}
			source, binary := filepath.Join(s.dir, "main.go"), filepath.Join(s.dir, "program")
			if err := os.WriteFile(source, []byte(s.own8000(block)), 0o600); err != nil {
				t.Fatal(err)
			}
			build := exec.Command(s.goTool, "build", "-o", binary, source)
			build.Dir = "../.." // whose modules it uses
			if out, err := build.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", page, err, out)
				continue
			}
			if got := s.command(binary); got != want.String() || got == "" {
				t.Errorf("%s: the program prints\n%s\nand the page says\n%s", page, got, want.String())
			}
		}
	}
	if programs < 2 {
		t.Errorf("only %d programs were run", programs)
	}
}

// docPages are the pages of the repository by their path, those of testdata left out.
func docPages(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "*.md").Output()
	if err != nil {
		t.Fatalf("this test wants a clone: %v", err)
	}
	all := map[string]string{}
	for page := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(page, "testdata/") {
			continue
		}
		data, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		all[page] = string(data)
	}
	return all
}

// fenced are the blocks of a language on a page.
func fenced(page, language string) (out []string) {
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

// commandsOf are the commands of a block, those over several lines in one.
func commandsOf(block string) (out []string) {
	for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
		line = regexp.MustCompile(`\s+#\s.*`).ReplaceAllString(strings.TrimSpace(line), "")
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// checkCommand looks whether what a command names is there, without running it: the
// folder of a program and its options, or a script.
func checkCommand(t *testing.T, dir, line string) {
	t.Helper()
	words := strings.Fields(line)
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

// stage is a folder with a shell in it, where "bunting" is the program under test.
type stage struct {
	*testing.T
	dir, bin string
	page     string
	goTool   string
	ports    map[string]string // free ones for those that the pages name
	env      []string
	keys     map[string]string // by prefix, as the last server has printed them
	postgres string
	servers  []running
}

// running is a server, whose end is told once.
type running struct {
	cmd   *exec.Cmd
	ended chan error
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, dir: filepath.Join(t.TempDir(), "service"), bin: t.TempDir(), ports: map[string]string{}, keys: map[string]string{}}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if s.goTool, err = exec.LookPath("go"); err != nil {
		t.Fatal(err)
	}
	// What has a build or the network in it is done by hand.
	s.tool("bunting", fmt.Sprintf("exec env %s=yes %q \"$@\"", asBunting, self))
	s.tool("go", fmt.Sprintf("[ \"$1 $2\" = 'run ./cmd/bunting' ] || exec %q \"$@\"\nshift 2\nexec bunting \"$@\"", s.goTool))
	s.tool("curl", "exec /usr/bin/env -i PATH=/usr/bin:/bin curl --fail --silent --show-error --max-time 60 \"$@\"")
	s.env = append(os.Environ(), "PATH="+s.bin+":"+os.Getenv("PATH"), "BUNTING_LISTEN="+s.port("127.0.0.1:8000"),
		"BUNTING_SERVER=http://"+s.port("127.0.0.1:8000"))
	t.Cleanup(s.stopAll)
	return s
}

func (s *stage) tool(name, script string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) file(name, text string) {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// port is a free address for one that a page names.
func (s *stage) port(named string) string {
	s.Helper()
	if s.ports[named] == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.Fatal(err)
		}
		s.ports[named] = l.Addr().String()
		_ = l.Close()
	}
	return s.ports[named]
}

var namedPort = regexp.MustCompile(`127\.0\.0\.1:80\d\d`)

// own8000 is a text of a page with addresses of this stage.
func (s *stage) own8000(text string) string { return namedPort.ReplaceAllStringFunc(text, s.port) }

// The scenes.

// clone is a clone of the repository, as far as commands look at it.
func (s *stage) clone() {
	s.Helper()
	data, err := os.ReadFile(demo)
	if err != nil {
		s.Fatal(err)
	}
	s.file("testdata/demo.json", string(data))
}

func (s *stage) empty() {}

// demo is a server with the demo's flags.
func (s *stage) demo() {
	s.clone()
	s.serve("bunting serve --definitions testdata/demo.json")
}

// own is a server that has made its first project.
func (s *stage) own() {
	s.serve("bunting serve")
	s.env = append(s.env, "BUNTING_KEY="+s.keys["phx_"], "URL=http://"+s.port("127.0.0.1:8000"))
}

// made is the data folder of such a server, which has stopped.
func (s *stage) made() {
	s.own()
	s.stopAll()
}

// database is the same, with a PostgreSQL that has an empty database.
func (s *stage) database() {
	s.made()
	s.postgres = storetest.Postgres(s.T)
}

// posthogJS stands in for npm, which needs the network; the tests of SDKs get the
// real package.
func (s *stage) posthogJS() {
	s.file("package/dist/array.js", "// posthog-js")
	pack := exec.Command("tar", "czf", "posthog-js-1.0.0.tgz", "package")
	if pack.Dir = s.dir; pack.Run() != nil {
		s.Fatal("tar does not work")
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "package")); err != nil {
		s.Fatal(err)
	}
	s.tool("npm", `[ "$*" = "pack posthog-js" ] && test -f posthog-js-1.0.0.tgz`)
}

// service is a module of somebody's, with the page's program in it, beside a clone;
// and a server with the demo's flags.
func (s *stage) service() {
	s.Helper()
	s.demo()
	clone, err := filepath.Abs("../..")
	if err == nil {
		err = os.Symlink(clone, filepath.Join(s.dir, "../bunting"))
	}
	if err != nil {
		s.Fatal(err)
	}
	s.file("go.mod", "module example.com/service\n\ngo 1.25.0\n")
	s.file("main.go", s.own8000(fenced(s.page, "go")[0]))
	s.env = append(s.env, "GOWORK=off", "GOSUMDB=off")
}

// elsewhere has what people bring from another system.
func (s *stage) elsewhere() {
	s.file("flags.json", `{"flags": {"checkout": {"key": "checkout", "version": 1, "on": true, "variations": [true, false],
		"fallthrough": {"variation": 0}, "offVariation": 1, "targets": [], "rules": [], "prerequisites": [], "salt": "s"}}, "segments": {}}`)
	data, err := os.ReadFile(demo)
	if err != nil {
		s.Fatal(err)
	}
	s.file("before.json", string(data))
	s.file("after.json", strings.Replace(string(data), `"rollout_percentage": 50`, `"rollout_percentage": 60`, 1))
	s.file("users.jsonl", `{"distinct_id": "ana"}`+"\n")
}

// run runs a command as it stands on a page and returns what it says.
func (s *stage) run(line string) string {
	s.Helper()
	line = s.own8000(line)
	for prefix, key := range s.keys {
		line = strings.ReplaceAll(line, prefix+"…", key)
	}
	if s.postgres != "" {
		line = strings.ReplaceAll(line, "postgres://bunting@localhost/bunting", s.postgres)
	}
	if assignments, ok := strings.CutPrefix(line, "export "); ok {
		s.env = append(s.env, strings.Fields(assignments)...)
		return ""
	}
	if regexp.MustCompile(`^(bunting|go run \./cmd/bunting) (serve|shadow)\b`).MatchString(line) {
		return s.serve(strings.TrimSpace(strings.TrimSuffix(line, "&")))
	}
	return s.command("bash", "-c", line)
}

// command runs a program to its end.
func (s *stage) command(name string, args ...string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	line := strings.Join(args, " ")
	for words, code := range exits {
		if strings.Contains(line, words) && cmd.ProcessState.ExitCode() == code {
			err = nil
		}
	}
	if err != nil {
		s.Errorf("%s %s: %v\n%s", name, line, err, out)
	}
	return string(out)
}

// serve starts a server, stops one that has its address, and reads the keys that it
// prints.
func (s *stage) serve(line string) string {
	s.Helper()
	if !strings.Contains(line, "--listen") {
		s.stopAll()
	}
	out := clitest.NewOutput()
	cmd := exec.Command("bash", "-c", "exec "+line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, s.env, out, out
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	started := running{cmd, make(chan error, 1)}
	s.servers = append(s.servers, started)
	go func() { started.ended <- cmd.Wait() }()
	deadline := time.After(clitest.Patience)
	for !strings.Contains(out.String(), "Try it:") {
		select {
		case <-out.Written:
		case err := <-started.ended:
			started.ended <- err
			s.Fatalf("%s: %v\n%s", line, err, out)
		case <-deadline:
			s.Fatalf("%s does not start:\n%s", line, out)
		}
	}
	for _, key := range regexp.MustCompile(`\bph[xc]_\w+`).FindAllString(out.String(), -1) {
		s.keys[key[:4]] = key
	}
	return out.String()
}

// stopAll stops the servers of this stage.
func (s *stage) stopAll() {
	for _, server := range slices.Backward(s.servers) {
		_ = server.cmd.Process.Signal(syscall.SIGTERM)
		<-server.ended
	}
	s.servers = nil
}
