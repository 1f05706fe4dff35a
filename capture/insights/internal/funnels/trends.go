package funnels

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// entrances finds in which buckets an actor began attempts, and how far the attempts of each bucket
// reached (§2.5.5).
type entrances struct {
	// starts are the starts of the buckets, ascending; end is the end of the last one.
	starts []int64
	end    int64
	// window is the window of the funnel in microseconds.
	window int64
	// anyOrder is true for unordered funnels.
	anyOrder bool
	walker   walker
	scratch  []occurrence
}

// each calls yield for each bucket in which an attempt began, with the number of steps of the
// furthest attempt.
func (n *entrances) each(events []occurrence, yield func(bucket, reached int) error) error {
	for i := 0; i < len(events); {
		bucket, end := n.bucketOf(events[i].time)
		if !n.canBegin(&events[i]) || bucket < 0 {
			i++
			continue
		}
		first := i
		for first > 0 && events[first-1].time == events[i].time {
			first-- // begin with the first event of the same instant, in whatever order they were recorded
		}
		if reached, _ := n.walker.walk(n.eventsUntil(events[first:], end)); reached > 0 {
			if err := yield(bucket, reached); err != nil {
				return err
			}
		}
		// Continue with the first event of the next bucket.
		for i < len(events) && events[i].time < end {
			i++
		}
	}
	return nil
}

// canBegin reports whether an event can be the first of an attempt.
func (n *entrances) canBegin(e *occurrence) bool {
	if n.anyOrder {
		return e.match&stepBits != 0
	}
	return e.match&1 != 0
}

// bucketOf returns the bucket that contains a time, and its end; -1 if the time is before the first
// bucket.
func (n *entrances) bucketOf(time int64) (bucket int, end int64) {
	next := sort.Search(len(n.starts), func(i int) bool { return n.starts[i] > time })
	if next < len(n.starts) {
		return next - 1, n.starts[next]
	}
	return next - 1, n.end
}

// eventsUntil returns the events that can be part of an attempt that begins before end. Later
// events are included up to the window, but changed so that no attempt begins with them.
func (n *entrances) eventsUntil(events []occurrence, end int64) []occurrence {
	n.scratch = n.scratch[:0]
	for _, e := range events {
		if e.time >= end {
			if e.time-end >= n.window { // every attempt begins before end
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

// conversion counts, for one breakdown value and by bucket, the actors that reached the first and
// the second of the two steps of the query.
type conversion struct{ from, to []int64 }

// add counts an actor that entered in a bucket.
func (c *conversion) add(bucket int, from, to bool) {
	if from {
		c.from[bucket]++
	}
	if to {
		c.to[bucket]++
	}
}

// merge adds the counts of o to c.
func (c *conversion) merge(o *conversion) {
	for i := range c.from {
		c.from[i] += o.from[i]
		c.to[i] += o.to[i]
	}
}

// moreEntered orders conversions by the number that converted, then by the number that entered,
// both descending.
func moreEntered(a, b *conversion) int {
	sum := func(list []int64) (n int64) {
		for _, v := range list {
			n += v
		}
		return n
	}
	return cmp.Or(cmp.Compare(sum(b.to), sum(a.to)), cmp.Compare(sum(b.from), sum(a.from)))
}

// percents returns the conversion rates of the buckets in percent, rounded to two decimals; 0 for a
// bucket without actors.
func (c *conversion) percents() []float64 {
	out := make([]float64, len(c.from))
	for i, n := range c.from {
		if n > 0 {
			out[i] = math.Round(100*100*float64(c.to[i])/float64(n)) / 100
		}
	}
	return out
}

// sortOccurrences sorts the events of an actor in place and returns them. Mostly they are sorted
// already.
func sortOccurrences(events []occurrence) []occurrence {
	if !slices.IsSortedFunc(events, compareOccurrences) {
		slices.SortFunc(events, compareOccurrences)
	}
	return events
}
