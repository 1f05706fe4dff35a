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

// maxEvent returns the maximum size in bytes of an event with a name: 900 KiB (capture §14.3),
// because servers reject events above 1,000,000 bytes, and for events of language models the limit
// of servers.
func maxEvent(name string) int {
	const usual = 900 << 10
	if most := wire.MaxEventOf(name); most > 1<<20 {
		return most
	}
	return usual
}

// ErrTooLarge is returned for an event that is dropped because its JSON is larger than 900 KiB, or
// 8 MiB for an event of a language model ($ai_generation, $ai_span, $ai_trace, $ai_embedding,
// $ai_metric, $ai_feedback).
var ErrTooLarge = errors.New("remote: the event is larger than 900 KiB, or 8 MiB for one of a language model: send less in its properties")

// sentEvent is an event as it is sent (capture §3.2).
type sentEvent struct {
	UUID       string         `json:"uuid"`
	Event      string         `json:"event"`
	DistinctID string         `json:"distinct_id"`
	Timestamp  string         `json:"timestamp"`
	Properties map[string]any `json:"properties"`
}

// Event is an event for [Client].TrackEvent. DistinctID and Name are required.
type Event struct {
	DistinctID string
	Name       string
	// Properties are the event's properties. They may include $set and $set_once.
	Properties map[string]any
	// Groups are group keys by group type.
	Groups map[string]string
	// Timestamp is when the event happened; it is sent in UTC. If zero, it is the current time.
	Timestamp time.Time
	// UUID identifies the event: the server stores events with the same UUID once. If empty, a new
	// one is generated.
	UUID string
}

// Track is like TrackEvent for an event that happens now.
func (c *Client) Track(ctx context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error {
	return c.TrackEvent(ctx, Event{DistinctID: distinctID, Name: event, Properties: properties, Groups: groups})
}

// TrackEvent adds an event to the bounded queue. It does no I/O and never blocks; it reads
// properties and groups before it returns and does not retain them. The address of the request is
// located only with Config.GeoIP, unless the properties set $geoip_disable. If it returns an error,
// the event is dropped: it has no id or name, an invalid UUID or a time after the year 9999, cannot
// be encoded as JSON, is too large (ErrTooLarge), or the queue is full (ErrQueueFull) or closed
// (flags.ErrClosed).
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

// fault returns why an event cannot be sent, or nil.
func (e *Event) fault() error {
	switch {
	case e.DistinctID == "":
		return errors.Join(errors.New("remote: an event needs a distinct id and a name"), flags.ErrNoDistinctID)
	case e.Name == "":
		return errors.New("remote: an event needs a distinct id and a name")
	case e.UUID != "" && !isUUID(e.UUID):
		return fmt.Errorf("remote: the event %q has the UUID %q, it must be like 0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", e.Name, wire.Shorten(e.UUID, 50))
	case e.Timestamp.UTC().Year() > 9999 || e.Timestamp.UTC().Year() < 0:
		return fmt.Errorf("remote: the event %q has a Timestamp in the year %d", e.Name, e.Timestamp.UTC().Year())
	}
	return nil
}

func isUUID(text string) bool {
	_, ok := wire.ParseUUID(text)
	return ok && len(text) == 36
}

// enqueue encodes an event as JSON and appends it to the queue. Its uuid and time are set here, so
// that they are the same in every attempt (capture §14.1). It modifies the properties.
func (c *Client) enqueue(e Event) error {
	if err := e.fault(); err != nil {
		c.queue.drop(dropInvalid)
		return err
	}
	if c.config.Offline && !c.ended.Load() {
		c.queue.drop(dropOffline)
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
		c.queue.drop(dropInvalid)
		return fmt.Errorf("remote: the event %q cannot be written as JSON: %w", e.Name, err)
	}
	if len(body) > maxEvent(e.Name) {
		c.queue.drop(dropTooLarge)
		return ErrTooLarge
	}
	return c.queue.add(body)
}

// library is the name of this library in events and requests.
const library = "bunting-go"

// libraryVersion is the version of this module in the running program.
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
