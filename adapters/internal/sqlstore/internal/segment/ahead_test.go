package segment

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// objectServer is a bucket of S3 for reading, in which every segment has the same bytes.
type objectServer struct {
	data []byte
	// before is called before a part is sent, unless it is nil. If it returns true, no part is sent.
	before                         func(w http.ResponseWriter, r *http.Request) bool
	requests, running, mostRunning atomic.Int64
}

func (s *objectServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Range") != "" {
		s.requests.Add(1)
		n := s.running.Add(1)
		defer s.running.Add(-1)
		for most := s.mostRunning.Load(); n > most && !s.mostRunning.CompareAndSwap(most, n); {
			most = s.mostRunning.Load()
		}
		if s.before != nil && s.before(w, r) {
			return
		}
	}
	http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(s.data))
}

// openServer opens the bucket of a server.
func openServer(t testing.TB, s *objectServer) (*Folder, *objects) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	f, err := Open("s3://bucket/p?region=us-east-1&endpoint="+url.QueryEscape(server.URL), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, f.storage.(*objects)
}

// oneGroup is a segment with one group, which has some parts.
func oneGroup(t testing.TB) []byte {
	madeGroup.Do(func() { madeBytes = segmentOf(t, newMaker(1).events(block.MaxEvents)) })
	return madeBytes
}

var (
	madeGroup sync.Once
	madeBytes []byte
)

// everything are all columns.
var everything = &ColumnSet{People: true, Origins: true, Texts: []Text{Elements, Properties, PersonProperties}}

func never() bool { return false }

// checkFree checks that nothing of any Ahead is left.
func checkFree(t *testing.T, o *objects) {
	t.Helper()
	if !o.requests.TryAcquire(aheadRequests) || !o.room.TryAcquire(aheadParts) || len(o.cache.loading) != 0 {
		t.Errorf("requests or room are in use, %d parts are being requested", len(o.cache.loading))
	}
}

