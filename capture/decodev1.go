package capture

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// maxSDKInfo is the greatest length, in bytes, of a PostHog-Sdk-Info header that is
	// copied into events (§6.1).
	maxSDKInfo = 200
	// maxName is the greatest length of an event name in protocol v1, in characters (§3.7).
	maxName = 200
)

// V1Error is the error for a request of protocol v1 that is rejected as a whole (§6.2).
type V1Error struct {
	// Status is the HTTP status of the response.
	Status int
	// Tag is an identifier for programs, Description a sentence for people.
	Tag, Description string
}

func (e *V1Error) Error() string { return e.Description }

// newV1Error returns a *V1Error with status 400.
func newV1Error(tag, format string, args ...any) error {
	return &V1Error{Status: 400, Tag: tag, Description: fmt.Sprintf(format, args...)}
}

// parseErrorV1 returns the error for a body whose syntax or structure is invalid.
func parseErrorV1(format string, args ...any) error {
	return newV1Error("request_parsing_error", "failed to parse request: "+format, args...)
}

// V1Headers has the values of the request headers of the same names (§6.1). All of them are
// required, and an empty one counts as missing.
type V1Headers struct {
	SdkInfo, Attempt, RequestID, RequestTimestamp, UserAgent string
}

// Check validates the headers and returns the time of PostHog-Request-Timestamp. The error is
// a *V1Error.
func (h V1Headers) Check() (sentAt time.Time, err error) {
	var missing []string
	for _, header := range [...]struct{ name, value string }{
		{"PostHog-Sdk-Info", h.SdkInfo}, {"PostHog-Attempt", h.Attempt}, {"PostHog-Request-Id", h.RequestID},
		{"PostHog-Request-Timestamp", h.RequestTimestamp}, {"User-Agent", h.UserAgent},
	} {
		if strings.TrimSpace(header.value) == "" {
			missing = append(missing, header.name)
		}
	}
	if missing != nil {
		return sentAt, newV1Error("missing_required_headers", "request is missing required headers: %s", strings.Join(missing, ", "))
	}
	if n, err := strconv.ParseUint(strings.TrimSpace(h.Attempt), 10, 32); err != nil || n < 1 {
		return sentAt, newV1Error("invalid_header_value", "invalid header value: PostHog-Attempt is not an integer of at least 1")
	}
	if _, ok := wire.ParseUUID(strings.TrimSpace(h.RequestID)); !ok {
		return sentAt, newV1Error("invalid_header_value", "invalid header value: PostHog-Request-Id is not a UUID")
	}
	sentAt, ok := parseRFC3339(strings.TrimSpace(h.RequestTimestamp))
	if !ok {
		return sentAt, newV1Error("invalid_header_value", "invalid header value: PostHog-Request-Timestamp is not RFC 3339")
	}
	return sentAt, nil
}

// lib returns the properties $lib and $lib_version from the PostHog-Sdk-Info header. It
// returns nil if the header is too long or is not of the form name/version.
func (h V1Headers) lib() []Member {
	i := strings.LastIndexByte(h.SdkInfo, '/')
	if i < 0 || len(h.SdkInfo) > maxSDKInfo || !utf8.ValidString(h.SdkInfo) {
		return nil
	}
	name, version := strings.TrimSpace(h.SdkInfo[:i]), strings.TrimSpace(h.SdkInfo[i+1:])
	if name == "" || version == "" {
		return nil
	}
	return []Member{{"$lib", wire.Quote(name)}, {"$lib_version", wire.Quote(version)}}
}

// DecodeV1 decodes the JSON text of a request of protocol v1 (§6). The token of such a
// request is in a header, so the caller must set Submission.Tokens. Errors of single events
// are reported in Item.Fault. Every item has a UUID, and no two are equal.
//
// reserve is called before memory is used, see DecodeOptions.Reserve; it may be nil. The
// error is a *V1Error or the error of reserve.
func DecodeV1(body string, h V1Headers, reserve func(n int64) error) (*Submission, error) {
	sentAt, err := h.Check()
	if err != nil {
		return nil, err
	}
	d := v1Decoder{decoder: decoder{sub: &Submission{V1: true, SentAt: sentAt}, reserve: reserve}, lib: h.lib()}
	if err := d.read(body); err != nil {
		return nil, toV1Error(err)
	}
	return d.sub, nil
}

