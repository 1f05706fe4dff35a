package httpapi

import (
	"strconv"

	"github.com/bunting-flags/bunting/flags/wire"
)

// flagsReader reads one body. Values of a wrong type are noted and passed
// over: a better name for the same field, or disable_flags, may still excuse
// them.
type flagsReader struct {
	wire.Reader
	body       *flagsBody
	wrongTypes bool // there are faults in claims
	claims     [flagsFields]struct {
		rank  uint8       // of the name whose value the field has; 0: none
		fault *wire.Fault // that value is of a wrong type
	}
}

func (r *flagsReader) readBody() bool {
	r.Space()
	if r.Fault != nil {
		return false
	}
	if r.Peek() != '{' {
		return r.Fail("expected an object")
	}
	if !r.Enter() {
		return false
	}
	for key, more := r.NextKey(true); more; key, more = r.NextKey(false) {
		if !r.member(key) {
			return r.FailIn(key)
		}
	}
	return r.Fault == nil && r.End()
}

// member reads the value of one member of the body.
func (r *flagsReader) member(key string) bool {
	field, rank := flagsFieldOf(key)
	claim := &r.claims[field]
	if field == otherField || claim.rank != 0 && claim.rank < rank {
		return r.Skip()
	}
	if (r.Lenient || r.Peek() == 'n') && r.Null() { // as absent: it takes back only what the same name gave
		if claim.rank == rank {
			r.clearField(field)
			claim.rank, claim.fault = 0, nil
		}
		return true
	}
	if field == tokenField && r.isEmptyText() {
		return r.Skip()
	}
	if claim.rank != 0 {
		r.clearField(field)
	}
	claim.rank = rank
	if claim.fault = r.field(field); claim.fault != nil {
		claim.fault.Path = append(claim.fault.Path, key)
	}
	if field == tokenField && r.Fault == nil && len(r.Src) > firstRead && r.body.Token != "" && r.body.lease != nil {
		if err := r.body.lease.checkKey(r.body.Token); err != nil {
			r.Fault = &wire.Fault{Err: err}
		}
	}
	return r.Fault == nil
}

// leadingFlagsKey is the key in the beginning of a body, empty when it does not stand
// there.
func leadingFlagsKey(text string) string {
	r := wire.Reader{Src: text}
	r.Space()
	if r.Peek() != '{' || !r.Enter() {
		return ""
	}
	for key, more := r.NextKey(true); more; key, more = r.NextKey(false) {
		if field, _ := flagsFieldOf(key); field == tokenField && r.Peek() == '"' {
			token, _ := r.Text()
			if r.Fault != nil || token != "" {
				return token
			}
		} else if !r.Skip() {
			return ""
		}
	}
	return ""
}

// isEmptyText reports whether the present value is "".
func (r *flagsReader) isEmptyText() bool {
	remaining := r.Src[r.Pos:]
	return len(remaining) > 1 && (remaining[0] == '"' || remaining[0] == '\'') && remaining[1] == remaining[0]
}

// clearField empties a field, and keeps of its storage what reset would keep: what a
// map once grew to cannot be seen of it afterwards.
func (r *flagsReader) clearField(field flagsField) {
	b := r.body
	switch field {
	case tokenField:
		b.Token = ""
	case distinctIDField:
		b.DistinctID, b.HasDistinctID = "", false
	case personField:
		b.PersonProperties = clearMap(b.PersonProperties)
	case groupsField:
		b.dropGroups()
	case groupPropertiesField:
		b.GroupProperties = clearMap(b.GroupProperties)
	case anonField:
		b.AnonDistinctID = ""
	case deviceField:
		b.DeviceID = ""
	case geoIPField:
		b.GeoIPDisable = false
	case disableField:
		b.DisableFlags = false
	case flagKeysField:
		b.FlagKeys, b.HasFlagKeys = clearList(b.FlagKeys), false
	case contextsField:
		b.EvaluationContexts = clearList(b.EvaluationContexts)
	case runtimeField:
		b.EvaluationRuntime = ""
	}
}

