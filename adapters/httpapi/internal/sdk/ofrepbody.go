package sdk

import "github.com/bunting-flags/bunting/capture/jsontext"

// ofrepReader parses the body of an OFREP request, {"context": {…}}. The following members of the
// context have a special meaning; all others are person properties:
//
//	targetingKey        the distinct id, a string that is not empty
//	groups              group keys by group type (§7)
//	group_properties    properties by group type
//	$anon_distinct_id   the id before the person was identified (§8.6)
//	$geoip_disable      true: the caller's address is not located (§8.3)
//
// A null counts as absent. $device_id is a person property; the evaluation reads the device from
// it (§8.4).
type ofrepReader struct {
	flagsReader
	hasContext bool            // whether the body has a context
	wrong      *jsontext.Fault // the first value of a wrong type, or nil
}

// parseOFREPBody parses a body of OFREP, strict JSON, into b, which must be new or reset. A fault
// is a 400 response with an error code of OpenFeature: PARSE_ERROR if the body is not a JSON
// object, INVALID_CONTEXT if the context is missing or has a member of a wrong type, or
// TARGETING_KEY_MISSING.
func parseOFREPBody(json []byte, b *flagsBody) (fault *jsontext.Fault, code string) {
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
		return &jsontext.Fault{What: "expected an object as member context"}, ofrepInvalidContext
	case b.DistinctID == "":
		return &jsontext.Fault{}, ofrepNoTargetingKey
	}
	return nil, ""
}

// read parses the whole body. It returns false if it has set r.Fault.
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

// context parses the context. If the body has several contexts, the last one is used.
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

// contextMember parses one member of the context. A value of a wrong type is recorded in r.wrong.
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
	var wrong *jsontext.Fault
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

// ofrepField returns the field for a context member with a special meaning, or otherField for a
// person property.
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
