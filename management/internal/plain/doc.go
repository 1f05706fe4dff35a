// Package plain reads and writes the plain values of requests: integers, times, e-mail addresses, and
// texts that messages quote. It knows no fields and no objects; the fields of package management use
// it for theirs.
package plain
