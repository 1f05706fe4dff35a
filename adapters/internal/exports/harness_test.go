package exports_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// loopback lets exports connect to the tests' own servers.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// columns has one column of every type.
var columns = []batchexports.Column{
	{Name: "uuid", Type: batchexports.TextColumn},
	{Name: "event", Type: batchexports.TextColumn},
	{Name: "distinct_id", Type: batchexports.TextColumn},
	{Name: "timestamp", Type: batchexports.TimeColumn},
	{Name: "properties", Type: batchexports.JSONColumn},
	{Name: "identified", Type: batchexports.BoolColumn},
	{Name: "count", Type: batchexports.IntColumn},
	{Name: "ids", Type: batchexports.ListColumn},
}

var (
	from = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	to   = from.Add(time.Hour)
)

const exportID = "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f"

// uuid returns the uuid of the n-th row.
func uuid(n int) string { return fmt.Sprintf("0191f0a2-0000-7000-8000-%012d", n) }

// row fills in the n-th row.
func row(into []any, n int) {
	copy(into, []any{
		uuid(n), "page viewed", fmt.Sprintf("user-%d", n%10),
		from.Add(time.Duration(n) * time.Microsecond), json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)), n%2 == 0, int64(n), []string{"a", fmt.Sprint(n)},
	})
}

// job is a run of the first n rows.
func job(kind string, config map[string]any, n int) *batchexports.Job {
	return &batchexports.Job{
		Run: "run-1", Export: exportID, Project: 1, Model: "events", Key: []string{"uuid"}, From: from, To: to,
		Destination: destination(kind, config), Columns: columns,
		Rows: func(ctx context.Context, yield func([]any) error) error {
			values := make([]any, len(columns))
			for i := range n {
				row(values, i)
				if err := yield(values); err != nil {
					return err
				}
			}
			return ctx.Err()
		},
	}
}

// jobOf returns a job with the given rows.
func jobOf(j *batchexports.Job, rows ...[]any) *batchexports.Job {
	j.Rows = func(_ context.Context, yield func([]any) error) error {
		for _, row := range rows {
			if err := yield(row); err != nil {
				return err
			}
		}
		return nil
	}
	return j
}

func destination(kind string, config map[string]any) batchexports.ExportDestination {
	d := batchexports.ExportDestination{Type: kind, Config: map[string]json.RawMessage{}}
	for name, value := range config {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		d.Config[name] = text
	}
	return d
}

// run runs a job and fails the test if it does not succeed.
func run(t *testing.T, r *exports.Runner, j *batchexports.Job) batchexports.RunTotals {
	t.Helper()
	done, err := r.Run(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func isRejected(err error) bool {
	var r *batchexports.PermanentError
	return errors.As(err, &r)
}

// wantError checks that an error includes a string, and whether it is permanent.
func wantError(t *testing.T, err error, text string, lasts bool) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) || isRejected(err) != lasts {
		t.Errorf("error %#v (%v), want one with %q, lasting: %v", err, err, text, lasts)
	}
}

// names returns the files below a folder.
func names(t *testing.T, folder string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(folder, path)
			out = append(out, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func read(t *testing.T, folder, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// allSteps executes all steps of a test, which must succeed.
func allSteps(t *testing.T, r *exports.Runner, d batchexports.ExportDestination, between func(step int)) {
	t.Helper()
	steps := r.Steps(d.Type)
	for i, s := range steps {
		if err := r.Test(t.Context(), d, i); err != nil {
			t.Errorf("step %d (%s): %v", i, s.Name, err)
		}
		if between != nil {
			between(i)
		}
	}
	for _, i := range []int{-1, len(steps)} {
		wantError(t, r.Test(t.Context(), d, i), "no such step", true)
	}
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// scramble returns bytes that depend on n and do not compress.
func scramble(into []byte, n int) []byte {
	x := uint64(n)*0x9e3779b97f4a7c15 + 1
	for i := range into {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		into[i] = byte(x >> 32)
	}
	return into
}

// wantNoSecret checks that an error, and the errors it wraps, do not include secrets.
func wantNoSecret(t *testing.T, err error, secrets ...string) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, s := range secrets {
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, s) {
				t.Errorf("%s shows %q", text, s)
			}
		}
	}
}
