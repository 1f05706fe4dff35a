package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/bunting-flags/bunting/adapters/internal/bucket"
)

const (
	// readTime limits reading a part of an object, with all attempts, and other short requests.
	readTime = 30 * time.Second
	// copyTime limits writing an object, and listing a bucket. It is shorter than the time after which
	// PostgreSQL ends a session that seals events.
	copyTime = 10 * time.Minute
	// maxObjects is the maximum number of objects below the prefix.
	maxObjects = 1_000_000

	// aheadRequests is the maximum number of requests ahead of all scans at a time, and requestParts that
	// of the parts of one of them: together 16 MiB.
	aheadRequests = 8
	requestParts  = 4
	// aheadParts is the maximum number of parts that all scans have requested before they need them, so
	// that these do not displace one another from memory. unitParts is the maximum number of one group.
	aheadParts = 32
	unitParts  = 16
)

// objects is a storage in a bucket of S3. Close ends all requests.
type objects struct {
	bucket *bucket.Bucket
	cache  *partCache
	// temp is the folder for files that are being written, lockPath the path of the file with the
	// lock of remover.
	temp, lockPath string
	// requests has room for the requests of all Aheads, and room for the parts that they have requested.
	requests, room *semaphore.Weighted

	ctx  context.Context
	stop context.CancelFunc
}

// openObjects opens the part of a bucket below a prefix, for a database as in Open. It does not
// connect.
func openObjects(address, database string) (*objects, error) {
	b, err := bucket.Open(address)
	if err != nil {
		return nil, err
	}
	o := &objects{bucket: b, cache: newPartCache(), temp: os.TempDir(), requests: semaphore.NewWeighted(aheadRequests), room: semaphore.NewWeighted(aheadParts)}
	if database != "" {
		o.temp, o.lockPath = filepath.Dir(database), database+".segments.lock"
	}
	o.ctx, o.stop = context.WithCancel(context.Background())
	return o, nil
}

func (o *objects) String() string   { return o.bucket.String() }
func (o *objects) lock() string     { return o.lockPath }
func (o *objects) descriptors() int { return 0 }

func (o *objects) close() {
	o.stop()
	o.bucket.Close()
}

// during runs a request with a time limit.
func (o *objects) during(limit time.Duration, request func(ctx context.Context) error) error {
	return o.within(o.ctx, limit, request)
}

// within runs a request with a time limit and a context that ends at the latest when o is closed.
func (o *objects) within(ctx context.Context, limit time.Duration, request func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := request(ctx)
	switch {
	case err == nil:
		return nil
	case o.ctx.Err() != nil:
		return errClosed
	case ctx.Err() != nil:
		return fmt.Errorf("within %s: %w", limit, err)
	}
	return err
}

// create implements storage: the object is written to a temporary file, and then uploaded.
func (o *objects) create(name string, write func(io.Writer) error) (bytes int64, checksum uint32, err error) {
	file, err := os.CreateTemp(o.temp, "segment-*"+unfinished)
	if err != nil {
		return 0, 0, fmt.Errorf("segments are written to a temporary file before they are uploaded: %w; let the server write to %s, or set TMPDIR", err, o.temp)
	}
	s := &newSegment{file: file}
	removeErr := os.Remove(file.Name()) // fails where open files cannot be removed
	defer func() {
		if err = errors.Join(err, file.Close()); removeErr != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err := write(s); err != nil {
		return 0, 0, err
	}
	err = o.during(copyTime, func(ctx context.Context) error {
		if err := o.bucket.PutFile(ctx, name, file); err != nil {
			return err
		}
		size, err := o.bucket.Size(ctx, name)
		if err == nil {
			err = checkSize(name, size, s.size)
		}
		return err
	})
	if err != nil {
		_ = o.remove(name) // it may be there, although the response was not received; otherwise a sweep removes it
	}
	return s.size, s.sum, err
}

func (o *objects) open(ctx context.Context, name string) (contents, error) {
	r := &objectReader{o: o, name: name, ctx: ctx}
	requests, _ := r.context()
	var err error
	r.bytes, err = o.sizeWithin(requests, name)
	return r, err
}

func (o *objects) size(name string) (size int64, err error) { return o.sizeWithin(o.ctx, name) }

func (o *objects) sizeWithin(ctx context.Context, name string) (size int64, err error) {
	err = o.within(ctx, readTime, func(ctx context.Context) (err error) {
		size, err = o.bucket.Size(ctx, name)
		return err
	})
	return size, err
}

func (o *objects) read(name string) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(o.ctx, copyTime)
	body, err := o.bucket.Get(ctx, name)
	if err != nil {
		cancel()
		return nil, err
	}
	return &objectBody{body, cancel}, nil
}

