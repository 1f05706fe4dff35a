package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a running server, ours or a bare one.
type process struct {
	cmd     *exec.Cmd
	address string
	log     string // the file with its standard error
}

var listens = regexp.MustCompile(`listens on http://(\S+)`)

// startTime is the time limit for a server to start listening.
const startTime = 30 * time.Second

// start starts a server and waits until it prints its address.
func start(log, program string, args ...string) (*process, error) {
	stderr, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	p := &process{cmd: exec.Command(program, args...), log: log}
	p.cmd.Stderr = stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	addresses := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if found := listens.FindStringSubmatch(lines.Text()); found != nil {
				addresses <- found[1]
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
		close(addresses)
	}()
	select {
	case p.address = <-addresses:
	case <-time.After(startTime):
	}
	if p.address == "" {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		text, _ := os.ReadFile(log)
		return nil, fmt.Errorf("%s did not start: %s", filepath.Base(program), text)
	}
	return p, nil
}

// stop ends the server as an operator would.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.cmd.Wait()
}

// cpuTick is the unit of times in /proc: 100 a second on all Linux systems that Go supports.
const cpuTick = 10 * time.Millisecond

// cpu returns the user and system time so far.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may contain spaces.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * cpuTick, cmp.Or(err1, err2)
}

// memory returns the current and the maximum resident memory, in bytes.
func (p *process) memory() (now, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64) // other lines are not numbers
		switch name {
		case "VmRSS":
			now = n << 10
		case "VmHWM":
			peak = n << 10
		}
	}
	if now == 0 || peak == 0 {
		return 0, 0, errors.New("/proc says nothing about memory")
	}
	return now, peak, nil
}

// recorded returns the number of events that the server reports as stored.
func (p *process) recorded() (int, error) {
	c, err := dial(p.address)
	if err != nil {
		return 0, err
	}
	defer c.net.Close()
	_, body, err := c.do(get("/metrics").raw, nil)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(body)) {
		if value, ok := strings.CutPrefix(line, recordedMetric+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return int(n), err
		}
	}
	return 0, errors.New("/metrics does not have " + recordedMetric)
}

const recordedMetric = "bunting_capture_recorded_total"

// bench is the state that all measurements share.
type bench struct {
	program string // the built server
	dir     string // temporary folder for all files
	config  *config
	table   *table
	servers int

	mu      sync.Mutex
	endings []func()
}

// build builds the server, in its own module with its own requirements.
func (b *bench) build() error {
	b.program = filepath.Join(b.dir, "bunting")
	cmd := exec.Command("go", "build", "-o", b.program, "./cmd/bunting")
	cmd.Dir = b.config.module
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// ours starts the server on an empty store: a new data folder, or the database if one is given.
func (b *bench) ours(database string) (*process, string, error) {
	b.servers++
	data := filepath.Join(b.dir, "data"+strconv.Itoa(b.servers))
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, "", err
	}
	// Not in the data folder, since the watcher of a definitions file is notified of every write in
	// its folder.
	file := filepath.Join(b.dir, "definitions", "definitions.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, "", err
	}
	if err := os.WriteFile(file, []byte(definitions), 0o600); err != nil {
		return nil, "", err
	}
	args := []string{"serve", "--listen", "127.0.0.1:0", "--definitions", file, "--data", data, "--log-level", "warn"}
	if database != "" {
		args = append(args, "--database", database)
	}
	if b.config.sealed && database == "" {
		args = append(args, "--segments", filepath.Join(data, "events"))
	}
	p, err := b.launch("ours", b.program, args...)
	return p, data, err
}

// bare starts this program as one of the bare handlers.
func (b *bench) bare(mode string) (*process, string, error) {
	b.servers++
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	data := filepath.Join(b.dir, "data"+strconv.Itoa(b.servers))
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, "", err
	}
	p, err := b.launch("bare", self, bareCommand, mode, filepath.Join(data, "events.db"))
	return p, data, err
}

// launch starts a server that is ended together with this program.
func (b *bench) launch(name, program string, args ...string) (*process, error) {
	p, err := start(filepath.Join(b.dir, fmt.Sprintf("%s%d.log", name, b.servers)), program, args...)
	if err == nil {
		b.atEnd(func() { _ = p.cmd.Process.Kill() }) // no effect if it has ended
	}
	return p, err
}

// definitions of the server: a project with one flag that depends on a stored property, and one
// with a flag without property filters.
const definitions = `{"projects": [
	{"id": 1, "name": "bench", "api_key": "` + projectKey + `", "personal_api_keys": [{"key": "` + personalKey + `", "scopes": ["*"]}],
		"flags": [{"id": 1, "key": "pro", "active": true, "version": 1, "filters": {"groups": [
			{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}], "rollout_percentage": 100}]}}]},
	{"id": 2, "name": "plain", "api_key": "` + plainKey + `",
		"flags": [{"id": 2, "key": "all", "active": true, "version": 1, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}]}}]}
]}`
