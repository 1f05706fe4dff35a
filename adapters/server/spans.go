package server

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management/organizations"
)

// The spans of Options.TracerProvider besides those of requests. Errors are only marked: their text
// may have addresses or values. Without a TracerProvider nothing is wrapped.

// tracer returns the tracer of the server, or nil if there are no spans.
func (o *Options) tracer() trace.Tracer {
	if o.TracerProvider == nil {
		return nil
	}
	return o.TracerProvider.Tracer("github.com/bunting-flags/bunting/adapters/server")
}

// inProject returns the attribute with the id of a project.
func inProject(id int64) attribute.KeyValue { return attribute.Int64("bunting.project.id", id) }

// endSpan ends a span, as failed if err is not nil.
func endSpan(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// traceQuery implements queries.Config.Trace. The span includes the wait for a turn; that of a
// query in the background ends when its client has the id.
func (p *parts) traceQuery(ctx context.Context, kind string, project int64) (context.Context, func(error)) {
	ctx, span := p.tracer().Start(ctx, "query "+kind, trace.WithAttributes(attribute.String("bunting.query.kind", kind), inProject(project)))
	return ctx, func(err error) { endSpan(span, err) }
}

// traceAppends records a span for the time until the events of a request are durable.
func traceAppends(to capture.Appender, tracer trace.Tracer) capture.Appender {
	if tracer == nil {
		return to
	}
	return capture.AppenderFunc(func(ctx context.Context, b *capture.Batch) (err error) {
		ctx, span := tracer.Start(ctx, "append events", trace.WithAttributes(attribute.Int("bunting.events", len(b.Events)), inProject(b.ProjectID)))
		defer func() { endSpan(span, err) }()
		return to.Append(ctx, b)
	})
}

// tracedLedger records a span for each transaction. Its events are of several requests, so it has no
// parent.
type tracedLedger struct {
	*sqlstore.Store
	tracer trace.Tracer
}

// Commit implements capture.Ledger.
func (l tracedLedger) Commit(ctx context.Context, projects []int64, work func(capture.Tx) error) (err error) {
	ctx, span := l.tracer.Start(ctx, "commit events", trace.WithAttributes(attribute.Int("bunting.projects", len(projects))))
	defer func() { endSpan(span, err) }()
	return l.Store.Commit(ctx, projects, work)
}

// ledger returns the store, with spans if there is a TracerProvider.
func (p *parts) ledger() capture.Ledger {
	if tracer := p.tracer(); tracer != nil {
		return tracedLedger{p.store, tracer}
	}
	return p.store
}

// tracedPoster records a span for each webhook, without the address, which may have a token. The
// receiver gets no trace id.
type tracedPoster struct {
	organizations.Poster
	tracer trace.Tracer
}

// Post implements organizations.Poster.
func (t tracedPoster) Post(ctx context.Context, address string, headers map[string]string, body []byte) (err error) {
	ctx, span := t.tracer.Start(ctx, "POST webhook", trace.WithSpanKind(trace.SpanKindClient))
	defer func() { endSpan(span, err) }()
	return t.Poster.Post(ctx, address, headers, body)
}

// poster returns a sender of webhooks, with spans if there is a TracerProvider.
func (p *parts) poster(to organizations.Poster) organizations.Poster {
	if tracer := p.tracer(); tracer != nil {
		return tracedPoster{to, tracer}
	}
	return to
}
