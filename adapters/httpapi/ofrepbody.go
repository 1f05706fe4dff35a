package httpapi

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
	given bool       // there is a context
	wrong *jsonFault // the first value of a wrong type
}

// parseOFREPBody reads a body of OFREP, strict JSON, into b, which must be new or
// reset. A fault is answered with 400 and an error code of OpenFeature: PARSE_ERROR
// for what is no JSON object, INVALID_CONTEXT for a context that is missing or has a
// member of a wrong type, TARGETING_KEY_MISSING.
func parseOFREPBody(json []byte, b *flagsBody) (fault *jsonFault, code string) {
	r := ofrepReader{flagsReader: flagsReader{body: b}}
	r.src, r.scratch, r.lease = bodyText(json), b.scratch, b.lease
	r.read()
	b.scratch = r.scratch
	switch {
	case r.fault != nil:
		return r.fault, ofrepParseError
	case r.wrong != nil:
		return r.wrong, ofrepInvalidContext
	case !r.given:
		return &jsonFault{what: "expected a member context, an object"}, ofrepInvalidContext
	case b.DistinctID == "":
		return &jsonFault{}, ofrepNoTargetingKey
	}
	return nil, ""
}

func (r *ofrepReader) read() bool {
	r.space()
	if r.peek() != '{' {
		return r.fail("expected an object")
	}
	if !r.enter() {
		return false
	}
	for key, more := r.nextKey(true); more; key, more = r.nextKey(false) {
		ok := false
		if key == "context" {
			ok = r.context()
		} else {
			ok = r.skip()
		}
		if !ok {
			return r.within(key)
		}
	}
	return r.fault == nil && r.end()
}

// context reads a context; of several the last counts.
func (r *ofrepReader) context() bool {
	scratch := r.scratch
	r.body.reset()
	r.given, r.wrong, r.scratch = false, nil, scratch
	if r.null() {
		return true
	}
	r.given = true
	if r.peek() != '{' {
		r.wrong = r.flagsReader.wrong("an object")
		r.wrong.path = append(r.wrong.path, "context")
		return r.fault == nil
	}
	if r.body.PersonProperties == nil {
		r.body.PersonProperties = make(map[string]any, 8)
	}
	if !r.enter() {
		return false
	}
	for key, more := r.nextKey(true); more; key, more = r.nextKey(false) {
		if !r.contextMember(key) {
			return r.within(key)
		}
	}
	return r.fault == nil
}

func (r *ofrepReader) contextMember(key string) bool {
	field := ofrepField(key)
	if field == otherField {
		v, ok := r.value()
		if ok {
			r.body.PersonProperties[key] = v
		}
		return ok && r.fits(len(r.body.PersonProperties))
	}
	r.drop(field)
	if r.null() {
		return true
	}
	var wrong *jsonFault
	switch {
	case field == distinctIDField && !r.startsText():
		wrong = r.flagsReader.wrong("a string")
	default:
		wrong = r.field(field)
	}
	if wrong != nil && r.wrong == nil {
		wrong.path = append(wrong.path, key, "context")
		r.wrong = wrong
	}
	return r.fault == nil
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
