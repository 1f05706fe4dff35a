package httpapi

import "strconv"

// flagsReader reads one body. Values of a wrong type are noted and passed
// over: a better name for the same field, or disable_flags, may still excuse
// them.
type flagsReader struct {
	jsonReader
	body       *flagsBody
	wrongTypes bool // there are faults in claims
	claims     [flagsFields]struct {
		rank  uint8      // of the name whose value the field has; 0: none
		fault *jsonFault // that value is of a wrong type
	}
}

func (r *flagsReader) readBody() bool {
	r.space()
	if r.fault != nil {
		return false
	}
	if r.peek() != '{' {
		return r.fail("expected an object")
	}
	if !r.enter() {
		return false
	}
	for key, more := r.nextKey(true); more; key, more = r.nextKey(false) {
		if !r.member(key) {
			return r.within(key)
		}
	}
	return r.fault == nil && r.end()
}

// member reads the value of one member of the body.
func (r *flagsReader) member(key string) bool {
	field, rank := flagsFieldOf(key)
	claim := &r.claims[field]
	if field == otherField || claim.rank != 0 && claim.rank < rank {
		return r.skip()
	}
	if (r.lenient || r.peek() == 'n') && r.null() { // as absent: it takes back only what the same name gave
		if claim.rank == rank {
			r.drop(field)
			claim.rank, claim.fault = 0, nil
		}
		return true
	}
	if field == tokenField && r.emptyText() {
		return r.skip()
	}
	if claim.rank != 0 {
		r.drop(field)
	}
	claim.rank = rank
	if claim.fault = r.field(field); claim.fault != nil {
		claim.fault.path = append(claim.fault.path, key)
	}
	if field == tokenField && r.fault == nil && len(r.src) > firstRead && r.body.Token != "" && r.lease != nil {
		if err := r.lease.known(r.body.Token); err != nil {
			r.fault = &jsonFault{err: err}
		}
	}
	return r.fault == nil
}

// earlyFlagsKey is the key in the beginning of a body, empty when it does not stand
// there.
func earlyFlagsKey(text string) string {
	r := jsonReader{src: text}
	r.space()
	if r.peek() != '{' || !r.enter() {
		return ""
	}
	for key, more := r.nextKey(true); more; key, more = r.nextKey(false) {
		if field, _ := flagsFieldOf(key); field == tokenField && r.peek() == '"' {
			token, _ := r.text()
			if r.fault != nil || token != "" {
				return token
			}
		} else if !r.skip() {
			return ""
		}
	}
	return ""
}

// emptyText reports whether the present value is "".
func (r *flagsReader) emptyText() bool {
	rest := r.src[r.pos:]
	return len(rest) > 1 && (rest[0] == '"' || rest[0] == '\'') && rest[1] == rest[0]
}

// drop empties a field, and keeps of its storage what reset would keep: what a
// map once grew to cannot be seen of it afterwards.
func (r *flagsReader) drop(field flagsField) {
	b := r.body
	switch field {
	case tokenField:
		b.Token = ""
	case distinctIDField:
		b.DistinctID, b.HasDistinctID = "", false
	case personField:
		b.PersonProperties = emptied(b.PersonProperties)
	case groupsField:
		b.dropGroups()
	case groupPropertiesField:
		b.GroupProperties = emptied(b.GroupProperties)
	case anonField:
		b.AnonDistinctID = ""
	case deviceField:
		b.DeviceID = ""
	case geoIPField:
		b.GeoIPDisable = false
	case disableField:
		b.DisableFlags = false
	case flagKeysField:
		b.FlagKeys, b.HasFlagKeys = emptiedList(b.FlagKeys), false
	case contextsField:
		b.EvaluationContexts = emptiedList(b.EvaluationContexts)
	case runtimeField:
		b.EvaluationRuntime = ""
	}
}

// field reads the value of an empty field. The answer is the fault of a value
// whose type is wrong.
func (r *flagsReader) field(field flagsField) *jsonFault {
	b := r.body
	switch field {
	case tokenField:
		return r.textInto(&b.Token)
	case distinctIDField:
		return r.distinctID()
	case personField:
		return r.properties(&b.PersonProperties)
	case groupsField:
		return r.groups()
	case groupPropertiesField:
		return r.groupProperties()
	case anonField:
		return r.textInto(&b.AnonDistinctID)
	case deviceField:
		return r.textInto(&b.DeviceID)
	case geoIPField:
		return r.boolInto(&b.GeoIPDisable)
	case disableField:
		return r.boolInto(&b.DisableFlags)
	case flagKeysField:
		b.HasFlagKeys = true
		return r.textsInto(&b.FlagKeys)
	case contextsField:
		return r.textsInto(&b.EvaluationContexts)
	case runtimeField:
		return r.textInto(&b.EvaluationRuntime)
	}
	var ignored string
	return r.textInto(&ignored)
}

