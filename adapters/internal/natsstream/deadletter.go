package natsstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bunting-flags/bunting/capture"
)

// StoreDeadLetter implements capture.StreamReader.
func (r *reader) StoreDeadLetter(ctx context.Context, m *capture.Message, reason string) error {
	s := r.stream
	ctx, cancel := context.WithTimeout(ctx, s.config.Patience)
	defer cancel()
	subject := fmt.Sprintf("%s.dead.%d.%s", s.config.Name, r.partition, m.ID)
	// The same message has the same origin. A dead letter that was requeued and then failed has
	// another, because the broker would otherwise discard it as a duplicate.
	origin := "dead" + strconv.FormatUint(m.Seq, 10) + "-"
	if last, err := s.dead.GetLastMsgForSubject(ctx, subject); err == nil {
		if name, ok := parseName(last.Header.Get(nats.MsgIdHdr)); ok && name.Part+1 == name.Parts && strings.HasPrefix(name.Attempt, origin) {
			return nil
		}
	}
	err := s.publishParts(ctx, subject, m.ID, origin, m.Body)
	if isFull(err) {
		return errors.New("the stream of dead letters is full: list and drop or requeue them with bunting deadletters")
	}
	if err == nil {
		s.config.Logger.Error("events of the stream became a dead letter", "id", m.ID.String(), "reason", reason)
	}
	return err
}

// DeadLetter is a message that could not be recorded.
type DeadLetter struct {
	ID capture.UUID
	At time.Time
	// Batches are the batches of the message. They are nil if it cannot be parsed; Fault is then
	// the reason.
	Batches []*capture.Batch
	Fault   error

	subject string
	body    []byte
	last    uint64
}

// DeadLetters calls do with each dead letter, the oldest first, and stops at its first error.
func (s *Stream) DeadLetters(ctx context.Context, do func(*DeadLetter) error) error {
	info, err := s.dead.Info(ctx)
	if err != nil {
		return err
	}
	parts := map[string]*assembly{} // by subject, because the parts of several dead letters may be mixed
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq && info.State.Msgs > 0; seq++ {
		m, err := s.dead.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(s.config.Name+".dead.>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if seq = m.Sequence; seq > info.State.LastSeq {
			return nil // it was stored after the call of Info
		}
		name, ok := parseName(m.Header.Get(nats.MsgIdHdr))
		if !ok {
			continue // not a message of this package
		}
		a := parts[m.Subject]
		if a == nil {
			a = &assembly{}
			parts[m.Subject] = a
		}
		if complete, _ := a.add(name, capture.StreamPosition{Seq: seq}, m.Data); !complete {
			continue
		}
		delete(parts, m.Subject)
		d := &DeadLetter{ID: name.ID, At: m.Time, subject: m.Subject, body: a.take(), last: seq}
		d.Batches, d.Fault = parseBody(d.body)
		if err := do(d); err != nil {
			return err
		}
	}
	return nil
}

// Requeue appends a dead letter to the stream of events and deletes it.
func (s *Stream) Requeue(ctx context.Context, d *DeadLetter) error {
	f := strings.Split(d.subject, ".")
	partition := f[len(f)-2]
	if n, err := strconv.Atoi(partition); err != nil || n < 0 || n >= s.partitions {
		return fmt.Errorf("the dead letter %s belongs to no partition", d.ID)
	}
	// The broker must not discard the message as a duplicate of the original, but detect duplicates
	// of this attempt.
	origin := "requeue" + strconv.FormatUint(d.last, 10) + "-"
	if err := s.publishParts(ctx, s.config.Name+".events."+partition, d.ID, origin, d.body); err != nil {
		return err
	}
	return s.Delete(ctx, d)
}

// Delete deletes a dead letter, but not a message with the same id that was stored after it was
// listed.
func (s *Stream) Delete(ctx context.Context, d *DeadLetter) error {
	return s.dead.Purge(ctx, jetstream.WithPurgeSubject(d.subject), jetstream.WithPurgeSequence(d.last+1))
}