// toV1Error converts the errors that both protocols share to a *V1Error. It returns other
// errors unchanged.
func toV1Error(err error) error {
	var r *Refusal
	if !errors.As(err, &r) {
		return err
	}
	switch {
	case r.Kind == TooLarge:
		return &V1Error{Status: 413, Tag: "payload_too_large", Description: r.Detail}
	case r.Code == "no_data":
		return newV1Error("empty_body", "request body is empty")
	}
	return newV1Error("request_parsing_error", "%s", r.Detail)
}

// v1Decoder decodes the items of one body of protocol v1.
type v1Decoder struct {
	decoder
	lib []Member
	// uuids are the UUIDs of the items so far, to find duplicates.
	uuids map[UUID]struct{}
	// batch reports whether the body has a member batch that is a list.
	batch bool
}

// read decodes the whole body. Members other than batch, created_at and historical_migration
// are skipped.
func (d *v1Decoder) read(body string) error {
	if err := d.open(body); err != nil {
		return err
	}
	if d.Peek() != '{' {
		if _, ok := d.Raw(); !ok || !d.End() {
			return d.parseProblem()
		}
		return parseErrorV1("the body is not an object")
	}
	var createdAt, historical string
	err := d.checkEnd(d.Object(func(key string) bool {
		if key == "batch" {
			return d.readBatch()
		}
		v, ok := d.Raw()
		switch key {
		case "created_at":
			createdAt = v
		case "historical_migration":
			historical = v
		}
		return ok
	}))
	if err != nil {
		return err
	}
	at, _ := text(createdAt)
	if _, ok := parseRFC3339(at); !ok {
		return parseErrorV1("created_at is not an RFC 3339 time")
	}
	switch {
	case !d.sub.setHistorical(historical):
		return parseErrorV1("historical_migration is neither true nor false")
	case !d.batch:
		return parseErrorV1("batch is missing")
	case len(d.sub.Items) == 0:
		return newV1Error("empty_batch", "request batch is empty")
	}
	return nil
}

// readBatch reads the list of events. If the body has several members named batch, the last
// one counts.
func (d *v1Decoder) readBatch() bool {
	if d.Peek() != '[' {
		_, ok := d.Raw()
		return ok && d.reject(parseErrorV1("batch is not a list"))
	}
	d.batch, d.sub.Items, d.uuids = true, d.sub.Items[:0], map[UUID]struct{}{}
	return d.List(d.readEvent)
}

// reject stops decoding with an error that is not a syntax error.
func (d *v1Decoder) reject(err error) bool {
	d.refusal = err
	return false
}

// v1Fields are the members of an event that protocol v1 uses, like fields for v0.
type v1Fields struct {
	event, uuid, distinctID, timestamp, sessionID, windowID string
	options, properties                                     []Member
	// otherOptions and otherProperties are the JSON texts of options and properties if these
	// are not objects.
	otherOptions, otherProperties string
}

// readEvent reads one element of the batch and appends its Item.
func (d *v1Decoder) readEvent() bool {
	n := len(d.sub.Items)
	if d.Peek() != '{' {
		_, ok := d.Raw()
		return ok && d.reject(parseErrorV1("batch[%d] is not an object", n))
	}
	var f v1Fields
	start := d.Pos
	d.limitSize(start)
	if !d.Object(func(key string) bool { return d.readField(&f, key) }) {
		return false
	}
	id, err := f.check(n)
	if err != nil {
		return d.reject(err)
	}
	if _, twice := d.uuids[id]; twice {
		return d.reject(newV1Error("duplicate_event_uuid", "duplicate event uuid: %s, again in batch[%d]", id, n))
	}
	d.uuids[id] = struct{}{}
	it := d.newItem(start)
	it.Size, it.UUID, it.Properties = d.Pos-start, id, f.properties
	it.Name = eventName(f.event)
	it.DistinctID = strings.TrimSpace(idText(f.distinctID))
	it.Timestamp, _ = text(f.timestamp)
	var ok bool
	if it.Overrides, ok = d.overrides(&f); !ok {
		it.Fault = invalidOptions
	}
	if fault := it.v1Fault(f.otherProperties != ""); fault != NotDropped {
		it.Fault = fault
	}
	if d.truncated && it.Fault == NotDropped {
		it.Fault = eventTooLarge
	}
	return d.account(len(it.Properties) + len(it.Overrides))
}

