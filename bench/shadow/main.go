// Command shadow measures the latency that comparing with an upstream adds to POST /flags?v=2: the
// real binary runs as bunting serve, and again with --upstream, under the same load at a fixed
// rate.
//
// Usage: shadow [-rate n] [-time d] [-rounds n]. Requests are sent when they are due, independent
// of earlier ones, and timed from then.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

func main() {
	rate := flag.Int("rate", 500, "requests a second")
	length := flag.Duration("time", 10*time.Second, "length of a round")
	rounds := flag.Int("rounds", 5, "rounds, without and with the upstream in turn; the table shows medians")
	count := flag.Int("flags", 20, "flags of the project")
	flag.Parse()
	if err := run(*rate, *length, *rounds, *count); err != nil {
		fmt.Fprintln(os.Stderr, "shadow:", err)
		os.Exit(1)
	}
}

// round is the latency of one round.
type round struct{ p50, p99 time.Duration }

func run(rate int, length time.Duration, rounds, flags int) error {
	dir, err := os.MkdirTemp("", "bench-shadow-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, definitions := filepath.Join(dir, "bunting"), filepath.Join(dir, "flags.json")
	build := exec.Command("go", "build", "-C", "..", "-o", binary, "./cmd/bunting") // of the parent module
	build.Stderr = os.Stderr
	if err := errors.Join(build.Run(), os.WriteFile(definitions, project(flags), 0o600)); err != nil {
		return err
	}
	var servers []*server
	defer func() {
		for _, s := range servers {
			s.stop()
		}
	}()
	start := func(args ...string) (*server, error) {
		s, err := startServer(binary, append([]string{"--definitions", definitions, "--data", filepath.Join(dir, fmt.Sprint(len(servers)))}, args...))
		if err == nil {
			servers = append(servers, s)
		}
		return s, err
	}
	upstream, err := start()
	if err != nil {
		return err
	}
	plain, err := start()
	if err != nil {
		return err
	}
	shadowed, err := start("--upstream", upstream.url)
	if err != nil {
		return err
	}
	took := map[*server][]round{}
	for i := range rounds + 1 { // the first is a warm-up
		for _, s := range []*server{plain, shadowed} {
			r, err := load(s.url, rate, length)
			if err != nil {
				return err
			}
			if i > 0 {
				took[s] = append(took[s], r)
			}
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tp50\tp99\t")
	a, b := median(took[plain]), median(took[shadowed])
	fmt.Fprintf(w, "alone\t%v\t%v\t\n", a.p50, a.p99)
	fmt.Fprintf(w, "beside an upstream\t%v\t%v\t\n", b.p50, b.p99)
	fmt.Fprintf(w, "ratio\t%.2f\t%.2f\t\n", float64(b.p50)/float64(a.p50), float64(b.p99)/float64(a.p99))
	if err := w.Flush(); err != nil {
		return err
	}
	return shadowed.compared(rate * int(length/time.Second) * (rounds + 1))
}

func median(rounds []round) (m round) {
	slices.SortFunc(rounds, func(a, b round) int { return cmp.Compare(a.p50, b.p50) })
	m.p50 = rounds[len(rounds)/2].p50
	slices.SortFunc(rounds, func(a, b round) int { return cmp.Compare(a.p99, b.p99) })
	m.p99 = rounds[len(rounds)/2].p99
	return m
}

// project returns a project of flags that need no stored data, half of them with a bucket.
func project(n int) []byte {
	type object = map[string]any
	var flags []object
	for i := range n {
		share := 100
		if i%2 == 0 {
			share = 50
		}
		flags = append(flags, object{"id": i + 1, "key": fmt.Sprintf("flag-%d", i), "active": true,
			"filters": object{"groups": []object{{"properties": []object{}, "rollout_percentage": share}}}})
	}
	text, err := json.Marshal(object{"projects": []object{{"id": 1, "name": "bench", "api_key": "phc_bench", "flags": flags}}})
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	return text
}

// server is a process of bunting serve.
type server struct {
	url string
	cmd *exec.Cmd
}

func startServer(binary string, args []string) (*server, error) {
	s := &server{cmd: exec.Command(binary, append([]string{"serve", "--listen", "127.0.0.1:0", "--log-level", "error"}, args...)...)}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		s.cmd.Stderr = os.Stderr
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	var output strings.Builder
	buffer := make([]byte, 1024)
	for {
		n, err := out.Read(buffer)
		output.Write(buffer[:n])
		if _, rest, ok := strings.Cut(output.String(), " listens on "); ok {
			if url, _, complete := strings.Cut(rest, "\n"); complete {
				s.url = url
				go func() { _, _ = io.Copy(io.Discard, out) }()
				return s, nil
			}
		}
		if err != nil {
			s.stop()
			return nil, fmt.Errorf("the server has not started: %s", output.String())
		}
	}
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// compared checks that the load was compared and that there were no differences.
func (s *server) compared(sent int) error {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		response, err := http.Get(s.url + "/metrics")
		if err != nil {
			return err
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return err
		}
		var compared, differing, skipped int
		for line := range strings.Lines(string(text)) {
			_, _ = fmt.Sscanf(line, "bunting_shadow_compared_total %d", &compared)
			_, _ = fmt.Sscanf(line, "bunting_shadow_differing_total %d", &differing)
			_, _ = fmt.Sscanf(line, "bunting_shadow_skipped_total %d", &skipped)
		}
		switch {
		case differing > 0:
			return fmt.Errorf("%d answers of equal servers differ", differing)
		case compared+skipped >= sent:
			fmt.Printf("%d requests compared, %d not\n", compared, skipped)
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%d of %d requests were compared, %d skipped", compared, sent, skipped)
		}
	}
}

// load sends requests at a rate and measures each from the time when it was due.
func load(url string, rate int, length time.Duration) (round, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	defer client.CloseIdleConnections()
	n := rate * int(length/time.Second)
	took, failed := make([]time.Duration, n), make([]error, n)
	begin := time.Now()
	var under sync.WaitGroup
	for i := range n {
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		under.Go(func() {
			failed[i] = ask(client, url, i)
			took[i] = time.Since(due)
		})
	}
	under.Wait()
	if err := errors.Join(failed...); err != nil {
		return round{}, err
	}
	slices.Sort(took)
	return round{took[n/2], took[n*99/100]}, nil
}

func ask(client *http.Client, url string, i int) error {
	body := fmt.Sprintf(`{"api_key": "phc_bench", "distinct_id": "user-%d", "person_properties": {"plan": "pro", "age": 30}}`, i%1000)
	response, err := client.Post(url+"/flags?v=2", "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d, %w", response.StatusCode, err)
	}
	return nil
}
