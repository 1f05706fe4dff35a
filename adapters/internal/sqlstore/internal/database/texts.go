package database

import (
	"strconv"
	"strings"
)

// JoinNumbers returns numbers separated by commas, for the text of a statement.
func JoinNumbers[T any](values []T, number func(T) int64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.FormatInt(number(v), 10)
	}
	return strings.Join(texts, ", ")
}

// Placeholders returns n placeholders separated by commas, the first of which is $from.
func Placeholders(from, n int) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(texts, ", ")
}
