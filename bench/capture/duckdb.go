package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// duckProgram is the folder of the program that runs DuckDB, which the tests of segments use, below the
// server's module.
const duckProgram = "adapters/internal/sqlstore/internal/segment/duckdb"

var errNoDuckDB = errors.New("no Node.js is installed, with which DuckDB runs")

// duckDB runs statements with DuckDB on the files of a folder.
type duckDB struct {
	program, files string
	processors     int
}

// openDuckDB installs DuckDB's package for Node.js unless it is installed. folder is that of segments.
func openDuckDB(module, folder string, processors int) (*duckDB, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return nil, errNoDuckDB
	}
	d := &duckDB{program: filepath.Join(module, filepath.FromSlash(duckProgram)), files: filepath.ToSlash(folder) + "/project=1/**/*.parquet", processors: processors}
	if exec.Command("npm", "--prefix", d.program, "ls", "--all").Run() == nil {
		return d, nil
	}
	if out, err := exec.Command("npm", "--prefix", d.program, "ci", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return d, nil
}

// duckResult is the result of a statement.
type duckResult struct {
	Rows         [][]string
	Elapsed, CPU float64 // milliseconds
}

// run runs a statement times times in one process. It returns the rows, and the least elapsed and CPU
// time. In the statement, {files} is replaced by the table of all files, and {all} by one that has the
// columns of all files.
func (d *duckDB) run(statement string, times int) (rows [][]string, elapsed, cpu time.Duration, err error) {
	files := "read_parquet('" + d.files + "'"
	statement = strings.NewReplacer("{files}", files+")", "{all}", files+", union_by_name = true)").Replace(statement)
	statements := []string{fmt.Sprintf("SET threads = %d", d.processors), "SET parquet_metadata_cache = true"}
	before := len(statements)
	for range times {
		statements = append(statements, statement)
	}
	in, err := json.Marshal(statements)
	if err != nil {
		return nil, 0, 0, err
	}
	cmd := exec.Command("node", filepath.Join(d.program, "query.mjs"), "--times")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, 0, fmt.Errorf("DuckDB: %w\n%s", err, &stderr)
	}
	var results []duckResult
	if err := json.Unmarshal(out, &results); err != nil {
		return nil, 0, 0, fmt.Errorf("DuckDB: %w\n%.300s", err, out)
	}
	for i, r := range results[before:] {
		took, used := time.Duration(r.Elapsed*float64(time.Millisecond)), time.Duration(r.CPU*float64(time.Millisecond))
		if i == 0 {
			rows, elapsed, cpu = r.Rows, took, used
		}
		elapsed, cpu = min(elapsed, took), min(cpu, used)
	}
	return rows, elapsed, cpu, nil
}
