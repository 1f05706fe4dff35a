package frame

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Each request has a span if there is a Tracer. Its name and its attributes have a bounded number of
// values, and none is data of a client: no path, query, address, header, key or body. That is why
// otelhttp is not used, which records the path, the address and the user agent.

// projectID is the attribute with the id of the project of a request.
const projectID = attribute.Key("bunting.project.id")

// spanMethods are the methods that a span shows; a client may send any other.
var spanMethods = []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions}

// spanMethod returns the method for the attribute of a span, and for its name.
func spanMethod(r *http.Request) (method, name string) {
	if slices.Contains(spanMethods, r.Method) {
		return r.Method, r.Method
	}
	return "_OTHER", "HTTP" // as the semantic conventions for HTTP spans require
}

// startSpan starts the span of a request, and returns its context. Its parent is the span of the
// program around this handler, otherwise the one that the headers name.
func (s *Server) startSpan(r *http.Request) context.Context {
	ctx := r.Context()
	if !trace.SpanContextFromContext(ctx).IsValid() {
		// The state of the parent is text of the client, so only its ids and flags are used.
		parent := trace.SpanContextFromContext(s.Propagator.Extract(ctx, propagation.HeaderCarrier(r.Header)))
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent.WithTraceState(trace.TraceState{}))
	}
	method, name := spanMethod(r)
	ctx, _ = s.Tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(semconv.HTTPRequestMethodKey.String(method), semconv.URLScheme(s.Scheme(r))))
	return ctx
}

// endSpan ends the span of a request.
func (s *Server) endSpan(r *http.Request, x *exchange, route string) {
	span := trace.SpanFromContext(x.Context)
	defer span.End()
	if !span.IsRecording() {
		return
	}
	if route != unroutedName {
		_, name := spanMethod(r)
		span.SetName(name + " " + route)
		span.SetAttributes(semconv.HTTPRoute(route))
	}
	if x.status != 0 {
		span.SetAttributes(semconv.HTTPResponseStatusCode(x.status))
	}
	if x.status >= http.StatusInternalServerError {
		span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(x.status)))
		span.SetStatus(codes.Error, "")
	}
	if project := s.loggedProject(x, string(x.token[:x.length])); project != 0 {
		span.SetAttributes(projectID.Int64(project))
	}
}
