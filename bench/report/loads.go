package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// plainLoad reads 10,000 flags of the mix with encoding/json into structs.
const plainLoad = "PlainLoad"

// load is a limit on work with 10,000 flags, measured as the CPU time of the whole process: for the
// mix, and for each of the documents of BenchmarkDocuments.
type load struct {
	name, what string
	ratio      float64 // maximum multiple of encoding/json
	part       string  // the benchmark of a document
	// own: the limit is relative to encoding/json with the same document. Otherwise it is relative
	// to encoding/json with the mix, as a limit in milliseconds that scales with the machine.
	own bool
}

var loads = []load{
	{"OursLoad", "parse and compile 10,000 flags", 40.0 / 47, "ours", true},
	{"OursSwap", "compile them when one has changed", 5.0 / 47, "swap", false},
	{"OursGone", "compile them when one is new or gone", 5.0 / 47, "gone", false},
}

// figures returns the CPU time of a benchmark, and its ratio to that of another.
func (r results) figures(name, plain string) (nanos, ratio float64, missing string) {
	nanos, ok := r.byName[name].median("cpu-ns/op")
	reference, okPlain := r.byName[plain].median("cpu-ns/op")
	switch {
	case !ok:
		return 0, 0, "no figure of ours"
	case !okPlain || reference == 0:
		return nanos, 0, "no figure of encoding/json"
	}
	return nanos, nanos / reference, ""
}

// verdict returns the limits that the load of a document exceeds; "" is the mix.
func (l load) verdict(r results, document string) (nanos, ratio float64, fails []string) {
	name, plain := l.name, plainLoad
	if document != "" {
		name = documents + document + "/" + l.part
		if l.own {
			plain = documents + document + "/plain"
		}
	}
	nanos, ratio, missing := r.figures(name, plain)
	switch {
	case missing != "":
		fails = []string{missing}
	case ratio > l.ratio:
		fails = []string{fmt.Sprintf("above %.2f x encoding/json", l.ratio)}
	}
	return nanos, ratio, fails
}

const documents = "Documents/"

// documents returns the names of the measured documents, in order.
func (r results) documents() []string {
	var names []string
	for name := range r.byName {
		if rest, ok := strings.CutPrefix(name, documents); ok {
			names = append(names, rest[:strings.LastIndex(rest, "/")])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// printLoads prints the mix, and the document with the highest ratio.
func (r results) printLoads(out io.Writer, format func(fails []string) string) {
	for _, l := range loads {
		nanos, ratio, fails := l.verdict(r, "")
		fmt.Fprintf(out, "%s: %.1f ms of CPU, %.2f x encoding/json into structs: %s\n", l.what, nanos/1e6, ratio, format(fails))
		worst, most := "", -1.0
		var worstNanos float64
		var worstFails []string
		for _, document := range r.documents() {
			nanos, ratio, fails := l.verdict(r, document)
			if ratio > most || len(fails) > len(worstFails) {
				worst, most, worstNanos, worstFails = document, ratio, nanos, fails
			}
		}
		if worst != "" {
			fmt.Fprintf(out, "  worst of the documents, %q: %.1f ms, %.2f x: %s\n", strings.ReplaceAll(worst, "_", " "), worstNanos/1e6, most, format(worstFails))
		}
	}
}