// readField reads the value of one member of an event. Unknown members are skipped.
func (d *v1Decoder) readField(f *v1Fields, key string) (ok bool) {
	switch key {
	case "event":
		f.event, ok = d.Raw()
	case "uuid":
		f.uuid, ok = d.Raw()
	case "distinct_id":
		f.distinctID, ok = d.Raw()
	case "timestamp":
		f.timestamp, ok = d.Raw()
	case "session_id":
		f.sessionID, ok = d.Raw()
	case "window_id":
		f.windowID, ok = d.Raw()
	case "options":
		f.otherOptions, ok = d.collect(&f.options)
	case "properties":
		f.otherProperties, ok = d.collect(&f.properties)
	default:
		_, ok = d.Raw()
	}
	return ok
}

// check returns the errors for which the whole request is rejected because of event number n:
// a member that must be a string but is not, and a missing or invalid uuid. The nil UUID is
// invalid, because it does not identify an event.
func (f *v1Fields) check(n int) (UUID, error) {
	for _, m := range [...]Member{
		{"event", f.event}, {"uuid", f.uuid}, {"distinct_id", f.distinctID}, {"timestamp", f.timestamp},
		{"session_id", f.sessionID}, {"window_id", f.windowID},
	} {
		if !isAbsent(m.Value) && m.Value[0] != '"' {
			return UUID{}, parseErrorV1("batch[%d].%s is not a string", n, m.Key)
		}
	}
	s, _ := text(f.uuid)
	if s = strings.TrimSpace(s); s == "" {
		return UUID{}, newV1Error("missing_event_uuid", "event submitted without a uuid: batch[%d]", n)
	}
	id, ok := wire.ParseUUID(s)
	if !ok || id.IsZero() {
		return UUID{}, newV1Error("invalid_event_uuid", "event submitted with an invalid uuid: batch[%d]", n)
	}
	return id, nil
}

// v1Fault returns the reason to drop one event (§6.3). If there are several, the order of the
// members decides. Faults of the options have lower priority than these; the caller checks
// them before.
func (it *Item) v1Fault(malformed bool) DropReason {
	_, understood := parseRFC3339(it.Timestamp)
	switch {
	case it.Name == "":
		return MissingEventName
	case utf8.RuneCountInString(it.Name) > maxName:
		return eventNameTooLong
	case it.DistinctID == "":
		return missingDistinctID
	case utf8.RuneCountInString(it.DistinctID) > maxID:
		return distinctIDTooLarge
	case !understood:
		return invalidTimestamp
	case malformed:
		return malformedProperties
	}
	return NotDropped
}

// v1Options are the options that become properties (§6.3), each with the function that parses
// its value.
var v1Options = [...]struct {
	option, property string
	read             func(value string) (string, bool)
}{
	{"cookieless_mode", "$cookieless_mode", optionBool},
	{"disable_skew_correction", "$ignore_sent_at", optionBool},
	{"product_tour_id", "$product_tour_id", optionText},
	{"process_person_profile", "$process_person_profile", optionBool},
}

// overrides returns the properties that an event of protocol v1 has outside of its
// properties: session_id, window_id, the options, and those of the SDK header. ok is false if
// an option cannot be parsed.
func (d *v1Decoder) overrides(f *v1Fields) (out []Member, ok bool) {
	ok = isAbsent(f.otherOptions)
	d.growSpare()
	out = d.spare
	if !isAbsent(f.sessionID) {
		out = append(out, Member{"$session_id", f.sessionID})
	}
	if !isAbsent(f.windowID) {
		out = append(out, Member{"$window_id", f.windowID})
	}
	for _, m := range f.options {
		for _, o := range v1Options {
			if m.Key != o.option || m.Value == "null" {
				continue
			}
			value, readable := o.read(m.Value)
			if ok = ok && readable; readable {
				out = append(out, Member{o.property, value})
			}
		}
	}
	if len(out) == 0 {
		return d.lib, ok
	}
	out = append(out, d.lib...)
	d.spare = out[len(out):]
	return out[:len(out):len(out)], ok
}

// optionBool parses a boolean in any of the forms that clients send: a boolean, a string such
// as "true" or "1", or a number, where 0 is false.
func optionBool(value string) (string, bool) {
	if value[0] == '-' || value[0] >= '0' && value[0] <= '9' {
		f, err := strconv.ParseFloat(value, 64)
		return strconv.FormatBool(f != 0), err == nil
	}
	if s, ok := text(value); ok {
		value = strings.ToLower(strings.TrimSpace(s))
	}
	switch value {
	case "true", "1":
		return "true", true
	case "false", "0":
		return "false", true
	}
	return "", false
}

// optionText parses a string, or converts an integer to one.
func optionText(value string) (string, bool) {
	if value[0] == '"' {
		return value, true
	}
	if strings.Trim(value, "-0123456789") != "" {
		return "", false
	}
	return wire.Quote(value), true
}
