package remote_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// manyFlags is a payload of flags with a condition and a rollout, every second one with variants:
// about 330 bytes a flag.
func manyFlags(n int, name string) []byte {
	var b strings.Builder
	b.WriteString(`{"flags":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"key":"flag-%d","name":%q,"active":true,"deleted":false,"version":1,"filters":{"groups":[`+
			`{"properties":[{"key":"plan","type":"person","operator":"exact","value":["pro","team"]}],"rollout_percentage":%d}]`, i+1, i, name, i%101)
		if i%2 == 0 {
			b.WriteString(`,"multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]}`)
		}
		b.WriteString(`}}`)
	}
	b.WriteString(`],"group_type_mapping":{},"cohorts":{}}`)
	return []byte(b.String())
}

// openBundle returns a Source with a bundle and a server that refuses connections.
func openBundle(b *testing.B, bundle []byte) *remote.Source {
	b.Helper()
	s, err := remote.Open(remote.Config{URL: "http://127.0.0.1:1", ProjectKey: projectKey, Key: secretKey, NoCopy: true, Bundle: bundle})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// Evaluates one flag of a hundred with a stored Set and with Source.Set.
func BenchmarkRemote_SetNoAlloc(b *testing.B) {
	s := openBundle(b, manyFlags(100, "x"))
	sub := &flags.Subject{DistinctID: "user-4711", Person: flags.Properties{"plan": "pro"}}
	at := time.Now()
	held := s.Set()
	for name, set := range map[string]func() *flags.Set{"bare": nil, "source": s.Set} {
		b.Run(name, func(b *testing.B) {
			var out flags.Decisions
			b.ReportAllocs()
			for b.Loop() {
				use := held
				if set != nil {
					use = set()
				}
				if d, ok := use.EvaluateFlag("flag-50", sub, at, &out); !ok || d.Failed() {
					b.Fatal("not answered")
				}
			}
		})
	}
}

// Measures the time from Open to the first value, with a copy of 1,000 flags and a server that
// refuses connections.
func BenchmarkRemote_FirstAnswerFromCopy(b *testing.B) {
	c := remote.Config{URL: "http://127.0.0.1:1", ProjectKey: projectKey, Key: secretKey, Dir: b.TempDir(), NoStream: true}
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(manyFlags(1000, "x")) })
	net := &network{}
	net.redirect(serve(b, served))
	c.HTTPClient = net.client()
	s, err := remote.Open(c)
	if err != nil {
		b.Fatal(err)
	}
	waitUntil(b, "the definitions", func() bool { return s.Set() != nil })
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	net.redirect(nowhere(b))
	info, err := os.Stat(filepath.Join(c.Dir, filepath.Base(s.CopyPath())))
	if err != nil {
		b.Fatal(err)
	}
	sub := &flags.Subject{DistinctID: "user-4711", Person: flags.Properties{"plan": "pro"}, Partial: true}
	var out flags.Decisions
	b.ReportAllocs()
	for b.Loop() {
		s, err := remote.Open(c)
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := s.Set().EvaluateFlag("flag-500", sub, time.Now(), &out); !ok {
			b.Fatal("not answered")
		}
		b.StopTimer()
		_ = s.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(info.Size()), "copy-bytes")
}

// Measures the longest time of a read while 10,000 flags are replaced repeatedly and, for
// comparison, without replacements.
func BenchmarkRemote_Swap10000(b *testing.B) {
	texts := [][]byte{manyFlags(10_000, "a"), manyFlags(10_000, "b")}
	var version atomic.Int64
	served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := version.Load()
		etag := fmt.Sprintf(`W/"%d"`, v)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", etag)
		_, _ = w.Write(texts[v%2])
	})
	s, err := remote.Open(remote.Config{
		URL: "http://" + serve(b, served), ProjectKey: projectKey, Key: secretKey, NoCopy: true, NoStream: true, Poll: 5 * time.Millisecond,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	waitUntil(b, "the definitions", func() bool { return s.Set() != nil })

	var stop atomic.Bool
	var reader sync.WaitGroup
	var longest, reads atomic.Int64
	reader.Go(func() {
		var out flags.Decisions
		sub := &flags.Subject{DistinctID: "user-4711", Person: flags.Properties{"plan": "pro"}}
		at := time.Now()
		for last := time.Now(); !stop.Load(); {
			if _, ok := s.Set().EvaluateFlag("flag-5000", sub, at, &out); !ok {
				panic("not answered")
			}
			now := time.Now()
			longest.Store(max(longest.Load(), int64(now.Sub(last))))
			last = now
			reads.Add(1)
		}
	})
	quiet := func() int64 { // about as long as the replacements take, without them
		longest.Store(0)
		time.Sleep(time.Second)
		return longest.Load()
	}()
	longest.Store(0)
	for b.Loop() {
		before := s.Status().Revision
		version.Add(1)
		for s.Status().Revision == before {
			time.Sleep(time.Millisecond)
		}
	}
	b.ReportMetric(float64(longest.Load())/1e3, "longest-µs")
	b.ReportMetric(float64(quiet)/1e3, "longest-without-swap-µs")
	stop.Store(true)
	reader.Wait()
}
