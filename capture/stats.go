package capture

import (
	"sync/atomic"
	"time"
)

// reasons are all drop reasons, in order to count them.
var reasons = []DropReason{
	MissingEventName, eventNameTooLong, missingDistinctID, distinctIDTooLarge, invalidUUID, invalidTimestamp,
	malformedProperties, invalidOptions, eventTooLarge, performanceEvent, cookielessOff, snapshotWrongEndpoint, clientIngestionWarning,
	heatmapNotStored, recordingNotStored, personProfileNeeded, invalidAnonDistinctID, invalidAlias, groupKeyTooLong,
	EventsOverQuota, exceptionsOverQuota, surveysOverQuota, llmEventsOverQuota, Duplicate,
}

type intakeCounters struct {
	accepted atomic.Uint64
	drops    map[DropReason]*atomic.Uint64 // read-only after init
}

// init creates one counter for each reason, so that the map needs no lock.
func (c *intakeCounters) init() {
	c.drops = make(map[DropReason]*atomic.Uint64, len(reasons))
	for _, r := range reasons {
		c.drops[r] = new(atomic.Uint64)
	}
}

// countDrops counts n events that were dropped for the reason r.
func (c *intakeCounters) countDrops(r DropReason, n int) {
	if counter := c.drops[r]; counter != nil {
		counter.Add(uint64(n))
	}
}

// count counts the results of an accepted submission.
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
	// Accepted is the number of accepted events, all of which are durable. It includes
	// duplicates, which are stored only once.
	Accepted uint64
	// Dropped is the number of events of accepted requests that were dropped, by reason. It
	// has an entry for every reason.
	Dropped map[DropReason]uint64
}

// Stats returns the totals since the start. i may be nil.
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

// RecorderStats are totals since the start, and the current state.
type RecorderStats struct {
	// Commits is the number of successful commits, Failures that of failed ones.
	Commits, Failures uint64
	// CommitTime is the total duration of successful commits.
	CommitTime time.Duration
	// Events is the number of recorded events, Duplicates that of events that were already
	// stored.
	Events, Duplicates uint64
	// Persons is the number of created persons, Merges that of merged pairs of persons.
	// MergesRejected is the number of merges that were requested but rejected; ingestion
	// warnings have the details.
	Persons, Merges, MergesRejected uint64
	// Rejected is the number of batches that were rejected because too many were waiting,
	// TimedOut that of batches that exceeded the timeout.
	Rejected, TimedOut uint64
	// Waiting is the current number of batches in the queue.
	Waiting int
	// CacheBytes is the current size of the cache of persons, in bytes.
	CacheBytes int
}

// Stats returns the totals since the start. r may be nil.
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
