package backups

import (
	"context"
	"io"

	"github.com/bunting-flags/bunting/adapters/internal/bucket"
)

// objects is a destination in a bucket of S3.
type objects struct{ *bucket.Bucket }

func (b objects) close() { b.Close() }

func (b objects) put(ctx context.Context, name string, content io.Reader, size int64) error {
	return b.Put(ctx, name, content, size)
}

func (b objects) open(ctx context.Context, name string) (io.ReadCloser, error) {
	return b.Get(ctx, name)
}

func (b objects) list(ctx context.Context, prefix string) (out []object, err error) {
	all, err := b.List(ctx, prefix, maxListed)
	for _, o := range all {
		out = append(out, object{o.Name, o.Size, o.Modified})
	}
	return out, err
}

func (b objects) remove(ctx context.Context, name string) error { return b.Remove(ctx, name) }

func (b objects) sweep(ctx context.Context, prefix string) {
	b.Sweep(ctx, prefix, namePattern.MatchString)
}
