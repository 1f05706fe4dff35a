package main

import (
	"fmt"
	"io"
)

// plainLoad reads 10,000 flags with encoding/json into structs.
const plainLoad = "PlainLoad"

// load is a limit on work with 10,000 flags, by the CPU of the whole process.
type load struct {
	name, what string
	ratio      float64 // at most this many times plainLoad
}

var loads = []load{
	{"OursLoad", "parse and compile 10,000 flags", 40.0 / 47},
	{"OursSwap", "compile them when one has changed", 5.0 / 47},
}

// verdict lists what a load fails, as that of rows.
func (l load) verdict(r results) (ratio float64, fails []string) {
	ours, ok := r.byName[l.name].median("cpu-ns/op")
	plain, okPlain := r.byName[plainLoad].median("cpu-ns/op")
	switch {
	case !ok:
		return 0, []string{"no figure of ours"}
	case !okPlain || plain == 0:
		return 0, []string{"no figure of encoding/json"}
	case ours > l.ratio*plain:
		fails = []string{fmt.Sprintf("above %.2f x encoding/json", l.ratio)}
	}
	return ours / plain, fails
}

func (r results) printLoads(out io.Writer, say func(fails []string) string) {
	for _, l := range loads {
		ours, _ := r.byName[l.name].median("cpu-ns/op")
		ratio, fails := l.verdict(r)
		fmt.Fprintf(out, "%s: %.1f ms of CPU, %.2f x encoding/json into structs: %s\n", l.what, ours/1e6, ratio, say(fails))
	}
}
