package server

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
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

// calls records spans of calls of other systems, without their addresses, which may have a token. The
// systems get no trace id.
type calls struct{ tracer trace.Tracer }

// do makes a call in a span.
func (c calls) do(ctx context.Context, name string, kind trace.SpanKind, call func(context.Context) error, about ...attribute.KeyValue) (err error) {
	ctx, span := c.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(about...))
	defer func() { endSpan(span, err) }()
	return call(ctx)
}

// traceCalls adds spans to the parts of management that call other systems, if there is a
// TracerProvider.
func (p *parts) traceCalls(c *rooms.Config) {
	if p.tracer() == nil {
		return
	}
	traced := calls{p.tracer()}
	c.Poster = tracedPoster{c.Poster, traced}
	if c.Mailer != nil {
		c.Mailer = tracedMailer{c.Mailer, traced}
	}
	if c.Provider != nil {
		c.Provider = tracedProvider{c.Provider, traced}
	}
	if c.ExportRunner != nil {
		c.ExportRunner = tracedExports{c.ExportRunner, traced}
	}
}

// tracedPoster records a span for each webhook.
type tracedPoster struct {
	organizations.Poster
	calls
}

// Post implements organizations.Poster.
func (t tracedPoster) Post(ctx context.Context, address string, headers map[string]string, body []byte) error {
	return t.do(ctx, "POST webhook", trace.SpanKindClient, func(ctx context.Context) error {
		return t.Poster.Post(ctx, address, headers, body)
	})
}

// tracedMailer records a span for each mail.
type tracedMailer struct {
	organizations.Mailer
	calls
}

// Send implements organizations.Mailer.
func (t tracedMailer) Send(ctx context.Context, m organizations.Mail) error {
	return t.do(ctx, "send mail", trace.SpanKindClient, func(ctx context.Context) error { return t.Mailer.Send(ctx, m) })
}

// tracedProvider records a span for each request to a provider of OpenID Connect.
type tracedProvider struct {
	organizations.Provider
	calls
}

// Begin implements organizations.Provider.
func (t tracedProvider) Begin(ctx context.Context, redirect, state, nonce, verifier string) (url string, err error) {
	err = t.do(ctx, "OIDC begin", trace.SpanKindClient, func(ctx context.Context) (err error) {
		url, err = t.Provider.Begin(ctx, redirect, state, nonce, verifier)
		return err
	})
	return url, err
}

// Finish implements organizations.Provider.
func (t tracedProvider) Finish(ctx context.Context, redirect, code, nonce, verifier string) (found *organizations.Identity, err error) {
	err = t.do(ctx, "OIDC finish", trace.SpanKindClient, func(ctx context.Context) (err error) {
		found, err = t.Provider.Finish(ctx, redirect, code, nonce, verifier)
		return err
	})
	return found, err
}

// tracedExports records a span for each run of a batch export.
type tracedExports struct {
	batchexports.Runner
	calls
}

// Run implements batchexports.Runner.
func (t tracedExports) Run(ctx context.Context, job *batchexports.Job) (totals batchexports.RunTotals, err error) {
	err = t.do(ctx, "batch export", trace.SpanKindInternal, func(ctx context.Context) (err error) {
		totals, err = t.Runner.Run(ctx, job)
		return err
	}, inProject(job.Project))
	return totals, err
}

// traceBackup implements backups.Config.Trace. It has no effect without a TracerProvider.
func (p *parts) traceBackup(ctx context.Context) (context.Context, func(error)) {
	if p.tracer() == nil {
		return ctx, func(error) {}
	}
	ctx, span := p.tracer().Start(ctx, "backup")
	return ctx, func(err error) { endSpan(span, err) }
}
