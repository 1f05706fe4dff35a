package scan

import (
	"math"
	"strconv"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
)

// Number is a number of a result. It is encoded as null if it is not finite.
type Number float64

// MarshalJSON encodes integers without exponent up to 1e15.
func (n Number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.AppendInt(nil, int64(f), 10), nil
	}
	return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
}

// Numbers converts points to the type of results.
func Numbers(points []float64) []Number {
	out := make([]Number, len(points))
	for i, p := range points {
		out[i] = Number(p)
	}
	return out
}

// AnswerCell is the approximate size in bytes of a number of the result and its JSON, with the
// strings of its bucket.
const AnswerCell = 100

// RowSize is the approximate size of a row without its numbers, in bytes.
const RowSize = 500

// Sum returns the sum of points.
func Sum(points []float64) (s float64) {
	for _, p := range points {
		s += p
	}
	return s
}

// TooManyCells returns the error of a result that is too large.
func TooManyCells() error {
	return document.NewFault(document.TooLarge, "", "A result may have at most %d cells, values times buckets: choose a shorter period or fewer breakdown values.", MaxCells)
}

// MaxCells is the maximum number of numbers of a result (§5.4).
const MaxCells = 1_000_000

// Rows returns the numbers of all values and buckets. index counts the cells value by value.
func Rows(values, buckets int, number func(index int) float64) [][]float64 {
	out := make([][]float64, values)
	for v := range out {
		out[v] = make([]float64, buckets)
		for b := range out[v] {
			out[v][b] = number(v*buckets + b)
		}
	}
	return out
}

// Option is a value that can be selected, and its label.
type Option struct {
	Label string `json:"label"`
	Value any    `json:"value"`
}

// Limits of lists of rows (§5.4).
const (
	MaxSelect   = 50
	MaxOffset   = 1 << 31
	DefaultRows = 100 // rows of a query without a limit
)
