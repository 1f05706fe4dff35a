package capture

import (
	"sync/atomic"
	"time"
)

// reasons are all there are, for counting.
var reasons = []DropReason{
	MissingEventName, eventNameTooLong, missingDistinctID, distinctIDTooLarge, invalidUUID, invalidTimestamp,
	malformedProperties, invalidOptions, eventTooLarge, performanceEvent, cookielessOff, snapshotWrongEndpoint, clientIngestionWarning,
	heatmapNotStored, recordingNotStored, personProfileNeeded, invalidAnonDistinctID, invalidAlias, groupKeyTooLong,
	EventsOverQuota, exceptionsOverQuota, surveysOverQuota, llmEventsOverQuota, Duplicate,
}

type intakeCounters struct {
	accepted atomic.Uint64
	drops    map[DropReason]*atomic.Uint64 // not changed once made
}

func (c *intakeCounters) init() {
	c.drops = make(map[DropReason]*atomic.Uint64, len(reasons))
	for _, r := range reasons {
		c.drops[r] = new(atomic.Uint64)
	}
}

func (c *intakeCounters) countDrops(r DropReason, n int) {
	if counter := c.drops[r]; counter != nil {
		counter.Add(uint64(n))
	}
}

func (c *intakeCounters) count(receipt *Receipt) {
	c.accepted.Add(uint64(receipt.Accepted))
	if receipt.Accepted == len(receipt.Results) {
		return
	}
	for _, r := range receipt.Results {
		if r != NotDropped {
			c.countDrops(r, 1)
		}
	}
}

// IntakeStats are totals since the start.
type IntakeStats struct {
	// Accepted events were durable when their sender was answered; among them are
	// duplicates, which are stored once.
	Accepted uint64
	// Dropped events are those of accepted requests that were not stored, by reason;
	// every reason is there.
	Dropped map[DropReason]uint64
}

// Stats returns totals.
func (i *Intake) Stats() IntakeStats {
	if !i.isReady() {
		return IntakeStats{}
	}
	s := IntakeStats{Accepted: i.stats.accepted.Load(), Dropped: make(map[DropReason]uint64, len(reasons))}
	for r, n := range i.stats.drops {
		s.Dropped[r] = n.Load()
	}
	return s
}

type recorderCounters struct {
	commits, failures, events, duplicates, persons, merges, mergesRejected, rejected, timedOut atomic.Uint64

	commitTime atomic.Int64 // nanoseconds
}

// RecorderStats are totals since the start.
type RecorderStats struct {
	// Commits succeeded, Failures did not.
	Commits, Failures uint64
	// CommitTime is how long those that succeeded took together.
	CommitTime time.Duration
	// Events were recorded; Duplicates were there already.
	Events, Duplicates uint64
	// Persons were made, Merges joined two of them. MergesRejected were asked for and
	// not done; ingestion warnings name them.
	Persons, Merges, MergesRejected uint64
	// Rejected batches found too many waiting, Late ones took too long.
	Rejected, TimedOut uint64
	// Waiting batches are in the queue now.
	Waiting int
	// CacheBytes is how many bytes of people are remembered now.
	CacheBytes int
}

// Stats returns totals.
func (r *Recorder) Stats() RecorderStats {
	if !r.isReady() {
		return RecorderStats{}
	}
	s := RecorderStats{
		Commits: r.stats.commits.Load(), Failures: r.stats.failures.Load(), CommitTime: time.Duration(r.stats.commitTime.Load()),
		Events: r.stats.events.Load(), Duplicates: r.stats.duplicates.Load(),
		Persons: r.stats.persons.Load(), Merges: r.stats.merges.Load(), MergesRejected: r.stats.mergesRejected.Load(),
		Rejected: r.stats.rejected.Load(), TimedOut: r.stats.timedOut.Load(), Waiting: len(r.queue),
	}
	if r.cache != nil {
		s.CacheBytes = int(r.cache.bytes.Load())
	}
	return s
}
