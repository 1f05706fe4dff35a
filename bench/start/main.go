// Command start measures what is noticed of the program before any load: its size, the time from its
// start to the first answered request for flags, and its memory when idle.
//
// Usage: start [-n rounds] [-idle d] [PROGRAM]. By default it builds the program as a release does.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("n", 21, "starts of each kind; the table shows medians")
	idle := flag.Duration("idle", 20*time.Second, "how long a server has had no request when its memory is read")
	flag.Parse()
	if err := run(*rounds, *idle, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1)
	}
}

// kinds are the ways to start, with the key of a project that the server then has. Without a key, the
// server prints it.
var kinds = []struct {
	name, key string
	args      []string
	fresh     bool // an empty folder for each start
}{
	{"definitions from a file", "phc_demo", []string{"--definitions", "../testdata/demo.json"}, false},
	{"first start, empty folder", "", nil, true},
	{"folder of an earlier start", "", nil, false},
}

func run(rounds int, idle time.Duration, program string) error {
	dir, err := os.MkdirTemp("", "bench-start-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if program == "" {
		program = filepath.Join(dir, "bunting")
		build := exec.Command("go", "build", "-C", "..", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/bunting") // of the parent module
		build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		if err := build.Run(); err != nil {
			return err
		}
	}
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	fmt.Printf("%-30s %.1f MB\n", "program", float64(info.Size())/1e6)
	for i, kind := range kinds {
		var took []time.Duration
		var memory float64
		for n := range rounds {
			folder := filepath.Join(dir, fmt.Sprint(i))
			if kind.fresh {
				folder = filepath.Join(dir, fmt.Sprint(i, "-", n))
			}
			s := server{program: program, args: append([]string{"--data", folder}, kind.args...), key: kind.key}
			d, err := s.start()
			if err == nil && n == rounds-1 {
				time.Sleep(idle)
				memory, err = resident(s.cmd.Process.Pid)
			}
			if err := errors.Join(err, s.stop()); err != nil {
				return fmt.Errorf("%s: %w\n%s", kind.name, err, s.out.String())
			}
			took = append(took, d)
		}
		slices.Sort(took)
		fmt.Printf("%-30s %.0f ms (%.0f to %.0f), %.0f MB when idle\n", kind.name, ms(took[len(took)/2]), ms(took[0]), ms(took[len(took)-1]), memory)
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// server is a running program.
type server struct {
	program, key string
	args         []string
	cmd          *exec.Cmd
	out          output
}

// start starts the server, and returns the time until it has answered a request for flags.
func (s *server) start() (time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return 0, err
	}
	s.cmd = exec.Command(s.program, append([]string{"serve", "--listen", address}, s.args...)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	begin := time.Now()
	if err := s.cmd.Start(); err != nil {
		return 0, err
	}
	for time.Since(begin) < time.Minute {
		key := s.key
		if key == "" {
			key = s.out.key()
		}
		if key != "" && answers("http://"+address, key) {
			return time.Since(begin), nil
		}
		time.Sleep(200 * time.Microsecond)
	}
	return 0, errors.New("no answer")
}

// answers reports whether the server answers a request for flags.
func answers(url, key string) bool {
	res, err := http.Post(url+"/flags?v=2", "application/json", strings.NewReader(`{"api_key": "`+key+`", "distinct_id": "ana"}`))
	if err != nil {
		return false
	}
	body, err := io.ReadAll(res.Body)
	return errors.Join(err, res.Body.Close()) == nil && res.StatusCode == http.StatusOK && bytes.Contains(body, []byte(`"flags"`))
}

func (s *server) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// resident returns the memory of a process in MB, which Linux reports as VmRSS.
func resident(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`).FindSubmatch(status)
	if m == nil {
		return 0, errors.New("no VmRSS")
	}
	n, err := strconv.Atoi(string(m[1]))
	return float64(n) * 1024 / 1e6, err
}
