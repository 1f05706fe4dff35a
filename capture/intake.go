package capture

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
)

// sizeFault returns a description of how an item exceeds its size limit, or the empty string
// if it does not.
func sizeFault(it *Item) string {
	limit := wire.MaxEventOf(it.Name)
	switch {
	case it.Size > limit:
		return fmt.Sprintf("the event has %d bytes, %d are allowed", it.Size, limit)
	case it.Fault == eventTooLarge:
		return fmt.Sprintf("an object of the event has more than %d members", maxMembers)
	}
	return ""
}

// sizeOf returns the greatest number of bytes of an item that are stored.
func sizeOf(it *Item) int { return min(it.Size, wire.MaxEventOf(it.Name)) }

// A submission that is large is recorded in pieces, one after another. A piece ends after
// pieceEvents events, or with the event whose text makes it reach pieceBytes bytes. If one
// piece fails, the client is asked to send the whole submission again; events with a uuid are
// not stored twice.
const (
	pieceEvents = 2000
	pieceBytes  = 4 << 20
)

// PieceSize returns the greatest number of bytes and events that are recorded at a time for a
// body with the given number of bytes and items. Callers use it to estimate memory.
func PieceSize(text, items int) (bytes, events int) {
	bytes, events = min(text, pieceBytes+maxAIEvent), min(items, pieceEvents)
	if items > pieceEvents {
		bytes = min(bytes, text/items*pieceEvents)
	}
	return bytes, events
}

// IntakeConfig is the configuration of an Intake. Keys and Appender are required.
type IntakeConfig struct {
	Keys     Keys
	Appender Appender
	// Locator locates client addresses. If nil, they are not located.
	Locator Locator
	// Usage reads the counts of previous events. If nil, counts begin at zero.
	Usage UsageReader
	// Now is the clock. If nil, time.Now is used.
	Now func() time.Time
}

// Intake processes submissions: it finds the project, converts items to events, counts
// dropped items, and records the events. It is safe for concurrent use. Use NewIntake to
// create one.
type Intake struct {
	config            IntakeConfig
	projects          *projects
	meters            *meters
	seen              *seenNames
	recordingWarnings *warningLimiter
	stats             intakeCounters
}

