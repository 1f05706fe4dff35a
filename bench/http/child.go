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

// question is one way to request all flags of a user with five properties.
type question struct {
	name, path string
	body       any
	// parse reads a response: values by flag key, which are false, true or the variant. A flag
	// without a value is absent.
	parse func(answer []byte) (map[string]any, error)
	// stream, if not empty, is opened first, since responses name the stream for a long time only
	// after a client has used it.
	stream string
}

var questions = []question{
	{"flags", "/flags?v=2", map[string]any{"api_key": apiKey, "distinct_id": bench.Ana.ID, "person_properties": bench.Ana.Properties()}, parseFlags, ""},
	{"OFREP", "/ofrep/v1/evaluate/flags", map[string]any{"context": ofrepContext()}, parseOFREP, "/ofrep/v1/events?token=" + apiKey},
}

func ofrepContext() map[string]any {
	context := bench.Ana.Properties()
	context["targetingKey"] = bench.Ana.ID
	return context
}

// child is a server process on one core. It prints its address as its first line of output,
// responds to each line of input with the CPU time used so far in nanoseconds, and ends at the end
// of its input.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	url    string
	body   []byte
	client *http.Client
}

func start(q *question, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(q.body)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self, args...), body: body}
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
	c.url = "http://" + strings.TrimSpace(address) + q.path
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
	request, err := http.NewRequest(http.MethodPost, c.url, bytes.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-API-Key", apiKey)
	response, err := c.client.Do(request)
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

// load sends n requests over the reused connections and returns the CPU time that they cost the
// child.
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

func parseFlags(answer []byte) (map[string]any, error) {
	var got struct {
		Flags map[string]struct {
			Enabled bool    `json:"enabled"`
			Variant *string `json:"variant"`
		} `json:"flags"`
	}
	err := json.Unmarshal(answer, &got)
	values := map[string]any{}
	for key, f := range got.Flags {
		values[key] = f.Enabled
		if f.Variant != nil {
			values[key] = *f.Variant
		}
	}
	return values, err
}

func parseOFREP(answer []byte) (map[string]any, error) {
	var got struct {
		Flags []struct {
			Key   string `json:"key"`
			Value any    `json:"value"`
		} `json:"flags"`
	}
	err := json.Unmarshal(answer, &got)
	values := map[string]any{}
	for _, f := range got.Flags {
		values[f.Key] = f.Value
		if f.Value == nil { // a flag with variants that is off
			values[f.Key] = false
		}
	}
	return values, err
}

// check compares a response with the limit's decisions.
func check(q *question, answer []byte, n int) error {
	got, err := q.parse(answer)
	if err != nil {
		return err
	}
	flags := bench.Mixed(n)
	if len(got) != n {
		return fmt.Errorf("%d flags in the answer, want %d", len(got), n)
	}
	for i, expected := range bench.Expected(flags, &bench.Ana, nil) {
		var want any = expected.On
		if expected.Variant != "" {
			want = expected.Variant
		}
		if got[flags[i].Key] != want {
			return fmt.Errorf("%s: got %v, want %v", flags[i].Key, got[flags[i].Key], want)
		}
	}
	return nil
}
