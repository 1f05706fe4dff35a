// Command report runs the benchmarks of this module, or reads the output of earlier runs, and
// prints the table of ratios with each row's verdict.
//
// It exits 1 if a benchmark with NoAlloc in its name allocates, if an engine returns a wrong
// answer, or, with -strict, if a row exceeds its limit.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

func main() {
	count := flag.Int("count", 5, "runs of each benchmark; the table shows medians")
	benchtime := flag.String("benchtime", "200ms", "time of one run")
	pattern := flag.String("bench", ".", "which benchmarks to run")
	in := flag.String("in", "", "read this output of go test -bench instead of running")
	strict := flag.Bool("strict", false, "exit 1 also when a row misses its limit")
	flag.Parse()

	text, err := output(*in, *pattern, *benchtime, *count)
	if err == nil {
		err = report(os.Stdout, text, *strict)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// output returns the output of go test: from a file, or from running it. The output of a failed
// run, which contains FAIL, is returned too.
func output(file, pattern, benchtime string, count int) ([]byte, error) {
	if file != "" {
		return os.ReadFile(file)
	}
	var text bytes.Buffer
	run := exec.Command("go", "test", "-run=^$", "-bench="+pattern, "-benchmem", "-count="+strconv.Itoa(count), "-benchtime="+benchtime,
		"github.com/bunting-flags/bunting/bench")
	run.Stdout = io.MultiWriter(&text, os.Stderr)
	run.Stderr = os.Stderr
	err := run.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return text.Bytes(), err
}

func report(out io.Writer, text []byte, strict bool) error {
	res, err := parse(bytes.NewReader(text))
	if err != nil {
		return err
	}
	within := res.print(out)
	broken, promised := res.allocating()
	switch {
	case len(broken) > 0:
		return fmt.Errorf("these promise no allocation and allocate: %v", broken)
	case promised == 0:
		return errors.New("no benchmark named NoAlloc was run")
	case res.failed:
		return errors.New("go test failed: see above")
	case strict && !within:
		return errors.New("a row misses its limit")
	}
	return nil
}
