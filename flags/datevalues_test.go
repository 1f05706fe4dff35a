package flags

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags/internal/dates"
)

func utc(year, month, day, hour, minute, second, nano int) time.Time {
	return time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC)
}

// Expected: §4.7, row 68 of §12.3, and the arithmetic of the service on floats.
func TestFlags_4_7_EpochProperties(t *testing.T) {
	now := utc(2024, 5, 6, 7, 8, 9, 0)
	for _, c := range []struct {
		value any
		want  time.Time
	}{
		{int64(1704153600), utc(2024, 1, 2, 0, 0, 0, 0)}, {"1704153600", utc(2024, 1, 2, 0, 0, 0, 0)}, {1704153600, utc(2024, 1, 2, 0, 0, 0, 0)},
		{1704153600.25, utc(2024, 1, 2, 0, 0, 0, 25e7)}, {"1.7041536e9", utc(2024, 1, 2, 0, 0, 0, 0)}, {json.Number("1704153600"), utc(2024, 1, 2, 0, 0, 0, 0)},
		{-1.5, utc(1969, 12, 31, 23, 59, 58, 0)}, {-2, utc(1969, 12, 31, 23, 59, 58, 0)}, {"2024", utc(1970, 1, 1, 0, 33, 44, 0)},
		{"nan", utc(1970, 1, 1, 0, 0, 0, 0)}, {59.9999999999, utc(1970, 1, 1, 0, 0, 59, 999999999)}, {1.9999999999, time.Time{}},
		{int64(8210266876799), utc(262142, 12, 31, 23, 59, 59, 0)}, {int64(8210266876800), time.Time{}}, {int64(-8334601228801), time.Time{}},
		{math.MaxFloat64, time.Time{}}, {int64(math.MinInt64), time.Time{}}, {"inf", time.Time{}}, {true, time.Time{}}, {nil, time.Time{}},
		{[]any{int64(1)}, time.Time{}}, {math.NaN(), time.Time{}}, {struct{}{}, time.Time{}},
	} {
		got, ok := dateOf(&reader{at: now}, c.value)
		if ok == c.want.IsZero() || ok && !got.Equal(c.want) {
			t.Errorf("%v is %v, %v; want %v", c.value, got, ok, c.want)
		}
	}
}

// Rows 65 to 69 of §12.3.
func TestFlags_12_3_Dates(t *testing.T) {
	now := utc(2024, 8, 31, 12, 0, 0, 0)
	r := &reader{at: now, zone: time.UTC}
	for _, pair := range [][2]string{{"-7d", "7d"}, {"-6m", "2024-02-29T12:00:00Z"}, {"2024-06-01T12:00:00+02:00", "2024-06-01T05:00:00-05:00"}} {
		a, okA := dateOf(r, pair[0])
		b, okB := dateOf(r, pair[1])
		if !okA || !okB || !a.Equal(b) {
			t.Errorf("%s is %v and %s is %v", pair[0], a, pair[1], b)
		}
	}
	after, _ := dates.Compile("2024-01-01", time.UTC)
	limit, _ := after.At(now, time.UTC)
	if got, ok := dateOf(r, int64(1704153600)); !ok || !got.After(limit) {
		t.Errorf("%v is not after %v", got, limit)
	}
}
