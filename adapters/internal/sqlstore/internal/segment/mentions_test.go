package segment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The rows that may have a property are those whose text has its name before a quote, or a backslash, with which
// JSON can write any name (RFC 8259 §7): of all rows or some, over many pages, also at their ends.
func TestRows_Mentioning(t *testing.T) {
	m := newMaker(21)
	events := append(m.events(3000), m.strange(300)...)
	for i := range events {
		switch i % 500 {
		case 3:
			events[i].properties = ""
		case 4:
			events[i].properties = `{"\u0024current_url":"https://example.com"}`
		case 5:
			events[i].properties = `{"a":"$current_url` // the quote would be in the next row
		case 6:
			events[i].properties = `"rare":1}`
		case 499:
			events[i].properties = fmt.Sprintf(`{"n":%d,"rare"`, i)
		}
	}
	f := testFile(t, events)
	rows := f.Rows(0)
	defer func() { _ = rows.Close() }()
	for _, names := range [][]string{{"$current_url"}, {"rare"}, {"order_id", "rare"}, {"nothing"}, {`quo"te`}, {""}, {}} {
		for _, step := range []int{1, 3, 700} {
			mentions := NewMentions(names)
			var some, want []int32
			for row := step - 1; row < len(events); row += step {
				some = append(some, int32(row))
				text := events[row].properties
				if strings.Contains(text, `\`) || slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name+`"`) }) {
					want = append(want, int32(row))
				}
			}
			got, err := rows.Mentioning(Properties, mentions, some, []int32{-1})
			if err != nil || got[0] != -1 || !slices.Equal(got[1:], want) {
				t.Errorf("%q, every %d: %d of %d rows instead of %d, %v", names, step, len(got)-1, len(some), len(want), err)
			}
		}
	}
	if _, err := rows.Mentioning(Properties, NewMentions(nil), []int32{int32(len(events))}, nil); err == nil {
		t.Error("a row after the last one was read")
	}
}
