package backups

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// While the destination fails, the time between two attempts doubles from a minute up to the
// interval. After a backup it is the interval again, and after the next failure a minute. Each attempt is traced with its result.
func TestRunner_RetryDelays(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t, dir, data, nil, content)
		d := &faulty{destination: r.destination, noList: true}
		r.destination, r.Interval = d, 10*time.Minute
		last, delays, failed := time.Now(), []time.Duration{}, []bool{}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		r.Done = func(_ Backup, err error) {
			delays, failed, last = append(delays, time.Since(last)), append(failed, err != nil), time.Now()
			switch len(delays) {
			case 6, 8:
				d.noList = !d.noList
			case 9:
				cancel()
			}
		}
		var traced []bool
		r.Trace = func(ctx context.Context) (context.Context, func(error)) {
			return ctx, func(err error) { traced = append(traced, err != nil) }
		}
		r.Run(ctx)
		m := time.Minute
		if want := []time.Duration{0, m, 2 * m, 4 * m, 8 * m, 10 * m, 10 * m, 10 * m, 10 * m}; !slices.Equal(delays, want) {
			t.Errorf("delays %v, want %v", delays, want)
		}
		if want := []bool{true, true, true, true, true, true, false, false, true}; !slices.Equal(failed, want) {
			t.Errorf("failed: %v, want %v", failed, want)
		}
		if !slices.Equal(traced, failed) {
			t.Errorf("traced as failed: %v, want %v", traced, failed)
		}
		if s := r.Status(); s.Failures != 7 || s.Failure == nil || s.Age() != 10*m {
			t.Errorf("status %+v", s)
		}
	})
}
