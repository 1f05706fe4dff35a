package insights

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/plaintest"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// The evaluator of this file follows §2.9.7 over plain rows: values are decoded JSON, and each part
// of a query is a text with a function. It shares no code with the hogql package.

// plainExpr is an expression as a text and as a function.
type plainExpr struct {
	text  string
	value func(e *plainEvent) any
}

// plainTest is a condition as a text and as a function.
type plainTest struct {
	text  string
	holds func(e *plainEvent) bool
}

func plainProperty(name string) plainExpr {
	return plainExpr{"properties." + name, func(e *plainEvent) any {
		if l, ok := e.properties[name].([]any); ok {
			return string(wire.MustEncode(l))
		}
		return e.properties[name]
	}}
}

// plainCompares returns x op v. A property is compared with a number by number, and with other
// values as a string; the result is null only for !=.
func plainCompares(x any, op string, v any) bool {
	if x == nil || v == nil {
		return op == "!=" && (x != nil || v != nil) || op == "=" && x == nil && v == nil
	}
	a, okA := plainText(x)
	b, okB := plainText(v)
	c := strings.Compare(a, b)
	if _, number := v.(json.Number); number {
		f, okF := plainNumber(x)
		g, okG := plainNumber(v)
		c, okA, okB = cmp.Compare(f, g), okF, okG
	}
	if !okA || !okB {
		return op == "!="
	}
	switch op {
	case "=":
		return c == 0
	case "!=":
		return c != 0
	case "<":
		return c < 0
	case ">":
		return c > 0
	case "<=":
		return c <= 0
	}
	return c >= 0
}

func plainLiteral(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	text, _ := plainText(v)
	return text
}

func randomTest(r *rand.Rand, z *time.Location, depth int) plainTest {
	constants := []any{"Chrome", "10", "", "ä", json.Number("10"), json.Number("3"), json.Number("2.5"), true, nil}
	x := plainProperty(pick(r, "a", "b"))
	if depth > 0 && r.IntN(2) == 0 {
		a, b := randomTest(r, z, depth-1), randomTest(r, z, depth-1)
		switch r.IntN(3) {
		case 0:
			return plainTest{"(" + a.text + " AND " + b.text + ")", func(e *plainEvent) bool { return a.holds(e) && b.holds(e) }}
		case 1:
			return plainTest{"(" + a.text + " or " + b.text + ")", func(e *plainEvent) bool { return a.holds(e) || b.holds(e) }}
		}
		return plainTest{"NOT (" + a.text + ")", func(e *plainEvent) bool { return !a.holds(e) }}
	}
	switch r.IntN(6) {
	case 0:
		name := pick(r, "view", "buy")
		return plainTest{"event = '" + name + "'", func(e *plainEvent) bool { return e.name == name }}
	case 1:
		at := time.Date(2020, 3, 20+r.IntN(16), r.IntN(24), 0, 0, 0, z)
		op := pick(r, ">=", "<")
		return plainTest{"timestamp " + op + at.Format(" '2006-01-02 15:04:05Z07:00'"), func(e *plainEvent) bool { return e.at.Before(at) == (op == "<") }}
	case 2:
		some := []any{pick(r, constants[:4]...), pick(r, constants[:4]...)}
		not := r.IntN(2) == 0
		return plainTest{x.text + map[bool]string{true: " NOT IN (", false: " IN ("}[not] + plainLiteral(some[0]) + ", " + plainLiteral(some[1]) + ")", func(e *plainEvent) bool {
			v := x.value(e)
			return (v != nil && (plainCompares(v, "=", some[0]) || plainCompares(v, "=", some[1]))) != not
		}}
	case 3:
		not := r.IntN(2) == 0
		return plainTest{x.text + map[bool]string{true: " NOT LIKE ", false: " LIKE "}[not] + "'%o%'", func(e *plainEvent) bool {
			text, ok := plainText(x.value(e))
			return (ok && strings.Contains(text, "o")) != not
		}}
	case 4:
		return plainTest{x.text + " BETWEEN 2.5 AND 8", func(e *plainEvent) bool {
			n, ok := plainNumber(x.value(e))
			return ok && n >= 2.5 && n <= 8
		}}
	}
	v, op := pick(r, constants...), pick(r, "=", "!=", "<", ">", "<=", ">=")
	return plainTest{x.text + " " + op + " " + plainLiteral(v), func(e *plainEvent) bool { return plainCompares(x.value(e), op, v) }}
}