// field reads the value of an empty field. The answer is the fault of a value
// whose type is wrong.
func (r *flagsReader) field(field flagsField) *wire.Fault {
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

// noteWrongType notes a value of a wrong type and passes over it.
func (r *flagsReader) noteWrongType(what string) *wire.Fault {
	r.wrongTypes = true
	fault := &wire.Fault{Text: r.Src, Offset: r.Pos, What: "expected " + what}
	r.Skip()
	return fault
}

func (r *flagsReader) textInto(s *string) *wire.Fault {
	if !r.StartsText() {
		return r.noteWrongType("a string")
	}
	*s, _ = r.Text()
	return nil
}

func (r *flagsReader) boolInto(v *bool) *wire.Fault {
	switch r.Peek() {
	case 't':
		*v = r.Word("true")
	case 'f':
		r.Word("false")
	default:
		return r.noteWrongType("true or false")
	}
	return nil
}

func (r *flagsReader) distinctID() *wire.Fault {
	b := r.body
	switch {
	case r.StartsText():
		b.DistinctID, b.HasDistinctID = r.Text()
	case r.StartsNumber():
		b.DistinctID, b.HasDistinctID = r.NumberText()
	default:
		return r.noteWrongType("a string or a number")
	}
	b.DistinctID = cutDistinctID(b.DistinctID)
	return nil
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

func (r *flagsReader) properties(m *map[string]any) *wire.Fault {
	if r.Peek() != '{' {
		return r.noteWrongType("an object")
	}
	if *m == nil {
		*m = make(map[string]any, 8)
	}
	r.Map(*m)
	return nil
}

// groups reads group keys. What is no usable key counts as absent (§7).
func (r *flagsReader) groups() *wire.Fault {
	if r.Peek() != '{' {
		return r.noteWrongType("an object")
	}
	b := r.body
	if b.Groups == nil {
		b.Groups = make(map[string]string, 4)
	}
	if !r.Enter() {
		return nil
	}
	for name, more := r.NextKey(true); more; name, more = r.NextKey(false) {
		key, ok := "", true
		switch {
		case r.StartsText():
			key, ok = r.Text()
		case r.Null():
		case r.StartsNumber():
			key, ok = r.NumberText()
		default:
			ok = r.Skip()
		}
		if !ok {
			r.FailIn(name)
			return nil
		}
		if key != "" {
			b.Groups[name] = key
			b.manyGroups = b.manyGroups || len(b.Groups) > pooledCapacity
			if !r.Fits(len(b.Groups)) {
				return nil
			}
		} else {
			delete(b.Groups, name)
		}
	}
	return nil
}

// groupProperties reads an object of objects.
func (r *flagsReader) groupProperties() (wrong *wire.Fault) {
	if r.Peek() != '{' {
		return r.noteWrongType("an object")
	}
	b := r.body
	if b.GroupProperties == nil {
		b.GroupProperties = make(map[string]map[string]any, 4)
	}
	if !r.Enter() {
		return nil
	}
	for name, more := r.NextKey(true); more; name, more = r.NextKey(false) {
		var m map[string]any
		if last := len(b.spare) - 1; last >= 0 {
			m, b.spare = b.spare[last], b.spare[:last]
		}
		fault := r.properties(&m)
		if r.Fault != nil {
			r.FailIn(name)
			return nil
		}
		if fault != nil && wrong == nil {
			fault.Path = append(fault.Path, name)
			wrong = fault
		}
		b.GroupProperties[name] = m
		if !r.Fits(len(b.GroupProperties)) {
			return nil
		}
	}
	return wrong
}

// textsInto reads a list of strings.
func (r *flagsReader) textsInto(list *[]string) (wrong *wire.Fault) {
	if r.Peek() != '[' {
		return r.noteWrongType("a list of strings")
	}
	if !r.Enter() {
		return nil
	}
	for i := 0; r.More(']', i == 0); i++ {
		var s string
		fault := r.textInto(&s)
		if r.Fault != nil {
			r.FailIn(strconv.Itoa(i))
			return nil
		}
		if fault != nil && wrong == nil {
			fault.Path = append(fault.Path, strconv.Itoa(i))
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
