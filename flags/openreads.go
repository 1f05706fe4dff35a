package flags

import (
	"context"
	"encoding/json"
)

// The typed reads of a FileReader, which nil has too.

func (f *FileReader) reads() *valueReader {
	if f == nil || f.reader == nil {
		return notReady
	}
	return f.reader
}

// Bool is that of [Reader].
func (f *FileReader) Bool(ctx context.Context, key string, sub *Subject, fallback bool) bool {
	return f.reads().Bool(ctx, key, sub, fallback)
}

// BoolDetail is that of [Reader].
func (f *FileReader) BoolDetail(ctx context.Context, key string, sub *Subject, fallback bool) (bool, Detail) {
	return f.reads().BoolDetail(ctx, key, sub, fallback)
}

// String is that of [Reader].
func (f *FileReader) String(ctx context.Context, key string, sub *Subject, fallback string) string {
	return f.reads().String(ctx, key, sub, fallback)
}

// StringDetail is that of [Reader].
func (f *FileReader) StringDetail(ctx context.Context, key string, sub *Subject, fallback string) (string, Detail) {
	return f.reads().StringDetail(ctx, key, sub, fallback)
}

// Number is that of [Reader].
func (f *FileReader) Number(ctx context.Context, key string, sub *Subject, fallback float64) float64 {
	return f.reads().Number(ctx, key, sub, fallback)
}

// NumberDetail is that of [Reader].
func (f *FileReader) NumberDetail(ctx context.Context, key string, sub *Subject, fallback float64) (float64, Detail) {
	return f.reads().NumberDetail(ctx, key, sub, fallback)
}

// JSON is that of [Reader].
func (f *FileReader) JSON(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) json.RawMessage {
	return f.reads().JSON(ctx, key, sub, fallback)
}

// JSONDetail is that of [Reader].
func (f *FileReader) JSONDetail(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) (json.RawMessage, Detail) {
	return f.reads().JSONDetail(ctx, key, sub, fallback)
}

// For is that of [Reader].
func (f *FileReader) For(ctx context.Context, sub *Subject) *Snapshot { return f.reads().For(ctx, sub) }
