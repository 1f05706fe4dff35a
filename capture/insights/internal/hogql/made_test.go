package hogql

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// The size of a value is counted before the value is created (§5.4): a query of a few hundred
// bytes that would create gigabytes is rejected without creating them.
func TestLaws_NothingIsMadeUncounted(t *testing.T) {
	const text = "arrayStringConcat(arrayMap(x -> 'xxxxxxxxxxxxxxxxxxxx', range(400000)))" // 8 MB
	for name, query := range map[string]string{
		"parts of a text":         "SELECT length(splitByChar('', " + text + "))",
		"parts between a text":    "SELECT length(splitByString('x', " + text + "))",
		"matches":                 "SELECT length(replaceRegexpAll(" + text + ", 'x', 'y'))",
		"a match repeated":        `SELECT length(replaceRegexpOne(` + text + `, '.*', '` + strings.Repeat(`\\0`, 500) + `'))`,
		"matches repeated":        `SELECT length(replaceRegexpAll(` + text + `, 'x{10}', '` + strings.Repeat(`\\0`, 500) + `'))`,
		"elements of a JSON text": "SELECT length(JSONExtractArrayRaw(concat('[', arrayStringConcat(arrayMap(x -> '1,1,1,1,1,1,1,1,1,1', range(400000)), ','), ']')))",
		"distinct elements":       "SELECT length(arrayDistinct(arrayMap(x -> concat('a', toString(x)), range(400000))))",
		"a text backwards":        "SELECT length(reverse(concat(" + text + ", " + text + ")))",
		"constants":               "SELECT length(range(800000)) + length(range(799999)) + length(range(799998))",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := runQuery(t, query, Context{}, nil)
		runtime.ReadMemStats(&after)
		var e *Error
		if !errors.As(err, &e) || e.Code != TooLarge {
			t.Errorf("%s: %.200v, want %s", name, err, TooLarge)
		}
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 400 {
			t.Errorf("%s: %d MiB were made", name, made)
		}
	}
	for name, query := range map[string]string{
		"a long path":  "SELECT length(splitByChar('/', arrayStringConcat(arrayMap(x -> 'part/', range(100000)))))",
		"few matches":  "SELECT length(replaceRegexpAll(arrayStringConcat(arrayMap(x -> 'part/', range(100000))), '/', ' '))",
		"a small list": "SELECT length(arrayDistinct(range(100000)))",
	} {
		if _, _, err := runQuery(t, query, Context{}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Distinct rows store the values of ORDER BY, whose memory is also reserved.
func TestQuery_DistinctReservesItsOrder(t *testing.T) {
	full := errors.New("full")
	var events []event
	for i := range 100 {
		events = append(events, event{"e", "a", "2020-01-10T10:00:00Z", map[string]string{"id": fmt.Sprint(i), "long": `"` + strings.Repeat("x", 10_000) + `"`}})
	}
	held := int64(0)
	reserve := func(n int64) error {
		if held += n; held > 500_000 { // a million bytes of values of ORDER BY
			return full
		}
		return nil
	}
	if _, _, err := runQuery(t, "SELECT DISTINCT properties.id FROM events ORDER BY properties.long LIMIT 5", Context{Reserve: reserve}, events); !errors.Is(err, full) {
		t.Errorf("got %v, want the bound's error", err)
	}
}
