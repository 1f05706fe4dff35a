// Package otlp sends the traces, metrics and logs of a server to a collector of OpenTelemetry. The environment variables of OpenTelemetry configure it: the SDK reads
// most of them, and this package checks all of them first, because the SDK ignores wrong values.
//
// Without an endpoint, no signals are sent. Spans and log records wait in queues of 2,048 each by
// default (OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BLRP_MAX_QUEUE_SIZE), and further ones are dropped, so
// that an endpoint that does not respond delays no request. Faults of the endpoint are logged once a
// minute.
package otlp
