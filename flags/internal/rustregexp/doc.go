// Package rustregexp runs regular expressions written in Rust's syntax, as the crate fancy_regex
// reads it, in Go. PostHog's flags service matches with that crate; package flags needs the same
// results (§4.5, decision 8).
//
// A pattern is parsed, checked against the limits of fancy_regex, and written in the syntax of one
// of two engines: package regexp, linear in time, for all patterns that it supports, or regexp2,
// which backtracks, for look-around, back-references and similar constructs. A search with regexp2
// is limited to 10 ms, 2 MiB of stack and 1 MiB of text; beyond that it returns [Timeout], which is
// not a match and is counted by [Timeouts]. With package regexp, [Compile] refuses programs of more
// than 10,000 instructions, and a search of a text longer than 1 MiB, or longer than 2^25
// (33,554,432) steps allow, instructions times bytes, returns [Timeout] too.
//
// The work of Compile is also limited, see there. So neither a malicious pattern nor a malicious
// text can occupy a processor for long.
//
// # Structure
//
//   - syntax.go, group.go, escape.go and class.go parse a pattern into a tree of nodes; parser.go has
//     the state that they share, and node.go the nodes.
//   - set.go and props.go compute the sets of runes of classes and properties.
//   - analysis.go checks the limits of fancy_regex and determines the engine; cost.go has the limits
//     of time that fancy_regex does not have.
//   - write.go and engine.go write the tree in the syntax of the engine.
//   - rustregexp.go has the exported types and functions.
//
// # Goroutines
//
// The time limit of regexp2 uses a goroutine that ends after the last search; tests that check for
// leaked goroutines stop it with regexp2.StopTimeoutClock.
package rustregexp
