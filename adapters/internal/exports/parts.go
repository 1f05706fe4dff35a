package exports

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// tempSuffix ends the name of a file while it is written.
const tempSuffix = ".tmp"

// maxParts is the maximum number of files of a run.
const maxParts = 10_000

// partStore is where files are written: a folder or a bucket.
type partStore interface {
	// create starts a file, and replaces an unfinished one with the same name.
	create(ctx context.Context, name string) (part, error)
	// list calls do with the names that have the prefix.
	list(ctx context.Context, prefix string, do func(name string)) error
	remove(ctx context.Context, name string) error
}

// part is an unfinished file. commit makes the whole file visible, in place of an earlier one with
// the same name.
type part interface {
	io.Writer
	commit() error
	// abort removes the unfinished file. It has no effect after commit.
	abort()
}

// partWriter writes rows to files of limited size.
type partWriter struct {
	store   partStore
	format  *format
	columns []batchexports.Column
	base    string // prefix of names, before the number and the extension
	written map[string]bool
	done    batchexports.RunTotals

	part part // nil between files
	name string
	enc  encoder
	out  counter
}

// writeParts writes all rows to files whose names start with begin, and removes files that an
// earlier attempt has left behind.
func writeParts(ctx context.Context, rows *rows, store partStore, f *format, begin string) (batchexports.RunTotals, error) {
	w := &partWriter{
		store: store, format: f, columns: rows.job.Columns,
		base: begin + runName(rows.job), written: map[string]bool{},
	}
	// Listing is first, because it fails if the permission is missing.
	earlier, err := w.list(ctx)
	if err != nil {
		return w.done, err
	}
	err = rows.each(ctx, func(row []any) error { return w.row(ctx, row) })
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		if w.part != nil {
			w.part.abort()
		}
		return w.done, err
	}
	for _, name := range earlier {
		if !w.written[name] {
			if err := store.remove(ctx, name); err != nil {
				return w.done, err
			}
		}
	}
	return w.done, nil
}

// runName returns the prefix of the names of a run's files. It consists of the interval and the
// export, so that a repeated run overwrites its own files, and exports with the same prefix do not
// overwrite each other's.
func runName(job *batchexports.Job) string {
	bound := func(t time.Time, open string) string {
		if t.IsZero() {
			return open
		}
		return t.UTC().Format("20060102T150405.999999Z")
	}
	kind := ""
	if job.Backfill {
		kind = "backfill."
	}
	return fmt.Sprintf("%s-%s.%s%s.", bound(job.From, "start"), bound(job.To, "end"), kind, job.Export)
}

// partName matches the rest of a name after runName.
var partName = regexp.MustCompile(`^[1-9][0-9]*\.(?:jsonl(?:\.gz|\.br)?|parquet)(?:\` + tempSuffix + `)?$`)

// list returns the run's files of earlier attempts, in all formats.
func (w *partWriter) list(ctx context.Context) (names []string, err error) {
	err = w.store.list(ctx, w.base, func(name string) {
		rest, ok := strings.CutPrefix(name, w.base)
		if ok && len(names) < 2*maxParts && partName.MatchString(rest) {
			names = append(names, name)
		}
	})
	return names, err
}

// row writes one row, and starts and finishes files as needed.
func (w *partWriter) row(ctx context.Context, row []any) error {
	if w.part == nil {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	if err := w.enc.write(row); err != nil {
		return err
	}
	w.done.Rows++
	if w.enc.size() < w.format.max() {
		return nil
	}
	return w.finish()
}

// begin starts the next file.
func (w *partWriter) begin(ctx context.Context) (err error) {
	if len(w.written) == maxParts {
		return rejectf("The export would have more than %d files: max_file_size_mb is too small.", maxParts)
	}
	w.name = fmt.Sprintf("%s%d%s", w.base, len(w.written)+1, w.format.extension())
	if w.part, err = w.store.create(ctx, w.name); err != nil {
		w.part = nil
		return err
	}
	w.out = counter{Writer: w.part}
	w.enc = w.format.encoder(&w.out, w.columns)
	return nil
}

// finish commits the current file, if there is one.
func (w *partWriter) finish() error {
	if w.part == nil {
		return nil
	}
	if err := w.enc.close(); err != nil {
		return err
	}
	if err := w.part.commit(); err != nil {
		return err
	}
	w.done.Bytes += w.out.n
	w.written[w.name] = true
	w.part = nil
	return nil
}
