package flags

import (
	"context"
	"encoding/json"
)

// The typed reads of a FileReader. They may be called on a nil FileReader, which is not
// ready.

// reads returns the reader of f.
func (f *FileReader) reads() *valueReader {
	if f == nil || f.reader == nil {
		return notReady
	}
	return f.reader
}

// Bool implements [Reader].
func (f *FileReader) Bool(ctx context.Context, key string, sub *Subject, fallback bool) bool {
	return f.reads().Bool(ctx, key, sub, fallback)
}

// BoolDetail implements [Reader].
func (f *FileReader) BoolDetail(ctx context.Context, key string, sub *Subject, fallback bool) (bool, Detail) {
	return f.reads().BoolDetail(ctx, key, sub, fallback)
}

// String implements [Reader].
func (f *FileReader) String(ctx context.Context, key string, sub *Subject, fallback string) string {
	return f.reads().String(ctx, key, sub, fallback)
}

// StringDetail implements [Reader].
func (f *FileReader) StringDetail(ctx context.Context, key string, sub *Subject, fallback string) (string, Detail) {
	return f.reads().StringDetail(ctx, key, sub, fallback)
}

// Number implements [Reader].
func (f *FileReader) Number(ctx context.Context, key string, sub *Subject, fallback float64) float64 {
	return f.reads().Number(ctx, key, sub, fallback)
}

// NumberDetail implements [Reader].
func (f *FileReader) NumberDetail(ctx context.Context, key string, sub *Subject, fallback float64) (float64, Detail) {
	return f.reads().NumberDetail(ctx, key, sub, fallback)
}

// JSON implements [Reader].
func (f *FileReader) JSON(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) json.RawMessage {
	return f.reads().JSON(ctx, key, sub, fallback)
}

// JSONDetail implements [Reader].
func (f *FileReader) JSONDetail(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) (json.RawMessage, Detail) {
	return f.reads().JSONDetail(ctx, key, sub, fallback)
}

// For implements [Reader].
func (f *FileReader) For(ctx context.Context, sub *Subject) *Snapshot { return f.reads().For(ctx, sub) }
