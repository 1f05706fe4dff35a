package backups

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// ErrDamaged is the error for a backup that differs from its description.
var ErrDamaged = errors.New("the backup is damaged")

// List returns the complete backups at an address, sorted by data folder and time.
func List(ctx context.Context, address string) ([]Backup, error) {
	d, err := openDestination(address)
	if err != nil {
		return nil, err
	}
	defer d.close()
	all, err := list(ctx, d, "")
	return all.complete, err
}

// Fetch writes a backup at an address to the new file to, decrypted, and checks that the
// file equals the database. which is the name of the backup, or a time in the form of
// RFC 3339, for the newest backup that is not newer, or empty for the newest of all.
// progress is called with the numbers of bytes done and in total.
func Fetch(ctx context.Context, address, which string, key *Key, to string, progress func(what string, done, total int64)) (Backup, error) {
	d, err := openDestination(address)
	if err != nil {
		return Backup{}, err
	}
	defer d.close()
	all, err := list(ctx, d, "")
	if err != nil {
		return Backup{}, err
	}
	b, err := choose(d, &all, which)
	if err != nil {
		return Backup{}, err
	}
	expected, err := describe(ctx, d, b.Name)
	if err != nil {
		return b, err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return b, err
	}
	out := &countingWriter{Writer: file, report: func(n int64) { progress("reading "+b.Name, n, expected.Size) }}
	err = readBack(ctx, d, b.Name, key, &expected, out)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return b, errors.Join(err, os.Remove(to))
	}
	return b, nil
}

// choose returns the backup that which selects: see Fetch.
func choose(d destination, all *listing, which string) (Backup, error) {
	list := all.complete
	if at, err := time.Parse(time.RFC3339, which); err == nil {
		list = slices.DeleteFunc(slices.Clone(list), func(b Backup) bool { return b.At.After(at) })
	} else if which != "" {
		list = slices.DeleteFunc(slices.Clone(list), func(b Backup) bool { return b.Name != which })
		for _, o := range all.incomplete {
			if o.name == which {
				return Backup{}, fmt.Errorf("%s in %s is incomplete: it was never checked; choose another backup", which, d)
			}
		}
	}
	if len(list) == 0 {
		if which != "" && len(all.complete) > 0 {
			return Backup{}, fmt.Errorf("%s has no backup %s; the newest is %s", d, which, all.newest().Name)
		}
		return Backup{}, fmt.Errorf("%s has no complete backup of bunting", d)
	}
	last := list[len(list)-1]
	if list[0].Source != last.Source {
		var newest []string
		for i, b := range list {
			if i+1 == len(list) || list[i+1].Source != b.Source {
				newest = append(newest, b.Name)
			}
		}
		return Backup{}, fmt.Errorf("%s has backups of several data folders: choose one of their backups with --backup; the newest are %s", d, strings.Join(newest, ", "))
	}
	return last, nil
}

// readBack reads a backup, writes the database in it to w, and compares sizes and hashes
// with a description. If the key cannot decrypt and w is nil, only the object is compared.
func readBack(ctx context.Context, d destination, name string, key *Key, expected *description, w io.Writer) error {
	r, err := d.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	object, database := newHashing(&endingReader{ctx, io.LimitReader(r, expected.ObjectSize+1)}), (*hashing)(nil)
	if w != nil || key.canDecrypt() {
		plain, err := key.decrypt(name, object)
		if err != nil {
			return err
		}
		if w == nil {
			w = io.Discard
		}
		database = newHashing(plain)
		if _, err := io.Copy(w, database); err != nil {
			return fmt.Errorf("reading %s in %s: %w", name, d, err)
		}
	}
	if _, err := io.Copy(io.Discard, object); err != nil {
		return err
	}
	if object.size != expected.ObjectSize || object.sum() != expected.ObjectSHA256 ||
		database != nil && (database.size != expected.Size || database.sum() != expected.SHA256) {
		return fmt.Errorf("%w: %s in %s is not what was written (%d bytes of %d could be read)", ErrDamaged, name, d, object.size, expected.ObjectSize)
	}
	return nil
}

// hashing reads, counts and hashes.
type hashing struct {
	r    io.Reader
	h    interface{ Sum([]byte) []byte }
	size int64
}

func newHashing(r io.Reader) *hashing {
	h := sha256.New()
	return &hashing{r: io.TeeReader(r, h), h: h}
}

func (h *hashing) Read(b []byte) (int, error) {
	n, err := h.r.Read(b)
	h.size += int64(n)
	return n, err
}

func (h *hashing) sum() string { return hex.EncodeToString(h.h.Sum(nil)) }

// countingWriter counts the bytes that it writes.
type countingWriter struct {
	io.Writer
	n      int64
	report func(int64)
}

func (w *countingWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.n += int64(n)
	if w.report != nil {
		w.report(w.n)
	}
	return n, err
}
