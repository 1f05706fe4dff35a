package s3test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"

	"github.com/bunting-flags/bunting/adapters/internal/backups"
)

// store is an S3 server with the bucket store. The test sets its clock.
type store struct {
	t       *testing.T
	address string // of backups below p/
	clock   gofakes3.TimeSourceAdvancer
	backend *s3mem.Backend
	client  *minio.Client
	fault   atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	data    string // the data folder
}

// newStore starts a server, and sets the credentials that backups use.
func newStore(t *testing.T) *store {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", keyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	s := &store{t: t, clock: gofakes3.FixedTimeSource(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)), data: t.TempDir()}
	s.backend = s3mem.New(s3mem.WithTimeSource(s.clock))
	backend := signed(gofakes3.New(s.backend, gofakes3.WithTimeSource(s.clock), gofakes3.WithTimeSkewLimit(0)).Server())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := s.fault.Load(); f == nil || !(*f)(w, r) {
			backend.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s.address = "s3://store/p?region=us-east-1&endpoint=" + url.QueryEscape(server.URL)
	var err error
	s.client, err = minio.New(strings.TrimPrefix(server.URL, "http://"), &minio.Options{Creds: credentials.NewStaticV4(keyID, secret, ""), Region: "us-east-1"})
	if err == nil {
		err = s.client.MakeBucket(t.Context(), "store", minio.MakeBucketOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fails sets a function that responds to the requests for which it returns true.
func (s *store) fails(f func(w http.ResponseWriter, r *http.Request) bool) { s.fault.Store(&f) }

// write writes a backup of a database to an address.
func (s *store) write(ctx context.Context, address string, key *backups.Key, database []byte) (backups.Backup, backups.Status, error) {
	s.t.Helper()
	r, err := backups.New(backups.Config{
		Address: address, Key: key, Interval: time.Hour, Keep: 7 * 24 * time.Hour,
		Temp: filepath.Join(s.data, "copy"), SourceFile: filepath.Join(s.data, "id"),
		Copy: func(_ context.Context, to string) (backups.Copied, error) {
			sum := sha256.Sum256(database)
			return backups.Copied{At: s.clock.Now(), Size: int64(len(database)), SHA256: hex.EncodeToString(sum[:])}, os.WriteFile(to, database, 0o600)
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := r.Once(ctx)
	return b, r.Status(), err
}

func (s *store) mustWrite(key *backups.Key, database []byte) backups.Backup {
	s.t.Helper()
	b, status, err := s.write(s.t.Context(), s.address, key, database)
	if err := errors.Join(err, status.Retention); err != nil {
		s.t.Fatal(err)
	}
	return b
}

// fetch returns the database of a backup, and requires that a failure leaves no file.
func (s *store) fetch(which string, key *backups.Key) ([]byte, error) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "fetched.db")
	_, err := backups.Fetch(s.t.Context(), s.address, which, key, file, func(string, int64, int64) {})
	text, missing := os.ReadFile(file)
	if (err == nil) != (missing == nil) {
		s.t.Errorf("error %v, and the file: %v", err, missing)
	}
	return text, err
}

func (s *store) put(name, content string) {
	s.t.Helper()
	if _, err := s.client.PutObject(s.t.Context(), "store", name, strings.NewReader(content), int64(len(content)), minio.PutObjectOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *store) wantKeys(want ...string) {
	s.t.Helper()
	names, _ := keys(s.t, s.client, map[string]any{"bucket_name": "store"})
	slices.Sort(names)
	slices.Sort(want)
	if diff := cmp.Diff(want, names); diff != "" {
		s.t.Error(diff)
	}
}

func stored(b backups.Backup) []string { return []string{"p/" + b.Name, "p/" + b.Name + ".json"} }

// wantFault requires an error with a text, without the credentials.
func wantFault(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("error %v, want one with %q, and no secrets", err, text)
	}
}

// Encrypted backups of several parts are listed and read. After 8 days the old one is deleted, and
// so are the parts of uploads of a killed process; objects of other programs and of other servers stay.
func TestBackups(t *testing.T) {
	s := newStore(t)
	file := filepath.Join(t.TempDir(), "key")
	if _, err := backups.NewKey(file); err != nil {
		t.Fatal(err)
	}
	key, err := backups.ReadKey(file)
	if err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("0123456789abcde\n"), 9<<16) // 9 MiB, a part has 8
	first := s.mustWrite(key, large)
	if got, err := s.fetch("", key); err != nil || !bytes.Equal(got, large) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	s.wantKeys(stored(first)...)

	id := first.Source
	others := []string{
		"p/notes.txt", "p/bunting-notes.txt", "p/bunting-" + id + "-20200101T000000Z.db.bak", "p/bunting-" + id + "-20200101T000000Z.db/x",
		"p/sub/bunting-" + id + "-20200101T000000Z.db", "p2/bunting-" + id + "-20200101T000000Z.db", "bunting-" + id + "-20200101T000000Z.db",
		"p/bunting-0123456789abcdef-20200101T000000Z.db", "p/bunting-0123456789abcdef-20200101T000000Z.db.json", // another data folder
	}
	for _, name := range others {
		s.put(name, "{}")
	}
	core := minio.Core{Client: s.client}
	for _, name := range []string{"p/bunting-" + id + "-20251231T000000Z.db.age", "p/bunting-" + id + "-movie"} {
		if _, err := core.NewMultipartUpload(t.Context(), "store", name, minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.put("p/bunting-"+id+"-20251230T000000Z.db", "never checked")
	s.clock.Advance(8 * 24 * time.Hour)
	second := s.mustWrite(key, []byte("small"))
	s.wantKeys(append(append(stored(second), "incomplete: p/bunting-"+id+"-movie"), others...)...)
	all, err := backups.List(t.Context(), s.address)
	if err != nil || len(all) != 2 || all[0].Name != "bunting-0123456789abcdef-20200101T000000Z.db" && all[1].Name != "bunting-0123456789abcdef-20200101T000000Z.db" {
		t.Errorf("%+v, %v", all, err)
	}
	if got, err := s.fetch(second.Name, key); err != nil || string(got) != "small" {
		t.Errorf("%q, %v", got, err)
	}
	_, err = s.fetch("", key)
	wantFault(t, err, "backups of several data folders: choose one")
}

// Errors of S3 include the correction. The earlier backup stays.
func TestBackups_Errors(t *testing.T) {
	s := newStore(t)
	good := s.mustWrite(nil, []byte("good"))
	for name, tt := range map[string]struct {
		env, value string
		address    string
		want       string
	}{
		"secret":        {"AWS_SECRET_ACCESS_KEY", "wr0ng", s.address, "S3 denies access to s3://store/p/ (SignatureDoesNotMatch: "},
		"key":           {"AWS_ACCESS_KEY_ID", "wr0ng", s.address, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		"no bucket":     {"", "", strings.Replace(s.address, "store", "missing-one", 1), "the bucket missing-one does not exist"},
		"nobody there":  {"", "", "s3://store/p?endpoint=http://127.0.0.1:1", "connection refused"},
		"not a service": {"", "", "s3://store/p?region=us-east-1&endpoint=" + html(t), "S3 answers "},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.env != "" {
				t.Setenv(tt.env, tt.value)
			}
			_, status, err := s.write(t.Context(), tt.address, nil, []byte("x"))
			wantFault(t, err, tt.want)
			if status.Failures != 1 || status.Failure == nil {
				t.Errorf("status %+v", status)
			}
			_, err = backups.List(t.Context(), tt.address)
			wantFault(t, err, tt.want)
		})
	}
	s.wantKeys(stored(good)...)
}

// html returns the URL of a server that does not implement S3.
func html(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("<html>hello</html>"))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Requests to an overloaded server are repeated.
func TestBackups_SlowDown(t *testing.T) {
	s := newStore(t)
	seen := map[string]bool{} // requests come one after another
	s.fails(func(w http.ResponseWriter, r *http.Request) bool {
		kind := r.Method + " " + r.URL.Path
		if seen[kind] {
			return false
		}
		seen[kind] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"))
		return true
	})
	b := s.mustWrite(nil, []byte("text"))
	clear(seen)
	if got, err := s.fetch(b.Name, nil); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	if len(seen) < 3 {
		t.Errorf("refused once: %v", seen)
	}
}

// If a server does not respond, the end of the context ends the backup.
func TestBackups_Hangs(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
		t.Run(method, func(t *testing.T) {
			s := newStore(t)
			ctx, cancel := context.WithCancel(t.Context())
			s.fails(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method != method {
					return false
				}
				_, _ = io.Copy(io.Discard, r.Body) // the server sees the end of a connection only after the body
				cancel()
				<-r.Context().Done()
				return true
			})
			if _, _, err := s.write(ctx, s.address, nil, []byte("text")); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that of the context", err)
			}
		})
	}
}

// The stored backup is compared with the database. A backup that was truncated after that is not
// restored; the previous one can be restored.
func TestBackups_Truncated(t *testing.T) {
	s := newStore(t)
	text := bytes.Repeat([]byte("0123456789abcdef"), 1000)
	first := s.mustWrite(nil, text)
	s.clock.Advance(time.Hour)
	second := s.mustWrite(nil, text)
	s.put("p/"+second.Name, string(text[:1000]))
	if _, err := s.fetch("", nil); !errors.Is(err, backups.ErrDamaged) {
		t.Errorf("error %v, want %v", err, backups.ErrDamaged)
	}
	if got, err := s.fetch(first.Name, nil); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	// The connection ends in the middle.
	s.fails(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, ".db") {
			return false
		}
		w.Header().Set("Content-Length", "16000")
		w.Header().Set("Last-Modified", "Thu, 01 Jan 2026 10:00:00 GMT")
		w.Header().Set("ETag", `"1"`)
		_, _ = w.Write(text[:1000])
		return true
	})
	_, err := s.fetch(first.Name, nil)
	wantFault(t, err, "unexpected EOF")

	// The server has stored less than was sent.
	s.clock.Advance(time.Hour)
	s.fails(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".db") {
			key := strings.TrimPrefix(r.URL.Path, "/store/")
			if _, err := s.backend.PutObject(r.Context(), "store", key, map[string]string{"Last-Modified": "Thu, 01 Jan 2026 10:00:00 GMT"}, strings.NewReader("0123"), 4); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	if _, _, err := s.write(t.Context(), s.address, nil, text); !errors.Is(err, backups.ErrDamaged) {
		t.Errorf("error %v, want %v", err, backups.ErrDamaged)
	}
	s.wantKeys(append(stored(first), stored(second)...)...)
}

// Credentials that may not delete write good backups, and the status has the missing permission.
func TestBackups_MayNotDelete(t *testing.T) {
	s := newStore(t)
	first := s.mustWrite(nil, []byte("first"))
	s.clock.Advance(8 * 24 * time.Hour)
	s.fails(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodDelete && !r.URL.Query().Has("uploads") || r.Method == http.MethodPost {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>"))
		return true
	})
	second, status, err := s.write(t.Context(), s.address, nil, []byte("second"))
	if err != nil || status.Failure != nil || status.Name != second.Name {
		t.Errorf("%+v, %v", status, err)
	}
	wantFault(t, status.Retention, "s3:DeleteObject")
	if got, err := s.fetch("", nil); err != nil || string(got) != "second" {
		t.Errorf("%q, %v", got, err)
	}
	s.fails(func(http.ResponseWriter, *http.Request) bool { return false })
	s.wantKeys(append(stored(first), stored(second)...)...)
}
