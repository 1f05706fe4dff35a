package backups

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// Copied describes a file that Config.Copy has written.
type Copied struct {
	Size           int64
	At             time.Time // of the state in the file
	Schema, Events int64
	SHA256         string // in hexadecimal
}

// Config are the settings of a Runner.
type Config struct {
	// Address is a folder, or s3://BUCKET/PREFIX: see CheckAddress.
	Address string
	// Key encrypts the backups; nil does not.
	Key *Key
	// Interval is the time between two backups, Keep the age at which a backup is deleted.
	Interval, Keep time.Duration
	// Copy writes a checked, consistent copy of the database to a new file.
	Copy func(ctx context.Context, to string) (Copied, error)
	// Temp is the path of the copy, and SourceFile that of the file with the id of the data
	// folder, both in the data folder.
	Temp, SourceFile string
	// Done is called after each backup, with its error.
	Done func(Backup, error)
	// Trace, if not nil, is called before each backup of Run. Its function is called at the end, with
	// the error.
	Trace func(context.Context) (context.Context, func(error))
}

// Runner writes backups. It is safe for concurrent use.
type Runner struct {
	Config
	destination destination
	source      string

	mu     sync.Mutex
	status Status
}

// Status is the state of the backups.
type Status struct {
	Address            string
	Interval           time.Duration
	Began              time.Time // of the Runner
	Last               time.Time // the time of the state in the last good backup, zero if there is none
	Name               string    // of the last good backup
	Bytes              int64     // of the last good backup
	Failures           uint64    // of backups, since the start
	Failure, Retention error     // of the last attempt to write a backup and to delete old ones
}

// Age returns the age of the last good backup, or the time since the start without one.
func (s *Status) Age() time.Duration {
	if s.Last.IsZero() {
		return time.Since(s.Began)
	}
	return max(time.Since(s.Last), 0)
}

// New returns a Runner. It does not connect to the destination.
func New(c Config) (*Runner, error) {
	r := &Runner{Config: c}
	var err error
	if r.destination, err = openDestination(c.Address); err != nil {
		return nil, err
	}
	if r.source, err = readSource(c.SourceFile); err != nil {
		return nil, err
	}
	r.status = Status{Address: r.destination.String(), Interval: c.Interval, Began: time.Now()}
	return r, nil
}

// readSource reads the id of the data folder from a file, and creates it if it is missing.
func readSource(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		if id := strings.TrimSpace(string(text)); regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) {
			return id, nil
		}
		return "", fmt.Errorf("%s is invalid: remove it, and the next backups begin with a new id", path)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // never fails
	id := hex.EncodeToString(raw)
	return id, lastgood.Replace(path, 0o600, []byte(id+"\n"))
}

// Status returns the state of the backups.
func (r *Runner) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

func (r *Runner) update(do func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(&r.status)
}

// firstRetry is the time until the first attempt after a failure. It doubles with each
// failure, up to Interval.
const firstRetry = time.Minute

// patience limits a short request to the destination.
const patience = time.Minute

// Run writes backups until the context ends. The first is due when the newest one in the
// destination is as old as the interval.
func (r *Runner) Run(ctx context.Context) {
	defer r.destination.close()
	retry := firstRetry
	for wait := r.untilDue(ctx); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		b, err := r.traced(ctx)
		if ctx.Err() != nil {
			return
		}
		if r.Done != nil {
			r.Done(b, err)
		}
		if err == nil {
			wait, retry = r.Interval, firstRetry
			continue
		}
		wait = min(retry, r.Interval)
		retry = 2 * wait
	}
}

// traced writes a backup, and calls Trace.
func (r *Runner) traced(ctx context.Context) (Backup, error) {
	if r.Trace == nil {
		return r.Once(ctx)
	}
	ctx, end := r.Trace(ctx)
	b, err := r.Once(ctx)
	end(err)
	return b, err
}

// untilDue returns how long the newest backup in the destination is younger than the
// interval.
func (r *Runner) untilDue(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	all, err := list(ctx, r.destination, r.source)
	if err != nil || all.newest() == nil {
		return 0 // the first backup reports the error
	}
	newest := all.newest()
	at := newest.At
	if now := time.Now(); at.After(now) { // the clock was set back
		at = now
	}
	r.update(func(s *Status) { s.Last, s.Name, s.Bytes = at, newest.Name, newest.Size })
	return r.Interval - time.Since(at)
}

