package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// folderBucket is a bucket of S3 for reading, whose objects are the files of a folder.
type folderBucket struct {
	dir, address string
	// before is called before a part is sent. If it returns true, it has sent the response. It may be nil.
	before atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
	// parts is the number of requests for parts of objects, and running of those that have not ended.
	parts, running atomic.Int64
}

func newFolderBucket(t testing.TB, dir string) *folderBucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s := &folderBucket{dir: dir}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.address = "s3://bucket/p?region=us-east-1&endpoint=" + url.QueryEscape(server.URL)
	return s
}

func (s *folderBucket) fails(f func(w http.ResponseWriter, r *http.Request) bool) { s.before.Store(&f) }

func (s *folderBucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>Some text.</Message></Error>", code)
	}
	name, isObject := strings.CutPrefix(r.URL.Path, "/bucket/p/")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead || r.URL.Query().Has("uploads"):
		refuse(http.StatusForbidden, "AccessDenied")
	case !isObject:
		s.list(w)
	default:
		if r.Header.Get("Range") != "" {
			s.parts.Add(1)
			s.running.Add(1)
			defer s.running.Add(-1)
			if f := s.before.Load(); f != nil && (*f)(w, r) {
				return
			}
		}
		file, err := os.Open(filepath.Join(s.dir, filepath.FromSlash(name)))
		if err != nil {
			refuse(http.StatusNotFound, "NoSuchKey")
			return
		}
		defer func() { _ = file.Close() }()
		http.ServeContent(w, r, "", time.Unix(1, 0), file)
	}
}

// list lists all objects.
func (s *folderBucket) list(w http.ResponseWriter) {
	_, _ = fmt.Fprint(w, "<ListBucketResult>")
	_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		name, relErr := filepath.Rel(s.dir, path)
		_, writeErr := fmt.Fprintf(w, "<Contents><Key>p/%s</Key><Size>%d</Size></Contents>", filepath.ToSlash(name), info.Size())
		return errors.Join(err, relErr, writeErr)
	})
	_, _ = fmt.Fprint(w, "</ListBucketResult>")
}

// openBucket commits events and seals them in some files, and opens the store again with the files in a
// bucket.
func openBucket(t *testing.T, files int) (*eventModel, *folderBucket) {
	t.Helper()
	address, folder := segmentDatabases["sqlite"](t), filepath.Join(t.TempDir(), "events")
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(51, 52)), store: openSealing(t, address, folder, events.Sealing{MinBlocks: 1, Any: true, After: never, MergeFrom: 1000})}
	m.change = func(_ int, e *capture.Record) { e.ProjectID = 1 }
	for range 2 * files { // a file has the events of one or two commits
		m.commit(60)
		indexAll(t, m.store)
		sealAll(t, m.store)
	}
	if n := len(segmentFiles(t, folder)); n < files {
		t.Fatalf("%d files", n)
	}
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	b := newFolderBucket(t, folder)
	m.store = openSegments(t, address, b.address)
	return m, b
}

