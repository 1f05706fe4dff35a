// Package server is the whole server of Bunting, for the program bunting and for
// programs that have one inside.
//
//	s, err := server.Open(ctx, server.Options{Data: "data"})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	http.ListenAndServe(":8000", s.Handler())
//
// Open opens the store and everything above it, and begins the work that nobody
// waits for: mails, batch exports, scheduled changes of flags, issues of exceptions,
// deletion of old events. Handler answers from then on; Run is for programs that
// leave listening to the server. Close ends all of it: no goroutine stays.
//
// It reads no environment, catches no signals and keeps nothing in the process:
// several servers may run beside each other, each with a data folder of its own.
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
