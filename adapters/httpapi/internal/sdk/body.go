package sdk

import (
	"fmt"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/unpack"
	"github.com/bunting-flags/bunting/capture/jsontext"
)

// maxDistinctID is the maximum length of a distinct ID in bytes. Longer IDs are truncated to as
// many Unicode scalars (§2.4).
const maxDistinctID = 200

// pooledCapacity limits the maps and lists that a pooled flagsBody retains for the next request, in
// entries. scratchCapacity limits its buffer, in bytes.
const (
	pooledCapacity  = 256
	scratchCapacity = 64 << 10
)

// flagsBody contains the fields of a body of POST /flags (§9.4). The zero value is ready for
// parseFlagsBody; reset prepares a used one. Fields that are absent or null have their zero value;
// maps may be nil.
//
// Strings are parts of a private copy of the body, or, if the body is longer than unpack.FirstRead, of its
// buffer, which is then never reused. They remain valid, but a string that outlives the request
// should be cloned, so that it does not keep the whole body in memory. Maps and lists belong to the
// flagsBody and are valid until reset.
type flagsBody struct {
	Token            string // empty if absent
	HasDistinctID    bool   // the empty string is a distinct ID too
	DistinctID       string // for a number its JSON text; truncated according to §2.4
	PersonProperties map[string]any
	// Only usable keys (§7): non-empty strings, or the JSON text of numbers.
	Groups          map[string]string
	GroupProperties map[string]map[string]any // by group type
	AnonDistinctID  string
	DeviceID        string // the top-level field; the fallback of §8.4 is in package flags
	GeoIPDisable    bool
	DisableFlags    bool
	HasFlagKeys     bool // FlagKeys was sent; an empty list selects no flags
	FlagKeys        []string

	EvaluationContexts []string
	EvaluationRuntime  string // as sent

	lease *admission.Lease // reserves memory, if not nil
	// check, if not nil, returns an error if no project has the key of a long body.
	check      func(token string) error
	spare      []map[string]any // emptied maps for GroupProperties
	scratch    []byte
	manyGroups bool // Groups had more than pooledCapacity members at some time, so it must not be pooled
}

// reset empties b and retains its storage within the limit of pooledCapacity.
func (b *flagsBody) reset() {
	for _, m := range b.GroupProperties {
		if m = clearMap(m); m != nil && len(b.spare) < 8 {
			b.spare = append(b.spare, m)
		}
	}
	if cap(b.scratch) > scratchCapacity {
		b.scratch = nil
	}
	b.dropGroups()
	b.PersonProperties, b.GroupProperties = clearMap(b.PersonProperties), clearMap(b.GroupProperties)
	b.FlagKeys, b.EvaluationContexts = clearList(b.FlagKeys), clearList(b.EvaluationContexts)
	b.Token, b.DistinctID, b.AnonDistinctID, b.DeviceID, b.EvaluationRuntime = "", "", "", "", ""
	b.HasDistinctID, b.GeoIPDisable, b.DisableFlags, b.HasFlagKeys = false, false, false, false
}

// dropGroups empties Groups, and drops its storage if it is too large to pool.
func (b *flagsBody) dropGroups() {
	if b.Groups = clearMap(b.Groups); b.manyGroups {
		b.Groups, b.manyGroups = nil, false
	}
}

// clearMap removes the members of m. It returns nil if there were too many to pool the map.
func clearMap[V any](m map[string]V) map[string]V {
	switch n := len(m); {
	case n > pooledCapacity:
		return nil
	case n > 0: // clear has a cost for empty maps too
		clear(m)
	}
	return m
}

// clearList removes the entries of list. It returns nil if the capacity is too large to pool.
func clearList(list []string) []string {
	if cap(list) > pooledCapacity {
		return nil
	}
	clear(list)
	return list[:0]
}

// flagsField is a field of §9.4.
type flagsField uint8

const (
	otherField flagsField = iota
	tokenField
	distinctIDField
	personField
	groupsField
	groupPropertiesField
	anonField
	deviceField
	geoIPField
	disableField
	flagKeysField
	contextsField
	runtimeField
	textField // must be a string, and is then ignored
	flagsFields
)

