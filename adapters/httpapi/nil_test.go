package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags/serving"
)

// A nil or zero Handler returns 503; one with a zero Decider reports that flags are not available.
func TestHandler_Nil(t *testing.T) {
	unready, err := httpapi.New(httpapi.Config{Decider: &serving.Decider{}})
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]*httpapi.Handler{"nil": nil, "zero": {}, "a zero Decider": unready} {
		for _, r := range []*http.Request{
			httptest.NewRequest(http.MethodPost, "/flags?v=2", strings.NewReader(`{"api_key": "phc_x", "distinct_id": "u"}`)),
			httptest.NewRequest(http.MethodPost, "/ofrep/v1/evaluate/flags/f", strings.NewReader(`{"context": {"targetingKey": "u"}}`)),
		} {
			r.Header.Set("Authorization", "Bearer phc_x")
			rec := httptest.NewRecorder()
			if h.ServeHTTP(rec, r); rec.Code != http.StatusServiceUnavailable {
				t.Errorf("%s, %s: %d %s", name, r.URL.Path, rec.Code, rec.Body)
			}
		}
		h.DefinitionsChanged(0)
		if len(h.TakeUsage()) > 0 || h.Stats().CaptureRequests != 0 {
			t.Errorf("%s: it says something", name)
		}
		_ = h.Latencies()
		var nilContext context.Context
		if _, err := h.RunQuery(nilContext, nil, nil); err == nil {
			t.Errorf("%s: it answers", name)
		}
		if _, err := h.Measure(nilContext, nil, nil); err == nil {
			t.Errorf("%s: it answers", name)
		}
		h.CloseStreams()
	}
	if _, err := httpapi.New(httpapi.Config{}); err == nil {
		t.Error("a Handler of nothing was made")
	}
}
