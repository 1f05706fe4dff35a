package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// maxEvent is the size in bytes of the largest event that is sent (capture §14.3);
// servers refuse one above 1,000,000.
const maxEvent = 900 << 10

// ErrTooLarge says that an event is larger than 900 KiB as JSON, and is dropped.
var ErrTooLarge = errors.New("remote: the event is larger than 900 KiB: send less in its properties")

// sentEvent is an event on the wire (capture §3.2).
type sentEvent struct {
	UUID       string         `json:"uuid"`
	Event      string         `json:"event"`
	DistinctID string         `json:"distinct_id"`
	Timestamp  string         `json:"timestamp"`
	Properties map[string]any `json:"properties"`
}

// Track sends an event back in time, through the bounded queue. It does no I/O and
// never waits; properties and groups are read before it returns and not kept. $set
// and $set_once stand in properties. Unless properties say otherwise, the server's
// address is not located ($geoip_disable). The error says that the event is dropped:
// it lacks an id or a name, cannot be written as JSON, is too large (ErrTooLarge), or
// finds the queue full (ErrQueueFull) or closed (flags.ErrClosed).
func (c *Client) Track(_ context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error {
	if !c.made() {
		return errNotReady
	}
	p := make(map[string]any, len(properties)+5)
	p["$geoip_disable"], p["$is_server"] = true, true
	maps.Copy(p, properties)
	return c.enqueue(distinctID, event, p, groups)
}

// enqueue writes an event as JSON, with a uuid and a time that stay the same however
// often it is sent (capture §14.1), and puts it into the queue.
func (c *Client) enqueue(distinctID, name string, p map[string]any, groups map[string]string) error {
	if distinctID == "" || name == "" {
		c.queue.drop(DropInvalid)
		err := errors.New("remote: an event needs a distinct id and a name")
		if distinctID == "" {
			err = errors.Join(err, flags.ErrNoDistinctID)
		}
		return err
	}
	if c.config.Offline && !c.ended.Load() {
		c.queue.drop(DropOffline)
		return nil
	}
	if len(groups) > 0 {
		p["$groups"] = groups
	}
	p["$lib"], p["$lib_version"] = library, libraryVersion
	now := c.config.Now().UTC()
	body, err := json.Marshal(sentEvent{wire.NewUUID7(now).String(), name, distinctID, now.Format("2006-01-02T15:04:05.000Z"), p})
	if err != nil {
		c.queue.drop(DropInvalid)
		return fmt.Errorf("remote: the event %q cannot be written as JSON: %w", name, err)
	}
	if len(body) > maxEvent {
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
