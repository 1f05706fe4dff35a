package httpapi

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
)

// maxDistinctID is the length, in bytes, up to which a distinct id is kept
// whole; a longer one is cut to as many Unicode scalars (§2.4).
const maxDistinctID = 200

// pooledCapacity bounds what a pooled flagsBody keeps for the next request:
// members of a map, entries of a list. scratchCapacity does so in bytes.
const (
	pooledCapacity  = 256
	scratchCapacity = 64 << 10
)

// flagsBody is what a body of POST /flags says (§9.4). The zero value is ready
// for parseFlagsBody; reset makes a used one ready again. Fields that are
// absent or null have their zero value; maps may be nil.
//
// Strings are cut from one private copy of the body, not from the caller's buffer,
// unless the body is longer than firstRead and nobody writes to it again: they stay valid, but a string that outlives the request should be
// cloned so as not to keep the whole body alive. Maps and lists belong to the
// flagsBody and end with reset.
type flagsBody struct {
	Token            string // empty: none was sent
	HasDistinctID    bool   // "" is a distinct id too
	DistinctID       string // a number's JSON text; cut as §2.4 says
	PersonProperties map[string]any
	Groups           map[string]string         // only usable keys (§7): text that is not empty, or a number's JSON text
	GroupProperties  map[string]map[string]any // by group type
	AnonDistinctID   string
	DeviceID         string // the top-level one; the fallback of §8.4 is the engine's
	GeoIPDisable     bool
	DisableFlags     bool
	HasFlagKeys      bool // FlagKeys was sent: an empty list asks for no flag
	FlagKeys         []string

	EvaluationContexts []string
	EvaluationRuntime  string // as sent

	lease      *memoryLease     // memory is reserved with it, nil for nobody
	spare      []map[string]any // emptied maps for GroupProperties
	scratch    []byte
	manyGroups bool // Groups had more than pooledCapacity members, and may have lost them
}

// reset empties b and keeps its storage, within pooledCapacity.
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

// dropGroups empties Groups.
func (b *flagsBody) dropGroups() {
	if b.Groups = clearMap(b.Groups); b.manyGroups {
		b.Groups, b.manyGroups = nil, false
	}
}

// clearMap is a map without its members, nil where it had many.
func clearMap[V any](m map[string]V) map[string]V {
	switch n := len(m); {
	case n > pooledCapacity:
		return nil
	case n > 0: // clear has a price on an empty map too
		clear(m)
	}
	return m
}

// clearList is a list without its entries, nil where it has room for many.
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
	textField // checked to be text, then ignored
	flagsFields
)

// flagsFieldOf is the table of §9.4: names, and each name's rank among the
// names of its field. Where a body has several, the lowest rank wins.
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

// parseFlagsBody reads an unpacked body of POST /flags into b, which must be
// new or reset. It tries strict JSON, then lenient JSON, then base64 of either
// (§9.3). An error is 400 with the text of §9.11, followed by the place; Attr
// is the member, such as "person_properties.age", and b is then of no use until
// reset. A distinct_id of a wrong type is no error where disable_flags is true
// (§13.2 item 11).
func parseFlagsBody(json []byte, b *flagsBody) *bodyError {
	fault, wrongForm := readFlagsBody(bodyText(json), b)
	if wrongForm && !isFinal(fault) {
		if err := b.lease.Reserve(int64(len(json))); err != nil {
			return &bodyError{cause: err}
		}
		if decoded, ok := decodeBase64(nil, json); ok && startsObject(decoded) {
			b.reset()
			if fault, _ = readFlagsBody(asText(decoded), b); fault != nil {
				fault.What += " (counted in what the base64 body stands for)"
			}
		}
	}
	if fault != nil {
		return faultInBody(fault)
	}
	return nil
}

// bodyText is the text of a body: a copy of it, but for long ones, which are not
// used again.
func bodyText(json []byte) string {
	if len(json) > firstRead {
		return asText(json)
	}
	return string(json)
}

// isFinal faults are none of form: reading in another way would not help.
func isFinal(f *wire.Fault) bool { return f.Err != nil || f.Bound }

// faultInBody is the answer to a fault in a request body.
func faultInBody(f *wire.Fault) *bodyError {
	if f.Err != nil {
		return &bodyError{cause: f.Err}
	}
	return &bodyError{Status: 400, Detail: decodeFailure("invalid JSON") + " " + faultPosition(f), Attr: f.Where()}
}

// faultPosition is a sentence on where a fault is, and what it is.
func faultPosition(f *wire.Fault) string {
	position := "At byte " + strconv.Itoa(f.Offset)
	if path := f.Where(); path != "" {
		position += ", " + path
	}
	position += ": " + f.What + "."
	if f.Text == "" {
		return position
	}
	line, column := lineOf(f.Text, f.Offset)
	return position + fmt.Sprintf(" That is line %d column %d.", line, column)
}

// lineOf is where a byte of a text is: line and column, in characters, from 1.
func lineOf[T string | []byte](text T, offset int) (line, column int) {
	before := string(text[:min(max(offset, 0), len(text))])
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

// readFlagsBody reads strict, then lenient JSON. wrongForm says that the text
// is neither; otherwise a fault is a value of a wrong type.
func readFlagsBody(text string, b *flagsBody) (fault *wire.Fault, wrongForm bool) {
	if fault, wrongForm = readFlagsJSON(text, b, false); wrongForm && !isFinal(fault) {
		b.reset()
		fault, wrongForm = readFlagsJSON(text, b, true)
	}
	return fault, wrongForm
}

func readFlagsJSON(text string, b *flagsBody, lenient bool) (fault *wire.Fault, wrongForm bool) {
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
