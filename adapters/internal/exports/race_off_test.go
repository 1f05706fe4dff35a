//go:build !race

package exports_test

// manyRows is how many rows are to go through in bounded memory.
const manyRows = 1_000_000
