package insights

import (
	"math"
	"strconv"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
)

// number is a number of a result. It is encoded as null if it is not finite.
type number float64

// MarshalJSON encodes integers without exponent up to 1e15.
func (n number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.AppendInt(nil, int64(f), 10), nil
	}
	return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
}

// toNumbers converts points to the type of results.
func toNumbers(points []float64) []number {
	out := make([]number, len(points))
	for i, p := range points {
		out[i] = number(p)
	}
	return out
}

// answerCell is the approximate size in bytes of a number of the result and its JSON, with the
// strings of its bucket.
const answerCell = 100

// rowSize is the approximate size of a row without its numbers, in bytes.
const rowSize = 500

// sum returns the sum of points.
func sum(points []float64) (s float64) {
	for _, p := range points {
		s += p
	}
	return s
}

// tooManyCells returns the error of a result that is too large.
func tooManyCells() error {
	return document.NewFault(document.TooLarge, "", "A result may have at most %d cells, values times buckets: choose a shorter period or fewer breakdown values.", maxCells)
}

// maxCells is the maximum number of numbers of a result (§5.4).
const maxCells = 1_000_000

// makeRows returns the numbers of all values and buckets. index counts the cells value by value.
func makeRows(values, buckets int, number func(index int) float64) [][]float64 {
	out := make([][]float64, values)
	for v := range out {
		out[v] = make([]float64, buckets)
		for b := range out[v] {
			out[v][b] = number(v*buckets + b)
		}
	}
	return out
}

// option is a value that can be selected, and its label.
type option struct {
	Label string `json:"label"`
	Value any    `json:"value"`
}

// Limits of lists of rows (§5.4).
const (
	maxSelect   = 50
	maxOffset   = 1 << 31
	defaultRows = 100 // rows of a query without a limit
)
