//go:build s3

package sqlstore

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/copies"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
)

const (
	s3Key, s3Secret = "AKIDs3cretid", "wJalrs3cret/key+1"
	s3Bucket        = "segments"
)

// s3Server is a server of S3 behind a proxy that may fail.
type s3Server struct {
	url    string // of the proxy
	client *minio.Client
	fault  atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
	bucket atomic.Int64 // the number of prefixes in use
}

// startS3 starts adapters/internal/bucket/s3server, which TEST_S3_SERVER names, or which is built.
func startS3(t *testing.T) *s3Server {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", s3Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3Secret)
	program := os.Getenv("TEST_S3_SERVER")
	if program == "" {
		program = filepath.Join(t.TempDir(), "s3server")
		build := exec.Command("go", "build", "-o", program, ".")
		build.Dir = filepath.Join("..", "bucket", "s3server")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	cmd := exec.Command(program, t.TempDir())
	cmd.Stderr = os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	lines, line := bufio.NewScanner(out), ""
	for !strings.HasPrefix(line, "http://") { // its library prints other lines
		if !lines.Scan() {
			t.Fatalf("the server has not started: %v", lines.Err())
		}
		line = lines.Text()
	}
	backend, err := url.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	s := &s3Server{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", backend.Host, r.In.Host
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), Transport: &http.Transport{DisableCompression: true},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := s.fault.Load(); f == nil || !(*f)(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	s.client, err = minio.New(backend.Host, &minio.Options{Creds: credentials.NewStaticV4(s3Key, s3Secret, ""), Region: "us-east-1"})
	if err == nil {
		err = s.client.MakeBucket(t.Context(), s3Bucket, minio.MakeBucketOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// prefix returns the address of a new prefix of the bucket.
func (s *s3Server) prefix() string {
	return fmt.Sprintf("s3://%s/p%d?region=us-east-1&endpoint=%s", s3Bucket, s.bucket.Add(1), url.QueryEscape(s.url))
}

// fails sets a function that answers the requests for which it returns true. nil is for none.
func (s *s3Server) fails(f func(w http.ResponseWriter, r *http.Request) bool) {
	if f == nil {
		s.fault.Store(nil)
		return
	}
	s.fault.Store(&f)
}

// refuse answers with an error of S3.
func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>Some text.</Message></Error>", code)
}

// Stores pass the contract when all events are in a bucket.
func TestS3_Contract(t *testing.T) {
	s := startS3(t)
	for name, address := range segmentDatabases {
		sealedContract(t, name, func(t testing.TB) sealedBackend { return sealedStore{openSegments(t, address(t), s.prefix()), t} })
	}
}

// Whatever happens to a store with a bucket, every way of reading equals a plain list, and at the end
// the bucket has the listed objects.
func TestS3_Model(t *testing.T) {
	server := startS3(t)
	for name, address := range segmentDatabases {
		t.Run(name, func(t *testing.T) {
			address, files := address(t), server.prefix()
			m := &eventModel{T: t, random: rand.New(rand.NewPCG(31, 32)), store: openSegments(t, address, files)}
			for round := range 5 {
				m.commit(300 + m.random.IntN(600))
				indexAll(t, m.store)
				sealAll(t, m.store)
				m.erase(m.list[m.random.IntN(len(m.list))].DistinctID)
				m.check(fmt.Sprintf("round %d", round))
				if round%2 == 0 {
					if err := m.store.Close(); err != nil {
						t.Fatal(err)
					}
					m.store = openSegments(t, address, files)
				}
			}
			awaitSweep(t, m.store, files)
			if n := len(segmentFiles(t, files)); n == 0 {
				t.Error("nothing is sealed")
			}
		})
	}
}

// A process that seals into a bucket is killed: see TestSegments_Kill.
func TestS3_Kill(t *testing.T) {
	server := startS3(t)
	for name, address := range segmentDatabases {
		t.Run(name, func(t *testing.T) { testKills(t, *killCycles/8, address(t), server.prefix()) })
	}
}

// Two servers share a bucket: see TestServersSegments_Model.
func TestS3_TwoServers(t *testing.T) {
	files := startS3(t).prefix()
	address := postgresURL(t)
	one, other := openSegments(t, address, files), openSegments(t, address, files)
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(21, 22)), store: one}
	sealTogether(m, one, other, files, 4)
}

// isPart reports whether a request reads a part of a segment.
func isPart(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".parquet")
}

// While a bucket cannot be reached, events are accepted and read from the database, and a server
// starts; sealing and reading of sealed events fail with an error that names the bucket. Afterwards
// all is as before.
func TestS3_Unreachable(t *testing.T) {
	server := startS3(t)
	address, files := segmentDatabases["sqlite"](t), server.prefix()
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(33, 34)), store: openSegments(t, address, files)}
	m.commit(500)
	indexAll(t, m.store)
	sealAll(t, m.store)
	sealed := len(m.list)
	server.fails(func(w http.ResponseWriter, _ *http.Request) bool {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			err = conn.Close()
		}
		if err != nil {
			t.Error(err)
		}
		return true
	})
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	m.store = openSegments(t, address, files)
	m.commit(400)
	indexAll(t, m.store)
	if _, err := m.store.events.Seal(t.Context()); err == nil || !strings.Contains(err.Error(), "s3://segments/p1/ cannot be reached") {
		t.Errorf("sealing: %v", err)
	}
	if _, err := m.store.Events(t.Context(), 1, capture.EventQuery{Limit: 1000}); err == nil || !strings.Contains(err.Error(), "s3://segments/p1/ cannot be reached") {
		t.Errorf("reading: %v", err)
	}
	again := func(id int64) error {
		at := slices.IndexFunc(m.list, func(e capture.Record) bool { return e.ID >= id && e.ProjectID == 1 })
		keys := keysOf(m.list[at : at+1])
		return m.store.Commit(t.Context(), []int64{1}, func(tx capture.Tx) error {
			isNew, err := tx.Claim(keys)
			if slices.Contains(isNew, true) {
				t.Error("a stored event is new")
			}
			return err
		})
	}
	if err := again(1); err == nil || !strings.Contains(err.Error(), "s3://segments/p1/ cannot be reached") {
		t.Errorf("a sealed event is sent again: %v", err)
	}
	if err := again(int64(sealed) + 1); err != nil {
		t.Errorf("an event of the database is sent again: %v", err)
	}
	newest := slices.IndexFunc(m.list, func(e capture.Record) bool { return e.ID > int64(sealed) && e.ProjectID == 1 })
	if page, err := m.store.Ledger(t.Context(), 1, m.list[newest].ID-1, 1); err != nil || len(page) != 1 || page[0].ID != m.list[newest].ID {
		t.Errorf("an event of the database: %v, %v", page, err)
	}
	server.fails(nil)
	if _, err := m.store.Seal(t.Context()); err != nil { // checks the folder first
		t.Fatal(err)
	}
	if err := again(1); err != nil {
		t.Errorf("a sealed event is sent again: %v", err)
	}
	m.check("reachable again")
	if names := sealedNames(t, m.store); len(names) != 4 {
		t.Errorf("files %q", names)
	}
}

