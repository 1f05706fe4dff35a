package sdktest

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
	"github.com/bunting-flags/bunting/flags"
)

var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// The built program serves the same results, to an SDK that requests them and to one that evaluates
// locally.
func TestGo_Binary(t *testing.T) {
	s := &server{URL: runBinary(t, served.Binary(t)), projects: map[string]*project{}}
	for _, p := range readFile(t).Projects {
		s.projects[p.Name] = &project{&p, flags.Compile(p.Definitions)}
	}
	p := s.projects["main"]
	asking, deciding := goClient(t, s, p, nil), goClient(t, s, p, local(p.personalKey()))
	for i, subject := range readSubjects(t) {
		if i%10 != 0 {
			continue
		}
		want := decide(p, subject, flags.Selection{}, goPayload)
		remote, err := asking.EvaluateFlags(goQuestion(subject, false))
		if err != nil {
			t.Fatal(err)
		}
		same(t, subject.Name, want, goAnswers(remote))
		localAnswers, err := deciding.EvaluateFlags(goQuestion(subject, true))
		if err != nil {
			t.Fatal(err)
		}
		for key, mine := range goAnswers(localAnswers) {
			server, ok := want[key]
			if !ok {
				server = off
			}
			if mine != server && explain(pair{"go", p, p.flag(key), subject}, mine, server) == nil {
				t.Errorf("%s for %s: %v, the server says %v", key, subject.Name, mine, server)
			}
		}
		if len(localAnswers.Keys()) == 0 {
			t.Errorf("%s: nothing was decided locally", subject.Name)
		}
	}
}

// runBinary starts the program and returns its URL.
func runBinary(t *testing.T, binary string) string {
	t.Helper()
	cmd := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--definitions", "testdata/project.json", "--data", t.TempDir())
	errors := &tail{}
	cmd.Stderr = errors
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v\n%s", err, errors)
		}
	})
	url := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if found := listening.FindString(lines.Text()); found != "" {
				select {
				case url <- found:
				default: // printed more than once
				}
			}
		}
	}()
	select {
	case found := <-url:
		return found
	case <-time.After(served.WaitTimeout):
		t.Fatalf("the program does not say where it listens\n%s", errors)
		return ""
	}
}
