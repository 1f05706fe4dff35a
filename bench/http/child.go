package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/bench"
)

const (
	apiKey      = "phc_bench"
	connections = 4
)

// body is the request that is sent: one user with five properties.
var body = func() []byte {
	data, err := json.Marshal(map[string]any{"api_key": apiKey, "distinct_id": bench.Ana.ID, "person_properties": bench.Ana.Properties()})
	if err != nil {
		panic(err) // strings, numbers and booleans only
	}
	return data
}()

// child is a server process on one core. It says its address in its first line
// of output, answers each line of input with the CPU time it has used so far in
// nanoseconds, and ends with its input.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	url    string
	client *http.Client
}

func start(args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self, args...)}
	c.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	address, err := c.out.ReadString('\n')
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%s did not start: %w", args[0], err)
	}
	c.url = "http://" + strings.TrimSpace(address) + "/flags?v=2"
	c.client = &http.Client{Transport: &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, DisableCompression: true}}
	return c, nil
}

func (c *child) stop() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}

// cpu returns the user and system time of the child so far.
func (c *child) cpu() (time.Duration, error) {
	if _, err := io.WriteString(c.in, "\n"); err != nil {
		return 0, err
	}
	text, err := c.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return time.Duration(n), err
}

func (c *child) ask() ([]byte, error) {
	response, err := c.client.Post(c.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, answer)
	}
	return answer, err
}

// load sends n requests over the kept connections and returns the CPU time
// they cost the child.
func (c *child) load(n int) (time.Duration, error) {
	before, err := c.cpu()
	if err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	errs := make([]error, connections)
	for i := range connections {
		wg.Go(func() {
			for j := i; j < n && errs[i] == nil; j += connections {
				_, errs[i] = c.ask()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	after, err := c.cpu()
	return after - before, err
}

// check compares an answer with the limit's decisions.
func check(answer []byte, n int) error {
	var got struct {
		Flags map[string]struct {
			Enabled bool    `json:"enabled"`
			Variant *string `json:"variant"`
		} `json:"flags"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return err
	}
	flags := bench.Mixed(n)
	if len(got.Flags) != n {
		return fmt.Errorf("%d flags in the answer, want %d", len(got.Flags), n)
	}
	for i, want := range bench.Expected(flags, &bench.Ana, nil) {
		f := got.Flags[flags[i].Key]
		var variant string
		if f.Variant != nil {
			variant = *f.Variant
		}
		if f.Enabled != want.On || variant != want.Variant {
			return fmt.Errorf("%s: got %v %q, want %+v", flags[i].Key, f.Enabled, variant, want)
		}
	}
	return nil
}
