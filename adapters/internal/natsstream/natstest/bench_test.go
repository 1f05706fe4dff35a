package natstest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/capture"
)

// BenchmarkAppend appends requests with 50 events of one project, from 64 senders; the broker
// writes each to the disk before it acknowledges.
func BenchmarkAppend(b *testing.B) {
	broker := start(b, b.TempDir(), nil)
	w := newWorld(b, nil)
	s := connect(b, natsstream.Config{URL: broker.ClientURL(), MaxBytes: 16 << 30})
	i := w.intake(b, s)
	var items []string
	for n := range 50 {
		items = append(items, fmt.Sprintf(`{"event":"$pageview","distinct_id":"user-%d","properties":{"$current_url":"https://example.com/%d","$browser":"Firefox","$os":"Linux","plan":"pro"}}`, n, n))
	}
	body := fmt.Sprintf(`{"api_key":%q,"batch":[%s]}`, w.first.APIKey, strings.Join(items, ","))
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 64 {
		wg.Go(func() {
			for next.Add(1) <= int64(b.N) {
				sub, err := capture.Decode(body, capture.DecodeOptions{})
				if err == nil {
					_, err = i.Accept(b.Context(), sub, capture.Origin{})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(50*b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(50*b.N)/float64(s.Stats().Appended), "events/message")
}
