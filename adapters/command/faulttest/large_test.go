//go:build linux

package faulttest

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// largest is the maximum length of a body in bytes (§4.6).
const largest = 20 << 20

var bodies = flag.Int("bodies", 14, "how many bodies of the maximum size TestLargeBodies sends at the same time")

// Of 14 concurrent bodies of the maximum size, which are more than the memory that is allowed, as
// many are accepted as there is memory for, the rest get 503, and memory stays bounded (decision 14).
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		padding  int // of an event
		gzip     bool
		statuses []int
	}{
		"few events":            {900_000, false, []int{200, 503}},
		"many events":           {4_000, false, []int{200, 503}},
		"packed events":         {900_000, true, []int{200, 503}},
		"more than can be read": {-1, false, []int{413, 503}}, // tiny events, each a Go value
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := start(t, onSQLite(dir)...)
			l := newLoad(*bodies)
			var mu sync.Mutex
			statuses := map[int]int{}
			var running sync.WaitGroup
			packed := sync.OnceValue(func() []byte { return pack(t, largeBody(0, tt.padding, &batch{})) })
			for n, c := range l.clients {
				running.Go(func() {
					b := &batch{}
					body := largeBody(n, tt.padding, b)
					if tt.gzip { // one buffer for all
						b, body = &batch{}, [][]byte{packed()}
					}
					l.book.add(b)
					status := l.postLarge(c.http, s.url, body, b)
					mu.Lock()
					statuses[status]++
					mu.Unlock()
				})
			}
			running.Wait()
			peak := s.memory(t, "VmHWM")
			t.Logf("answers %v, %d MB in memory", statuses, peak>>20)
			if peak > mostMemory {
				t.Errorf("the server had %d MB in memory, %d are allowed", peak>>20, mostMemory>>20)
			}
			for status := range maps.Keys(statuses) {
				if !slices.Contains(tt.statuses, status) {
					t.Errorf("%d answers of %d, want only %v", statuses[status], status, tt.statuses)
				}
			}
			if statuses[tt.statuses[0]] == 0 {
				t.Errorf("no answer of %d", tt.statuses[0])
			}
			l.check(t)
			if code := s.stop(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if !tt.gzip {
				newAudit(l.book).check(t, openFolder(t, dir), people)
			}
		})
	}
}

// largeBody returns a body of the maximum size in pieces, of which the long ones are shared.
func largeBody(n, padding int, b *batch) [][]byte {
	if padding < 0 {
		item := `{"event":"e","distinct_id":"u"}`
		return [][]byte{[]byte(`{"api_key":"` + apiKey + `","batch":[` + item), bytes.Repeat([]byte(","+item), largest/(len(item)+1)-3), []byte("]}")}
	}
	filler := bytes.Repeat([]byte("x"), padding)
	head, size := fmt.Sprintf(`{"api_key":%q,"batch":[`, apiKey), 0
	var pieces [][]byte
	for i := 0; ; i++ {
		uuid := fmt.Sprintf("0190d0c0-%04x-7000-8000-%012x", n, i)
		id := fmt.Sprintf("large-%d-%d", n, i%10)
		piece := fmt.Sprintf(`%s{"event":"large","distinct_id":%q,"uuid":%q,"properties":{"padding":"`, head, id, uuid)
		if size += len(piece) + padding + len(`"}}`); size > largest-len("]}") {
			break
		}
		head = ","
		pieces = append(pieces, []byte(piece), filler, []byte(`"}}`))
		key, _ := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
		b.events = append(b.events, eventKey{[16]byte(key), "large", id})
	}
	return append(pieces, []byte("]}"))
}

func pack(t testing.TB, pieces [][]byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	for _, p := range pieces {
		if _, err := w.Write(p); err != nil {
			t.Error(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	return out.Bytes()
}

// postLarge sends a body and returns the status, or 0 if there is no response.
func (l *load) postLarge(client *http.Client, url string, pieces [][]byte, b *batch) int {
	readers, size := make([]io.Reader, len(pieces)), 0
	for i, p := range pieces {
		readers[i] = bytes.NewReader(p)
		size += len(p)
	}
	request, err := http.NewRequest(http.MethodPost, url+"/batch/", io.MultiReader(readers...))
	if err != nil {
		l.complain("%v", err)
		return 0
	}
	request.ContentLength = int64(size)
	response, err := client.Do(request)
	if err != nil {
		l.complain("no answer: %v", err)
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		l.complain("half an answer: %v", err)
		return 0
	}
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		l.judge(response, body, b)
	}
	return response.StatusCode
}
