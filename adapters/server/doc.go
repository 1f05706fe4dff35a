// Package server is the complete server of Bunting, for the program bunting and for programs that
// embed one.
//
//	s, err := server.Open(ctx, server.Options{Data: "data"})
//	if err != nil {
//		return err
//	}
//	defer s.Close(ctx)
//	mux.Handle("/ph/", s.Handler()) // PostHog's SDKs get https://…/ph as their host
//	if s.Reader("").Bool(ctx, "new-checkout", &flags.Subject{DistinctID: "ana"}, false) { … }
//	err = s.Intake().Capture(ctx, "phc_…", "ana", "order placed", map[string]any{"total": 49})
//
// With zero Options the server stores all data in memory, creates a first project, and does not
// listen on an address: the program serves Handler.
//
// Open opens the store and everything above it, and starts the background work: mails, batch
// exports, scheduled changes of flags, issues of exceptions, deletion of old events. Handler then
// serves requests, below any prefix; Run is for programs that let the server listen. Close stops
// all of it and leaves no goroutines.
//
// In the process, Reader reads flags, Intake accepts events, and Management has the packages of
// management. They follow the same rules as over HTTP: events that Intake has accepted are durable,
// reads count towards the project's usage, and changes are visible immediately.
//
// The package reads no environment variables, handles no signals and has no global state: several
// servers may run in one process, each with a data folder of its own.
//
// # Parts
//
// Options.Without omits parts: without Capture|Management the server serves flags only, and with
// Options.Definitions it needs no store; without Flags|Management it serves events only. Omitted
// parts are not opened and run no background work.
//
// # Your own sign-in
//
// With Options.Authenticate the program determines who sends a management request, from its own
// sessions:
//
//	Authenticate: func(r *http.Request) (*management.Caller, error) {
//		session, err := sessions.Of(r)
//		if err != nil {
//			return nil, err // 401, without the reason
//		}
//		return &management.Caller{User: &management.User{Email: session.Email}}, nil
//	}
//
// The caller is a user of the server with its memberships, such as Options.OwnerEmail. The Key of
// the Caller, if set, restricts it to scopes and projects. A page of another site cannot use a
// session to change something: the browser marks such requests, and the response is 403.
//
// # Without the database
//
// If the database is PostgreSQL and there is a data folder, the server stores the last good
// definitions in it. A server that starts while its database is unavailable evaluates flags with
// these (decision 29) and responds 503 to everything else, until it has recovered without a
// restart: see Recovered.
//
// # Traces and metrics
//
// Options.TracerProvider records spans, and Options.Registerer has the metrics of /metrics. The
// package imports only the API of OpenTelemetry; the program chooses an SDK and an exporter, as
// bunting does (adapters/internal/otlp), or none. Log records are logged in the context of their
// span.
//
// # Dependencies
//
// This package connects adapters and packages of management. It may import all of them, only
// programs and tests import it, and it has no rules of its own.
package server
