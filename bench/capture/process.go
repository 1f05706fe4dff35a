package main

import (
	"bufio"
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
	s, err := readStat(p.cmd.Process.Pid)
	return s.own, err
}

// stat is the state of a process in /proc.
type stat struct {
	parent    int
	own, dead time.Duration // CPU time of the process, and of its children that have ended
}

func readStat(pid int) (s stat, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, err
	}
	// The name, in parentheses, may contain spaces.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if s.parent, err = strconv.Atoi(fields[1]); err != nil {
		return s, err
	}
	var times [4]time.Duration // user, system, and the same of children
	for i := range times {
		ticks, err := strconv.ParseInt(fields[11+i], 10, 64)
		if err != nil {
			return s, err
		}
		times[i] = time.Duration(ticks) * cpuTick
	}
	return stat{s.parent, times[0] + times[1], times[2] + times[3]}, nil
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
	n, err := p.metric(recordedMetric)
	return int(n), err
}

// metric returns the value of a metric without labels.
func (p *process) metric(name string) (float64, error) {
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
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, errors.New("/metrics does not have " + name)
}

const recordedMetric = "bunting_capture_recorded_total"

// bench is the state that all measurements share.
type bench struct {
	program string // the built server
	older   string // the built server of an older checkout, empty without one
	dir     string // temporary folder for all files
	config  *config
	table   *table
	servers int
	// postgres is running while it is measured, otherwise nil.
	postgres *postgresServer

	mu      sync.Mutex
	endings []func()
}

// buildAll builds our server, and that of -older.
func (b *bench) buildAll() (err error) {
	b.logf("building the server")
	b.program, err = b.build(b.config.module, "bunting")
	if err == nil && b.config.older != "" {
		b.older, err = b.build(b.config.older, "older")
	}
	return err
}

// build builds the server of a module, with the module's own requirements.
func (b *bench) build(module, name string) (program string, err error) {
	program = filepath.Join(b.dir, name)
	cmd := exec.Command("go", "build", "-o", program, "./cmd/bunting")
	cmd.Dir = module
	cmd.Stderr = os.Stderr
	return program, cmd.Run()
}

// ours starts the server on an empty store: a new data folder, or the database if one is given.
func (b *bench) ours(database string) (*process, string, error) {
	var args []string
	if database != "" {
		args = append(args, "--database", database)
	}
	if b.config.sealed {
		args = append(args, "--segments-after", sealAfter.String())
	}
	return b.serve(b.program, b.config.sealed, args...)
}

// serve starts a server on a new data folder, with a folder of segments in it if sealed is set.
func (b *bench) serve(program string, sealed bool, more ...string) (*process, string, error) {
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
	args := append([]string{"serve", "--listen", "127.0.0.1:0", "--definitions", file, "--data", data, "--log-level", "warn"}, more...)
	if sealed {
		args = append(args, "--segments", filepath.Join(data, segmentsFolder))
	}
	p, err := b.launch("ours", program, args...)
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
	if b.config.memory > 0 && program == b.program {
		args = append(args, "--memory", strconv.Itoa(b.config.memory)+"MB")
	}
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
