// Package rustregexp runs regular expressions written in Rust's syntax, as the
// crate fancy_regex reads it, in Go. PostHog's flags service matches with that
// crate; package flags needs the same answers (§4.5, decision 8).
//
// A pattern is parsed, checked against the limits of fancy_regex, and written
// out again for one of two engines: package regexp, linear in time, for all
// that it can do, or regexp2, which backtracks, for look-around,
// back-references and the like. The second has 10 ms, 2 MiB of stack and 1 MiB
// of text; beyond that a search is a [Timeout], which is no match and is
// counted by [Timeouts]. The first has a program of at most 10,000 instructions,
// which [Compile] refuses to exceed, and 1 MiB of text, or as much as makes 2^25
// (33,554,432) steps, instructions times bytes, where that is less; of a longer
// text a search is a [Timeout], too.
//
// What Compile itself takes is counted too, and bounded: see there. So neither a
// pattern nor a text that is made to hurt keeps a processor busy for long.
//
// The time limit of regexp2 is kept by a goroutine that ends by itself when no
// search is under way; tests that look for leaked goroutines stop it with
// regexp2.StopTimeoutClock.
package rustregexp
