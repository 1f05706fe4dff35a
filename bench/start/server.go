package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// server is a running program.
type server struct {
	program, folder, address string
	cmd                      *exec.Cmd
	out                      output
}

// patience is how long a server may take to answer.
const patience = time.Minute

// start starts the server, and returns the time until its first response with flags. The
// server prints the key of its project.
func (s *server) start() (time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	s.address = l.Addr().String()
	if err := l.Close(); err != nil {
		return 0, err
	}
	cmd := exec.Command(s.program, "serve", "--listen", s.address, "--data", s.folder)
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	s.cmd = cmd
	for time.Since(begin) < patience {
		if key := s.out.find(projectKey); key != "" && answers("http://"+s.address, key) {
			return time.Since(begin), nil
		}
		time.Sleep(200 * time.Microsecond)
	}
	return 0, errors.New("no answer")
}

// answers reports whether the server answers a request for flags.
func answers(url, key string) bool {
	response, err := http.Post(url+"/flags?v=2", "application/json", strings.NewReader(`{"api_key": "`+key+`", "distinct_id": "ana"}`))
	if err != nil {
		return false
	}
	body, err := io.ReadAll(response.Body)
	return errors.Join(err, response.Body.Close()) == nil && response.StatusCode == http.StatusOK && bytes.Contains(body, []byte(`"errorsWhileComputingFlags":false`))
}

// stop ends the server, if it was started, as an operator would.
func (s *server) stop() error {
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// memory is the resident memory of a process in bytes, and its part that consists of pages of files:
// of the program.
type memory struct{ resident, file int64 }

// memory returns the memory of the server after some time without requests, as Linux reports it.
func (s *server) memory(after time.Duration) (m memory, err error) {
	time.Sleep(after)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return m, err
	}
	for name, to := range map[string]*int64{"VmRSS": &m.resident, "RssFile": &m.file} {
		found := regexp.MustCompile(`(?m)^` + name + `:\s+(\d+) kB$`).FindSubmatch(status)
		if found == nil {
			return m, errors.New("/proc has no " + name)
		}
		n, err := strconv.ParseInt(string(found[1]), 10, 64)
		if err != nil {
			return m, err
		}
		*to = n << 10
	}
	return m, nil
}

// The keys in the output of a server. The owner's key is printed at the first start only.
var (
	projectKey = regexp.MustCompile(`\bphc_\w{20,}`)
	ownerKey   = regexp.MustCompile(`\bphx_\w{20,}`)
)

// output collects the output of a program.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns all that was printed.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// find returns the first match of an expression, or "".
func (o *output) find(what *regexp.Regexp) string { return what.FindString(o.String()) }
