package batchexports

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// The sizes of pages (§3), and how many runs of a time are looked at where they
// are put in another order than that of their making.
const (
	exportRunPage      = 100
	exportBackfillPage = 50
	maxSortedRuns      = 10_000
)

// CursorPage is a page of a list that has no count. The cursors are empty where
// there is no such page.
type CursorPage[T any] struct {
	Results        []T
	Next, Previous string
}

// placed is an item with what orders it; no two are equal.
type placed[T any] struct {
	place string
	item  T
}

// placedIn are the newest records that a query chooses, of which place says yes.
func placedIn[T any](tx management.Tx, q management.Query, place func(x *T, sort string) (string, bool)) (out []placed[T], err error) {
	q.Descending, q.Limit = true, maxSortedRuns
	list, _, err := tx.List(q)
	for i := 0; i < len(list) && err == nil; i++ {
		var x *T
		if x, err = management.Decode[T](&list[i]); err == nil {
			if at, is := place(x, list[i].Sort); is {
				out = append(out, placed[T]{at, *x})
			}
		}
	}
	return out, err
}

// pageBy is a page of a list. A cursor is > or < and a place: the page behind or
// before it.
func pageBy[T any](list []placed[T], descending bool, cursor string, size int) (out CursorPage[T], err error) {
	slices.SortFunc(list, func(a, b placed[T]) int {
		if descending {
			a, b = b, a
		}
		return strings.Compare(a.place, b.place)
	})
	from, to := 0, min(size, len(list))
	if cursor != "" {
		side, place := cursor[:1], cursor[1:]
		passed := func(p string) bool { return p < place }
		if descending {
			passed = func(p string) bool { return p > place }
		}
		at := 0 // of the first that has not been passed
		for at < len(list) && passed(list[at].place) {
			at++
		}
		switch side {
		case ">":
			if at < len(list) && list[at].place == place {
				at++
			}
			from, to = at, min(at+size, len(list))
		case "<":
			from, to = max(at-size, 0), at
		default:
			return out, management.Missing("Invalid cursor")
		}
	}
	out.Results = make([]T, 0, to-from)
	for _, p := range list[from:to] {
		out.Results = append(out.Results, p.item)
	}
	if to > from && to < len(list) {
		out.Next = ">" + list[to-1].place
	}
	if to > from && from > 0 {
		out.Previous = "<" + list[from].place
	}
	return out, nil
}
