// Package querytest helps the tests of the packages of queries: it parses and runs the queries of a
// package over events in memory, and compares their results and faults with tables.
package querytest
