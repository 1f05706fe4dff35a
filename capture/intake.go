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

// sizeFault says how far an item is over its limit; empty: it is not.
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

// sizeOf is how many bytes of an item are stored at most.
func sizeOf(it *Item) int { return min(it.Size, wire.MaxEventOf(it.Name)) }

// pieceEvents is how many events of a submission are recorded at a time, pieceBytes
// how long the text of them is about, in bytes: a piece ends with the event that
// reaches it. A larger submission is recorded piece by piece, in order; when one of
// them fails its sender is told to send all again, and those with a uuid are not
// stored twice.
const (
	pieceEvents = 2000
	pieceBytes  = 4 << 20
)

// PieceSize returns how long the text of the events that are recorded at a time may be,
// and how many they are, for a body of so many bytes and items.
func PieceSize(text, items int) (bytes, events int) {
	bytes, events = min(text, pieceBytes+maxAIEvent), min(items, pieceEvents)
	if items > pieceEvents {
		bytes = min(bytes, text/items*pieceEvents)
	}
	return bytes, events
}

// IntakeConfig says what an Intake stands on. Keys and Into are required.
type IntakeConfig struct {
	Keys     Keys
	Appender Appender
	// Locator: nil means that addresses are not located.
	Locator Locator
	// Usage: nil means that counts begin with zero at the start.
	Usage UsageReader
	// Now is the clock, time.Now when nil.
	Now func() time.Time
}

// Intake judges what comes in: it finds the project, makes events of items,
// counts what is dropped, and has the rest recorded. It is safe for any number
// of goroutines.
type Intake struct {
	config            IntakeConfig
	projects          *projects
	meters            *meters
	seen              *seenNames
	recordingWarnings *warningLimiter
	stats             intakeCounters
}

// NewIntake makes an Intake. It fails without Keys or Into.
func NewIntake(c IntakeConfig) (*Intake, error) {
	if c.Keys == nil || c.Appender == nil {
		return nil, errors.New("capture: an Intake needs Keys and somewhere to record into")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	i := &Intake{config: c, projects: newProjects(c.Keys), meters: newMeters(c.Usage), seen: newSeenNames(), recordingWarnings: newWarningLimiter()}
	i.stats.init()
	return i, nil
}

func (i *Intake) isReady() bool { return i != nil && i.projects != nil }

// Receipt is the answer to an accepted submission.
type Receipt struct {
	// Accepted events are durable.
	Accepted int
	// Results are those of the items, in their order: None for what is stored.
	Results []DropReason
	// QuotaLimited are the resources that dropped events.
	QuotaLimited []Resource
}

// Accept takes a submission in. It returns when its events are durable, or with
// a *Refusal, ErrUnknownKey, or ErrUnavailable, when none of them was accepted. An
// Intake that NewIntake has not made is ErrUnavailable.
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
	for first := 0; first < len(s.Items); {
		last := pieceEnd(s.Items, first)
		err := i.record(ctx, s, first, last, &receipt, &project, from, now)
		if err != nil {
			return Receipt{}, err
		}
		first = last
	}
	i.stats.count(&receipt)
	return receipt, nil
}

// pieceEnd is where the piece ends that begins with an item.
func pieceEnd(items []Item, first int) int {
	end, size := first, 0
	for end < len(items) && end-first < pieceEvents && size < pieceBytes {
		size += sizeOf(&items[end])
		end++
	}
	return end
}

// record has one piece of a submission recorded.
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

// now is when a request came in, in the precision that is stored.
func (i *Intake) now(from Origin) time.Time {
	now := from.ReceivedAt
	if now.IsZero() {
		now = i.config.Now()
	}
	return now.UTC().Truncate(time.Microsecond)
}

// checkItems finds what refuses a whole submission.
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
				Detail: fmt.Sprintf("event submitted with invalid cookieless mode: true or false is wanted (event %d)", n)}
		}
	}
	return nil
}

// prepare makes events of a piece of the items of a submission.
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
	p.buf = make([]byte, 0, size+size/8+64*(last-first)) // about what will be stored
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
			// What belongs to a migration is not charged (§13.1).
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
			batch.warn(Warning{Type: WarningType(reason), At: now}) // it is about nobody in particular
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

// silentReasons reasons are counted and keep no warning: what §3.7 discards silently, and
// what has left a warning of its own.
var silentReasons = []DropReason{Duplicate, performanceEvent, clientIngestionWarning}

const (
	// batchWarnings is how many distinct ids one batch may leave warnings for; more
	// are added up without an id.
	batchWarnings = 100
	// warningID is how much of a distinct id a warning keeps, in bytes.
	warningID = 64
)

// warn adds a warning, or adds it to one like it.
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

// WarningID is what a warning keeps of a distinct id.
func WarningID(distinctID string) string { return cutBytes(distinctID, warningID) }

// cutBytes is the beginning of s, whole characters of at most n bytes.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// AcceptRecording answers for a body of session recordings, of which nothing is kept
// (§7): it is counted, and a warning says so. limited is true when the project's
// recordings are paused or its quota is spent. The errors are those of Accept.
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
