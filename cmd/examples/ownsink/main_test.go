package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture"
)

// An SDK's batch is passed to the appender. Batches that the appender rejects, and requests with an
// unknown key, do not get a successful response.
func TestOwnSink(t *testing.T) {
	var got []string
	var sinkErr error
	handler, err := newHandler(func(ctx context.Context, b *capture.Batch) error {
		for i := range b.Events {
			got = append(got, b.Events[i].DistinctID+" "+b.Events[i].Name)
		}
		return errors.Join(sinkErr, printed(ctx, b))
	})
	if err != nil {
		t.Fatal(err)
	}
	send := func(key string) int {
		w := httptest.NewRecorder()
		body := `{"api_key": "` + key + `", "batch": [{"event": "ordered", "distinct_id": "ana"}, {"event": "paid", "distinct_id": "ana"}]}`
		handler.ServeHTTP(w, httptest.NewRequest("POST", "/batch/", strings.NewReader(body)))
		return w.Code
	}
	if status := send("phc_example"); status != 200 || !slices.Equal(got, []string{"ana ordered", "ana paid"}) {
		t.Error(status, got)
	}
	if status := send("phc_other"); status != 401 || len(got) != 2 {
		t.Error("another key:", status, got)
	}
	sinkErr = errors.New("the disk is full")
	if status := send("phc_example"); status != 503 {
		t.Error("a sink that fails:", status)
	}
}
