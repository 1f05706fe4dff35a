package httpapi

import "github.com/bunting-flags/bunting/flags/wire"

// ofrepReader reads the body of an OFREP request, {"context": {…}}. In the context
// these members have a meaning of their own; every other is a person property:
//
//	targetingKey        the distinct id: a text that is not empty
//	groups              group keys by group type (§7)
//	group_properties    properties by group type
//	$anon_distinct_id   the id before the person was identified (§8.6)
//	$geoip_disable      true: the caller's address is not located (§8.3)
//
// A null counts as absent. $device_id stays a person property, from which the
// engine takes the device (§8.4).
type ofrepReader struct {
	flagsReader
	hasContext bool        // there is a context
	wrong      *wire.Fault // the first value of a wrong type
}

// parseOFREPBody reads a body of OFREP, strict JSON, into b, which must be new or
// reset. A fault is answered with 400 and an error code of OpenFeature: PARSE_ERROR
// for what is no JSON object, INVALID_CONTEXT for a context that is missing or has a
// member of a wrong type, TARGETING_KEY_MISSING.
func parseOFREPBody(json []byte, b *flagsBody) (fault *wire.Fault, code string) {
	r := ofrepReader{flagsReader: flagsReader{body: b}}
	r.Src, r.Scratch, r.Budget = bodyText(json), b.scratch, b.lease
	r.read()
	b.scratch = r.Scratch
	switch {
	case r.Fault != nil:
		return r.Fault, ofrepParseError
	case r.wrong != nil:
		return r.wrong, ofrepInvalidContext
	case !r.hasContext:
		return &wire.Fault{What: "expected a member context, an object"}, ofrepInvalidContext
	case b.DistinctID == "":
		return &wire.Fault{}, ofrepNoTargetingKey
	}
	return nil, ""
}

func (r *ofrepReader) read() bool {
	r.Space()
	if r.Peek() != '{' {
		return r.Fail("expected an object")
	}
	if !r.Enter() {
		return false
	}
	for key, more := r.NextKey(true); more; key, more = r.NextKey(false) {
		ok := false
		if key == "context" {
			ok = r.context()
		} else {
			ok = r.Skip()
		}
		if !ok {
			return r.FailIn(key)
		}
	}
	return r.Fault == nil && r.End()
}

// context reads a context; of several the last counts.
func (r *ofrepReader) context() bool {
	scratch := r.Scratch
	r.body.reset()
	r.hasContext, r.wrong, r.Scratch = false, nil, scratch
	if r.Null() {
		return true
	}
	r.hasContext = true
	if r.Peek() != '{' {
		r.wrong = r.flagsReader.noteWrongType("an object")
		r.wrong.Path = append(r.wrong.Path, "context")
		return r.Fault == nil
	}
	if r.body.PersonProperties == nil {
		r.body.PersonProperties = make(map[string]any, 8)
	}
	if !r.Enter() {
		return false
	}
	for key, more := r.NextKey(true); more; key, more = r.NextKey(false) {
		if !r.contextMember(key) {
			return r.FailIn(key)
		}
	}
	return r.Fault == nil
}

func (r *ofrepReader) contextMember(key string) bool {
	field := ofrepField(key)
	if field == otherField {
		v, ok := r.Value()
		if ok {
			r.body.PersonProperties[key] = v
		}
		return ok && r.Fits(len(r.body.PersonProperties))
	}
	r.clearField(field)
	if r.Null() {
		return true
	}
	var wrong *wire.Fault
	switch {
	case field == distinctIDField && !r.StartsText():
		wrong = r.flagsReader.noteWrongType("a string")
	default:
		wrong = r.field(field)
	}
	if wrong != nil && r.wrong == nil {
		wrong.Path = append(wrong.Path, key, "context")
		r.wrong = wrong
	}
	return r.Fault == nil
}

// ofrepField is the table of the members with a meaning of their own.
func ofrepField(name string) flagsField {
	switch name {
	case "targetingKey":
		return distinctIDField
	case "groups":
		return groupsField
	case "group_properties":
		return groupPropertiesField
	case "$anon_distinct_id":
		return anonField
	case "$geoip_disable":
		return geoIPField
	}
	return otherField
}
