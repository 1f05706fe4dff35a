package bench

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/posthog/posthog-go"
)

// definitionsServer serves posthog-go's poller. The token of a project is the name of a workload.
var definitionsServer = sync.OnceValue(func() *httptest.Server {
	bodies := map[string][]byte{}
	for _, w := range Workloads() {
		bodies[w.Name] = Definitions(w.Flags)
	}
	return httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, ok := bodies[r.URL.Query().Get("token")]
		if r.URL.Path != "/flags/definitions" || !ok {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(body)
	}))
})

func loadPosthog(tb testing.TB, w Workload) contender {
	client, err := posthog.NewWithConfig(w.Name, posthog.Config{
		Endpoint:                           definitionsServer().URL,
		SecretKey:                          "phs_bench",
		DefaultFeatureFlagsPollingInterval: time.Hour,
		Logger:                             posthog.StdLogger(log.New(io.Discard, "", 0), false),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })

	quiet := false // no $feature_flag_called events: only the decision is timed
	one := func(u *User, p posthog.Properties) (any, error) {
		return client.GetFeatureFlag(posthog.FeatureFlagPayload{
			Key: w.Flags[0].Key, DistinctId: u.ID, PersonProperties: p, OnlyEvaluateLocally: true, SendFeatureFlagEvents: &quiet,
		})
	}
	all := func(u *User, p posthog.Properties) (map[string]any, error) {
		return client.GetAllFlags(posthog.FeatureFlagPayloadNoKey{
			DistinctId: u.ID, PersonProperties: p, OnlyEvaluateLocally: true, SendFeatureFlagEvents: &quiet,
		})
	}

	var c contender
	c.answers = func(u *User) []Answer {
		values, err := all(u, u.Properties())
		if w.Single() {
			var v any
			v, err = one(u, u.Properties())
			values = map[string]any{w.Flags[0].Key: v}
		}
		if err != nil {
			tb.Fatal(err)
		}
		got := make([]Answer, len(w.Flags))
		for i, f := range w.Flags {
			switch v := values[f.Key].(type) {
			case bool:
				got[i] = Answer{On: v}
			case string:
				got[i] = Answer{true, v}
			default:
				got[i] = Answer{Variant: fmt.Sprintf("unexpected %T", v)}
			}
		}
		return got
	}
	c.worker = func() func() {
		u, p := Ana, posthog.Properties(Ana.Properties())
		if w.Single() {
			return func() { _, _ = one(&u, p) }
		}
		return func() { _, _ = all(&u, p) }
	}
	return c
}

func BenchmarkPosthogGo(b *testing.B) { race(b, loadPosthog, equal) }