// Requests that are refused, cut off or answered with other bytes for some time are repeated, or
// fail without consequences: what was not stored completely is not listed, and what was read is
// right.
func TestS3_BrokenAnswers(t *testing.T) {
	var seen sync.Map // requests, which are answered when they are repeated
	isRepeated := func(r *http.Request) bool {
		_, ok := seen.LoadOrStore(r.Method+r.URL.String()+r.Header.Get("Range"), true)
		return ok
	}
	cut := func(w http.ResponseWriter, r *http.Request) bool {
		if !isPart(r) || isRepeated(r) {
			return false
		}
		w.Header().Set("Content-Range", strings.Replace(r.Header.Get("Range"), "bytes=", "bytes ", 1)+"/100000")
		w.Header().Set("Last-Modified", "Thu, 01 Jan 2026 10:00:00 GMT")
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Length", "100000")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write([]byte("half"))
		return true
	}
	busy := func(w http.ResponseWriter, r *http.Request) bool {
		if isRepeated(r) {
			return false
		}
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return true
	}
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request) bool{"cut": cut, "busy": busy} {
		t.Run(name, func(t *testing.T) {
			server := startS3(t)
			m := &eventModel{T: t, random: rand.New(rand.NewPCG(35, 36)), store: openSegments(t, segmentDatabases["sqlite"](t), server.prefix())}
			m.commit(500)
			indexAll(t, m.store)
			seen.Clear()
			server.fails(fault)
			sealAll(t, m.store)
			m.check("sealed")
		})
	}
	t.Run("uploads fail", func(t *testing.T) {
		server := startS3(t)
		files := server.prefix()
		m := &eventModel{T: t, random: rand.New(rand.NewPCG(37, 38)), store: openSegments(t, segmentDatabases["sqlite"](t), files)}
		m.commit(500)
		indexAll(t, m.store)
		server.fails(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut {
				return false
			}
			refuse(w, http.StatusForbidden, "QuotaExceeded")
			return true
		})
		if _, err := m.store.events.Seal(t.Context()); err == nil || !strings.Contains(err.Error(), "QuotaExceeded") || strings.Contains(err.Error(), s3Secret) {
			t.Errorf("sealing: %v", err)
		}
		m.check("refused")
		server.fails(nil)
		awaitSweep(t, m.store, files)
		m.check("accepted")
	})
	t.Run("other bytes", func(t *testing.T) {
		server := startS3(t)
		address, files := segmentDatabases["sqlite"](t), server.prefix()
		m := &eventModel{T: t, random: rand.New(rand.NewPCG(39, 40)), store: openSegments(t, address, files)}
		m.commit(500)
		indexAll(t, m.store)
		sealAll(t, m.store)
		if err := m.store.Close(); err != nil { // nothing is in memory
			t.Fatal(err)
		}
		m.store = openSegments(t, address, files)
		server.fails(func(w http.ResponseWriter, r *http.Request) bool {
			if !isPart(r) {
				return false
			}
			answer, err := server.client.GetObject(r.Context(), s3Bucket, strings.TrimPrefix(r.URL.Path, "/"+s3Bucket+"/"), minio.GetObjectOptions{})
			if err != nil {
				t.Error(err)
				return false
			}
			http.ServeContent(w, r, "", time.Unix(1, 0), flipped{answer})
			return true
		})
		if _, err := m.store.Events(t.Context(), 1, capture.EventQuery{Limit: 1000}); !errors.Is(err, block.ErrDamaged) {
			t.Errorf("error %v, want %v", err, block.ErrDamaged)
		}
		server.fails(nil)
		m.check("good bytes again")
	})
}

