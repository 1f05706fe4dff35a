package httpapi_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// A gzip batch of 100 events, from the handler to a store that accepts everything.
func BenchmarkCaptureBatch(b *testing.B) {
	h, into := captureHandler(b, nil)
	var text strings.Builder
	text.WriteString(`{"api_key":"phc_x","batch":[`)
	for i := range 100 {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"uuid":"0190d0c0-0000-7000-8000-%012x","event":"event %d","distinct_id":"user-%d","timestamp":"2026-07-15T11:59:59.%03dZ",`+
			`"properties":{"$lib":"web","$os":"Linux","$current_url":"https://shop.example/p/%d","$session_id":"%016x","price":%d.5,"$screen_height":1080}}`,
			i*7919, i%7, i, i, i*31, i*104729, i)
	}
	text.WriteString("]}")
	packed := compressWith(b, strings.NewReader(text.String()), packers["gzip"])
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", "/batch/", bytes.NewReader(packed))
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != 200 || len(into.take()) != 100 {
			b.Fatal(w.Code, w.Body)
		}
	}
}
