// Package server is the whole server of Bunting, for the program bunting and for
// programs that have one inside.
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
// Without Options everything is kept in memory, a first project is made, and nobody
// listens: Handler is there to be served.
//
// Open opens the store and everything above it, and begins the work that nobody
// waits for: mails, batch exports, scheduled changes of flags, issues of exceptions,
// deletion of old events. Handler answers from then on, below any prefix; Run is for
// programs that leave listening to the server. Close ends all of it: no goroutine stays.
//
// In the process, Reader reads flags, Intake takes events in, and Management has the
// rooms of what people manage. They follow the same rules as over HTTP: what Intake has
// accepted is durable, what is read of a project is counted, and changes are seen at
// once.
//
// It reads no environment, catches no signals and keeps nothing in the process:
// several servers may run beside each other, each with a data folder of its own.
//
// # Parts
//
// Options.Without leaves parts out: Capture|Management is a server of flags alone, which
// with Options.Definitions needs no store, Flags|Management one of events alone. What is
// left out is not opened and runs nothing.
//
// # A sign-in of one's own
//
// With Options.Authenticate a program says who sends a request of management, by what
// its own sessions know:
//
//	Authenticate: func(r *http.Request) (*management.Caller, error) {
//		session, err := sessions.Of(r)
//		if err != nil {
//			return nil, err // 401, without the reason
//		}
//		return &management.Caller{User: &management.User{Email: session.Email}}, nil
//	}
//
// The caller is a user of the server with its memberships, such as Options.OwnerEmail;
// the Key of the Caller, when there is one, takes scopes and projects away from it. A
// page of another site cannot use a session to change something: the browser says so,
// and the answer is 403.
//
// # Without the database
//
// Where the database is PostgreSQL and there is a data folder, a server keeps the
// last good definitions in it. One that starts while its database is away answers
// flags by those (decision 29) and everything else with 503, until it has become
// whole by itself: Recovered.
//
// # The roof
//
// This package wires adapters and rooms together. It may import all of them, only
// programs and tests import it, and it holds no rule.
package server
