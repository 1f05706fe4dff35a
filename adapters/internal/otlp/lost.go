package otlp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/trace"
)

// queue counts the items that enter and leave a queue of the SDK, which drops items without an error
// when it is full.
type queue struct {
	size     int64 // of the queue, and of a batch that is collected from it
	entered  atomic.Int64
	left     atomic.Int64
	reported int64 // the number of lost items at the last call of lost
}

// newQueue returns the counts for a queue whose bounds are in variables with this prefix.
func (e environment) newQueue(prefix string) *queue {
	size := func(name string, fallback int64) int64 {
		if n, err := strconv.ParseInt(e.get(prefix+name), 10, 64); err == nil {
			return n
		}
		return fallback
	}
	waiting := size("MAX_QUEUE_SIZE", trace.DefaultMaxQueueSize)
	return &queue{size: waiting + min(size("MAX_EXPORT_BATCH_SIZE", trace.DefaultMaxExportBatchSize), waiting)}
}

// lost returns an error if items were dropped since the last call. Up to size items may be counted
// later, because they may still be in the queue. It must not be called concurrently.
func (q *queue) lost(what string) error {
	lost := q.entered.Load() - q.left.Load() - q.size
	if lost <= q.reported {
		return nil
	}
	defer func() { q.reported = lost }()
	return fmt.Errorf("%w: %d %s were dropped", errQueueFull, lost-q.reported, what)
}

// errQueueFull is the error of items that were dropped before they could be sent.
var errQueueFull = errors.New("the queue is full")

// countedSpans counts the spans that enter the queue.
type countedSpans struct {
	trace.SpanProcessor
	queue *queue
}

// OnEnd implements trace.SpanProcessor.
func (c countedSpans) OnEnd(s trace.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		c.queue.entered.Add(1)
	}
	c.SpanProcessor.OnEnd(s)
}

// spanExporter counts the spans that leave the queue.
type spanExporter struct {
	trace.SpanExporter
	queue *queue
}

// ExportSpans implements trace.SpanExporter.
func (e spanExporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	e.queue.left.Add(int64(len(spans)))
	return e.SpanExporter.ExportSpans(ctx, spans)
}

// countedRecords counts the log records that enter the queue.
type countedRecords struct {
	sdklog.Processor
	queue *queue
}

// OnEmit implements sdklog.Processor.
func (c countedRecords) OnEmit(ctx context.Context, r *sdklog.Record) error {
	c.queue.entered.Add(1)
	return c.Processor.OnEmit(ctx, r)
}

// recordExporter counts the log records that leave the queue.
type recordExporter struct {
	sdklog.Exporter
	queue *queue
}

// Export implements sdklog.Exporter.
func (e recordExporter) Export(ctx context.Context, records []sdklog.Record) error {
	e.queue.left.Add(int64(len(records)))
	return e.Exporter.Export(ctx, records)
}