// plainOrder is the order of ORDER BY: numbers, then strings.
func plainOrder(a, b any) int {
	n, okN := a.(json.Number)
	m, okM := b.(json.Number)
	if okN && okM {
		f, _ := n.Float64()
		g, _ := m.Float64()
		return cmp.Compare(f, g)
	}
	if okN != okM {
		return map[bool]int{true: -1, false: 1}[okN]
	}
	x, _ := plainText(a)
	y, _ := plainText(b)
	return strings.Compare(x, y)
}

// plainAggregate is an aggregate as a text, and as a function of the events of a group in order of
// time.
type plainAggregate struct {
	text  string
	value func(some []*plainEvent) any
}

func randomAggregate(r *rand.Rand, z *time.Location) plainAggregate {
	x := plainProperty(pick(r, "a", "b"))
	test := randomTest(r, z, 0)
	present := func(some []*plainEvent) (all []any) {
		for _, e := range some {
			if v := x.value(e); v != nil {
				all = append(all, v)
			}
		}
		return all
	}
	numbers := func(some []*plainEvent) (all []float64) {
		for _, v := range present(some) {
			if n, ok := plainNumber(v); ok {
				all = append(all, n)
			}
		}
		return all
	}
	fold := pick(r, "sum", "avg", "median")
	ends := pick(r, "min", "max", "any", "anyLast")
	switch r.IntN(6) {
	case 0:
		return plainAggregate{"count()", func(some []*plainEvent) any { return float64(len(some)) }}
	case 1:
		return plainAggregate{"countIf(" + test.text + ")", func(some []*plainEvent) any {
			return float64(len(slices.DeleteFunc(slices.Clone(some), func(e *plainEvent) bool { return !test.holds(e) })))
		}}
	case 2:
		return plainAggregate{fold + "(" + x.text + ")", func(some []*plainEvent) any {
			all := numbers(some)
			if len(all) == 0 {
				return nil
			}
			return plainFold(fold, all)
		}}
	case 3:
		return plainAggregate{ends + "(" + x.text + ")", func(some []*plainEvent) any {
			all := present(some)
			if len(all) == 0 {
				return nil
			}
			return map[string]func() any{
				"min": func() any { return slices.MinFunc(all, plainOrder) }, "max": func() any { return slices.MaxFunc(all, plainOrder) },
				"any": func() any { return all[0] }, "anyLast": func() any { return all[len(all)-1] },
			}[ends]()
		}}
	case 4:
		return plainAggregate{"uniq(" + x.text + ")", func(some []*plainEvent) any {
			seen := map[string]bool{}
			for _, v := range present(some) {
				text, _ := plainText(v)
				seen[text] = true
			}
			return float64(len(seen))
		}}
	}
	return plainAggregate{"groupArray(" + x.text + ")", func(some []*plainEvent) any { return append([]any{}, present(some)...) }}
}

func randomKey(r *rand.Rand, z *time.Location) plainExpr {
	return pick(r, plainProperty("a"), plainProperty("b"),
		plainExpr{"event", func(e *plainEvent) any { return e.name }},
		plainExpr{"toDate(timestamp)", func(e *plainEvent) any { return e.at.In(z).Format(time.DateOnly) }},
		plainExpr{"toHour(timestamp)", func(e *plainEvent) any { return float64(e.at.In(z).Hour()) }})
}

// sameValue compares a value with its JSON in a response.
func sameValue(want, got any) bool {
	switch w := want.(type) {
	case float64:
		n, ok := got.(json.Number)
		g, _ := n.Float64()
		return ok && math.Abs(g-w) <= 1e-9*max(1, math.Abs(w))
	case json.Number:
		f, _ := w.Float64()
		return sameValue(f, got)
	case []any:
		l, ok := got.([]any)
		return ok && slices.EqualFunc(w, l, sameValue)
	}
	return want == got
}

