package results

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// metricColumns and variantColumns are the columns of the CSV results of an experiment. The bounds
// of the variant's interval follow.
var (
	metricColumns  = strings.Fields("uuid name metric_type goal error")
	variantColumns = strings.Fields("key number_of_samples sum mean effect standard_error significant p_value p_value_adjusted chance_to_win better significance_code")
)

// resultsCSV returns the results of an experiment as CSV, with a row for each metric and variant,
// the baseline first (experiments.md §3.5). A metric that could not be computed has one row.
func resultsCSV(result map[string]any) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := append([]string{"list"}, metricColumns...)
	head = append(append(head, variantColumns...), "interval_lower", "interval_upper")
	_ = w.Write(head) // writing to memory cannot fail
	for _, list := range []string{"primary", "secondary"} {
		metrics, _ := plainOf(result[list]).([]any)
		for _, m := range metrics {
			metric, _ := m.(map[string]any)
			variants, _ := metric["variants"].([]any)
			if metric["baseline"] != nil {
				variants = append([]any{metric["baseline"]}, variants...)
			}
			if len(variants) == 0 {
				variants = []any{nil}
			}
			for _, v := range variants {
				_ = w.Write(resultRow(list, metric, v))
			}
		}
	}
	w.Flush()
	return b.Bytes()
}

func resultRow(list string, metric map[string]any, v any) []string {
	variant, _ := v.(map[string]any)
	row := []string{list}
	for _, name := range metricColumns {
		row = append(row, cell(metric[name]))
	}
	for _, name := range variantColumns {
		row = append(row, cell(variant[name]))
	}
	interval, _ := variant["confidence_interval"].([]any)
	if credible, ok := variant["credible_interval"].([]any); ok {
		interval = credible
	}
	if len(interval) != 2 {
		interval = []any{nil, nil}
	}
	return append(row, cell(interval[0]), cell(interval[1]))
}

// plainOf converts a value to its JSON form. Numbers remain as they are written in JSON.
func plainOf(v any) any { return wire.Value(wire.MustEncode(v)) }

// cell returns the CSV cell for a JSON value, empty for null. Strings that a spreadsheet would
// interpret as a formula get an apostrophe in front.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		if v != "" && strings.ContainsRune("=+-@\t\r", rune(v[0])) {
			return "'" + v
		}
		return v
	}
	return fmt.Sprint(v)
}
