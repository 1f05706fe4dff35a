//go:build duckdb

package segment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// duckDB runs statements with DuckDB's package for Node, which npm installs in the version of
// duckdb/package-lock.json unless it is installed. It returns the rows of each statement.
func duckDB(t *testing.T, statements ...string) (results [][][]string) {
	t.Helper()
	if exec.Command("npm", "--prefix", "duckdb", "ls", "--all").Run() != nil {
		if out, err := exec.Command("npm", "--prefix", "duckdb", "ci", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
			t.Fatalf("npm ci: %v\n%s", err, out)
		}
	}
	in, err := json.Marshal(statements)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", filepath.Join("duckdb", "query.mjs"))
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, &stderr)
	}
	if err := json.Unmarshal(out, &results); err != nil || len(results) != len(statements) {
		t.Fatalf("%d results: %v\n%.300s", len(results), err, out)
	}
	return results
}

// rowOf returns the values of an event as the statement of TestDuckDB selects them.
func rowOf(e *event) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		number(e.ID), e.UUID.String(), number(e.Time), number(e.Arrived), e.Name, e.DistinctID, e.Person.String(), number(e.PersonCreated),
		e.Mode.String(), strconv.FormatBool(e.Historical), e.elements, e.properties, e.person,
	}
}

// DuckDB reads every value of the files of a folder as it was written, with the types that the
// documentation describes, and finds events by columns with statistics.
func TestDuckDB(t *testing.T) {
	m := newMaker(11)
	groups := [][]event{m.events(9000), m.strange(700), m.events(1), m.events(300)}
	for i := range groups[1] { // values that DuckDB's types have: half of the times, and JSON
		e := &groups[1][i]
		e.Time, e.Arrived, e.PersonCreated = e.Time/2, e.Arrived/2, e.PersonCreated/2
		e.properties, e.person = fmt.Sprintf(`{"p":%q}`, e.properties), fmt.Sprintf(`{"s":%q}`, e.person)
	}
	f := testFolder(t)
	for i, name := range []string{Name(1, 1, groups[1][699].ID, 1, 0), Name(2, groups[2][0].ID, m.id, 1, 86400e6)} {
		if _, _, err := f.Create(name, writeGroups(t, groups[2*i:2*i+2])); err != nil {
			t.Fatal(err)
		}
	}
	var want [][]string
	counts := map[string]int{}
	named, late := 0, 0
	const name, after = "order placed", 1_795_000_050_000_000
	for g, events := range groups {
		for i := range events {
			want = append(want, rowOf(&events[i]))
			counts[fmt.Sprint(g/2+1)]++
			if events[i].Name == name {
				named++
			}
			if events[i].Time >= after {
				late++
			}
		}
	}
	files := "read_parquet('" + filepath.ToSlash(f.String()) + "/**/*.parquet', hive_partitioning = true)"
	results := duckDB(t,
		`SELECT id::VARCHAR, uuid::VARCHAR, epoch_us(timestamp)::VARCHAR, epoch_us(received_at)::VARCHAR, event, distinct_id, person_id::VARCHAR,
			epoch_us(person_created_at)::VARCHAR, person_mode, historical::VARCHAR, elements_chain, properties::VARCHAR, person_properties::VARCHAR FROM `+files+` ORDER BY id`,
		`SELECT column_name, column_type FROM (DESCRIBE SELECT * EXCLUDE (project, received) FROM `+files+`) WHERE column_name NOT LIKE 'properties.%'`,
		`SELECT project::VARCHAR, received::VARCHAR, count(*)::VARCHAR FROM `+files+` GROUP BY ALL ORDER BY ALL`,
		fmt.Sprintf(`SELECT count(*)::VARCHAR FROM %s WHERE event = '%s'`, files, name),
		fmt.Sprintf(`SELECT count(*)::VARCHAR FROM %s WHERE epoch_us(timestamp) >= %d`, files, after),
		fmt.Sprintf(`SELECT distinct_id FROM %s WHERE id = %d`, files, groups[0][8000].ID),
	)
	if diff := cmp.Diff(want, results[0]); diff != "" {
		t.Errorf("events (-want +DuckDB)\n%.3000s", diff)
	}
	for i, want := range [][][]string{
		{
			{"id", "BIGINT"}, {"uuid", "UUID"}, {"timestamp", "TIMESTAMP WITH TIME ZONE"}, {"received_at", "TIMESTAMP WITH TIME ZONE"}, {"event", "VARCHAR"},
			{"distinct_id", "VARCHAR"}, {"person_id", "UUID"}, {"person_created_at", "TIMESTAMP WITH TIME ZONE"}, {"person_mode", "VARCHAR"},
			{"historical", "BOOLEAN"}, {"elements_chain", "VARCHAR"}, {"properties", "JSON"}, {"person_properties", "JSON"},
		},
		{{"1", "1970-01-01", fmt.Sprint(counts["1"])}, {"2", "1970-01-02", fmt.Sprint(counts["2"])}},
		{{fmt.Sprint(named)}},
		{{fmt.Sprint(late)}},
		{{groups[0][8000].DistinctID}},
	} {
		if diff := cmp.Diff(want, results[i+1]); diff != "" {
			t.Errorf("statement %d (-want +DuckDB)\n%s", i+1, diff)
		}
	}
	compareProperties(t, f, groups[:2])
	if late == 0 || named == 0 || len(want) != 9000+700+1+300 {
		t.Error("nothing was looked for")
	}
}

// compareProperties compares the columns of properties of the first file as DuckDB reads them with the
// properties.
func compareProperties(t *testing.T, f *Folder, groups [][]event) {
	t.Helper()
	names, err := f.Names()
	if err != nil {
		t.Fatal(err)
	}
	file, err := f.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Release()
	columns, list := slices.Sorted(maps.Keys(file.properties)), "'1'"
	for _, name := range columns {
		list += fmt.Sprintf(`, "properties.%s"::VARCHAR`, name)
	}
	from := " FROM '" + filepath.ToSlash(filepath.Join(f.String(), names[0])) + "'"
	results := duckDB(t, `SELECT `+list+from+` ORDER BY id`, `SELECT count(*)::VARCHAR`+from+` WHERE "properties.$browser"->>'$' = 'Chrome'`)
	var want [][]string
	chrome := 0
	for _, events := range groups {
		for i := range events {
			var members map[string]json.RawMessage
			if err := json.Unmarshal([]byte(events[i].properties), &members); err != nil {
				t.Fatal(err)
			}
			row := []string{"1"}
			for _, name := range columns {
				row = append(row, string(members[name]))
			}
			if string(members["$browser"]) == `"Chrome"` {
				chrome++
			}
			want = append(want, row)
		}
	}
	if diff := cmp.Diff(want, results[0]); diff != "" {
		t.Errorf("columns of properties (-want +DuckDB)\n%.3000s", diff)
	}
	if results[1][0][0] != fmt.Sprint(chrome) || chrome == 0 || len(columns) < 20 {
		t.Errorf("DuckDB finds %s events of Chrome, want %d; %d columns", results[1][0][0], chrome, len(columns))
	}
}
