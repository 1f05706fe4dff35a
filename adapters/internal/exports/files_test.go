package exports_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/management/batchexports"
)

const base = "20260101T100000Z-20260101T110000Z." + exportID + "."

// Unusual rows, and their JSON lines.
var (
	oddRows = [][]any{
		{"u1", "a <b> & \"c\"\n", "é\u2028", time.Date(2026, 1, 1, 13, 0, 0, 1500, time.FixedZone("", 3600)), json.RawMessage("{\n\"a\": 1}"), true, int64(-1) << 62, []string{"x", "<y>"}},
		{"u2", "", "\xff", time.Time{}, json.RawMessage(nil), false, int64(0), []string(nil)},
		{nil, nil, nil, nil, nil, nil, nil, nil},
	}
	oddLines = `{"uuid":"u1","event":"a <b> & \"c\"\n","distinct_id":"é\u2028","timestamp":"2026-01-01T12:00:00.000001Z","properties":{"a":1},"identified":true,"count":-4611686018427387904,"ids":["x","<y>"]}
{"uuid":"u2","event":"","distinct_id":"\ufffd","timestamp":"0001-01-01T00:00:00.000000Z","properties":null,"identified":false,"count":0,"ids":[]}
{"uuid":null,"event":null,"distinct_id":null,"timestamp":null,"properties":null,"identified":null,"count":null,"ids":null}
`
)

