package command

import (
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

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
)

// runAsBunting is the environment variable with which the test binary runs as the program under
// test.
const runAsBunting = "RUN_AS_BUNTING"

// stage is a folder with a shell in which "bunting" is the program under test.
type stage struct {
	*testing.T
	dir, bin string
	page     string
	prints   []string // the output that the page's program must print
	goTool   string
	ports    map[string]string // free addresses for those that the pages name
	env      []string
	keys     map[string]string // the keys that the last server printed, by prefix
	postgres string
	servers  []running
}

// running is a server; ended receives its result when it ends.
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
	// Commands that would build or use the network are replaced by scripts.
	s.tool("bunting", fmt.Sprintf("exec env %s=yes %q \"$@\"", runAsBunting, self))
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

// port returns a free address that replaces an address of a page.
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

// replaceAddresses replaces the addresses in a text of a page by those of this stage.
func (s *stage) replaceAddresses(text string) string {
	return namedPort.ReplaceAllStringFunc(text, s.port)
}

// The scenes.

// clone creates the files of a clone of the repository that the commands read.
func (s *stage) clone() {
	s.Helper()
	data, err := os.ReadFile(demo)
	if err != nil {
		s.Fatal(err)
	}
	s.file("testdata/demo.json", string(data))
}

// repository uses the repository of the test itself, for programs that do not write to it.
func (s *stage) repository() {
	s.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		s.Fatal(err)
	}
	s.dir = root
}

func (s *stage) empty() {}

// demo starts a server with the demo's flags.
func (s *stage) demo() {
	s.clone()
	s.serve("bunting serve --definitions testdata/demo.json")
}

// own starts a server that creates its first project.
func (s *stage) own() {
	s.serve("bunting serve")
	s.env = append(s.env, "BUNTING_KEY="+s.keys["phx_"], "URL=http://"+s.port("127.0.0.1:8000"))
}

// createdFolder leaves the data folder of such a server, which is stopped.
func (s *stage) createdFolder() {
	s.own()
	s.stopAll()
}

// database is like createdFolder, with an empty database in PostgreSQL.
func (s *stage) database() {
	s.createdFolder()
	s.postgres = pgtest.Postgres(s.T)
}

// posthogJS replaces npm, which needs the network; the tests of SDKs use the real package.
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

// service creates a module with the page's program next to a clone, and starts a server with the
// demo's flags.
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
	program := fenced(s.page, "go")[0]
	s.file("main.go", s.replaceAddresses(program))
	for _, m := range printed.FindAllStringSubmatch(program, -1) {
		s.prints = append(s.prints, m[1])
	}
	if len(s.prints) == 0 {
		s.Error("the program does not say what it prints")
	}
	s.env = append(s.env, "GOWORK=off", "GOSUMDB=off")
}

// printed matches a line of a program that has its expected output in a comment.
var printed = regexp.MustCompile(`(?m)^\s*fmt\.Println\(.*\)\s*// (.*)$`)

// otherMachine creates the files that users bring from another system.
func (s *stage) otherMachine() {
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

// run runs a command as a page contains it and returns its output.
func (s *stage) run(line string) string {
	s.Helper()
	line = s.replaceAddresses(line)
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

// command runs a program until it ends.
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

// serve starts a server after stopping a server with the same address, and records the keys that it
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
	deadline := time.After(clitest.WaitTimeout)
	for !strings.Contains(out.String(), "Try it:") {
		select {
		case <-out.OnWrite:
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