// flipped has other bytes than an object.
type flipped struct{ io.ReadSeeker }

func (f flipped) Read(p []byte) (int, error) {
	n, err := f.ReadSeeker.Read(p)
	for i := range p[:n] {
		p[i] ^= 0x20
	}
	return n, err
}

// A server that does not answer does not delay the end of a store, which does not wait for its
// requests.
func TestS3_Hangs(t *testing.T) {
	server := startS3(t)
	s := openSegments(t, segmentDatabases["sqlite"](t), server.prefix())
	if err := commitEvents(s, 0, 500); err != nil {
		t.Fatal(err)
	}
	indexAll(t, s)
	hanging := make(chan struct{})
	once := sync.OnceFunc(func() { close(hanging) })
	server.fails(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees the end of a connection only after the body
		once()
		<-r.Context().Done()
		return true
	})
	failed := make(chan error, 1)
	go func() {
		_, err := s.events.Seal(t.Context())
		failed <- err
	}()
	<-hanging
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("the segment was stored")
	}
}

// Wrong keys, a bucket that does not exist and a bucket that is denied end the start with advice.
func TestS3_Settings(t *testing.T) {
	server := startS3(t)
	address, files := segmentDatabases["sqlite"](t), server.prefix()
	for name, tt := range map[string]struct{ variable, value, files, want string }{
		"secret":    {"AWS_SECRET_ACCESS_KEY", "wr0ng", files, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		"key":       {"AWS_ACCESS_KEY_ID", "wr0ng", files, "No user exists with the provided access key ID"},
		"no bucket": {"AWS_REGION", "us-east-1", strings.Replace(files, s3Bucket, "another", 1), "the bucket another does not exist"},
		"parameter": {"AWS_REGION", "us-east-1", files + "&keep=1", `has the parameter "keep"`},
		"a user":    {"AWS_REGION", "us-east-1", "s3://me:pass@segments/p", "credentials are in the environment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(tt.variable, tt.value)
			s, err := Open(t.Context(), address, Config{Segments: tt.files})
			if err == nil {
				_ = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), s3Secret) || strings.Contains(err.Error(), "wr0ng") {
				t.Errorf("error %v, want one with %q and no secrets", err, tt.want)
			}
		})
	}
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(41, 42)), store: openSegments(t, address, files)}
	m.commit(100)
	if _, err := Open(t.Context(), segmentDatabases["sqlite"](t), Config{Segments: files}); err == nil || !strings.Contains(err.Error(), "belong to another database") {
		t.Errorf("another database: %v", err)
	}
}

