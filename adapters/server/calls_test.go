package server

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// system is every other system that management calls. It records the span of the context of a call,
// and returns its error.
type system struct {
	err  error
	span *trace.SpanContext
}

func (s system) answer(ctx context.Context) error {
	*s.span = trace.SpanContextFromContext(ctx)
	return s.err
}

func (s system) Check(string) error { return nil }
func (s system) Post(ctx context.Context, _ string, _ map[string]string, _ []byte) error {
	return s.answer(ctx)
}
func (s system) Send(ctx context.Context, _ organizations.Mail) error { return s.answer(ctx) }
func (s system) Name() string                                         { return "secret" }
func (s system) Begin(ctx context.Context, _, _, _, _ string) (string, error) {
	return "https://secret.example", s.answer(ctx)
}

func (s system) Finish(ctx context.Context, _, _, _, _ string) (*organizations.Identity, error) {
	return &organizations.Identity{}, s.answer(ctx)
}

func (s system) Run(ctx context.Context, _ *batchexports.Job) (batchexports.RunTotals, error) {
	return batchexports.RunTotals{Rows: 7}, s.answer(ctx)
}
func (s system) Steps(string) []batchexports.TestStep { return nil }
func (s system) Test(context.Context, batchexports.ExportDestination, int) error {
	return nil
}

// Each call of another system has a span, below that of its request if there is one, which is marked
// if the call fails. It has no address, name, id or text of an error. The results of the calls are the
// same as without spans.
func TestTraceCalls(t *testing.T) {
	calls := []struct {
		name, kind, attributes string
		do                     func(context.Context, *rooms.Config) error
	}{
		{"POST webhook", "client", "", func(ctx context.Context, c *rooms.Config) error {
			return c.Poster.Post(ctx, "https://secret.example/secret", map[string]string{"secret": "secret"}, []byte("secret"))
		}},
		{"send mail", "client", "", func(ctx context.Context, c *rooms.Config) error {
			return c.Mailer.Send(ctx, organizations.Mail{ID: "secret", To: "secret@example.com", Subject: "secret", Text: "secret"})
		}},
		{"OIDC begin", "client", "", func(ctx context.Context, c *rooms.Config) error {
			url, err := c.Provider.Begin(ctx, "https://secret", "secret", "secret", "secret")
			if url != "https://secret.example" {
				t.Errorf("the address is %s", url)
			}
			return err
		}},
		{"OIDC finish", "client", "", func(ctx context.Context, c *rooms.Config) error {
			found, err := c.Provider.Finish(ctx, "https://secret", "secret", "secret", "secret")
			if found == nil {
				t.Error("no identity")
			}
			return err
		}},
		{"batch export", "internal", "bunting.project.id=3", func(ctx context.Context, c *rooms.Config) error {
			totals, err := c.ExportRunner.Run(ctx, &batchexports.Job{Run: "secret", Export: "secret", Project: 3, Destination: batchexports.ExportDestination{Type: "secret"}})
			if totals.Rows != 7 {
				t.Errorf("%d rows", totals.Rows)
			}
			return err
		}},
	}
	for _, call := range calls {
		for _, err := range []error{nil, errors.New("secret")} {
			recorder := tracetest.NewSpanRecorder()
			provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
			var inside trace.SpanContext
			o := system{err, &inside}
			c := rooms.Config{Poster: o, Mailer: o, Provider: o, ExportRunner: o}
			(&parts{Options: &Options{TracerProvider: provider}}).traceCalls(&c)
			ctx, request := provider.Tracer("test").Start(t.Context(), "request")
			if got := call.do(ctx, &c); !errors.Is(got, err) {
				t.Errorf("%s: %v, want %v", call.name, got, err)
			}
			s := recorder.Ended()[0]
			want := sdktrace.Status{Code: codes.Unset}
			if err != nil {
				want.Code = codes.Error
			}
			about := attribute.NewSet(s.Attributes()...)
			attributes := about.Encoded(attribute.DefaultEncoder())
			if s.Name() != call.name || s.SpanKind().String() != call.kind || s.Status() != want || attributes != call.attributes || len(s.Events()) > 0 {
				t.Errorf("%s %s %v %s %v", s.Name(), s.SpanKind(), s.Status(), attributes, s.Events())
			}
			if s.Parent().SpanID() != request.SpanContext().SpanID() || s.SpanContext().SpanID() != inside.SpanID() {
				t.Errorf("%s: the span is %s below %s, and the call was in %s", call.name, s.SpanContext().SpanID(), s.Parent().SpanID(), inside.SpanID())
			}
		}
	}
}

// Without a TracerProvider, all parts stay as they are, and with one those that are nil.
func TestTraceCalls_Absent(t *testing.T) {
	c := rooms.Config{}
	(&parts{Options: &Options{TracerProvider: sdktrace.NewTracerProvider()}}).traceCalls(&c)
	if c.Mailer != nil || c.Provider != nil || c.ExportRunner != nil {
		t.Errorf("%v %v %v", c.Mailer, c.Provider, c.ExportRunner)
	}
	o := system{}
	c = rooms.Config{Poster: o, Mailer: o, Provider: o, ExportRunner: o}
	(&parts{Options: &Options{}}).traceCalls(&c)
	if c.Poster != organizations.Poster(o) || c.Mailer != organizations.Mailer(o) || c.Provider != organizations.Provider(o) || c.ExportRunner != batchexports.Runner(o) {
		t.Error("wrapped without a TracerProvider")
	}
}
