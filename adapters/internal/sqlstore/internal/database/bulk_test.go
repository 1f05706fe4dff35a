package database

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBulk_Chunks(t *testing.T) {
	for _, d := range []*Dialect{&SQLite, &postgres} {
		b := NewInsert("INSERT INTO x", 2, "DO")
		var got []string
		err := b.Chunks(d, 163, func(text string, from, rows int) error {
			got = append(got, fmt.Sprint(from, "+", rows))
			if n := strings.Count(text, "("); n != rows {
				t.Errorf("%d rows in the statement for %d", n, rows)
			}
			return nil
		})
		want := []string{"0+64", "64+64", "128+32", "160+3"}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
}