// Random queries over random events have the same results as in the evaluator above.
func TestHogQL_AsTheText(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 9))
	for range drawCount(20) {
		z := plaintest.Zone(t, pick(random, "UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"))
		m, n := generateEvents(random, z, 1+random.IntN(60))
		p := &port.Project{ID: 1, Location: z}
		inTime := make([]*plainEvent, len(n.events))
		for i := range n.events {
			inTime[i] = &n.events[i]
		}
		slices.SortStableFunc(inTime, func(a, b *plainEvent) int { return a.at.Compare(b.at) })
		for range 25 {
			groupedRound(t, random, z, m, p, inTime)
			listedRound(t, random, z, m, p, inTime)
		}
	}
}

func answerRows(t *testing.T, m *memory, p *port.Project, query string) [][]any {
	t.Helper()
	q, err := Parse(json.RawMessage(sql(query)), p)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	result, err := q.Run(t.Context(), m, port.Options{})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var rows [][]any
	if err := wire.Decode(wire.MustEncode(result.Results), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// groupedRound compares a query with groups, which are in the order of their first event.
func groupedRound(t *testing.T, r *rand.Rand, z *time.Location, m *memory, p *port.Project, events []*plainEvent) {
	key, test, a, b := randomKey(r, z), randomTest(r, z, 2), randomAggregate(r, z), randomAggregate(r, z)
	least := r.IntN(4)
	query := fmt.Sprintf("SELECT %s AS k, %s, %s FROM events WHERE %s GROUP BY k HAVING count() > %d LIMIT 1000", key.text, a.text, b.text, test.text, least)
	var texts []string
	groups := map[string][]*plainEvent{}
	for _, e := range events {
		if !test.holds(e) {
			continue
		}
		text, ok := plainText(plainNative(key.value(e)))
		if !ok {
			text = "\x00null"
		}
		if groups[text] == nil {
			texts = append(texts, text)
		}
		groups[text] = append(groups[text], e)
	}
	var want [][]any
	for _, text := range texts {
		some := groups[text]
		if len(some) <= least {
			continue
		}
		representative := key.value(some[0])
		for _, e := range some { // numbers only if all values were numbers
			if _, number := key.value(e).(json.Number); !number && representative != nil && key.value(some[0]) != key.value(e) {
				representative = text
			} else if _, first := representative.(json.Number); number && !first {
				representative = text
			}
		}
		want = append(want, []any{representative, a.value(some), b.value(some)})
	}
	compareRows(t, query, want, answerRows(t, m, p, query))
}

// plainNative converts a float64 to a JSON number.
func plainNative(v any) any {
	if f, ok := v.(float64); ok {
		return json.Number(fmt.Sprint(f))
	}
	return v
}

// listedRound compares a query for rows in an order.
func listedRound(t *testing.T, r *rand.Rand, z *time.Location, m *memory, p *port.Project, events []*plainEvent) {
	x, test := plainProperty(pick(r, "a", "b")), randomTest(r, z, 1)
	limit, offset, descending, first := r.IntN(20), r.IntN(5), r.IntN(2) == 0, r.IntN(2) == 0
	query := fmt.Sprintf("SELECT distinct_id, %s FROM events WHERE %s ORDER BY %s %s %s LIMIT %d OFFSET %d", x.text, test.text, x.text,
		map[bool]string{true: "DESC", false: "ASC"}[descending], map[bool]string{true: "NULLS FIRST", false: ""}[first], limit, offset)
	var some []*plainEvent
	for _, e := range events {
		if test.holds(e) {
			some = append(some, e)
		}
	}
	slices.SortStableFunc(some, func(a, b *plainEvent) int {
		v, w := x.value(a), x.value(b)
		switch {
		case v == nil && w == nil:
			return 0
		case v == nil || w == nil:
			return map[bool]int{true: -1, false: 1}[(v == nil) == first]
		case descending:
			return plainOrder(w, v)
		}
		return plainOrder(v, w)
	})
	var want [][]any
	for _, e := range some[min(offset, len(some)):min(offset+limit, len(some))] {
		want = append(want, []any{e.distinctID, x.value(e)})
	}
	compareRows(t, query, want, answerRows(t, m, p, query))
}

func compareRows(t *testing.T, query string, want, got [][]any) {
	t.Helper()
	if !slices.EqualFunc(want, got, func(w, g []any) bool { return slices.EqualFunc(w, g, sameValue) }) {
		t.Fatalf("%s:\n got %s\nwant %s", query, wire.MustEncode(got), wire.MustEncode(want))
	}
}
