package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkCompression measures the time and length of responses for a project with 5,000 flags,
// uncompressed and compressed; bench/README.md has the figures.
func BenchmarkCompression(b *testing.B) {
	var list []string
	for i := range 5000 {
		list = append(list, fmt.Sprintf(`{"id": %d, "key": "flag-%d", "active": true, "filters": {"groups": [{"properties": [
			{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}], "rollout_percentage": %d}]}}`, i+1, i, 50+i%2*50))
	}
	h := newWorld(b, []byte(`{"projects": [{"id": 1, "api_key": "phc_test", "secret_api_keys": ["phs_test"], "flags": [`+strings.Join(list, ",")+`]}]}`)).handler(b, nil, nil)
	for _, c := range []struct{ name, method, path, body string }{
		{"Flags", "POST", "/flags?v=2", `{"token":"phc_test","distinct_id":"user-17","person_properties":{"plan":"pro"},"geoip_disable":true}`},
		{"Flags10", "POST", "/flags?v=2", `{"token":"phc_test","distinct_id":"user-17","person_properties":{"plan":"pro"},"geoip_disable":true,"flag_keys":["flag-1","flag-2","flag-3","flag-4","flag-5","flag-6","flag-7","flag-8","flag-9","flag-10"]}`},
		{"Definitions", "GET", "/flags/definitions?token=phc_test", ""},
	} {
		for _, encoding := range []string{"identity", "gzip", "zstd"} {
			b.Run(c.name+"/"+encoding, func(b *testing.B) {
				r := httptest.NewRequest(c.method, c.path, nil)
				r.Header.Set("Authorization", "Bearer phs_test")
				r.Header.Set("Accept-Encoding", encoding)
				out := &sink{header: http.Header{}}
				ask := func() {
					r.Body, r.ContentLength = io.NopCloser(strings.NewReader(c.body)), int64(len(c.body))
					clear(out.header)
					h.ServeHTTP(out, r)
				}
				ask() // fills caches
				out.n = 0
				b.ReportAllocs()
				for b.Loop() {
					ask()
				}
				if out.status != 200 {
					b.Fatal(out.status)
				}
				b.ReportMetric(float64(out.n)/float64(b.N), "B/answer")
			})
		}
	}
}
