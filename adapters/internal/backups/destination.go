package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/bucket"
	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// object is an object of a destination.
type object struct {
	name     string
	size     int64
	modified time.Time // by the clock of the destination
}

// destination stores objects. An object appears when it is complete.
type destination interface {
	// put creates an object. size is its approximate size.
	put(ctx context.Context, name string, content io.Reader, size int64) error
	// open reads an object.
	open(ctx context.Context, name string) (io.ReadCloser, error)
	// list returns the objects whose names begin with a prefix, at most maxListed.
	list(ctx context.Context, prefix string) ([]object, error)
	remove(ctx context.Context, name string) error
	// sweep removes the remains of interrupted uploads of names with a prefix.
	sweep(ctx context.Context, prefix string)
	String() string
	close()
}

// maxListed is the maximum number of objects of backups in a destination.
const maxListed = 100_000

var errTooMany = fmt.Errorf("there are more than %d objects of backups: remove old ones, or choose another folder or prefix", maxListed)

// CheckAddress returns an error if an address is neither a folder nor
// s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME].
func CheckAddress(address string) error {
	d, err := openDestination(address)
	if err == nil {
		d.close()
	}
	return err
}

func openDestination(address string) (destination, error) {
	if strings.HasPrefix(address, bucket.Scheme) {
		b, err := bucket.Open(address)
		return objects{b}, err
	}
	if scheme, _, ok := strings.Cut(address, "://"); ok || address == "" {
		return nil, fmt.Errorf("must be a folder or s3://BUCKET/PREFIX, not %s", withoutUser(scheme+"://…"))
	}
	dir, err := filepath.Abs(address)
	return folder(dir), err
}

func withoutUser(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return text
}

// folder is a destination in a folder of this machine.
type folder string

func (f folder) String() string { return string(f) }
func (f folder) close()         {}

// part is the suffix of a file that is being written.
const part = ".part"

func (f folder) put(ctx context.Context, name string, content io.Reader, _ int64) (err error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	path := filepath.Join(string(f), name)
	file, err := os.OpenFile(path+part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path + part)
		}
	}()
	_, err = io.Copy(file, &endingReader{ctx, content})
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	// A link and not a rename, which would replace an existing file; some file systems
	// have no links.
	if err := os.Link(path+part, path); err == nil {
		_ = os.Remove(path + part)
	} else if errors.Is(err, fs.ErrExist) {
		return err
	} else if err := os.Rename(path+part, path); err != nil {
		return err
	}
	return lastgood.SyncFolder(string(f))
}

func (f folder) open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(f), name))
}

func (f folder) list(_ context.Context, prefix string) (out []object, err error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(e.Name(), prefix) {
			continue // err: removed meanwhile
		}
		if len(out) == maxListed {
			return nil, errTooMany
		}
		out = append(out, object{e.Name(), info.Size(), info.ModTime()})
	}
	return out, err
}

func (f folder) remove(_ context.Context, name string) error {
	return os.Remove(filepath.Join(string(f), name))
}

func (f folder) sweep(ctx context.Context, prefix string) {
	all, _ := f.list(ctx, prefix) // the next run tries again
	for _, o := range all {
		if name, ok := strings.CutSuffix(o.name, part); ok && namePattern.MatchString(strings.TrimSuffix(name, descriptionSuffix)) {
			_ = f.remove(ctx, o.name)
		}
	}
}

// endingReader ends with the error of its context.
type endingReader struct {
	ctx context.Context
	io.Reader
}

func (r *endingReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}
