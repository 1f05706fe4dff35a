package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a running server of ours on an empty store, with the keys to use it.
type server struct {
	cmd                  *exec.Cmd
	address              string
	projectKey, adminKey string
	flags                []int // ids
}

var (
	addressText = regexp.MustCompile(`listens on http://(\S+)`)
	projectText = regexp.MustCompile(`\bphc_\w+`)
	adminText   = regexp.MustCompile(`\bphx_\w+`)
)

// startServer builds the server and starts it. Its output contains its keys.
func startServer(dir, module string) (*server, error) {
	program := filepath.Join(dir, "bunting")
	build := exec.Command("go", "build", "-o", program, "./cmd/bunting")
	build.Dir, build.Stderr = module, os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	s := &server{cmd: exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--rate-limit", "off")}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	var output strings.Builder
	for lines := bufio.NewScanner(out); !strings.Contains(output.String(), "curl ") && lines.Scan(); {
		output.WriteString(lines.Text() + "\n")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	address := addressText.FindStringSubmatch(output.String())
	s.projectKey, s.adminKey = projectText.FindString(output.String()), adminText.FindString(output.String())
	if address == nil || s.projectKey == "" || s.adminKey == "" {
		s.stop()
		return nil, fmt.Errorf("the server did not start: %s", output.String())
	}
	s.address = address[1]
	return s, nil
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// manage sends a request about a flag to the management API; suffix is the end of its path.
func (s *server) manage(method, suffix, body string) (id int, err error) {
	r, err := http.NewRequest(method, "http://"+s.address+"/api/projects/1/feature_flags/"+suffix, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+s.adminKey)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %s", method, suffix, res.StatusCode, text)
	}
	var made struct{ ID int }
	return made.ID, errors.Join(err, json.Unmarshal(text, &made))
}

func (s *server) makeFlags(n int) error {
	for i := range n {
		id, err := s.manage("POST", "", fmt.Sprintf(`{"key": "flag-%d", "filters": {"groups": [
			{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}], "rollout_percentage": 50}]}}`, i))
		if err != nil {
			return err
		}
		s.flags = append(s.flags, id)
	}
	return nil
}

// change patches a flag, waits until all clients have received it, and returns the duration for
// each.
func (s *server) change(i int, all *clients) ([]time.Duration, error) {
	for _, c := range all.list {
		c.arrived.Store(0)
	}
	began := time.Now()
	if _, err := s.manage("PATCH", fmt.Sprintf("%d/", s.flags[i%len(s.flags)]), fmt.Sprintf(`{"name": "change %d"}`, i)); err != nil {
		return nil, err
	}
	if err := all.wait(); err != nil {
		return nil, err
	}
	waits := make([]time.Duration, len(all.list))
	for i, c := range all.list {
		waits[i] = time.Duration(c.arrived.Load() - int64(began.Sub(all.epoch)))
	}
	return waits, nil
}

// usage is the resource usage of the server, in bytes.
type usage struct {
	resident, heap, stacks, goroutines, collections float64
	cpu                                             time.Duration
}

// usage reads /metrics.
func (s *server) usage() (u usage, err error) {
	res, err := http.Get("http://" + s.address + "/metrics")
	if err != nil {
		return u, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return u, err
	}
	var seconds float64
	found := 0
	into := map[string]*float64{
		"process_resident_memory_bytes": &u.resident, "go_memstats_heap_inuse_bytes": &u.heap, "go_memstats_stack_inuse_bytes": &u.stacks,
		"go_goroutines": &u.goroutines, "go_gc_duration_seconds_count": &u.collections, "process_cpu_seconds_total": &seconds,
	}
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if to := into[name]; to != nil {
			found++
			if *to, err = strconv.ParseFloat(value, 64); err != nil {
				return u, err
			}
		}
	}
	if found != len(into) {
		return u, fmt.Errorf("/metrics has %d of %d figures", found, len(into))
	}
	u.cpu = time.Duration(seconds * float64(time.Second))
	return u, nil
}
