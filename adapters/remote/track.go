package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// maxEvent is the size in bytes of the largest event of a name that is sent: 900 KiB
// (capture §14.3), where servers refuse one above 1,000,000, and for events of language
// models what servers take.
func maxEvent(name string) int {
	const usual = 900 << 10
	if most := wire.MaxEventOf(name); most > 1<<20 {
		return most
	}
	return usual
}

// ErrTooLarge says that an event is larger than 900 KiB as JSON, one of a language model
// ($ai_generation, $ai_span, $ai_trace, $ai_embedding, $ai_metric, $ai_feedback) than 8 MiB,
// and is dropped.
var ErrTooLarge = errors.New("remote: the event is larger than 900 KiB, or 8 MiB for one of a language model: send less in its properties")

// sentEvent is an event on the wire (capture §3.2).
type sentEvent struct {
	UUID       string         `json:"uuid"`
	Event      string         `json:"event"`
	DistinctID string         `json:"distinct_id"`
	Timestamp  string         `json:"timestamp"`
	Properties map[string]any `json:"properties"`
}

// Event is an event for [Client].TrackEvent. It needs a DistinctID and a Name.
type Event struct {
	DistinctID string
	Name       string
	// Properties of the event; $set and $set_once stand in them.
	Properties map[string]any
	// Groups are group keys by group type.
	Groups map[string]string
	// Timestamp is when it happened, sent in UTC. Zero: now.
	Timestamp time.Time
	// UUID names the event: the server stores one of a uuid once. Empty: a new one.
	UUID string
}

// Track is TrackEvent for what happens now.
func (c *Client) Track(ctx context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error {
	return c.TrackEvent(ctx, Event{DistinctID: distinctID, Name: event, Properties: properties, Groups: groups})
}

// TrackEvent sends an event back in time, through the bounded queue. It does no I/O and
// never waits; properties and groups are read before it returns and not kept. Unless
// properties say otherwise, the address of the request is located only with Config.GeoIP
// ($geoip_disable). The error says that the event is dropped: it lacks an id or a name, has
// a UUID that is none or a time beyond the year 9999, cannot be written as JSON, is too
// large (ErrTooLarge), or finds the queue full (ErrQueueFull) or closed (flags.ErrClosed).
func (c *Client) TrackEvent(_ context.Context, e Event) error {
	if !c.isInitialized() {
		return errNotReady
	}
	p := make(map[string]any, len(e.Properties)+5)
	p["$geoip_disable"], p["$is_server"] = !c.config.GeoIP, true
	maps.Copy(p, e.Properties)
	e.Properties = p
	return c.enqueue(e)
}

// fault is what keeps an event from being sent, nil for nothing.
func (e *Event) fault() error {
	switch {
	case e.DistinctID == "":
		return errors.Join(errors.New("remote: an event needs a distinct id and a name"), flags.ErrNoDistinctID)
	case e.Name == "":
		return errors.New("remote: an event needs a distinct id and a name")
	case e.UUID != "" && !isUUID(e.UUID):
		return fmt.Errorf("remote: the event %q has the UUID %q, want one such as 0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", e.Name, wire.Shorten(e.UUID, 50))
	case e.Timestamp.UTC().Year() > 9999 || e.Timestamp.UTC().Year() < 0:
		return fmt.Errorf("remote: the event %q has a Timestamp in the year %d", e.Name, e.Timestamp.UTC().Year())
	}
	return nil
}

func isUUID(text string) bool {
	_, ok := wire.ParseUUID(text)
	return ok && len(text) == 36
}

// enqueue writes an event as JSON, with a uuid and a time that stay the same however
// often it is sent (capture §14.1), and puts it into the queue. The properties are changed.
func (c *Client) enqueue(e Event) error {
	if err := e.fault(); err != nil {
		c.queue.drop(DropInvalid)
		return err
	}
	if c.config.Offline && !c.ended.Load() {
		c.queue.drop(DropOffline)
		return nil
	}
	p := e.Properties
	if len(e.Groups) > 0 {
		p["$groups"] = e.Groups
	}
	p["$lib"], p["$lib_version"] = library, libraryVersion
	if e.Timestamp.IsZero() {
		e.Timestamp = c.config.Now()
	}
	at := e.Timestamp.UTC()
	if e.UUID == "" {
		e.UUID = wire.NewUUID7(at).String()
	}
	body, err := json.Marshal(sentEvent{e.UUID, e.Name, e.DistinctID, at.Format("2006-01-02T15:04:05.000Z"), p})
	if err != nil {
		c.queue.drop(DropInvalid)
		return fmt.Errorf("remote: the event %q cannot be written as JSON: %w", e.Name, err)
	}
	if len(body) > maxEvent(e.Name) {
		c.queue.drop(DropTooLarge)
		return ErrTooLarge
	}
	return c.queue.add(body)
}

// library is what events and requests say that they come from.
const library = "bunting-go"

// libraryVersion is the version of this module in the program that it is built into.
var libraryVersion = func() string {
	const module, unknown = "github.com/bunting-flags/bunting", "(devel)"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" {
			return m.Version
		}
	}
	return unknown
}()
