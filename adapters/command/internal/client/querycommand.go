package client

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/flags/wire"
)

const queryHelp = `Usage: bunting query [OPTIONS] QUERY

Runs a query over the events of a project and prints the result as a table. QUERY is
a statement in the server's SQL, such as

  bunting query 'SELECT event, count() FROM events GROUP BY event'

or a file whose name ends in .json, with a query such as a TrendsQuery in the form
of the API. The key needs the scope query:read.

` + projectOption + managerOptions + `  --csv             print CSV
  --json            print the whole response as JSON
`

var queryAction = action{project: readsProject, args: []string{"QUERY"}, options: func(m *manager) runner {
	asCSV := m.fs.Bool("csv", false, "")
	return func(ctx context.Context, m *manager, args []string) error { return m.query(ctx, args[0], *asCSV) }
}}

// queryAnswer contains the members that are read of a query's result.
type queryAnswer struct {
	Columns []string          `json:"columns"`
	Results []json.RawMessage `json:"results"`
	HasMore bool              `json:"hasMore"`
}

// query runs a query, and prints the result.
func (m *manager) query(ctx context.Context, text string, asCSV bool) error {
	var question any = map[string]string{"kind": "HogQLQuery", "query": text}
	if strings.HasSuffix(text, ".json") {
		content, err := os.ReadFile(text)
		if err != nil {
			return err
		}
		if !json.Valid(content) {
			return fmt.Errorf("%s is not valid JSON", text)
		}
		question = json.RawMessage(content)
	}
	var a queryAnswer
	printed, err := m.fetch(ctx, "POST", m.inProject("/query/"), map[string]any{"query": question, "name": "bunting query"}, &a)
	if printed || err != nil {
		return err
	}
	rows := a.rows()
	if asCSV {
		err = csv.NewWriter(m.Stdout).WriteAll(rows)
	} else {
		for _, row := range rows {
			for i := range row {
				row[i] = cli.Cell(row[i])
			}
		}
		err = m.printTable(rows)
	}
	if err == nil && a.HasMore {
		m.warn("the result has more rows than these: add a LIMIT to the query")
	}
	return err
}

// rows returns the rows of a table, beginning with the headings. Results without columns are lists
// of objects, such as the series of a trend; each member becomes a column.
func (a *queryAnswer) rows() [][]string {
	if a.Columns != nil {
		rows := [][]string{a.Columns}
		for _, r := range a.Results {
			list, _ := wire.Value(r).([]any)
			row := make([]string, len(list))
			for i, v := range list {
				row[i] = queryCell(v)
			}
			rows = append(rows, row)
		}
		return rows
	}
	objects := make([]map[string]any, len(a.Results))
	for i, r := range a.Results {
		objects[i], _ = wire.Value(r).(map[string]any)
	}
	if rows := seriesRows(objects); rows != nil {
		return rows
	}
	var names []string
	for _, o := range objects {
		for name := range o {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	rows := [][]string{names}
	for _, o := range objects {
		row := make([]string, len(names))
		for i, name := range names {
			row[i] = queryCell(o[name])
		}
		rows = append(rows, row)
	}
	return rows
}

// seriesRows returns the rows of time series: a row for each bucket of the first series, and a
// column for each series. It returns nil if the results are not time series.
func seriesRows(series []map[string]any) [][]string {
	if len(series) == 0 {
		return nil
	}
	days, _ := series[0]["days"].([]any)
	rows := make([][]string, len(days)+1)
	rows[0] = []string{"day"}
	for i, day := range days {
		rows[i+1] = []string{queryCell(day)}
	}
	for _, s := range series {
		data, ok := s["data"].([]any)
		if !ok || len(days) == 0 {
			return nil
		}
		label := queryCell(s["label"])
		if period, _ := s["compare_label"].(string); period != "" {
			label += " (" + period + ")"
		}
		rows[0] = append(rows[0], label)
		for i := range days {
			cell := ""
			if i < len(data) {
				cell = queryCell(data[i])
			}
			rows[i+1] = append(rows[i+1], cell)
		}
	}
	return rows
}

// queryCell formats a value in a table: strings without quotes, and null as an empty cell.
func queryCell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(bytes.TrimSpace(wire.MustEncode(v)))
}