// Scans of segments in a bucket, of which several run at a time, deliver the events of a plain list with all
// combinations of columns, and leave no request behind.
func TestSegments_BucketScans(t *testing.T) {
	m, b := openBucket(t, 12)
	var scans sync.WaitGroup
	for _, columns := range []port.Columns{
		port.IDs, port.IDs | port.Names | port.DistinctIDs, port.IDs | port.Properties, port.UUIDs | port.Elements | port.PersonProperties, port.IDs | port.People,
	} {
		for _, scan := range []port.Scan{
			{Columns: columns}, {Columns: columns, Names: []string{m.list[0].Name}}, {Columns: columns, DistinctIDs: []string{m.list[0].DistinctID}},
			{Columns: columns, HasSpareCPU: func() bool { return true }},
		} {
			scans.Go(func() {
				if got, want := scansOf(t, m.store, 1, []port.Scan{scan})[0], plainScan(t, m.list, 1, m.owners, scan); got != want {
					t.Errorf("%+v: %d events, want %d", scan, got.events, want.events)
				}
			})
		}
	}
	scans.Wait()
	if n := b.running.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// fileOf returns the object of a request.
func fileOf(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/bucket/p/") }

// While a scan processes the first events, the parts of the next files are being requested, at most eight
// requests at a time. If it is cancelled then, these requests are cancelled and it returns the reason.
func TestSegments_BucketAhead(t *testing.T) {
	m, b := openBucket(t, 30)
	started := make(chan string, 1000)
	var first atomic.Pointer[string]
	b.fails(func(_ http.ResponseWriter, r *http.Request) bool {
		file := fileOf(r)
		first.CompareAndSwap(nil, &file)
		if *first.Load() == file {
			return false
		}
		started <- file
		<-r.Context().Done() // hangs until it is cancelled
		return true
	})
	reader, err := m.store.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	calls := 0
	err = reader.Scan(ctx, port.Scan{Columns: port.IDs}, func(*port.Batch) error {
		if calls++; calls == 1 {
			<-started // of the second file, whose metadata is read
			cancel(reason)
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d batches, %v", calls, err)
	}
	for deadline := time.Now().Add(time.Minute); b.running.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests have not ended", b.running.Load())
		}
	}
}

// If a file cannot be read, a scan delivers the events before it and then fails with the error of S3, also if
// other files are requested at the same time. Afterwards the same store reads everything.
func TestSegments_BucketFails(t *testing.T) {
	m, b := openBucket(t, 12)
	names := sealedNames(t, m.store)
	slices.Sort(names)
	bad := names[7]
	_, badID, _, _ := segment.Parse(bad)
	before := slices.IndexFunc(m.list, func(e capture.Record) bool { return e.ID >= badID })
	b.fails(func(w http.ResponseWriter, r *http.Request) bool {
		if fileOf(r) != bad {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, "<Error><Code>AccessDenied</Code><Message>Not this one.</Message></Error>")
		return true
	})
	read := func() (n int, err error) {
		r, err := m.store.Open(t.Context(), 1)
		if err != nil {
			return 0, err
		}
		err = r.Scan(t.Context(), port.Scan{Columns: port.IDs | port.Properties}, func(b *port.Batch) error {
			n += b.Len()
			return nil
		})
		return n, err
	}
	for range 2 {
		n, err := read()
		if want := "S3 denies access to s3://bucket/p/ (AccessDenied: Not this one.)"; err == nil || !strings.Contains(err.Error(), want) || n != before {
			t.Errorf("%d events, %v; want %d and %s", n, err, before, want)
		}
	}
	b.fails(func(http.ResponseWriter, *http.Request) bool { return false })
	if n, err := read(); n != len(m.list) || err != nil {
		t.Errorf("%d of %d events, %v", n, len(m.list), err)
	}
}

// Queries of segments in a bucket that answers each request after 20 ms. Nothing is in memory before each.
func BenchmarkSegments_Bucket(b *testing.B) {
	address, folder := segmentDatabases["sqlite"](b), filepath.Join(b.TempDir(), "events")
	s := openSealing(b, address, folder, events.Sealing{})
	fillExperiment(b, s, 400_000)
	sealAll(b, s)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	bucket := newFolderBucket(b, folder)
	bucket.fails(func(http.ResponseWriter, *http.Request) bool {
		time.Sleep(20 * time.Millisecond)
		return false
	})
	const series = `{"kind":"TrendsQuery","dateRange":{"date_from":"2026-01-01","date_to":"2026-01-31"},"series":[{"kind":"EventsNode","event":"page viewed"`
	for _, tt := range []struct{ name, query string }{
		{"count by day", series + `}]}`},
		{"by property", series + `}],"breakdownFilter":{"breakdown":"$browser"}}`},
		{"people by day", series + `,"math":"dau"}]}`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			parsed, err := insights.Parse(json.RawMessage(tt.query), &port.Project{ID: 1})
			if err != nil {
				b.Fatal(err)
			}
			requests := int64(0)
			for b.Loop() {
				b.StopTimer()
				s := openSegments(b, address, bucket.address)
				before := bucket.parts.Load()
				b.StartTimer()
				if _, err := parsed.Run(b.Context(), spareSource{s}, port.Options{Now: experimentStart.AddDate(0, 1, 0)}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				requests += bucket.parts.Load() - before
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(requests)/float64(b.N), "requests/op")
			b.ReportMetric(float64(len(segmentFiles(b, folder))), "files")
		})
	}
}
