package segment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
)

// The library reads the same values with its own reader: types, statistics, page index and sorting
// columns are as in the Parquet format.
func TestFile_LibraryReadsIt(t *testing.T) {
	m := newMaker(5)
	groups := [][]event{m.events(5000), m.strange(900)}
	data := segmentOf(t, groups...)
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if version, _ := file.Lookup("bunting.version"); version != "2" {
		t.Errorf("version %q", version)
	}
	const schema = `message events {
	required int64 id (INT(64,true));
	required fixed_len_byte_array(16) uuid (UUID);
	required int64 timestamp (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	required int64 received_at (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	required binary event (STRING);
	required binary distinct_id (STRING);
	required fixed_len_byte_array(16) person_id (UUID);
	required int64 person_created_at (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	required binary person_mode (STRING);
	required boolean historical;
	required binary elements_chain (STRING);
	required binary properties (JSON);
	required binary person_properties (JSON);
`
	fixed, properties, _ := strings.Cut(file.Schema().String(), "	optional")
	if diff := cmp.Diff(schema, fixed); diff != "" {
		t.Errorf("schema (-want +got)\n%s", diff)
	}
	if !regexp.MustCompile(`^( binary properties\.\S+ \(JSON\);\n(	optional)?){20,32}\}$`).MatchString(properties) {
		t.Errorf("columns of properties:%s", properties)
	}
	for g, want := range groups {
		group := file.RowGroups()[g]
		if s := group.SortingColumns(); len(s) != 1 || s[0].Path()[0] != "id" || s[0].Descending() {
			t.Errorf("sorting columns %v", s)
		}
		compare(t, fmt.Sprint("group ", g), want, libraryRows(t, group, file.Schema().Columns()))
		checkBounds(t, group, want)
	}
}

// libraryRows reads a group with the reader of the library, and compares the columns of properties
// with the properties.
func libraryRows(t *testing.T, group parquet.RowGroup, columns [][]string) (out []event) {
	t.Helper()
	rows := group.Rows()
	defer func() { _ = rows.Close() }()
	buffer := make([]parquet.Row, 100)
	for {
		n, err := rows.ReadRows(buffer)
		for _, r := range buffer[:n] {
			e := event{Event: block.Event{
				ID: r[0].Int64(), Time: r[2].Int64(), Arrived: r[3].Int64(), Name: string(r[4].ByteArray()), DistinctID: string(r[5].ByteArray()),
				UUID: capture.UUID(r[1].ByteArray()), Person: capture.UUID(r[6].ByteArray()), PersonCreated: r[7].Int64(), Historical: r[9].Boolean(),
			}, elements: string(r[10].ByteArray()), properties: string(r[11].ByteArray()), person: string(r[12].ByteArray())}
			var members map[string]json.RawMessage
			_ = json.Unmarshal([]byte(e.properties), &members) // the properties of some events are no object
			for i := 13; i < len(columns); i++ {
				if got, want := string(r[i].ByteArray()), string(members[strings.TrimPrefix(columns[i][0], "properties.")]); got != want || r[i].IsNull() != (want == "") {
					t.Fatalf("%s of event %d: %s, want %s", columns[i][0], e.ID, got, want)
				}
			}
			e.Mode = capture.PersonMode(slices.Index([]string{"full", "propertyless", "force_upgrade"}, string(r[8].ByteArray())))
			out = append(out, e)
		}
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkBounds compares the statistics and the page index of ids, times and names with the events.
func checkBounds(t *testing.T, group parquet.RowGroup, events []event) {
	t.Helper()
	for at, value := range map[int]func(e *event) parquet.Value{
		idColumn: func(e *event) parquet.Value { return parquet.Int64Value(e.ID) }, timeColumn: func(e *event) parquet.Value { return parquet.Int64Value(e.Time) },
		arrivedColumn: func(e *event) parquet.Value { return parquet.Int64Value(e.Arrived) }, nameColumn: func(e *event) parquet.Value { return parquet.ByteArrayValue([]byte(e.Name)) },
	} {
		chunk := group.ColumnChunks()[at].(*parquet.FileColumnChunk)
		bounds, err := chunk.ColumnIndex()
		if err != nil {
			t.Fatal(err)
		}
		offsets, err := chunk.OffsetIndex()
		if err != nil {
			t.Fatal(err)
		}
		compareValues, row := chunk.Type().Compare, 0
		wantLeast, wantGreatest := value(&events[0]), value(&events[0])
		for page := range offsets.NumPages() {
			next := len(events)
			if page+1 < offsets.NumPages() {
				next = int(offsets.FirstRowIndex(page + 1))
			}
			least, greatest := value(&events[row]), value(&events[row])
			for ; row < next; row++ {
				v := value(&events[row])
				least, greatest = minValue(compareValues, least, v), maxValue(compareValues, greatest, v)
			}
			if compareValues(bounds.MinValue(page), least) != 0 || compareValues(bounds.MaxValue(page), greatest) != 0 {
				t.Errorf("column %d, page %d: from %v to %v, want %v to %v", at, page, bounds.MinValue(page), bounds.MaxValue(page), least, greatest)
			}
			wantLeast, wantGreatest = minValue(compareValues, wantLeast, least), maxValue(compareValues, wantGreatest, greatest)
		}
		if least, greatest, ok := chunk.Bounds(); !ok || compareValues(least, wantLeast) != 0 || compareValues(greatest, wantGreatest) != 0 {
			t.Errorf("column %d: from %v to %v, want %v to %v", at, least, greatest, wantLeast, wantGreatest)
		}
	}
}

func minValue(compare func(a, b parquet.Value) int, a, b parquet.Value) parquet.Value {
	if compare(b, a) < 0 {
		return b
	}
	return a
}

func maxValue(compare func(a, b parquet.Value) int, a, b parquet.Value) parquet.Value {
	if compare(b, a) > 0 {
		return b
	}
	return a
}

// Files of version 1 are read as they were written: they have a dictionary for each column that may
// have one, and no columns of properties.
func TestFile_Version1(t *testing.T) {
	data, err := os.ReadFile("testdata/version1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	m := newMaker(12)
	want := [][]event{m.events(60), m.strange(20)}
	got, err := readAll(data)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d groups, %v", len(got), err)
	}
	for i := range want {
		compare(t, fmt.Sprint("group ", i), want[i], got[i])
	}
}
