package sqlquery

import (
	"encoding/json"
	"math"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// scanHogQL adds to a query the rows of a scan for which holds is true; a nil holds is true for
// all.
func scanHogQL(b *scan.Binder, s port.Scan, query *hogql.Query, holds func(*scan.Row) bool, fill func(*scan.Row) *hogql.Row) error {
	if b.Err != nil {
		return b.Err
	}
	w := scan.NewRow(&b.Needs)
	return b.Scan(b.Needs.Scan(s), func(batch *port.Batch) error {
		for i := range batch.Len() {
			w.MoveTo(batch, i)
			if holds != nil && !holds(w) {
				continue
			}
			r := fill(w)
			r.Deferred, r.Index = true, i
			if err := query.Add(r); err != nil {
				return err
			}
		}
		// The query evaluates the other fields of a row only if the row is among the results, and
		// must do so while the batch is valid.
		if err := query.EvaluateDeferred(func(i int) *hogql.Row {
			w.MoveTo(batch, i)
			return fill(w)
		}); err != nil {
			return err
		}
		return b.Err
	})
}

// encodeRows encodes rows as a JSON list of lists. show has encoders for columns whose values are
// not encoded in their own form; it may be nil.
func encodeRows(r *scan.Run, q *hogql.Query, rows [][]hogql.Value, show map[int]func(hogql.Value) (json.RawMessage, error)) (json.RawMessage, error) {
	// counted is the memory that is already reserved for out.
	out, counted := []byte{'['}, 0
	for i, row := range rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '[')
		for k, v := range row {
			if k > 0 {
				out = append(out, ',')
			}
			if show[k] == nil {
				out = q.AppendJSON(out, v)
				continue
			}
			text, err := show[k](v)
			if err != nil {
				return nil, err
			}
			out = append(out, text...)
		}
		out = append(out, ']')
		// Check the size row by row, so that no oversized result is built.
		if len(out) > maxBody {
			return nil, document.NewFault(document.TooLarge, "query", "The result has more than %d MiB: request fewer rows or columns.", maxBody>>20)
		}
		if err := r.Reserve(int64(cap(out) - counted)); err != nil {
			return nil, err
		}
		counted = cap(out)
	}
	return append(out, ']'), nil
}

// setRange sets the binder's range to that of a scan; it determines which sessions are read.
func setRange(b *scan.Binder, s port.Scan) {
	// The limits leave room for adding a day around the range without overflow.
	const far = math.MaxInt64 / 4
	b.From, b.To = max(s.From, -far), min(s.To, far)
}