// objectBody is a reader that ends its request when it is closed.
type objectBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *objectBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

func (o *objects) remove(name string) error {
	return o.during(readTime, func(ctx context.Context) error { return o.bucket.Remove(ctx, name) })
}

func (o *objects) sizes() (Sizes, error) {
	all := Sizes{map[string]int64{}, o.String()}
	err := o.during(copyTime, func(ctx context.Context) error {
		list, err := o.bucket.List(ctx, projectStart, maxObjects)
		for _, object := range list {
			if isOurs(object.Name) {
				all.of[object.Name] = object.Size
			}
		}
		return err
	})
	return all, err
}

func (o *objects) sweep() {
	_ = o.during(copyTime, func(ctx context.Context) error {
		o.bucket.Sweep(ctx, projectStart, isOurs)
		return nil
	})
}

// projectStart begins the names of all segments.
const projectStart = "project="

func (o *objects) owner() (text []byte, err error) {
	err = o.during(readTime, func(ctx context.Context) error {
		body, err := o.bucket.Get(ctx, OwnerFile)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		text, err = io.ReadAll(io.LimitReader(body, 1<<10))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

func (o *objects) setOwner(content []byte, isNew bool) error {
	if len(content) == 0 {
		return o.remove(OwnerFile)
	}
	return o.during(readTime, func(ctx context.Context) error {
		if isNew {
			_, err := o.bucket.PutNew(ctx, OwnerFile, content)
			return err
		}
		return o.bucket.Put(ctx, OwnerFile, strings.NewReader(string(content)), int64(len(content)))
	})
}

// objectReader reads parts of an object.
type objectReader struct {
	o     *objects
	name  string
	bytes int64
	// ctx can end if the file is read ahead of a scan.
	ctx context.Context
}

// context returns the context of requests, and a channel that is closed when a scan has ended that is read ahead.
func (r *objectReader) context() (ctx context.Context, cancelled <-chan struct{}) {
	if cancelled = r.ctx.Done(); cancelled == nil {
		return r.o.ctx, nil
	}
	return r.ctx, cancelled
}

func (r *objectReader) open() error  { return nil }
func (r *objectReader) size() int64  { return r.bytes }
func (r *objectReader) Close() error { return nil }
func (r *objectReader) forAll() contents {
	return &objectReader{r.o, r.name, r.bytes, context.Background()}
}

func (r *objectReader) forget(offset, n int64) {
	for at := offset / partSize; at <= (offset+n-1)/partSize; at++ {
		r.o.cache.forget(partKey{r.name, at})
	}
}

// ReadAt implements io.ReaderAt. It reads whole parts, which it keeps.
func (r *objectReader) ReadAt(dst []byte, offset int64) (n int, err error) {
	ctx, cancelled := r.context()
	for n < len(dst) && offset < r.bytes {
		at := offset / partSize
		part, err := r.o.cache.get(partKey{r.name, at}, cancelled, func() ([]byte, error) { return r.load(ctx, at) })
		if err != nil {
			return n, err
		}
		done := copy(dst[n:], part[offset-at*partSize:])
		n, offset = n+done, offset+int64(done)
	}
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

// buffer returns memory for a part.
func (r *objectReader) buffer(at int64) []byte {
	return make([]byte, min(partSize, r.bytes-at*partSize))
}

// load reads a part from the bucket.
func (r *objectReader) load(ctx context.Context, at int64) ([]byte, error) {
	part := r.buffer(at)
	err := r.o.within(ctx, readTime, func(ctx context.Context) error {
		return r.o.bucket.ReadAt(ctx, r.name, at*partSize, part)
	})
	return part, err
}
