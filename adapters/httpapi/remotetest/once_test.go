package remotetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// Whatever faults requests and responses have, each event and each exposure is finally stored once
// (§14.1, §13.3), in the order of each person.
func TestRemote_14_ExactlyOnce(t *testing.T) {
	const persons, rounds = 20, 60
	h := newTestServer(t)
	rng := rand.New(rand.NewPCG(7, 11))
	var mu sync.Mutex
	faults := map[string]int{}
	h.proxy = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		fault := []string{"none", "none", "cut before", "cut after", "500 after", "503", "429", "413"}[rng.IntN(8)]
		faults[fault]++
		mu.Unlock()
		switch fault {
		case "none":
			next.ServeHTTP(w, r)
		case "cut before":
			panic(http.ErrAbortHandler)
		case "cut after": // stored, but the response is lost
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case "500 after":
			next.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusInternalServerError)
		case "503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "429":
			w.WriteHeader(http.StatusTooManyRequests)
		case "413":
			if r.ContentLength < 2000 { // small enough
				next.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	}
	c := h.client(t, func(c *remote.Config) {
		c.RetryWait, c.FlushInterval, c.MaxRetries = time.Millisecond, 5*time.Millisecond, -1
	})
	var wg sync.WaitGroup
	for p := range persons {
		wg.Go(func() {
			sub := &flags.Subject{DistinctID: fmt.Sprint("person ", p)}
			for i := range rounds {
				if err := c.Track(ctx, sub.DistinctID, fmt.Sprint("event ", i), map[string]any{"$set": map[string]any{"last": i}}, nil); err != nil {
					t.Error(err)
				}
				c.Bool(ctx, "on", sub, false)
				c.String(ctx, "color", sub, "")
			}
		})
	}
	wg.Wait()
	closing, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := c.Close(closing); err != nil {
		t.Fatal(err)
	}
	want, got := map[string]int{}, map[string]int{}
	for p := range persons {
		id := fmt.Sprint("person ", p)
		for i := range rounds {
			want[id+fmt.Sprint(" event ", i)]++
		}
		want[id+" exposure of on"]++
		want[id+" exposure of color"]++
	}
	for _, e := range h.stored(t) {
		what := e.DistinctID + " " + e.Name
		if e.Name == "$feature_flag_called" {
			what = e.DistinctID + " exposure of " + e.properties["$feature_flag"].(string)
		}
		got[what]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	d, err := flags.ParseDefinitions([]byte(localFlags(unknownMembers)))
	if err != nil {
		t.Fatal(err)
	}
	needs := flags.Compile(d).Needs()
	for p := range persons {
		stored, err := h.store.Stored(ctx, serving.Query{ProjectID: 1, DistinctID: fmt.Sprint("person ", p), Needs: needs})
		if err != nil || fmt.Sprint(stored.Person["last"]) != fmt.Sprint(rounds-1) {
			t.Errorf("person %d: %v, %v: the last event was not applied last", p, stored, err)
		}
	}
	s := c.Stats()
	if len(s.Dropped) != 0 || s.Sent != persons*(rounds+2) || s.Waiting != 0 || s.Retries == 0 {
		t.Errorf("%+v", s)
	}
	for _, fault := range []string{"cut before", "cut after", "500 after"} {
		if faults[fault] == 0 {
			t.Errorf("no %q among %v", fault, faults)
		}
	}
}
