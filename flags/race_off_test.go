//go:build !race

package flags

// RaceDetector: see race_on_test.go.
const RaceDetector = false
