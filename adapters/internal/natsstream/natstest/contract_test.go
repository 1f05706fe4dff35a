package natstest

import (
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/adapters/storetest"
)

func opener(url string, replicas int) storetest.StreamOpener {
	names := 0
	return func(t testing.TB, small bool) func() storetest.StreamBackend {
		names++
		c := natsstream.Config{URL: url, Name: "t" + string(rune('a'+names)), Replicas: replicas, MaxBytes: 16 << 20, Lease: 3 * time.Second}
		if small {
			c.MaxBytes = 1 << 20
		}
		return func() storetest.StreamBackend {
			s, err := natsstream.Connect(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	}
}

func TestStream_Contract(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), nil)
	storetest.Stream(t, opener(s.ClientURL(), 1))
}

// One of three brokers is unavailable from the start.
func TestStream_Contract_ClusterWithOneKilled(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	stop(c.follower())
	storetest.Stream(t, opener(c.url(), 3))
}
