package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// samples are the runs of one benchmark by unit ("ns/op", "allocs/op", "B-held").
type samples map[string][]float64

// median returns the median of a unit; ok is false if there are no runs.
func (s samples) median(unit string) (m float64, ok bool) {
	v := slices.Clone(s[unit])
	if len(v) == 0 {
		return 0, false
	}
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2, true
	}
	return v[len(v)/2], true
}

// results are samples by the name of the benchmark, without "Benchmark" and without the number of
// cores.
type results struct {
	byName map[string]samples
	cores  int
	failed bool // the output contains FAIL
}

var line = regexp.MustCompile(`^Benchmark(\S+?)(?:-(\d+))?\s+\d+\s+(.+)$`)

// parse parses the output of `go test -bench`.
func parse(r io.Reader) (results, error) {
	res := results{byName: map[string]samples{}, cores: 1}
	scan := bufio.NewScanner(r)
	for scan.Scan() {
		text := scan.Text()
		if strings.HasPrefix(text, "--- FAIL") || strings.HasPrefix(text, "FAIL") {
			res.failed = true
		}
		m := line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if n, err := strconv.Atoi(m[2]); err == nil {
			res.cores = n
		}
		fields := strings.Fields(m[3])
		if len(fields)%2 != 0 {
			return res, fmt.Errorf("benchmark %s: values and units do not pair up: %q", m[1], m[3])
		}
		s := res.byName[m[1]]
		if s == nil {
			s = samples{}
			res.byName[m[1]] = s
		}
		for i := 0; i < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return res, fmt.Errorf("benchmark %s: %w", m[1], err)
			}
			s[fields[i+1]] = append(s[fields[i+1]], v)
		}
	}
	return res, scan.Err()
}

// allocating returns the benchmarks that promise no allocation but allocate in any run, and the
// number of benchmarks that promise it.
func (r results) allocating() (broken []string, promised int) {
	for name, s := range r.byName {
		if !strings.Contains(name, "NoAlloc") {
			continue
		}
		promised++
		if len(s["allocs/op"]) == 0 || slices.Max(s["allocs/op"]) > 0 {
			broken = append(broken, name)
		}
	}
	slices.SortFunc(broken, cmp.Compare[string])
	return broken, promised
}