// NewIntake returns an Intake. It returns an error if Keys or Appender is nil.
func NewIntake(c IntakeConfig) (*Intake, error) {
	if c.Keys == nil || c.Appender == nil {
		return nil, errors.New("capture: an Intake requires Keys and a destination for events")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	i := &Intake{config: c, projects: newProjects(c.Keys), meters: newMeters(c.Usage), seen: newSeenNames(), recordingWarnings: newWarningLimiter()}
	i.stats.init()
	return i, nil
}

func (i *Intake) isReady() bool { return i != nil && i.projects != nil }

// Receipt is the result of an accepted submission.
type Receipt struct {
	// Accepted is the number of events that are durable now.
	Accepted int
	// Results has one element for each item, in their order: the reason why it was dropped,
	// or NotDropped.
	Results []DropReason
	// QuotaLimited are the resources for which events were dropped.
	QuotaLimited []Resource
}

// Accept records the events of a submission and returns when they are durable. Events over a
// limit, and items with errors, are dropped and reported in the Receipt.
//
// The error is a *Refusal or ErrUnknownKey if the request is rejected, or ErrUnavailable. In
// these cases the client should assume that nothing was stored, although the first pieces of
// a large submission may have been. If i was not created by NewIntake, Accept returns
// ErrUnavailable.
func (i *Intake) Accept(ctx context.Context, s *Submission, from Origin) (Receipt, error) {
	if !i.isReady() {
		return Receipt{}, ErrUnavailable
	}
	token, err := s.Token()
	if err != nil {
		return Receipt{}, err
	}
	now := i.now(from)
	project, err := i.projects.get(ctx, token, now)
	if err != nil {
		return Receipt{}, err
	}
	if err := checkItems(s); err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{Results: make([]DropReason, len(s.Items))}
	first, last := 0, pieceEnd(s.Items, 0)
	for last < len(s.Items) {
		if err := i.record(ctx, s, first, last, &receipt, &project, from, now); err != nil {
			return Receipt{}, err
		}
		first, last = last, pieceEnd(s.Items, last)
	}
	// This call does not need the submission while it waits, so that its memory may be free.
	if err := i.record(ctx, s, first, last, &receipt, &project, from, now); err != nil {
		return Receipt{}, err
	}
	i.stats.count(&receipt)
	return receipt, nil
}

// pieceEnd returns the end of the piece that begins with item number first.
func pieceEnd(items []Item, first int) int {
	end, size := first, 0
	for end < len(items) && end-first < pieceEvents && size < pieceBytes {
		size += sizeOf(&items[end])
		end++
	}
	return end
}

// record prepares one piece of a submission and records it. If that fails, it undoes the
// counting of the events.
func (i *Intake) record(ctx context.Context, s *Submission, first, last int, receipt *Receipt, project *Project, from Origin, now time.Time) error {
	batch, charges := i.prepare(ctx, s, first, last, receipt, project, from, now)
	if len(batch.Events)+len(batch.Warnings) == 0 {
		return nil
	}
	if err := i.config.Appender.Append(ctx, batch); err != nil {
		charges.refund()
		return wrapUnavailable(err)
	}
	for _, seen := range batch.Seen {
		i.seen.mark(seen)
	}
	return nil
}

// now returns the time of a request, in the precision that is stored.
func (i *Intake) now(from Origin) time.Time {
	now := from.ReceivedAt
	if now.IsZero() {
		now = i.config.Now()
	}
	return now.UTC().Truncate(time.Microsecond)
}

// checkItems returns the error if an item makes the whole submission invalid.
func checkItems(s *Submission) error {
	for n := range s.Items {
		it := &s.Items[n]
		if len(s.Items) == 1 {
			if over := sizeFault(it); over != "" {
				return &Refusal{Kind: TooLarge, Code: "payload_too_large", Detail: "maximum event size exceeded: " + over}
			}
		}
		if it.Fault == NotDropped && hasCookielessFault(it) {
			return &Refusal{Kind: Invalid, Code: "invalid_payload", Attr: "$cookieless_mode",
				Detail: fmt.Sprintf("event submitted with invalid cookieless mode: it must be true or false (event %d)", n)}
		}
	}
	return nil
}

// prepare converts items first to last-1 of a submission to a batch. It sets their results in
// the receipt.
func (i *Intake) prepare(ctx context.Context, s *Submission, first, last int, receipt *Receipt, project *Project, from Origin, now time.Time) (*Batch, *charges) {
	batch := &Batch{ProjectID: project.ID, Events: make([]Event, 0, last-first)}
	charges := &charges{meters: i.meters, project: project, at: now}
	p := preparer{
		project: project, ip: from.IP, now: now, sentAt: s.SentAt, historical: s.Historical, v1: s.V1,
		locator: i.config.Locator, random: random, seen: i.seen,
	}
	size := 0
	for n := first; n < last; n++ {
		size += sizeOf(&s.Items[n])
	}
	p.buf = make([]byte, 0, size+size/8+64*(last-first)+slack) // an estimate of the size that is stored, and the minimum of reserve
	for n := first; n < last; n++ {
		it := &s.Items[n]
		reason, detail := it.Fault, sizeFault(it)
		if reason == NotDropped && detail != "" {
			reason = eventTooLarge
		}
		if reason == NotDropped {
			reason = p.prepare(it, batch)
		}
		if reason == NotDropped && !batch.Events[len(batch.Events)-1].Historical {
			// Events of a migration are not charged (§13.1).
			if resource := resourceOf(it); !charges.consume(ctx, resource) {
				batch.Events = batch.Events[:len(batch.Events)-1]
				reason = overQuotaReason(resource)
				if !slices.Contains(receipt.QuotaLimited, resource) {
					receipt.QuotaLimited = append(receipt.QuotaLimited, resource)
				}
			}
		}
		receipt.Results[n] = reason
		switch {
		case reason == NotDropped:
			receipt.Accepted++
		case reason.IsOverQuota():
			batch.warn(Warning{Type: WarningType(reason), At: now}) // the warning is not about a single distinct id
		case !slices.Contains(silentReasons, reason):
			if reason != eventTooLarge {
				detail = ""
			}
			batch.warn(Warning{Type: WarningType(reason), DistinctID: it.DistinctID, EventUUID: it.UUID, Detail: detail, At: now})
		}
	}
	batch.Usage = charges.counts
	return batch, charges
}

// silentReasons are counted but add no warning: either §3.7 requires that the event is
// discarded silently, or the event adds a warning of its own.
var silentReasons = []DropReason{Duplicate, performanceEvent, clientIngestionWarning}

const (
	// batchWarnings is the number of distinct ids that one batch may add warnings for.
	// Further warnings are counted together, without an id.
	batchWarnings = 100
	// warningID is the length, in bytes, to which the distinct id of a warning is truncated.
	warningID = 64
)

// warn adds a warning to the batch, or adds its count to a warning with the same type and
// distinct id.
func (b *Batch) warn(w Warning) {
	w.ProjectID, w.Count = b.ProjectID, max(w.Count, 1)
	w.DistinctID = WarningID(w.DistinctID)
	if len(b.Warnings) >= batchWarnings {
		w.DistinctID, w.EventUUID = "", UUID{}
	}
	for n := range b.Warnings {
		if old := &b.Warnings[n]; old.Type == w.Type && old.DistinctID == w.DistinctID {
			old.Count += w.Count
			old.EventUUID, old.Detail, old.At = w.EventUUID, w.Detail, w.At
			return
		}
	}
	b.Warnings = append(b.Warnings, w)
}

// WarningID returns the part of a distinct id that warnings store.
func WarningID(distinctID string) string { return cutBytes(distinctID, warningID) }

// cutBytes returns the longest prefix of s that has at most n bytes and ends at a character.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// AcceptRecording handles a body of session recordings. Recordings are not stored (§7): their
// items are counted as dropped, and a warning is recorded. limited is true if the project's
// recordings are paused or their limit is zero. The errors are the same as those of Accept.
func (i *Intake) AcceptRecording(ctx context.Context, token string, items int) (limited bool, err error) {
	if !i.isReady() {
		return false, ErrUnavailable
	}
	now := i.now(Origin{})
	project, err := i.projects.get(ctx, token, now)
	if err != nil {
		return false, err
	}
	i.stats.countDrops(recordingNotStored, items)
	limit, has := project.Limits[ResourceRecordings]
	if slices.Contains(project.Paused, ResourceRecordings) || has && limit == 0 {
		return true, nil
	}
	if i.recordingWarnings.allow(project.ID, now) {
		batch := &Batch{ProjectID: project.ID}
		batch.warn(Warning{Type: WarningType(recordingNotStored), At: now, Detail: "session recordings are accepted and not stored"})
		if err := i.config.Appender.Append(ctx, batch); err != nil {
			return false, wrapUnavailable(err)
		}
	}
	return false, nil
}

// wrapUnavailable wraps err so that it is an ErrUnavailable.
func wrapUnavailable(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func random() (b [10]byte) {
	_, _ = crand.Read(b[:]) // never fails
	return b
}
