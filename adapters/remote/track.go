package remote

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// maxEvent is the size in bytes of the largest event that is sent (capture §14.3);
// servers refuse one above 1,000,000.
const maxEvent = 900 << 10

// ErrTooLarge: an event is larger than 900 KiB as JSON, and is dropped.
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
// it lacks an id or a name, cannot be written as JSON, is too large, or finds the
// queue full or closed.
func (c *Client) Track(_ context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error {
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
	if len(groups) > 0 {
		p["$groups"] = groups
	}
	p["$lib"], p["$lib_version"] = library, libraryVersion
	now := c.config.Now().UTC()
	body, err := json.Marshal(sentEvent{newUUID7(now), name, distinctID, now.Format("2006-01-02T15:04:05.000Z"), p})
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

// newUUID7 makes a random UUID of version 7, whose time is at.
func newUUID7(at time.Time) string {
	var u [16]byte
	_, _ = rand.Read(u[6:]) // it never fails
	ms := at.UnixMilli()
	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i))
	}
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80
	var text [36]byte
	hex.Encode(text[:], u[:4])
	hex.Encode(text[9:], u[4:6])
	hex.Encode(text[14:], u[6:8])
	hex.Encode(text[19:], u[8:10])
	hex.Encode(text[24:], u[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
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
