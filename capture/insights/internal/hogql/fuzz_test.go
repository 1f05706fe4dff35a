package hogql

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

var seeds = []string{
	"SELECT event, count() FROM events WHERE properties.$browser = 'x' GROUP BY 1 HAVING count() > 1 ORDER BY 2 DESC NULLS FIRST LIMIT 5, 10;",
	"SELECT DISTINCT properties['a b'].c AS x, arrayMap((a, b) -> a + b, [1, 2], [3, 4])[1], CASE 1 WHEN 2 THEN 'a' END FROM events",
	"SELECT quantile(0.5)(properties.amount), countIf(event ILIKE '%a_'), now() - INTERVAL 1 day, toDate('2020-01-01') FROM events WHERE {filters}",
	"SELECT (1, 'a').2, -1.5e3, `q`, \"r\" -- c\n/* d */ FROM events e WHERE e.event IN ('a', 'b') AND person_id NOT IN COHORT 5 OR NOT timestamp BETWEEN '2020-01-01' AND now() ? 1 : 0",
	"SELECT 'a\\x41\\'' || CAST(1 AS String), DATE '2020-01-01', x IS NOT NULL, a !~* 'b' FROM events LIMIT 1 BY x",
	"SELECT JSONExtractString(properties, 'a', -1), replaceRegexpAll('a', '(', '\\1'), formatDateTime(timestamp, '%'), range(9999999) FROM events",
	"SELECT event AS a, a || a AS b, b || b AS c, [c, c] AS d, [d, d] AS e FROM events ORDER BY e",
}

// For any text there is a result, or an error with a position inside the text that agrees
// with its offsets.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, errSelect := ParseSelect(text)
		_, errExpr := ParseExpr(text)
		_, errOrder := ParseOrder(text)
		_, errItem := ParseItem(text)
		for _, err := range []error{errSelect, errExpr, errOrder, errItem} {
			checkPosition(t, text, err)
		}
	})
}

func checkPosition(t *testing.T, text string, err error) {
	t.Helper()
	var e *Error
	if err == nil {
		return
	}
	if !errors.As(err, &e) {
		t.Fatalf("%q: %v has no place", text, err)
	}
	size := utf8.RuneCountInString(text)
	lines := strings.Split(text, "\n")
	if e.Start < 0 || e.Start > e.End || e.End > size || e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > 1+utf8.RuneCountInString(lines[e.Line-1]) {
		t.Fatalf("%q: place %+v is not inside", text, *e)
	}
	at := e.Column - 1
	for _, l := range lines[:e.Line-1] {
		at += utf8.RuneCountInString(l) + 1
	}
	if at != e.Start {
		t.Fatalf("%q: line and column are character %d, start is %d", text, at, e.Start)
	}
}

// A query that compiles runs over rows or returns an error, and the same rows have the same
// result.
func FuzzRun(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		held := int64(0)
		tooMuch := errors.New("too much")
		c := Context{Values: map[string]any{"x": "y"}, Reserve: func(n int64) error {
			if held += n; held > 64<<20 {
				return tooMuch
			}
			return nil
		}}
		_, first, err := runQuery(t, text, c, fixtureH)
		var e *Error
		if err != nil && !errors.Is(err, tooMuch) && !errors.As(err, &e) {
			t.Fatalf("%q: %v", text, err)
		}
		if e != nil && e.Line > 0 {
			checkPosition(t, text, err)
		}
		_, again, _ := runQuery(t, text, c, fixtureH)
		if first != again {
			t.Fatalf("%q: %s, then %s", text, first, again)
		}
	})
}