// wrong notes a value of a wrong type and passes over it.
func (r *flagsReader) wrong(what string) *jsonFault {
	r.wrongTypes = true
	fault := &jsonFault{text: r.src, offset: r.pos, what: "expected " + what}
	r.skip()
	return fault
}

// startsText reports whether the present value is a string.
func (r *flagsReader) startsText() bool {
	c := r.peek()
	return c == '"' || c == '\'' && r.lenient
}

func (r *flagsReader) textInto(s *string) *jsonFault {
	if !r.startsText() {
		return r.wrong("a string")
	}
	*s, _ = r.text()
	return nil
}

func (r *flagsReader) boolInto(v *bool) *jsonFault {
	switch r.peek() {
	case 't':
		*v = r.word("true")
	case 'f':
		r.word("false")
	default:
		return r.wrong("true or false")
	}
	return nil
}

func (r *flagsReader) distinctID() *jsonFault {
	b := r.body
	switch {
	case r.startsText():
		b.DistinctID, b.HasDistinctID = r.text()
	case r.startsNumber(r.peek()):
		b.DistinctID, b.HasDistinctID = r.numberAsText()
	default:
		return r.wrong("a string or a number")
	}
	b.DistinctID = cutDistinctID(b.DistinctID)
	return nil
}

// numberAsText reads a number as its JSON text.
func (r *flagsReader) numberAsText() (string, bool) {
	start := r.pos
	n, ok := r.number()
	if ok && n.kind == asInt && !r.lenient { // it is written as it would be
		return r.src[start:r.pos], true
	}
	return numberText(n), ok
}

// cutDistinctID cuts an id of more than maxDistinctID bytes.
func cutDistinctID(id string) string {
	if len(id) <= maxDistinctID {
		return id
	}
	scalars := 0
	for i := range id {
		if scalars == maxDistinctID {
			return id[:i]
		}
		scalars++
	}
	return id
}

func (r *flagsReader) properties(m *map[string]any) *jsonFault {
	if r.peek() != '{' {
		return r.wrong("an object")
	}
	if *m == nil {
		*m = make(map[string]any, 8)
	}
	r.object(*m)
	return nil
}

// groups reads group keys. What is no usable key counts as absent (§7).
func (r *flagsReader) groups() *jsonFault {
	if r.peek() != '{' {
		return r.wrong("an object")
	}
	b := r.body
	if b.Groups == nil {
		b.Groups = make(map[string]string, 4)
	}
	if !r.enter() {
		return nil
	}
	for name, more := r.nextKey(true); more; name, more = r.nextKey(false) {
		key, ok := "", true
		switch {
		case r.startsText():
			key, ok = r.text()
		case r.null():
		case r.startsNumber(r.peek()):
			key, ok = r.numberAsText()
		default:
			ok = r.skip()
		}
		if !ok {
			r.within(name)
			return nil
		}
		if key != "" {
			b.Groups[name] = key
			b.manyGroups = b.manyGroups || len(b.Groups) > keptCapacity
			if !r.fits(len(b.Groups)) {
				return nil
			}
		} else {
			delete(b.Groups, name)
		}
	}
	return nil
}

// groupProperties reads an object of objects.
func (r *flagsReader) groupProperties() (wrong *jsonFault) {
	if r.peek() != '{' {
		return r.wrong("an object")
	}
	b := r.body
	if b.GroupProperties == nil {
		b.GroupProperties = make(map[string]map[string]any, 4)
	}
	if !r.enter() {
		return nil
	}
	for name, more := r.nextKey(true); more; name, more = r.nextKey(false) {
		var m map[string]any
		if last := len(b.spare) - 1; last >= 0 {
			m, b.spare = b.spare[last], b.spare[:last]
		}
		fault := r.properties(&m)
		if r.fault != nil {
			r.within(name)
			return nil
		}
		if fault != nil && wrong == nil {
			fault.path = append(fault.path, name)
			wrong = fault
		}
		b.GroupProperties[name] = m
		if !r.fits(len(b.GroupProperties)) {
			return nil
		}
	}
	return wrong
}

// textsInto reads a list of strings.
func (r *flagsReader) textsInto(list *[]string) (wrong *jsonFault) {
	if r.peek() != '[' {
		return r.wrong("a list of strings")
	}
	if !r.enter() {
		return nil
	}
	for i := 0; r.more(']', i == 0); i++ {
		var s string
		fault := r.textInto(&s)
		if r.fault != nil {
			r.within(strconv.Itoa(i))
			return nil
		}
		if fault != nil && wrong == nil {
			fault.path = append(fault.path, strconv.Itoa(i))
			wrong = fault
		}
		*list = append(*list, s)
	}
	return wrong
}

// startsObject reports whether the first byte after white space is a brace.
func startsObject(text []byte) bool {
	for _, c := range text {
		if c > ' ' {
			return c == '{'
		}
	}
	return false
}
