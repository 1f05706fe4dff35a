package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags/serving"
)

// ofrepBulk returns a request for n flags with one condition each, half of them with a rollout, as
// an OFREP client sends it.
func ofrepBulk(b *testing.B, n int) (http.Handler, *http.Request, []byte) {
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
	h := w.handler(b, func(c *serving.Config) { c.Now = nil }, nil)
	r := httptest.NewRequest("POST", "/ofrep/v1/evaluate/flags", nil)
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("Authorization", "Bearer phc_test")
	text := []byte(`{"context":{"targetingKey":"user-17","plan":"pro","email":"a@b.c"}}`)
	r.ContentLength = int64(len(text))
	return h, r, text
}

func benchmarkHandler(b *testing.B, h http.Handler, r *http.Request, text []byte) {
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

// Both benchmarks exclude the work of net/http around a handler: bench/http includes it.
func BenchmarkOFREP_Bulk100(b *testing.B) {
	h, r, text := ofrepBulk(b, 100)
	benchmarkHandler(b, h, r, text)
}

// A handler that reads the same body and writes the same response.
func BenchmarkOFREP_Bulk100Bare(b *testing.B) {
	h, r, text := ofrepBulk(b, 100)
	r.Body = io.NopCloser(bytes.NewReader(text))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	answer := w.Body.Bytes()
	benchmarkHandler(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(answer)
	}), r, text)
}