// Many scans of many files together have at most aheadRequests requests at a time, and at most aheadParts parts
// that are not needed yet. When the scans end, they leave nothing. What was requested is read without a
// further request.
func TestAhead_Bounds(t *testing.T) {
	s := &objectServer{data: oneGroup(t)}
	f, o := openServer(t, s)
	parts := (len(s.data) + partSize - 1) / partSize
	if parts < 4 {
		t.Fatalf("%d parts", parts)
	}
	full, enough := make(chan struct{}), make(chan struct{})
	var arrived atomic.Int64
	files := make([]*File, 60)
	for i := range files {
		file, err := f.Open(Name(1, int64(i+1), int64(i+1), 1, 0))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Release()
		files[i] = file
	}
	s.before = func(http.ResponseWriter, *http.Request) bool {
		if arrived.Add(1) == aheadRequests {
			close(full)
		}
		<-enough
		return false
	}
	s.mostRunning.Store(0)
	ctx, cancel := context.WithCancel(t.Context())
	var scans sync.WaitGroup
	var held atomic.Int64
	for i := range 20 {
		scans.Go(func() {
			a := f.Ahead(ctx)
			defer a.Close()
			for _, file := range files[3*i : 3*i+3] { // nobody calls Done
				n, err := a.Request(file, 0, everything, never)
				if held.Add(int64(n)); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			<-ctx.Done()
		})
	}
	<-full
	close(enough)
	for held.Load() <= aheadParts-int64(parts) { // as many as there is room for
		time.Sleep(time.Millisecond)
	}
	cancel()
	scans.Wait()
	if n := s.mostRunning.Load(); n > aheadRequests {
		t.Errorf("%d requests at a time", n)
	}
	if n := held.Load(); n > aheadParts {
		t.Errorf("%d parts were requested", n)
	}
	checkFree(t, o)
	if n := o.cache.parts.Len(); n > maxParts {
		t.Errorf("%d parts in memory", n)
	}
}

// Parts that follow one another are read by one request, and then by the reader without any.
func TestAhead_OneRequest(t *testing.T) {
	s := &objectServer{data: oneGroup(t)}
	f, o := openServer(t, s)
	file, err := f.Open(Name(1, 1, 1, 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Release()
	before := s.requests.Load() // of the metadata, at the end of the file
	a := f.Ahead(t.Context())
	n, err := a.Request(file, 0, everything, never)
	if err != nil || n < 3 {
		t.Fatalf("%d parts, %v", n, err)
	}
	a.requests.Wait()
	a.Done(n)
	a.Close()
	if got, want := s.requests.Load()-before, int64((n+requestParts-1)/requestParts); got != want {
		t.Errorf("%d requests for %d parts, want %d", got, n, want)
	}
	if _, err := readGroup(file, 0, &block.Columns{}); err != nil {
		t.Error(err)
	}
	if got := s.requests.Load() - before; got > int64((n+requestParts-1)/requestParts)+1 { // the columns of properties
		t.Errorf("%d requests", got)
	}
	checkFree(t, o)
}

// A reader that waits for a part of a scan that is cancelled requests it again. If S3 refuses a part, it gets the
// error that it gets without requests ahead, and these end.
func TestAhead_FailsOrIsCancelled(t *testing.T) {
	name := Name(1, 1, 1, 1, 0)
	refusal := func(w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("<Error><Code>AccessDenied</Code><Message>No.</Message></Error>"))
		return true
	}
	open := func(s *objectServer) (*Folder, *objects, *File) {
		f, o := openServer(t, s)
		file, err := f.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(file.Release)
		return f, o, file
	}
	s := &objectServer{data: oneGroup(t)}
	_, _, plain := open(s)
	s.before = func(w http.ResponseWriter, _ *http.Request) bool { return refusal(w) }
	want := readNames(plain)
	if want == nil || !strings.Contains(want.Error(), "S3 denies access to s3://bucket/p/ (AccessDenied: No.)") {
		t.Fatal(want)
	}
	t.Run("fails", func(t *testing.T) {
		s := &objectServer{data: oneGroup(t)}
		f, o, file := open(s)
		s.before = func(w http.ResponseWriter, _ *http.Request) bool { return refusal(w) }
		a := f.Ahead(t.Context())
		n, err := a.Request(file, 0, everything, never)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if got := readNames(file); got == nil || got.Error() != want.Error() {
			t.Errorf("error %v, want %v", got, want)
		}
		a.requests.Wait()
		if _, err := a.Request(file, 0, everything, never); !errors.Is(err, context.Canceled) {
			t.Errorf("a request after a failure: %v", err)
		}
		a.Done(n)
		a.Close()
		checkFree(t, o)
	})
	t.Run("cancelled", func(t *testing.T) {
		s := &objectServer{data: oneGroup(t)}
		f, o, file := open(s)
		begun := make(chan struct{})
		var calls atomic.Int64
		s.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if calls.Add(1) > 1 {
				return false
			}
			close(begun)
			<-r.Context().Done() // until the request is cancelled
			return true
		}
		a := f.Ahead(t.Context())
		if _, err := a.Request(file, 0, &ColumnSet{}, never); err != nil {
			t.Error(err)
		}
		<-begun
		read := make(chan error, 1)
		go func() { read <- readNames(file) }()
		a.Close()
		if err := <-read; err != nil {
			t.Errorf("the reader: %v", err)
		}
		checkFree(t, o)
	})
}

// Columns of a file in a bucket that answers each request after 20 ms, one after another and ahead. Nothing but
// the metadata is in memory before each.
func BenchmarkAhead(b *testing.B) {
	m := newMaker(1)
	var groups [][]event
	for range 8 {
		groups = append(groups, m.events(block.MaxEvents))
	}
	s := &objectServer{data: segmentOf(b, groups...), before: func(http.ResponseWriter, *http.Request) bool {
		time.Sleep(20 * time.Millisecond)
		return false
	}}
	f, o := openServer(b, s)
	file, err := f.Open(Name(1, 1, 1, 1, 0))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Release()
	for name, isAhead := range map[string]bool{"one after another": false, "ahead": true} {
		b.Run(name, func(b *testing.B) {
			requests := s.requests.Load()
			for b.Loop() {
				o.cache.parts.Purge()
				var a *Ahead
				if isAhead {
					a = f.Ahead(b.Context())
				}
				var c block.Columns
				var p Property
				for g := range groups {
					if isAhead {
						for ahead := g; ahead < min(g+5, len(groups)); ahead++ {
							n, err := a.Request(file, ahead, &ColumnSet{Properties: []string{"$browser"}}, never)
							if err != nil {
								b.Fatal(err)
							}
							a.Done(n)
						}
					}
					if err := errors.Join(file.Names(g, &c), file.Property(g, "$browser", &p)); err != nil {
						b.Fatal(err)
					}
				}
				if isAhead {
					a.Close()
				}
			}
			b.ReportMetric(float64(s.requests.Load()-requests)/float64(b.N), "requests/op")
		})
	}
}
