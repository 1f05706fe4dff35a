package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags/serving"
)

// sink is a ResponseWriter that discards the body.
type sink struct {
	header http.Header
	status int
	n      int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { s.n += len(b); return len(b), nil }

// benchmarkPostFlags requests n flags with one condition each, half of them with a rollout, as
// posthog-node does. It excludes the work of net/http.
func benchmarkPostFlags(b *testing.B, n int, config func(*httpapi.Config)) {
	var list []string
	for i := range n {
		rollout := 100
		if i%2 == 1 {
			rollout = 50
		}
		list = append(list, fmt.Sprintf(`{"id": %d, "key": "flag-%d", "active": true, "filters": {"groups": [{"properties": [
			{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}], "rollout_percentage": %d}]}}`, i+1, i, rollout))
	}
	w := newWorld(b, []byte(`{"projects": [{"id": 1, "api_key": "phc_test", "flags": [`+strings.Join(list, ",")+`]}]}`))
	h := w.handler(b, func(c *serving.Config) { c.Now = nil }, config)
	text := []byte(`{"token":"phc_test","distinct_id":"user-17","groups":{},"person_properties":{"plan":"pro","email":"a@b.c"},"group_properties":{},"geoip_disable":true}`)
	r := httptest.NewRequest("POST", "/flags/?v=2", nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "posthog-node/5.70.0")
	r.ContentLength = int64(len(text))
	var source bytes.Reader
	r.Body = io.NopCloser(&source)
	out := &sink{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		source.Reset(text)
		clear(out.header)
		h.ServeHTTP(out, r)
	}
	if out.status != 200 {
		b.Fatal(out.status)
	}
	b.ReportMetric(float64(out.n)/float64(b.N), "B/answer")
}

func BenchmarkPostFlags10(b *testing.B)  { benchmarkPostFlags(b, 10, nil) }
func BenchmarkPostFlags100(b *testing.B) { benchmarkPostFlags(b, 100, nil) }
