// Package flags has the signatures that the test needs.
package flags

import "context"

type Subject struct{}

type Reader interface {
	Bool(ctx context.Context, key string, sub *Subject, fallback bool) bool
	StringDetail(ctx context.Context, key string, sub *Subject, fallback string) (string, error)
}

func JSON[T any](ctx context.Context, r Reader, key string, sub *Subject, fallback T) T {
	return fallback
}
