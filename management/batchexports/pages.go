package batchexports

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// The sizes of pages (§3). maxSortedRuns is the greatest number of records that are read for a list
// that is sorted by something other than the time of creation.
const (
	exportRunPage      = 100
	exportBackfillPage = 50
	maxSortedRuns      = 10_000
)

// CursorPage is a page of a list without a count. Next and Previous are the cursors of the adjacent
// pages, or empty if there is no such page.
type CursorPage[T any] struct {
	Results        []T
	Next, Previous string
}

// keyedItem is an item with its unique sort key.
type keyedItem[T any] struct {
	key  string
	item T
}

// keyedRecords returns the newest records of a query for which keyOf returns true. keyOf returns
// the key of an item; sort is the Sort of its record.
func keyedRecords[T any](tx management.Tx, q management.Query, keyOf func(x *T, sort string) (string, bool)) (out []keyedItem[T], err error) {
	q.Descending, q.Limit = true, maxSortedRuns
	list, _, err := tx.List(q)
	for i := 0; i < len(list) && err == nil; i++ {
		var x *T
		if x, err = management.Decode[T](&list[i]); err == nil {
			if key, ok := keyOf(x, list[i].Sort); ok {
				out = append(out, keyedItem[T]{key, *x})
			}
		}
	}
	return out, err
}

// pageAt returns a page of a list. A cursor is > or < with the key of an item: the page after or
// before that item. An empty cursor is the first page. The item itself may have been deleted.
func pageAt[T any](list []keyedItem[T], descending bool, cursor string, size int) (out CursorPage[T], err error) {
	slices.SortFunc(list, func(a, b keyedItem[T]) int {
		if descending {
			a, b = b, a
		}
		return strings.Compare(a.key, b.key)
	})
	// The first page is the default.
	from, to := 0, min(size, len(list))
	if cursor != "" {
		side, key := cursor[:1], cursor[1:]
		passed := func(p string) bool { return p < key }
		if descending {
			passed = func(p string) bool { return p > key }
		}
		index := 0 // of the first item that is not before key
		for index < len(list) && passed(list[index].key) {
			index++
		}
		switch side {
		case ">":
			if index < len(list) && list[index].key == key {
				index++
			}
			from, to = index, min(index+size, len(list))
		case "<":
			from, to = max(index-size, 0), index
		default:
			return out, management.Missing("Invalid cursor")
		}
	}
	out.Results = make([]T, 0, to-from)
	for _, p := range list[from:to] {
		out.Results = append(out.Results, p.item)
	}
	if to > from && to < len(list) {
		out.Next = ">" + list[to-1].key
	}
	if to > from && from > 0 {
		out.Previous = "<" + list[from].key
	}
	return out, nil
}