// If a bucket has lost an object, reading its events fails with its name, everything else goes on, also
// after a start, and the doctor names it.
func TestS3_LostObject(t *testing.T) {
	server := startS3(t)
	address, files := segmentDatabases["sqlite"](t), server.prefix()
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(43, 44)), store: openSegments(t, address, files)}
	m.change = func(_ int, e *capture.Record) { e.ProjectID = 1 }
	m.commit(500)
	indexAll(t, m.store)
	sealAll(t, m.store)
	lost := sealedNames(t, m.store)[0]
	if err := server.client.RemoveObject(t.Context(), s3Bucket, "p1/"+lost, minio.RemoveObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	m.store = openSegments(t, address, files)
	if _, err := m.store.Ledger(t.Context(), 1, 0, 10); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), lost) {
		t.Errorf("error %v, want one with %s", err, lost)
	}
	last := m.list[len(m.list)-1].ID
	m.commit(500)
	indexAll(t, m.store)
	sealAll(t, m.store)
	if page, err := m.store.Ledger(t.Context(), 1, last, 1000); err != nil || len(page) != 500 {
		t.Errorf("%d later events, %v", len(page), err)
	}
	if names := segmentFiles(t, files); len(names) != 1 || names[0] == lost {
		t.Errorf("files %q", names)
	}
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := Examine(t.Context(), address, files, true)
	if err != nil || len(e.SegmentFaults) != 1 || !strings.Contains(e.SegmentFaults[0], lost) {
		t.Errorf("%q, %v", e.SegmentFaults, err)
	}
}

// A backup contains the objects of a bucket, also those that are removed meanwhile, and is restored
// into another prefix, but never over other objects. A move to PostgreSQL leaves the objects where
// they are.
func TestS3_Copies(t *testing.T) {
	server := startS3(t)
	path, files := filepath.Join(t.TempDir(), "store.db"), server.prefix()
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(45, 46)), store: openSegments(t, "sqlite:"+path, files)}
	m.commit(500)
	indexAll(t, m.store)
	sealAll(t, m.store)
	m.commit(100)
	want := slices.Clone(m.list)
	backup, isChanged := filepath.Join(t.TempDir(), "backup.db"), false
	written, err := copies.Backup(t.Context(), path, files, backup, func(string, int64, int64) {
		if isChanged {
			return
		}
		isChanged = true
		m.erase(m.list[3].DistinctID)
		sealAll(t, m.store)
		sealAll(t, m.store)
	})
	if err != nil || written.Segments != 2 || !isChanged {
		t.Fatalf("%+v, %v", written, err)
	}
	restored := filepath.Join(t.TempDir(), "restored.db")
	if _, _, err := copies.Restore(t.Context(), backup, restored, files, true, noProgress); err == nil || !strings.Contains(err.Error(), "already belongs to a database: choose another prefix") {
		t.Errorf("over other objects: %v", err)
	}
	files2 := server.prefix()
	if done, _, err := copies.Restore(t.Context(), backup, restored, files2, false, noProgress); err != nil || done.Segments != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if e, err := Examine(t.Context(), "sqlite:"+restored, files2, false); err != nil || len(e.Faults)+len(e.SegmentFaults)+len(e.Unlisted) > 0 || e.Segments != 2 {
		t.Errorf("%+v, %v", e, err)
	}
	s := openSegments(t, "sqlite:"+restored, files2)
	checkStored(t, "restored", s, want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	address := postgresURL(t)
	if _, err := moveOnce(t.Context(), "sqlite:"+restored, address); err != nil {
		t.Fatal(err)
	}
	checkStored(t, "moved", openSegments(t, address, files2), want)
	if faults, err := events.CheckBlocks(t.Context(), m.store.events.Source(), 10); err != nil || len(faults) > 0 {
		t.Errorf("%q, %v", faults, err)
	}
}
