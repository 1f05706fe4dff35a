//go:build race

package exports_test

// manyRows is less under the race detector, which takes many times as long.
const manyRows = 50_000
