// Package throttle limits how often a lasting fault is logged. While a database or another service
// is unavailable, each piece of work fails, and a line for each failure would hide the others.
//
// Every reports the first error at once, and later ones at most once in a time, with the number of
// errors in between: for work that many goroutines repeat. A Streak tells the first of several
// consecutive failures: for work that one goroutine repeats, such as a job at each tick.
//
// The caller writes the line, because its level, text and attributes depend on the work.
package throttle
