//go:build !race

package flags

// RaceDetector is described in race_on_test.go.
const RaceDetector = false
