package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	ours       = "OursNoAlloc"
	convenient = "ConvenientNoAlloc" // our engine through flags.Reader
	limit      = "Limit"
)

var rivals = []string{"PosthogGo", "LaunchDarkly", "ConfigCat"}

// rules are the limits of one row. Zero means no limit.
type rules struct {
	name     string
	own      string  // the benchmark that is judged, ours if empty
	ratio    float64 // maximum multiple of the hand-written limit,
	orNanos  float64 // or maximum number of nanoseconds
	scalesAs string  // row of which this row must reach 0.9 times the rate on each core
}

var rows = []rules{
	{name: "W1", ratio: 1.5},
	{name: "W2", ratio: 3, orNanos: 150},
	{name: "W3", ratio: 1.5},
	{name: "W4", ratio: 1.5},
	{name: "W5", ratio: 1.5},
	{name: "W6", scalesAs: "W2"},
	{name: "W1", own: convenient, ratio: 1.25},
	{name: "W2", own: convenient, ratio: 2},
	{name: "W3", own: convenient, ratio: 1.25},
}

func (row rules) engine() string { return cmp.Or(row.own, ours) }

// title returns the row's name in the table.
func (row rules) title() string {
	if row.own == convenient {
		return row.name + " convenient"
	}
	return row.name
}

// The limits on compiling 10,000 mixed flags.
const (
	compileName  = "OursCompile"
	compileNanos = 35e6
	compileBytes = 8 << 20
	perCore      = 0.9
)

// verdict describes the limits that a row exceeds. It is empty if the row passes.
func (r results) verdict(row rules) []string {
	own := r.byName[row.engine()+"/"+row.name]
	mine, ok := own.median("ns/op")
	if !ok {
		return []string{"no figure of ours"}
	}
	var fails []string
	if allocs, ok := own.median("allocs/op"); !ok || allocs > 0 {
		fails = append(fails, "allocates")
	}
	if row.ratio > 0 {
		base, ok := r.byName[limit+"/"+row.name].median("ns/op")
		switch {
		case !ok:
			fails = append(fails, "no figure of the limit")
		case mine > row.ratio*base && (row.orNanos == 0 || mine > row.orNanos):
			fails = append(fails, row.bound())
		}
	}
	if row.scalesAs != "" {
		single, ok := r.byName[ours+"/"+row.scalesAs].median("ns/op")
		if need := perCore * float64(r.cores); !ok || single/mine < need {
			fails = append(fails, fmt.Sprintf("scales %.2f, needs %.2f%s", single/mine, need, r.limitScales(row)))
		}
	}
	for _, rival := range rivals {
		theirs, ok := r.byName[rival+"/"+row.name].median("ns/op")
		switch {
		case !ok:
			fails = append(fails, "no figure of "+rival)
		case mine >= theirs:
			fails = append(fails, "behind "+rival)
		}
	}
	return fails
}

// bound describes the limit that a slow row has exceeded.
func (row rules) bound() string {
	if row.orNanos > 0 {
		return fmt.Sprintf("above %.1f x limit and %.0f ns", row.ratio, row.orNanos)
	}
	return fmt.Sprintf("above %g x limit", row.ratio)
}

// limitScales describes how the limit scaled in the same run. It shares no data between cores: if
// it does not scale either, the engine is not the cause.
func (r results) limitScales(row rules) string {
	single, ok := r.byName[limit+"/"+row.scalesAs].median("ns/op")
	all, okAll := r.byName[limit+"/"+row.name].median("ns/op")
	if !ok || !okAll || all == 0 {
		return ""
	}
	return fmt.Sprintf(" (the limit: %.2f)", single/all)
}

// compileVerdict is verdict for the compilation.
func (r results) compileVerdict() []string {
	s := r.byName[compileName]
	nanos, ok := s.median("ns/op")
	held, okHeld := s.median("B-held")
	if !ok || !okHeld {
		return []string{"no figure of ours"}
	}
	var fails []string
	if nanos > compileNanos {
		fails = append(fails, "above 35 ms")
	}
	if held > compileBytes {
		fails = append(fails, "above 8 MB")
	}
	return fails
}

// print writes the table and reports whether every row is within its limits.
func (r results) print(out io.Writer) (within bool) {
	within = true
	format := func(fails []string) string {
		if len(fails) == 0 {
			return "pass"
		}
		within = false
		for _, f := range fails {
			if strings.HasPrefix(f, "no figure") { // only a part of the benchmarks was run
				return "not judged: " + strings.Join(fails, ", ")
			}
		}
		return "FAIL: " + strings.Join(fails, ", ")
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\tours ns\tallocs\tlimit ns\tours/limit\t%s\t  verdict\n", strings.Join(over(rivals), "\t"))
	for _, row := range rows {
		own := r.byName[row.engine()+"/"+row.name]
		cells := []string{row.title(), r.cell(row.engine(), row, "ns/op"), r.cell(row.engine(), row, "allocs/op"), r.cell(limit, row, "ns/op"), r.ratio(own, r.byName[limit+"/"+row.name])}
		for _, rival := range rivals {
			cells = append(cells, r.ratio(r.byName[rival+"/"+row.name], own))
		}
		fmt.Fprintf(w, "%s\t  %s\n", strings.Join(cells, "\t"), format(r.verdict(row)))
	}
	w.Flush()
	s := r.byName[compileName]
	nanos, _ := s.median("ns/op")
	held, _ := s.median("B-held")
	fmt.Fprintf(out, "compile 10,000 flags: %.1f ms, %.2f MB held: %s\n", nanos/1e6, held/(1<<20), format(r.compileVerdict()))
	r.printLoads(out, format)
	return within
}

func over(names []string) []string {
	out := slices.Clone(names)
	for i := range out {
		out[i] += "/ours"
	}
	return out
}

func (r results) cell(engine string, row rules, unit string) string {
	m, ok := r.byName[engine+"/"+row.name].median(unit)
	if !ok {
		return "-"
	}
	if m < 100 && m != float64(int64(m)) {
		return fmt.Sprintf("%.1f", m)
	}
	return fmt.Sprintf("%.0f", m)
}

func (r results) ratio(a, b samples) string {
	x, okX := a.median("ns/op")
	y, okY := b.median("ns/op")
	if !okX || !okY || y == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", x/y)
}
