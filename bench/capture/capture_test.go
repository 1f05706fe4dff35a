package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// unpacked returns the decompressed text of a request as a server receives it.
func unpacked(t *testing.T, r request) string {
	t.Helper()
	var text string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var err error
		if text, err = readBody(q); err != nil {
			t.Errorf("body: %v", err)
		}
		_, _ = io.WriteString(w, `{"status":1}`)
	}))
	defer server.Close()
	l := load{address: strings.TrimPrefix(server.URL, "http://"), connections: 1, requests: []request{r}, check: checkAccepted}
	if _, err := l.run(); err != nil {
		t.Fatal(err)
	}
	return text
}

// The mix is the one that README.md describes, and the server accepts every event.
func TestBatches_Mix(t *testing.T) {
	for _, version := range []int{4, 7} {
		requests, err := batches(100, func(g *generator) { g.version = version })
		if err != nil {
			t.Fatal(err)
		}
		n, ids, uuids, counts := 0, map[string]bool{}, map[capture.UUID]bool{}, map[string]int{}
		size := 0
		for _, r := range requests {
			s, err := capture.Decode(unpacked(t, r), capture.DecodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range s.Items {
				it := &s.Items[i]
				n++
				if it.Fault != capture.NotDropped || uuids[it.UUID] || int(it.UUID[6]>>4) != version {
					t.Fatalf("item %+v", it)
				}
				uuids[it.UUID] = true
				if !strings.HasPrefix(it.DistinctID, "person-") && !ids[it.DistinctID] {
					ids[it.DistinctID] = true
					counts["new"]++
				}
				counts[it.Name]++
				here := 0
				for _, m := range it.Properties {
					counts[m.Key]++
					here += len(m.Key) + len(m.Value) + 4
					if !json.Valid([]byte(m.Value)) {
						t.Fatalf("%s is %s", m.Key, m.Value)
					}
				}
				if it.Name == "order placed" {
					size = max(size, here)
				}
				if it.Name == "$pageview" && (len(it.Properties) < 35 || len(it.Properties) > 55) {
					t.Errorf("a page view has %d properties", len(it.Properties))
				}
			}
		}
		if n != 100*batchSize {
			t.Errorf("%d events", n)
		}
		for _, want := range []struct {
			what        string
			least, most int // of 10,000: four standard deviations, and the effect of identify events
		}{{"new", 850, 1_120}, {"$set", 1_000, 1_330}, {"$identify", 140, 260}, {"$anon_distinct_id", 140, 260}, {"$groups", 400, 590}, {"$pageview", 400, 590}} {
			if got := counts[want.what]; got < want.least || got > want.most {
				t.Errorf("v%d: %d events of 10,000 with %s", version, got, want.what)
			}
		}
		if size < 500 || size > 800 {
			t.Errorf("the largest server event has %d bytes of properties", size)
		}
	}
}

func TestBareStore_KeepsEverything(t *testing.T) {
	for mode, most := range map[string]int{bareGroup: groupEvents, bareEach: 1} {
		var n atomic.Int64
		store, err := openBareStore(filepath.Join(t.TempDir(), "events.db"), most, &n)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(&bareServer{store: store.append})
		requests, err := batches(20, func(*generator) {})
		if err != nil {
			t.Fatal(err)
		}
		more, err := singles(30)
		if err != nil {
			t.Fatal(err)
		}
		r, err := load{address: strings.TrimPrefix(server.URL, "http://"), connections: 4, requests: append(requests, more...), check: checkAccepted}.run()
		if err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := store.db.QueryRow(`SELECT COUNT(*) FROM events WHERE json_valid(properties)`).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		if want := 20*batchSize + 30; rows != want || n.Load() != int64(want) || r.events != want || r.requests != 50 {
			t.Errorf("%s: %d rows, %d counted, %d events acknowledged in %d requests; want %d in 50", mode, rows, n.Load(), r.events, r.requests, want)
		}
		server.Close()
		store.close()
	}
}

// A load ends with an error if a server returns an error or an unexpected response.
func TestLoad_ChecksAnswers(t *testing.T) {
	for answer, status := range map[string]int{`{"status":1}`: 503, `{"status":0}`: 200} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, answer)
		}))
		_, err := load{address: strings.TrimPrefix(server.URL, "http://"), connections: 2, requests: []request{post("/", "", nil, 1)}, check: checkAccepted}.run()
		if err == nil {
			t.Errorf("%d %s: no error", status, answer)
		}
		server.Close()
	}
}

// With a schedule, the time in which a request waits for a connection is part of its latency.
func TestLoad_LatencyFromTheSchedule(t *testing.T) {
	const each = 40 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(each)
		_, _ = io.WriteString(w, `{"status":1}`)
	}))
	defer server.Close()
	l := load{address: strings.TrimPrefix(server.URL, "http://"), connections: 1, perSecond: 1e6, check: checkAccepted}
	for range 5 {
		l.requests = append(l.requests, post("/", "", nil, 1))
	}
	r, err := l.run()
	if err != nil {
		t.Fatal(err)
	}
	if r.quantile(1) < 5*each || r.quantile(0) < each {
		t.Errorf("latencies %v", r.latencies)
	}
}

func TestConn_Chunks(t *testing.T) {
	text := strings.Repeat("0123456789", 1_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, part := range []string{text[:3], text[3:]} {
			_, _ = io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	c, err := dial(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.net.Close()
	for range 2 { // the connection can be reused
		status, body, err := c.do(get("/").raw, nil)
		if err != nil || status != 200 || string(body) != text {
			t.Errorf("%d, %d bytes, %v", status, len(body), err)
		}
	}
}

func TestTable(t *testing.T) {
	b := &table{}
	b.section("part")
	b.compare("rate", 10, 40, perSecond)
	b.judge("≥ 0.50", false)
	b.figure("time", "1.00 µs")
	var out strings.Builder
	b.print(&out)
	want := `           ours  other  ours/other  demanded  verdict
part
  rate     10/s   40/s        0.25    ≥ 0.50     FAIL
  time  1.00 µs
`
	if out.String() != want || !b.failed {
		t.Error(fmt.Sprint("\n", out.String()))
	}
}
