package promhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/bunting-flags/bunting/adapters/promhook"
	"github.com/bunting-flags/bunting/flags"
)

const definitions = `{"flags": [
	{"id": 1, "key": "on", "active": true, "filters": {"groups": [{}]}},
	{"id": 2, "key": "off", "active": true, "filters": {"groups": [{"rollout_percentage": 0}]}},
	{"id": 3, "key": "color", "active": true, "filters": {"groups": [{"variant": "blue"}], "multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]}}},
	{"id": 4, "key": "inactive", "active": false, "filters": {"groups": [{}]}},
	{"id": 5, "key": "for-pro", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}]}}
]}`

var ctx = context.Background()

func hookedReader(t *testing.T, c promhook.Config) flags.Reader {
	t.Helper()
	hook, err := promhook.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := flags.Static([]byte(definitions))
	if err != nil {
		t.Fatal(err)
	}
	return flags.WithHooks(r, hook)
}

// Each read is counted by key, value and reason (OpenFeature, types: "Resolution Reason" and "Error
// Code"), and in the histogram.
func TestHook(t *testing.T) {
	registry := prometheus.NewRegistry()
	r, sub := hookedReader(t, promhook.Config{Registerer: registry}), &flags.Subject{DistinctID: "u"}
	for range 2 {
		r.Bool(ctx, "on", sub, false)
	}
	r.Bool(ctx, "off", sub, false)
	r.String(ctx, "color", sub, "")
	r.Bool(ctx, "inactive", sub, false)
	r.Bool(ctx, "nix", sub, false)
	r.Bool(ctx, "on", nil, false)
	r.Number(ctx, "on", sub, 1)
	r.JSON(ctx, "color", sub, json.RawMessage("1"))
	r.Bool(ctx, "for-pro", &flags.Subject{DistinctID: "u", Partial: true}, false)
	s := r.For(ctx, sub)
	s.Bool("off", false)
	s.Bool("off", false)
	want := `# HELP bunting_flag_reads_total Reads of feature flags.
# TYPE bunting_flag_reads_total counter
bunting_flag_reads_total{flag="color",reason="static",variant="blue"} 1
bunting_flag_reads_total{flag="color",reason="type_mismatch",variant=""} 1
bunting_flag_reads_total{flag="for-pro",reason="invalid_context",variant=""} 1
bunting_flag_reads_total{flag="inactive",reason="disabled",variant=""} 1
bunting_flag_reads_total{flag="nix",reason="flag_not_found",variant=""} 1
bunting_flag_reads_total{flag="off",reason="split",variant="false"} 2
bunting_flag_reads_total{flag="on",reason="static",variant="true"} 2
bunting_flag_reads_total{flag="on",reason="targeting_key_missing",variant=""} 1
bunting_flag_reads_total{flag="on",reason="type_mismatch",variant=""} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "bunting_flag_reads_total"); err != nil {
		t.Error(err)
	}
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range all {
		if family.GetName() != "bunting_flag_read_duration_seconds" {
			continue
		}
		if h := family.GetMetric()[0].GetHistogram(); h.GetSampleCount() != 11 || h.GetSampleSum() <= 0 {
			t.Errorf("%d reads in %v seconds", h.GetSampleCount(), h.GetSampleSum())
		}
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// The number of series is limited, however many keys are read concurrently, and the total count is
// correct.
func TestHook_Bounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	r, sub := hookedReader(t, promhook.Config{Registerer: registry, MaxSeries: 10}), &flags.Subject{DistinctID: "u"}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 50 {
				r.Bool(ctx, fmt.Sprint("k", i, n), sub, false)
			}
		})
	}
	r.Bool(ctx, strings.Repeat("x", 1000), sub, false)
	r.Bool(ctx, "bad \xff", sub, false)
	all.Wait()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "bunting_flag_reads_total" {
			continue
		}
		sum := 0.0
		for _, m := range family.GetMetric() {
			sum += m.GetCounter().GetValue()
		}
		if n := len(family.GetMetric()); n > 12 || sum != 202 {
			t.Errorf("%d series count %v reads, want at most 12 and 202", n, sum)
		}
	}
}

// New fails if the metrics are already registered, and leaves no metrics registered after an error.
func TestNew_Twice(t *testing.T) {
	registry := prometheus.NewRegistry()
	hookedReader(t, promhook.Config{Registerer: registry})
	if _, err := promhook.New(promhook.Config{Registerer: registry}); err == nil {
		t.Error("no error")
	}
}

func Example() {
	registry := prometheus.NewRegistry()
	hook, err := promhook.New(promhook.Config{Registerer: registry})
	if err != nil {
		panic(err)
	}
	reader, err := flags.Static([]byte(`{"flags": [{"id": 1, "key": "search", "active": true, "filters": {"groups": [{}]}}]}`))
	if err != nil {
		panic(err)
	}
	reader = flags.WithHooks(reader, hook)
	reader.Bool(context.Background(), "search", &flags.Subject{DistinctID: "ana"}, false)
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	reads := families[1].GetMetric()[0]
	for _, label := range reads.GetLabel() {
		fmt.Println(label.GetName(), label.GetValue())
	}
	fmt.Println(families[1].GetName(), reads.GetCounter().GetValue())
	// Output:
	// flag search
	// reason static
	// variant true
	// bunting_flag_reads_total 1
}
