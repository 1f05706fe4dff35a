package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	// smallestPart is the size of a part of an upload, which is in memory. An upload
	// has at most mostParts parts, so the parts of an object over 72 GiB are larger.
	smallestPart = 8 << 20
	mostParts    = 9000
	// filePart is the size of the largest file that is uploaded by one request, and of the parts of
	// larger files.
	filePart = 32 << 20

	contentType = "application/octet-stream"
)

// Object is an object of a bucket.
type Object struct {
	Name     string // without the prefix
	Size     int64
	Modified time.Time // by the clock of S3
}

// Put writes an object from a reader. size is about its size.
func (b *Bucket) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	partSize := uint64(smallestPart)
	for partSize*mostParts < uint64(size) {
		partSize *= 2
	}
	_, err := b.client.PutObject(ctx, b.name, b.prefix+name, content, -1, minio.PutObjectOptions{ContentType: contentType, PartSize: partSize, NumThreads: 1})
	return b.explain(err)
}

// PutFile writes an object from a file. S3 compares the bytes with their MD5.
func (b *Bucket) PutFile(ctx context.Context, name string, file *os.File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	_, err = b.client.PutObject(ctx, b.name, b.prefix+name, file, size, minio.PutObjectOptions{ContentType: contentType, PartSize: filePart, NumThreads: 1, SendContentMd5: true})
	return b.explain(err)
}

// PutNew writes a short object. It reports whether it did, because another process may have
// written one with this name. A service without conditional requests may replace it.
func (b *Bucket) PutNew(ctx context.Context, name string, content []byte) (isNew bool, err error) {
	o := minio.PutObjectOptions{ContentType: contentType}
	o.SetMatchETagExcept("*")
	put := func() error {
		_, err := b.client.PutObject(ctx, b.name, b.prefix+name, bytes.NewReader(content), int64(len(content)), o)
		return err
	}
	err = put()
	if hasCode(err, minio.NotImplemented) {
		o = minio.PutObjectOptions{ContentType: contentType}
		err = put()
	}
	if hasCode(err, minio.PreconditionFailed) {
		return false, nil
	}
	return err == nil, b.explain(err)
}

// hasCode reports whether an error is a response of S3 with a code.
func hasCode(err error, code string) bool {
	var r minio.ErrorResponse
	return errors.As(err, &r) && r.Code == code
}

// Get returns a reader of an object, which must be closed. The request begins with the first read.
func (b *Bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	o, err := b.client.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, b.explain(err)
	}
	return &explainedReader{o, b}, nil
}

// explainedReader explains the errors of a request.
type explainedReader struct {
	io.ReadCloser
	b *Bucket
}

func (r *explainedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.b.explain(err)
	}
	return n, err
}

// Size returns the size of an object.
func (b *Bucket) Size(ctx context.Context, name string) (int64, error) {
	info, err := b.client.StatObject(ctx, b.name, b.prefix+name, minio.StatObjectOptions{})
	return info.Size, b.explain(err)
}

// ReadAt reads the part of an object that begins at an offset by one request, into some buffers one after
// another. A response that ends early or is of another part is requested a second time.
func (b *Bucket) ReadAt(ctx context.Context, name string, offset int64, dst ...[]byte) (err error) {
	for range attempts {
		if err = b.readAt(ctx, name, offset, dst); !errors.Is(err, errBroken) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// errBroken is the error for a response to another request.
var errBroken = errors.New("the response of S3 is not what was requested")

// readAt implements ReadAt with one request.
func (b *Bucket) readAt(ctx context.Context, name string, offset int64, dst [][]byte) (err error) {
	var o minio.GetObjectOptions
	last := offset - 1
	for _, buffer := range dst {
		last += int64(len(buffer))
	}
	if err := o.SetRange(offset, last); err != nil {
		return err
	}
	body, _, header, err := minio.Core{Client: b.client}.GetObject(ctx, b.name, b.prefix+name, o)
	if err != nil {
		return b.explain(err)
	}
	defer func() { _ = body.Close() }()
	got, want := header.Get("Content-Range"), "bytes "+strconv.FormatInt(offset, 10)+"-"+strconv.FormatInt(last, 10)+"/"
	if !strings.HasPrefix(got, want) {
		return unavailable{fmt.Errorf("%s: %w: %q of %s, not %q", b, errBroken, got, name, want)}
	}
	for _, buffer := range dst {
		if _, err := io.ReadFull(body, buffer); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return unavailable{fmt.Errorf("%s: %w: %s: %w", b, errBroken, name, err)}
		}
	}
	return nil
}

// List returns the objects whose names begin with a prefix. It is an error if there are more than
// most.
func (b *Bucket) List(ctx context.Context, prefix string, most int) (out []Object, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the client's goroutine
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, b.explain(o.Err)
		}
		if len(out) == most {
			return nil, fmt.Errorf("%s has more than %d objects: remove old ones, or choose another prefix", b, most)
		}
		out = append(out, Object{strings.TrimPrefix(o.Key, b.prefix), o.Size, o.LastModified})
	}
	return out, nil
}

// Remove removes an object. It is no error if it does not exist.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	return b.explain(b.client.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{}))
}

// Sweep removes the parts of uploads of a killed process to names with a prefix that match: they
// would be charged. The credentials may lack that permission; then the bucket's owner has to remove
// them.
func (b *Bucket) Sweep(ctx context.Context, prefix string, match func(name string) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for upload := range b.client.ListIncompleteUploads(ctx, b.name, b.prefix+prefix, true) {
		if upload.Err != nil {
			return
		}
		if match(strings.TrimPrefix(upload.Key, b.prefix)) {
			_ = b.client.RemoveIncompleteUpload(ctx, b.name, upload.Key)
		}
	}
}
