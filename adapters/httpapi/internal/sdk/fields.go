package sdk

import (
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/unpack"
	"github.com/bunting-flags/bunting/capture/jsontext"
)

// flagsReader parses one body. Values of a wrong type are recorded and skipped, because they are
// not errors if the field also has a name of a lower rank, or in some cases if disable_flags is
// true.
type flagsReader struct {
	jsontext.Reader
	body       *flagsBody
	wrongTypes bool // some claims have a fault
	claims     [flagsFields]struct {
		rank  uint8           // of the name whose value the field has; 0 if the field is not set
		fault *jsontext.Fault // set if that value has a wrong type
	}
}

// readBody parses the whole body. It returns false if it has set r.Fault.
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

// member parses the value of one member of the body.
func (r *flagsReader) member(key string) bool {
	field, rank := flagsFieldOf(key)
	claim := &r.claims[field]
	if field == otherField || claim.rank != 0 && claim.rank < rank {
		return r.Skip()
	}
	if (r.Lenient || r.Peek() == 'n') && r.Null() { // null unsets only a value that the same name has set
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
	if field == tokenField && r.Fault == nil && len(r.Src) > unpack.FirstRead && r.body.Token != "" && r.body.check != nil {
		if err := r.body.check(r.body.Token); err != nil {
			r.Fault = &jsontext.Fault{Err: err}
		}
	}
	return r.Fault == nil
}

// isEmptyText reports whether the current value is an empty string.
func (r *flagsReader) isEmptyText() bool {
	remaining := r.Src[r.Pos:]
	return len(remaining) > 1 && (remaining[0] == '"' || remaining[0] == '\'') && remaining[1] == remaining[0]
}

// clearField empties a field. It retains the storage that reset would retain, which is decided here
// because the size of a map cannot be determined after it has been cleared.
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

// field parses the value of a field, which must be empty. It returns a fault if the value has a
// wrong type.
func (r *flagsReader) field(field flagsField) *jsontext.Fault {
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

// noteWrongType skips a value of a wrong type and returns a fault for it.
func (r *flagsReader) noteWrongType(what string) *jsontext.Fault {
	r.wrongTypes = true
	fault := &jsontext.Fault{Text: r.Src, Offset: r.Pos, What: "expected " + what}
	r.Skip()
	return fault
}

func (r *flagsReader) textInto(s *string) *jsontext.Fault {
	if !r.StartsText() {
		return r.noteWrongType("a string")
	}
	*s, _ = r.Text()
	return nil
}

func (r *flagsReader) boolInto(v *bool) *jsontext.Fault {
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

// distinctID parses a distinct ID, which may be a string or a number.
func (r *flagsReader) distinctID() *jsontext.Fault {
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

// cutDistinctID truncates IDs of more than maxDistinctID bytes.
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

func (r *flagsReader) properties(m *map[string]any) *jsontext.Fault {
	if r.Peek() != '{' {
		return r.noteWrongType("an object")
	}
	if *m == nil {
		*m = make(map[string]any, 8)
	}
	r.Map(*m)
	return nil
}

// groups parses the group keys. Values that are not usable keys count as absent (§7).
func (r *flagsReader) groups() *jsontext.Fault {
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

// groupProperties parses an object of objects.
func (r *flagsReader) groupProperties() (wrong *jsontext.Fault) {
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

// textsInto parses a list of strings.
func (r *flagsReader) textsInto(list *[]string) (wrong *jsontext.Fault) {
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
