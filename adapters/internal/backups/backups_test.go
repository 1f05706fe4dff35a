package backups

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
)

// content is the database of the tests: longer than a chunk of age.
var content = bytes.Repeat([]byte("0123456789abcdef"), 10_000)

// newRunner returns a Runner for a folder, whose copies of the database have text.
func newRunner(t *testing.T, address, data string, key *Key, text []byte) *Runner {
	t.Helper()
	r, err := New(Config{
		Address: address, Key: key, Interval: time.Hour, Keep: 7 * 24 * time.Hour,
		Temp: filepath.Join(data, "bunting.db.backup"), SourceFile: filepath.Join(data, "id"),
		Copy: func(_ context.Context, to string) (Copied, error) {
			sum := sha256.Sum256(text)
			return Copied{At: time.Now(), Schema: 1, Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}, os.WriteFile(to, text, 0o600)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func once(t *testing.T, r *Runner) Backup {
	t.Helper()
	b, err := r.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fetch(t *testing.T, address, which string, key *Key) ([]byte, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fetched.db")
	_, err := Fetch(t.Context(), address, which, key, file, func(string, int64, int64) {})
	text, missing := os.ReadFile(file)
	if err != nil && missing == nil {
		t.Errorf("a failed Fetch has left %d bytes", len(text))
	}
	return text, err
}

func wantErr(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func namesIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func testKey(t *testing.T) (*Key, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	recipient, err := NewKey(file)
	if err != nil {
		t.Fatal(err)
	}
	k, err := ReadKey(file)
	if err != nil {
		t.Fatal(err)
	}
	return k, recipient
}

// A backup equals the database, the local copy is removed, and only the owner can read the backup.
func TestOnce_Folder(t *testing.T) {
	dir, data := filepath.Join(t.TempDir(), "new"), t.TempDir()
	b := once(t, newRunner(t, dir, data, nil, content))
	if got, err := fetch(t, dir, "", nil); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got := namesIn(t, data); !slices.Equal(got, []string{"id"}) {
		t.Errorf("the data folder has %v", got)
	}
	if info, err := os.Stat(filepath.Join(dir, b.Name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// An encrypted backup is a file of age: its library decrypts it. Without the key, with another
// key and with the public key only, it cannot be restored.
func TestOnce_Encrypted(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	key, recipient := testKey(t)
	b := once(t, newRunner(t, dir, data, key, content))
	sealed, err := os.ReadFile(filepath.Join(dir, b.Name))
	if err != nil || bytes.Contains(sealed, content[:64]) {
		t.Fatalf("not encrypted, or %v", err)
	}
	plain, err := age.Decrypt(bytes.NewReader(sealed), key.identities...)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(plain); err != nil || !bytes.Equal(got, content) {
		t.Errorf("age decrypts %d bytes, %v", len(got), err)
	}
	if got, err := fetch(t, dir, "", key); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_, err = fetch(t, dir, "", nil)
	wantErr(t, err, "name the file with its key with --key")
	other, _ := testKey(t)
	_, err = fetch(t, dir, "", other)
	wantErr(t, err, "encrypted with another key")

	public := filepath.Join(t.TempDir(), "public")
	if err := os.WriteFile(public, []byte("# backups\n"+recipient+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sealing, err := ReadKey(public)
	if err != nil {
		t.Fatal(err)
	}
	second := once(t, newRunner(t, dir, data, sealing, content[1:])) // the server need not be able to decrypt
	_, err = fetch(t, dir, second.Name, sealing)
	wantErr(t, err, "the private key (AGE-SECRET-KEY-1…) is needed")
	if got, err := fetch(t, dir, second.Name, key); err != nil || !bytes.Equal(got, content[1:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestReadKey_Invalid(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "a password": "hunter2", "a damaged key": "AGE-SECRET-KEY-1QQQQ", "too long": strings.Repeat("x", mostKey+1),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadKey(file)
			wantErr(t, err, file)
			if text != "" && len(text) < 99 && strings.Contains(err.Error(), text) {
				t.Errorf("%v quotes the file", err)
			}
		})
	}
}

// Truncated and changed backups, and backups without a description, are not restored.
func TestFetch_Damaged(t *testing.T) {
	for name, tt := range map[string]struct {
		damage func(path string) error
		want   string
	}{
		"truncated":   {func(path string) error { return os.Truncate(path, 1000) }, ErrDamaged.Error()},
		"empty":       {func(path string) error { return os.Truncate(path, 0) }, ErrDamaged.Error()},
		"longer":      {func(path string) error { return os.WriteFile(path, append(bytes.Clone(content), 1), 0o600) }, ErrDamaged.Error()},
		"other bytes": {func(path string) error { return os.WriteFile(path, bytes.ToUpper(content), 0o600) }, ErrDamaged.Error()},
		"incomplete":  {func(path string) error { return os.Remove(path + descriptionSuffix) }, "is incomplete"},
		"no object":   {os.Remove, "no complete backup"},
		"description": {func(path string) error { return os.WriteFile(path+descriptionSuffix, []byte("{"), 0o600) }, "cannot be read"},
		"long description": {func(path string) error {
			return os.WriteFile(path+descriptionSuffix, make([]byte, mostDescription+1), 0o600)
		}, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := once(t, newRunner(t, dir, t.TempDir(), nil, content))
			if err := tt.damage(filepath.Join(dir, b.Name)); err != nil {
				t.Fatal(err)
			}
			_, err := fetch(t, dir, b.Name, nil)
			wantErr(t, err, tt.want)
		})
	}
}

// The names of a data folder's backups grow, also if the clock goes back; which selects by name and
// by time.
func TestFetch_Which(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	r := newRunner(t, dir, data, nil, []byte("first"))
	first := once(t, r)
	now := first.At
	for i, text := range []string{"second", "third"} {
		r = newRunner(t, dir, data, nil, []byte(text))
		copyNow := r.Copy
		r.Copy = func(ctx context.Context, to string) (Copied, error) {
			c, err := copyNow(ctx, to)
			c.At = now.Add(-time.Duration(i) * time.Hour) // the clock goes back
			return c, err
		}
		if b := once(t, r); !b.At.Equal(now.Add(time.Duration(i+1) * time.Second)) {
			t.Errorf("%s has the time %s", text, b.At)
		}
	}
	for which, want := range map[string]string{
		"": "third", first.Name: "first",
		now.Add(time.Second).Format(time.RFC3339): "second", now.Add(time.Hour).Format(time.RFC3339): "third",
	} {
		if got, err := fetch(t, dir, which, nil); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", which, got, err, want)
		}
	}
	for which, want := range map[string]string{
		"other": "has no backup other; the newest is bunting-", now.Add(-time.Second).Format(time.RFC3339): "has no backup 2",
	} {
		_, err := fetch(t, dir, which, nil)
		wantErr(t, err, want)
	}
	once(t, newRunner(t, dir, t.TempDir(), nil, []byte("another server")))
	_, err := fetch(t, dir, "", nil)
	wantErr(t, err, "backups of several data folders: choose one")
}

// Retention deletes only old backups of the same data folder, complete or not, and never the newest.
func TestOnce_Retention(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	age := func(name string) {
		then := time.Now().AddDate(0, 0, -8)
		if err := os.Chtimes(filepath.Join(dir, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	old := once(t, newRunner(t, dir, data, nil, content))
	stranger := once(t, newRunner(t, dir, t.TempDir(), nil, content))
	young := once(t, newRunner(t, dir, data, nil, content))
	incomplete := nameStart + old.Source + "-20200101T000000Z.db"
	others := []string{"bunting-notes.txt", nameStart + old.Source + "-20200101T000000Z.db.bak", "bunting-20200101T000000Z.db"}
	for _, name := range append([]string{incomplete}, others...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range namesIn(t, dir) {
		if !strings.HasPrefix(name, young.Name) {
			age(name)
		}
	}
	last := once(t, newRunner(t, dir, data, nil, content))
	want := append([]string{stranger.Name, stranger.Name + ".json", young.Name, young.Name + ".json", last.Name, last.Name + ".json"}, others...)
	slices.Sort(want)
	if got := namesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("the folder has\n%v, want\n%v", got, want)
	}
}

// If a backup fails, the earlier ones stay, old as they are, and nothing of it remains.
func TestOnce_Fails(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	good := once(t, newRunner(t, dir, data, nil, content))
	then := time.Now().AddDate(-1, 0, 0)
	if err := os.Chtimes(filepath.Join(dir, good.Name), then, then); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		wrap func(destination) destination
		want string
	}{
		"the write ends early": {func(d destination) destination { return &faulty{destination: d, write: 1000} }, "bucket full"},
		"silently truncated":   {func(d destination) destination { return &faulty{destination: d, keep: 1000} }, ErrDamaged.Error()},
		"no list":              {func(d destination) destination { return &faulty{destination: d, noList: true} }, "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, dir, data, nil, content)
			r.destination = tt.wrap(r.destination)
			_, err := r.Once(t.Context())
			wantErr(t, err, tt.want)
			if got := namesIn(t, dir); !slices.Equal(got, []string{good.Name, good.Name + ".json"}) {
				t.Errorf("the folder has %v", got)
			}
			if got := namesIn(t, data); !slices.Equal(got, []string{"id"}) {
				t.Errorf("the data folder has %v", got)
			}
			if s := r.Status(); s.Failures != 1 || !errors.Is(s.Failure, err) || !s.Last.IsZero() {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// faulty is a destination that fails.
type faulty struct {
	destination
	write, keep int64
	noList      bool
}

func (f *faulty) put(ctx context.Context, name string, r io.Reader, size int64) error {
	if f.write > 0 {
		r = io.MultiReader(io.LimitReader(r, f.write), failing{})
	}
	if f.keep > 0 && !strings.HasSuffix(name, descriptionSuffix) {
		sent, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		r = bytes.NewReader(sent[:f.keep])
	}
	return f.destination.put(ctx, name, r, size)
}

func (f *faulty) list(ctx context.Context, prefix string) ([]object, error) {
	if f.noList {
		return nil, errors.New("denied")
	}
	return f.destination.list(ctx, prefix)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("bucket full") }

// Files of a killed process are removed by the next backup; other files stay.
func TestOnce_AfterKill(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	r := newRunner(t, dir, data, nil, content)
	left := filepath.Join(dir, nameStart+r.source+"-20200101T000000Z.db"+part)
	other := filepath.Join(dir, "movie"+part)
	for _, path := range []string{left, other, r.Temp, r.Temp + part} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := once(t, r)
	if got := namesIn(t, dir); !slices.Equal(got, []string{b.Name, b.Name + ".json", "movie.part"}) {
		t.Errorf("the folder has %v", got)
	}
}

// After a restart the age is that of the newest backup in the destination, and the next one is due
// an interval after it.
func TestRunner_Restart(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	b := once(t, newRunner(t, dir, data, nil, content))
	r := newRunner(t, dir, data, nil, content)
	if wait := r.untilDue(t.Context()); wait <= 0 || wait > r.Interval {
		t.Errorf("due in %s", wait)
	}
	if s := r.Status(); s.Name != b.Name || s.Bytes != int64(len(content)) || s.Last.IsZero() {
		t.Errorf("status %+v", s)
	}
}

func TestCheckAddress(t *testing.T) {
	for address, want := range map[string]string{
		"backups": "", "/var/backups": "", "s3://my-bucket": "", "s3://my-bucket/a/b?endpoint=http://127.0.0.1:9000&region=eu-west-1": "",
		"": "must be a folder", "ftp://host/x": "must be a folder", "s3://": "cannot be the name of a bucket", "s3://x/y": "cannot be the name of a bucket",
		"s3://key:secret@bucket/x": "credentials are in the environment", "s3://bucket?endpiont=x": `"endpiont"`, "s3://bucket?endpoint=minio:9000": "the endpoint must be",
	} {
		err := CheckAddress(address)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret@")) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}