// flagsFieldOf returns the field with the given name according to the table of §9.4, and the rank
// of the name among the names of the field. If a body has several of them, the lowest rank is used.
func flagsFieldOf(name string) (field flagsField, rank uint8) {
	switch name {
	case "token":
		return tokenField, 1
	case "$token":
		return tokenField, 2
	case "api_key":
		return tokenField, 3
	case "distinct_id":
		return distinctIDField, 1
	case "$distinct_id":
		return distinctIDField, 2
	case "person_properties":
		return personField, 1
	case "$properties":
		return personField, 2
	case "groups":
		return groupsField, 1
	case "$groups":
		return groupsField, 2
	case "group_properties":
		return groupPropertiesField, 1
	case "$group_properties":
		return groupPropertiesField, 2
	case "$anon_distinct_id":
		return anonField, 1
	case "anon_distinct_id":
		return anonField, 2
	case "$device_id":
		return deviceField, 1
	case "device_id":
		return deviceField, 2
	case "geoip_disable":
		return geoIPField, 1
	case "disable_flags":
		return disableField, 1
	case "flag_keys":
		return flagKeysField, 1
	case "flag_keys_to_evaluate":
		return flagKeysField, 2
	case "evaluation_contexts":
		return contextsField, 1
	case "evaluation_environments":
		return contextsField, 2
	case "evaluation_runtime":
		return runtimeField, 1
	case "timezone", "cookieless_hash_extra", "ip_address":
		return textField, 1
	}
	return otherField, 0
}

// parseFlagsBody parses an unpacked body of POST /flags into b, which must be new or reset. It
// tries strict JSON, then lenient JSON, then base64 of either (§9.3). An error has status 400 and
// the text of §9.11, followed by the position; Attr is the member, such as "person_properties.age".
// After an error b must be reset before it is used. A distinct_id of a wrong type is not an error
// if disable_flags is true (§13.2 item 11).
func parseFlagsBody(json []byte, b *flagsBody) *problem.Body {
	fault, wrongForm := readFlagsBody(bodyText(json), b)
	if wrongForm && !isFinal(fault) {
		if err := b.lease.Reserve(int64(len(json))); err != nil {
			return &problem.Body{Cause: err}
		}
		if decoded, ok := unpack.DecodeBase64(nil, json); ok && unpack.StartsObject(decoded) {
			b.reset()
			if fault, _ = readFlagsBody(unpack.AsText(decoded), b); fault != nil {
				fault.What += " (counted in the decoded base64 body)"
			}
		}
	}
	if fault != nil {
		return faultInBody(fault)
	}
	return nil
}

// bodyText returns the text of a body. Short bodies are copied; long ones are not, so their buffers
// must not be reused.
func bodyText(json []byte) string {
	if len(json) > unpack.FirstRead {
		return unpack.AsText(json)
	}
	return string(json)
}

// isFinal reports whether a fault is not about syntax, so that another way of parsing would not
// avoid it.
func isFinal(f *jsontext.Fault) bool { return f.Err != nil || f.Bound }

// faultInBody returns the error response for a fault in a request body.
func faultInBody(f *jsontext.Fault) *problem.Body {
	if f.Err != nil {
		return &problem.Body{Cause: f.Err}
	}
	return &problem.Body{Status: 400, Detail: problem.DecodeFailure("invalid JSON") + " " + faultPosition(f), Attr: f.Where()}
}

// faultPosition returns a sentence with the position of a fault and its description.
func faultPosition(f *jsontext.Fault) string {
	position := "At byte " + strconv.Itoa(f.Offset)
	if path := f.Where(); path != "" {
		position += ", " + path
	}
	position += ": " + f.What + "."
	if f.Text == "" {
		return position
	}
	line, column := problem.LineOf(f.Text, f.Offset)
	return position + fmt.Sprintf(" That is line %d column %d.", line, column)
}

// readFlagsBody parses text as strict JSON, and then as lenient JSON. wrongForm reports whether it
// is neither; otherwise a fault is about a value of a wrong type.
func readFlagsBody(text string, b *flagsBody) (fault *jsontext.Fault, wrongForm bool) {
	if fault, wrongForm = readFlagsJSON(text, b, false); wrongForm && !isFinal(fault) {
		b.reset()
		fault, wrongForm = readFlagsJSON(text, b, true)
	}
	return fault, wrongForm
}

// readFlagsJSON parses text once, strict or lenient. Among the faults of type, it returns that of
// the first field in the order of flagsField.
func readFlagsJSON(text string, b *flagsBody, lenient bool) (fault *jsontext.Fault, wrongForm bool) {
	r := flagsReader{body: b}
	r.Src, r.Lenient, r.Scratch, r.Budget = text, lenient, b.scratch, b.lease
	r.readBody()
	b.scratch = r.Scratch
	if r.Fault != nil {
		return r.Fault, true
	}
	if !r.wrongTypes {
		return nil, false
	}
	for field := tokenField; field < flagsFields; field++ {
		if f := r.claims[field].fault; f != nil && (field != distinctIDField || !b.DisableFlags) {
			return f, false
		}
	}
	return nil, false
}