func TestFiles_JSONLines(t *testing.T) {
	for compression, unpack := range map[string]func(io.Reader) io.Reader{
		"":       func(r io.Reader) io.Reader { return r },
		"brotli": func(r io.Reader) io.Reader { return brotli.NewReader(r) },
		"gzip": func(r io.Reader) io.Reader {
			z, err := gzip.NewReader(r)
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
	} {
		t.Run(compression, func(t *testing.T) {
			folder := t.TempDir()
			r := exports.New(exports.Config{Folder: folder})
			config := map[string]any{"path": "a", "prefix": "b/c-", "compression": compression}
			done := run(t, r, jobOf(job("Files", config, 0), oddRows...))
			name := "a/b/c-" + base + "1.jsonl" + map[string]string{"gzip": ".gz", "brotli": ".br"}[compression]
			if diff := cmp.Diff([]string{name}, names(t, folder)); diff != "" {
				t.Fatal(diff)
			}
			raw := read(t, folder, name)
			got, err := io.ReadAll(unpack(bytes.NewReader(raw)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(oddLines, string(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(batchexports.RunTotals{Rows: 3, Bytes: int64(len(raw))}, done); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// parquetRow is the type with which a reader reads the columns.
type parquetRow struct {
	UUID       *string  `parquet:"uuid,optional"`
	Event      *string  `parquet:"event,optional"`
	DistinctID *string  `parquet:"distinct_id,optional"`
	Timestamp  *int64   `parquet:"timestamp,optional,timestamp(microsecond)"`
	Properties *string  `parquet:"properties,optional,json"`
	Identified *bool    `parquet:"identified,optional"`
	Count      *int64   `parquet:"count,optional"`
	IDs        []string `parquet:"ids,list"`
}

func readParquet(t *testing.T, raw []byte) (rows []parquetRow, file *parquet.File) {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	rows, err = parquet.Read[parquetRow](bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return rows, file
}

// schemaText has the expected types.
const schemaText = `message row {
	optional binary uuid (STRING);
	optional binary event (STRING);
	optional binary distinct_id (STRING);
	optional int64 timestamp (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	optional binary properties (JSON);
	optional boolean identified;
	optional int64 count (INT(64,true));
	required group ids (LIST) {
		repeated group list {
			required binary element (STRING);
		}
	}
}`

func TestFiles_Parquet(t *testing.T) {
	for _, compression := range []string{"", "zstd", "lz4", "snappy", "gzip", "brotli"} {
		t.Run(compression, func(t *testing.T) {
			folder := t.TempDir()
			r := exports.New(exports.Config{Folder: folder})
			config := map[string]any{"path": "", "file_format": "Parquet", "compression": compression}
			odd := append(oddRows, oddRows[0])
			done := run(t, r, jobOf(job("Files", config, 0), odd...))
			raw := read(t, folder, base+"1.parquet")
			rows, file := readParquet(t, raw)
			if done.Rows != 4 || done.Bytes != int64(len(raw)) {
				t.Errorf("%+v, want 4 rows and %d bytes", done, len(raw))
			}
			if diff := cmp.Diff(schemaText, file.Schema().String()); diff != "" {
				t.Error("schema:", diff)
			}
			codec := map[string]string{"": "UNCOMPRESSED", "lz4": "LZ4_RAW"}[compression]
			if codec == "" {
				codec = strings.ToUpper(compression)
			}
			for _, c := range file.Metadata().RowGroups[0].Columns {
				if got := c.MetaData.Codec.String(); got != codec {
					t.Errorf("codec %s, want %s", got, codec)
				}
			}
			first := parquetRow{
				UUID: new("u1"), Event: new("a <b> & \"c\"\n"), DistinctID: new("é\u2028"),
				Timestamp:  new(time.Date(2026, 1, 1, 12, 0, 0, 1000, time.UTC).UnixMicro()),
				Properties: new("{\n\"a\": 1}"), Identified: new(true), Count: new(int64(-1) << 62), IDs: []string{"x", "<y>"},
			}
			want := []parquetRow{
				first,
				{UUID: new("u2"), Event: new(""), DistinctID: new("\uFFFD"), Timestamp: new(time.Time{}.UnixMicro()), Identified: new(false), Count: new(int64(0)), IDs: []string{}},
				{IDs: []string{}},
				first,
			}
			if diff := cmp.Diff(want, rows); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A run writes files of limited size; another attempt removes the files of the first one, and no
// other files.
func TestFiles_Again(t *testing.T) {
	for _, format := range []string{"JSONLines", "Parquet"} {
		t.Run(format, func(t *testing.T) {
			folder := t.TempDir()
			r := exports.New(exports.Config{Folder: folder})
			config := map[string]any{"path": "p", "file_format": format, "max_file_size_mb": 1, "compression": "gzip"}
			noise := bytes.Repeat([]byte("0123456789abcdef"), 64)
			big := func(n int) *batchexports.Job {
				j := job("Files", config, 0)
				j.Rows = func(_ context.Context, yield func([]any) error) error {
					values := make([]any, len(columns))
					for i := range n {
						row(values, i)
						values[4] = json.RawMessage(fmt.Sprintf(`{"n":"%x"}`, scramble(noise, i)))
						if err := yield(values); err != nil {
							return err
						}
					}
					return nil
				}
				return j
			}
			run(t, r, big(2500))
			first := names(t, folder)
			if len(first) < 3 {
				t.Fatalf("files %v, want at least 3", first)
			}
			for _, name := range first {
				if size := len(read(t, folder, name)); size > 1<<20+4096 {
					t.Errorf("%s has %d bytes", name, size)
				}
			}
			others := []string{
				"p/" + base + "1.jsonl.bak", "p/20260101T100000Z-20260101T110000Z.other.1.jsonl", "p/" + base + "backfill.1.jsonl",
			}
			for _, name := range append(others, "p/"+base+"7.parquet.tmp", "p/"+base+"8.jsonl") {
				if err := os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run(t, r, big(10))
			got := names(t, folder)
			want := append(others, first[0])
			if diff := cmp.Diff(sorted(want), got); diff != "" {
				t.Error(diff)
			}
			// An empty run writes no files.
			run(t, r, big(0))
			if diff := cmp.Diff(sorted(others), names(t, folder)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFiles_Names(t *testing.T) {
	folder := t.TempDir()
	r := exports.New(exports.Config{Folder: folder})
	j := job("Files", map[string]any{"path": "/a//./b/"}, 1)
	run(t, r, j)
	j.Backfill = true
	run(t, r, j)
	j.From, j.To = time.Time{}, time.Time{}
	run(t, r, j)
	j.From = from.Add(1500 * time.Microsecond)
	run(t, r, j)
	want := []string{
		"a/b/" + base + "1.jsonl",
		"a/b/20260101T100000Z-20260101T110000Z.backfill." + exportID + ".1.jsonl",
		"a/b/20260101T100000.0015Z-end.backfill." + exportID + ".1.jsonl",
		"a/b/start-end.backfill." + exportID + ".1.jsonl",
	}
	if diff := cmp.Diff(sorted(want), names(t, folder)); diff != "" {
		t.Error(diff)
	}
}

// A failed run leaves the existing files, and no incomplete file.
func TestFiles_Failures(t *testing.T) {
	folder := t.TempDir()
	r := exports.New(exports.Config{Folder: folder})
	config := map[string]any{"path": "p"}
	run(t, r, job("Files", config, 5))
	before := read(t, folder, "p/"+base+"1.jsonl")

	broken := errors.New("the store is gone")
	j := job("Files", config, 0)
	j.Rows = func(_ context.Context, yield func([]any) error) error {
		if err := yield(make([]any, len(columns))); err != nil {
			return err
		}
		return broken
	}
	if _, err := r.Run(t.Context(), j); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the rows", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Run(ctx, job("Files", config, 5)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	_, err := r.Run(t.Context(), jobOf(job("Files", config, 0), make([]any, 1)))
	wantError(t, err, "a row has 1 values, want 8", false)
	_, err = r.Run(t.Context(), jobOf(job("Files", config, 0), []any{1, 1, 1, 1, 1, 1, 1, 1}))
	wantError(t, err, "column uuid has a int", false)
	if diff := cmp.Diff(string(before), string(read(t, folder, "p/"+base+"1.jsonl"))); diff != "" {
		t.Error(diff)
	}
	if got := names(t, folder); len(got) != 1 {
		t.Errorf("files %v", got)
	}

	if err := os.Symlink(t.TempDir(), filepath.Join(folder, "out")); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		config map[string]any
		text   string
		lasts  bool
	}{
		"outside":     {map[string]any{"path": "a/../../b"}, "must not contain ..", true},
		"by prefix":   {map[string]any{"path": "a", "prefix": "../../b"}, "must not contain ..", true},
		"by a link":   {map[string]any{"path": "out"}, "folder for exports: ", false},
		"backslashes": {map[string]any{"path": `..\b`}, "backslashes", true},
		"long":        {map[string]any{"path": strings.Repeat("a", 801)}, "at most 800 bytes", true},
		"format":      {map[string]any{"path": "a", "file_format": "CSV"}, "File format CSV is not supported. ", true},
		"compression": {map[string]any{"path": "a", "compression": "zstd"}, "Compression zstd is not supported for file format JSONLines. ", true},
		"size":        {map[string]any{"path": "a", "max_file_size_mb": -1}, "must not be negative", true},
		"type":        {map[string]any{"path": 7}, `invalid type: "path"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Run(t.Context(), job("Files", tt.config, 1))
			wantError(t, err, tt.text, tt.lasts)
		})
	}
	_, err = exports.New(exports.Config{}).Run(t.Context(), job("Files", config, 1))
	wantError(t, err, "no folder for exports", true)
	twice := job("Files", config, 1)
	twice.Columns = append(twice.Columns[:7:7], twice.Columns[0])
	_, err = r.Run(t.Context(), twice)
	wantError(t, err, `two columns "uuid"`, true)
	_, err = r.Run(t.Context(), job("FTP", nil, 1))
	wantError(t, err, `no exports to "FTP"`, true)
}

func TestFiles_Steps(t *testing.T) {
	folder := t.TempDir()
	r := exports.New(exports.Config{Folder: folder})
	allSteps(t, r, destination("Files", map[string]any{"path": "p"}), func(step int) {
		want := 0
		if step == 2 {
			want = 1
		}
		if got := names(t, folder); len(got) != want {
			t.Errorf("after step %d: %v", step, got)
		}
	})
	if got := r.Steps("FTP"); got != nil {
		t.Errorf("steps of an unknown type: %v", got)
	}
}

var long = flag.Bool("long", false, "export a million rows, instead of a hundred thousand")

// A run may be larger than the memory: 220 MB of rows, or 2.2 GB with -long, in 128 MB.
func TestFiles_ManyRows(t *testing.T) {
	n, bound := 100_000, uint64(128<<20)
	if *long {
		n = 1_000_000
	}
	for _, tt := range []struct{ format, compression string }{{"JSONLines", "gzip"}, {"Parquet", "zstd"}} {
		t.Run(tt.format, func(t *testing.T) {
			r := exports.New(exports.Config{Folder: t.TempDir()})
			j := job("Files", map[string]any{"path": "", "file_format": tt.format, "compression": tt.compression}, 0)
			properties := json.RawMessage(`{"$browser":"Firefox","$current_url":"https://example.com/` + strings.Repeat("a/rather/long/path", 110) + `","$lib":"web"}`)
			var peak uint64
			j.Rows = func(_ context.Context, yield func([]any) error) error {
				values := make([]any, len(columns))
				for i := range n {
					row(values, i)
					values[4] = properties
					if err := yield(values); err != nil {
						return err
					}
					if i%10_000 == 0 {
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						peak = max(peak, m.HeapInuse+m.StackInuse)
					}
				}
				return nil
			}
			runtime.GC()
			debug.FreeOSMemory()
			if done := run(t, r, j); done.Rows != int64(n) {
				t.Errorf("%d rows", done.Rows)
			}
			t.Logf("peak %d MiB", peak>>20)
			if peak > bound {
				t.Errorf("%d MiB in use, want at most %d", peak>>20, bound>>20)
			}
		})
	}
}
