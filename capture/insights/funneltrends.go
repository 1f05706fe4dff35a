package insights

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// entrances says in which buckets an actor began attempts, and how far those came
// (§2.5.5).
type entrances struct {
	starts   []int64 // of buckets, ascending
	end      int64   // of the last one
	window   int64
	anyOrder bool
	walker   walker
	scratch  []occurrence
}

// each calls see for each bucket in which an attempt began, with the steps that the
// furthest of them reached.
func (n *entrances) each(events []occurrence, yield func(bucket, reached int) error) error {
	for i := 0; i < len(events); {
		bucket, end := n.bucketOf(events[i].time)
		if !n.canBegin(&events[i]) || bucket < 0 {
			i++
			continue
		}
		first := i
		for first > 0 && events[first-1].time == events[i].time {
			first-- // of the same instant, in whatever order they were recorded
		}
		if reached, _ := n.walker.walk(n.eventsUntil(events[first:], end)); reached > 0 {
			if err := yield(bucket, reached); err != nil {
				return err
			}
		}
		for i < len(events) && events[i].time < end {
			i++
		}
	}
	return nil
}

func (n *entrances) canBegin(e *occurrence) bool {
	if n.anyOrder {
		return e.match&stepBits != 0
	}
	return e.match&1 != 0
}

// bucketOf is the bucket that holds a time, and where it ends; -1 for none.
func (n *entrances) bucketOf(time int64) (bucket int, end int64) {
	next := sort.Search(len(n.starts), func(i int) bool { return n.starts[i] > time })
	if next < len(n.starts) {
		return next - 1, n.starts[next]
	}
	return next - 1, n.end
}

// eventsUntil is the events that can be part of an attempt that begins before end.
func (n *entrances) eventsUntil(events []occurrence, end int64) []occurrence {
	n.scratch = n.scratch[:0]
	for _, e := range events {
		if e.time >= end {
			if e.time-end >= n.window { // the last start is before end
				break
			}
			if n.anyOrder {
				e.match |= cannotBegin
			} else {
				e.match &^= 1
			}
		}
		n.scratch = append(n.scratch, e)
	}
	return n.scratch
}

// conversion counts, for one breakdown value, the actors of each bucket that reached
// the first and the last step that were asked for.
type conversion struct{ from, to []int64 }

func (c *conversion) add(bucket int, from, to bool) {
	if from {
		c.from[bucket]++
	}
	if to {
		c.to[bucket]++
	}
}

func (c *conversion) merge(o *conversion) {
	for i := range c.from {
		c.from[i] += o.from[i]
		c.to[i] += o.to[i]
	}
}

// moreEntered orders conversions by how many converted, then by how many entered.
func moreEntered(a, b *conversion) int {
	sum := func(list []int64) (n int64) {
		for _, v := range list {
			n += v
		}
		return n
	}
	return cmp.Or(cmp.Compare(sum(b.to), sum(a.to)), cmp.Compare(sum(b.from), sum(a.from)))
}

// percents are the shares of the buckets, rounded to two places; 0 for nobody.
func (c *conversion) percents() []float64 {
	out := make([]float64, len(c.from))
	for i, n := range c.from {
		if n > 0 {
			out[i] = math.Round(100*100*float64(c.to[i])/float64(n)) / 100
		}
	}
	return out
}

// sortOccurrences puts an actor's events in order, which they mostly are.
func sortOccurrences(events []occurrence) []occurrence {
	if !slices.IsSortedFunc(events, compareOccurrences) {
		slices.SortFunc(events, compareOccurrences)
	}
	return events
}
