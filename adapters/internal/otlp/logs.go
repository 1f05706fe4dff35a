package otlp

import (
	"context"
	"log/slog"
)

// withheld are the attributes of log records that are not sent, because they identify people or may
// have text of requests, such as panics and the errors of pages of the console: they are only in the
// log of the machine.
var withheld = map[string]bool{
	"user": true, "person": true, "ip": true, "path": true,
	"panic": true, "stack": true, "message": true, "page": true,
}

// bothHandlers passes records to both handlers. The level is that of ordinary.
type bothHandlers struct{ ordinary, sent slog.Handler }

// Enabled implements slog.Handler.
func (h bothHandlers) Enabled(ctx context.Context, level slog.Level) bool {
	return h.ordinary.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h bothHandlers) Handle(ctx context.Context, r slog.Record) error {
	sent := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if !withheld[a.Key] {
			sent.AddAttrs(a)
		}
		return true
	})
	_ = h.sent.Handle(ctx, sent) // puts the record into a queue
	return h.ordinary.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h bothHandlers) WithAttrs(attrs []slog.Attr) slog.Handler {
	var sent []slog.Attr
	for _, a := range attrs {
		if !withheld[a.Key] {
			sent = append(sent, a)
		}
	}
	return bothHandlers{h.ordinary.WithAttrs(attrs), h.sent.WithAttrs(sent)}
}

// WithGroup implements slog.Handler.
func (h bothHandlers) WithGroup(name string) slog.Handler {
	return bothHandlers{h.ordinary.WithGroup(name), h.sent.WithGroup(name)}
}
