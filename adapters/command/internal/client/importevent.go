package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/ids"
	"github.com/bunting-flags/bunting/flags/wire"
)

// importKind selects the endpoint for a record of an import.
type importKind uint8

const (
	importEvent  importKind = iota
	importPerson            // persons and groups of our own export
)

// lineNamespace is the namespace of the uuids of events without a uuid.
var lineNamespace = capture.UUID{0x5b, 0x0e, 0x43, 0xd7, 0x71, 0x1c, 0x4b, 0x9f, 0x9d, 0x0a, 0x52, 0x3c, 0x86, 0x1f, 0xe4, 0x38}

// lineUUID returns the uuid of an event that has none: a UUID of version 5 (RFC 9562 §5.5) of its
// text, so that importing it again creates no second event.
func lineUUID(text []byte) capture.UUID {
	return ids.OfName(lineNamespace, text)
}

// readRecord returns the kind of a record, and converts an event into an item of a batch. err is
// the reason to skip the record. Events may have the formats of our export, of PostHog's batch
// export (properties may be JSON text), and of PostHog's lists.
func readRecord(text []byte) (importKind, []byte, error) {
	if !utf8.Valid(text) {
		return 0, nil, errors.New("is not UTF-8")
	}
	o, err := capture.ParseObject(string(text))
	if err != nil {
		return 0, nil, fmt.Errorf("is not a JSON object: %w", err)
	}
	kind, _ := o.Text("type")
	_, isEvent := o.Get("event")
	switch {
	case !isEvent && (kind == "person" || kind == "group"):
		return importPerson, text, nil
	case !isEvent && has(o, "person_id"):
		return 0, nil, errors.New("is a person of PostHog's export, which is not imported: persons are created from their events")
	case !isEvent:
		return 0, nil, errors.New(`has no "event"`)
	}
	event, err := makeEvent(o, text)
	return importEvent, event, err
}

func has(o capture.Object, key string) bool {
	value, ok := o.Get(key)
	return ok && value != "null"
}

// makeEvent returns an event in the format of /batch/.
func makeEvent(o capture.Object, text []byte) ([]byte, error) {
	if name, ok := o.Text("event"); ok && name == "" || !has(o, "event") {
		return nil, errors.New("has no event name")
	}
	properties, err := eventProperties(o)
	if err != nil {
		return nil, err
	}
	id, _ := o.Get("distinct_id")
	if id == "" || id == "null" || id == `""` {
		if id, _ = properties.Get("distinct_id"); id == "" || id == "null" || id == `""` {
			return nil, errors.New("has no distinct_id")
		}
	}
	uuid, _ := o.Text("uuid")
	u, ok := wire.ParseUUID(uuid)
	if !ok {
		uuid, _ = o.Text("id") // the name in PostHog's lists
		if u, ok = wire.ParseUUID(uuid); !ok {
			u = lineUUID(text)
		}
	}
	name, _ := o.Get("event")
	event := []capture.Member{
		{Key: "uuid", Value: `"` + u.String() + `"`}, {Key: "event", Value: name}, {Key: "distinct_id", Value: id},
		{Key: "properties", Value: properties.String()},
	}
	if has(o, "timestamp") {
		timestamp, _ := o.Get("timestamp")
		event = append(event, capture.Member{Key: "timestamp", Value: timestamp})
	}
	out := capture.NewObject(event).AppendJSON(nil)
	called, _ := o.Text("event")
	if maxSize := wire.MaxEventOf(called); len(out) > maxSize {
		return nil, fmt.Errorf("has %d bytes as an event, %d are allowed", len(out), maxSize)
	}
	return out, nil
}

// eventProperties returns the properties, including those that exports store in separate members.
func eventProperties(o capture.Object) (capture.Object, error) {
	value, _ := o.Get("properties")
	if inner, ok := o.Text("properties"); ok {
		value = inner
	}
	properties := capture.Object{}
	if value != "" && value != "null" {
		var err error
		if properties, err = capture.ParseObject(value); err != nil {
			return nil, fmt.Errorf("has properties that are not a JSON object: %w", err)
		}
	}
	var more []capture.Member
	add := func(key, value string) {
		if _, ok := properties.Get(key); !ok {
			more = append(more, capture.Member{Key: key, Value: value})
		}
	}
	for _, name := range []string{"elements_chain", "elements"} {
		if chain, ok := o.Text(name); ok && chain != "" {
			value, err := json.Marshal(chain)
			if err != nil {
				return nil, err
			}
			add("$elements_chain", string(value))
			break
		}
	}
	if mode, _ := o.Text("person_mode"); mode == "propertyless" {
		add("$process_person_profile", "false")
	}
	// An event without an address would get this machine's address and location.
	if ip, ok := o.Get("ip"); ok && ip != `""` {
		add("$ip", ip)
	} else {
		add("$ip", "null")
	}
	return capture.NewObject(append(more, properties...)), nil
}
