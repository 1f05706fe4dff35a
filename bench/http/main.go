// Command http measures the cost of POST /flags?v=2 and of OFREP's bulk evaluation: the CPU time of
// the server process for each request, compared with a bare net/http handler that reads the same
// body and returns the same bytes.
//
// Usage: http run [-requests n] [-rounds n]. The other modes, serve-ours and serve-bare, are the
// child processes that run starts, one core each.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// flagCounts are the numbers of flags in the measured projects.
var flagCounts = []int{10, 100}

func main() {
	mode := "run"
	args := os.Args[1:]
	if len(args) > 0 && args[0][0] != '-' {
		mode, args = args[0], args[1:]
	}
	set := flag.NewFlagSet(mode, flag.ExitOnError)
	requests := set.Int("requests", 20_000, "requests of one round")
	rounds := set.Int("rounds", 5, "rounds, ours and bare in turn; the table shows medians")
	count := set.Int("flags", 10, "flags of the project (serve-ours)")
	answer := set.String("answer", "", "file with the bytes to answer (serve-bare)")
	_ = set.Parse(args) // ExitOnError

	var err error
	switch mode {
	case "run":
		err = run(*requests, *rounds)
	case "serve-ours":
		err = serveOurs(*count)
	case "serve-bare":
		err = serveBare(*answer)
	default:
		err = fmt.Errorf("unknown mode %q: run, serve-ours or serve-bare", mode)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "http:", err)
		os.Exit(1)
	}
}

func run(requests, rounds int) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "asked by\tflags\tours µs CPU/request\tbare µs CPU/request\tours/bare\tanswer bytes\t")
	for i := range questions {
		q := &questions[i]
		for _, n := range flagCounts {
			ours, bare, size, err := compare(q, n, requests, rounds)
			if err != nil {
				return fmt.Errorf("%s, %d flags: %w", q.name, n, err)
			}
			micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / float64(requests) }
			fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.2f\t%d\t\n", q.name, n, micros(ours), micros(bare), float64(ours)/float64(bare), size)
		}
	}
	return w.Flush()
}

// compare returns the CPU time of one round for each server, as the median of the rounds, and the
// size of the response.
func compare(q *question, flags, requests, rounds int) (ours, bare time.Duration, size int, err error) {
	us, err := start(q, "serve-ours", fmt.Sprintf("-flags=%d", flags))
	if err != nil {
		return 0, 0, 0, err
	}
	defer us.stop()
	if q.stream != "" {
		stream, err := http.Get(strings.TrimSuffix(us.url, q.path) + q.stream)
		if err != nil {
			return 0, 0, 0, err
		}
		defer stream.Body.Close()
		if stream.StatusCode != http.StatusOK {
			return 0, 0, 0, fmt.Errorf("the stream: %s", stream.Status)
		}
	}
	answer, err := us.ask()
	if err != nil {
		return 0, 0, 0, err
	}
	if err := check(q, answer, flags); err != nil {
		return 0, 0, 0, err
	}
	file, err := os.CreateTemp("", "bench-answer-*.json")
	if err != nil {
		return 0, 0, 0, err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(answer); err != nil {
		return 0, 0, 0, err
	}
	if err := file.Close(); err != nil {
		return 0, 0, 0, err
	}
	them, err := start(q, "serve-bare", "-answer="+file.Name())
	if err != nil {
		return 0, 0, 0, err
	}
	defer them.stop()

	spent := map[*child][]time.Duration{}
	for round := range rounds + 1 { // the first is a warm-up and not counted
		for _, c := range []*child{us, them} {
			d, err := c.load(requests)
			if err != nil {
				return 0, 0, 0, err
			}
			if round > 0 {
				spent[c] = append(spent[c], d)
			}
		}
	}
	median := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	return median(spent[us]), median(spent[them]), len(answer), nil
}