// Once writes a backup and deletes those that are too old.
func (r *Runner) Once(ctx context.Context) (Backup, error) {
	b, at, err := r.write(ctx)
	r.update(func(s *Status) {
		if s.Failure = err; err != nil {
			s.Failures++
			return
		}
		s.Last, s.Name, s.Bytes = at, b.Name, b.Size
	})
	if err == nil {
		expired := r.expire(ctx, b.Name)
		r.update(func(s *Status) { s.Retention = expired })
	}
	return b, err
}

// write writes a backup: a local copy, which is checked; the backup, which is read back and
// compared; and its description.
func (r *Runner) write(ctx context.Context) (b Backup, at time.Time, err error) {
	all, err := list(ctx, r.destination, r.source) // before the copy: it is cheap, and fails if the destination does
	if err != nil {
		return b, at, err
	}
	r.destination.sweep(ctx, nameStart+r.source+"-")
	for _, old := range []string{r.Temp, r.Temp + part} { // of a killed process
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return b, at, err
		}
	}
	copied, err := r.Copy(ctx, r.Temp)
	if err != nil {
		return b, at, fmt.Errorf("copying the database: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(r.Temp)) }()
	ctx, cancel := context.WithTimeout(ctx, allowed(copied.Size))
	defer cancel()
	b = r.name(copied.At, all.newest())
	d := description{At: copied.At.UTC(), Schema: copied.Schema, Events: copied.Events, Size: copied.Size, SHA256: copied.SHA256}
	if err := r.send(ctx, b.Name, &d); err != nil {
		return b, at, fmt.Errorf("writing %s to %s: %w", b.Name, r.destination, err)
	}
	if err := r.complete(ctx, b.Name, &d); err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		_ = r.destination.remove(clean, b.Name) // it has no description, so it is not used
		return b, at, fmt.Errorf("checking %s in %s: %w", b.Name, r.destination, err)
	}
	b.Size = d.ObjectSize
	return b, copied.At, nil
}

// allowed returns how long the transfer of a database may take: ten minutes, and a minute
// for each MiB, as it is sent and read back.
func allowed(size int64) time.Duration {
	return 10*time.Minute + time.Duration(size>>20)*time.Minute
}

// name returns the name of a new backup, which is later than that of the last one.
func (r *Runner) name(at time.Time, last *Backup) Backup {
	at = at.UTC().Truncate(time.Second)
	if last != nil && !at.After(last.At) {
		at = last.At.Add(time.Second)
	}
	name := nameStart + r.source + "-" + at.Format(nameTime) + ".db"
	if r.Key != nil {
		name += encryptedSuffix
	}
	return Backup{Name: name, Source: r.source, At: at}
}

// send encrypts and sends the copy, and completes its description.
func (r *Runner) send(ctx context.Context, name string, d *description) error {
	file, err := os.Open(r.Temp)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	out, in := io.Pipe()
	hash := sha256.New()
	sent := &countingWriter{Writer: io.MultiWriter(in, hash)}
	encrypted := make(chan struct{})
	go func() {
		defer close(encrypted)
		w, err := r.Key.encrypt(sent)
		if err == nil {
			_, err = io.Copy(w, file)
			err = errors.Join(err, w.Close())
		}
		_ = in.CloseWithError(err) // never fails
	}()
	err = r.destination.put(ctx, name, out, d.Size)
	_ = out.CloseWithError(errors.New("the upload has ended")) // ends the goroutine
	<-encrypted
	d.ObjectSize, d.ObjectSHA256 = sent.n, hex.EncodeToString(hash.Sum(nil))
	return err
}

// complete reads the backup back and writes its description.
func (r *Runner) complete(ctx context.Context, name string, d *description) error {
	if err := readBack(ctx, r.destination, name, r.Key, d, nil); err != nil {
		return err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return r.destination.put(ctx, name+descriptionSuffix, bytes.NewReader(text), int64(len(text)))
}

// expire deletes the backups of this data folder that are older than Keep, by the
// destination's clock and in relation to the backup that was written last, which is never
// deleted.
func (r *Runner) expire(ctx context.Context, last string) (err error) {
	all, err := list(ctx, r.destination, r.source)
	if err != nil {
		return err
	}
	newest := all.newest()
	if newest == nil || newest.Name != last {
		return fmt.Errorf("no old backups were deleted, because %s is not the newest in %s", last, r.destination)
	}
	before := newest.modified.Add(-r.Keep)
	for _, b := range all.complete {
		if b.Name == last || !b.modified.Before(before) {
			continue
		}
		// The description first: a backup without one is not used.
		err = errors.Join(err, r.destination.remove(ctx, b.Name+descriptionSuffix), r.destination.remove(ctx, b.Name))
	}
	for _, o := range all.incomplete {
		if o.modified.Before(before) {
			err = errors.Join(err, r.destination.remove(ctx, o.name))
		}
	}
	return err
}
