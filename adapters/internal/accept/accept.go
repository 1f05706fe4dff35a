// Package accept reads the headers with which a client describes the responses that it accepts (RFC
// 9110 §12).
package accept

import (
	"iter"
	"strconv"
	"strings"
)

// Gzip reports whether Accept-Encoding includes gzip, and not with a weight of 0 (RFC 9110 §12.5.3).
func Gzip(accepted []string) bool {
	for coding, weight := range Weights(accepted) {
		if strings.EqualFold(coding, "gzip") {
			return weight > 0
		}
	}
	return false
}

// Weights yields the values of an Accept header with their weights (RFC 9110 §12.4.2). A value
// without a valid weight has the weight 1.
func Weights(accepted []string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for part := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
			value, parameter, _ := strings.Cut(part, ";")
			_, text, isWeighted := strings.Cut(parameter, "=")
			weight, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if !isWeighted || err != nil {
				weight = 1
			}
			if !yield(strings.TrimSpace(value), weight) {
				return
			}
		}
	}
}
