package management

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Type is the type of a field's value.
type Type int

// The types of fields.
const (
	Text       Type = iota // a string, or a number as its digits; surrounding spaces are removed
	Email                  // an e-mail address
	URL                    // http or https
	UUID                   // in any of its forms; stored with dashes, in lower case
	Choice                 // one of Field.Choices
	Int                    // an integer, also in a string
	IntChoice              // one of Field.Numbers
	Bool                   // also the usual words, 0 and 1
	Time                   // ISO 8601; UTC if there is no zone
	Object                 // a JSON object, stored unchanged
	Array                  // a JSON array, stored unchanged
	TextList               // an array of strings
	IntList                // an array of integers
	ObjectList             // an array of JSON objects, stored unchanged
	Any                    // any JSON value, stored unchanged
)

// Field is one writable field of a resource.
type Field struct {
	Name      string
	Type      Type
	Required  bool // must be present when the object is created
	Null      bool // may be null
	Blank     bool // strings: may be empty
	MaxLength int  // strings: greatest number of characters, 0 for no limit
	MinValue  int64
	MaxValue  int64    // Int: if not 0, MinValue <= value <= MaxValue
	Choices   []string // the values of Choice
	Numbers   []int64  // the values of IntChoice
	MaxItems  int      // arrays: greatest length, 0 for the constant MaxItems
	Help      string   // for the documentation of the API
	// Custom fields are not set by Fields.Apply: the resource's rules use their values, or they
	// have no effect.
	Custom bool
}

// Fields are the writable fields of a resource. Errors are looked for in their order, and only the
// first is reported (§2.1).
type Fields []Field

// Body is the JSON document of a request: an object, or an array.
type Body struct {
	Members map[string]json.RawMessage
	Array   []json.RawMessage
	IsArray bool
	// Other is the JSON type if the document is neither, in the words of JSONKind, such as str.
	Other string
	// Warn is called with a line for each member that has no effect. If nil, warnings are dropped.
	Warn func(text string)
}

// MaxItems is the greatest length of arrays in fields such as TextList and IntList, if the field has
// no limit of its own.
const MaxItems = 10_000

// Create reads the body that creates an object: required fields must be present.
func (f Fields) Create(b Body) (Values, error) { return f.read(b, true) }

// Change reads the body that changes an object: all fields may be absent.
func (f Fields) Change(b Body) (Values, error) { return f.read(b, false) }

// read is ReadAll that returns only the first error.
func (f Fields) read(b Body, create bool) (Values, error) {
	values, faults := f.ReadAll(b, create)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return values, nil
}

// ReadAll reads all valid fields of a body and returns the errors of the invalid ones, in the order
// of the fields. If create is true, required fields must be present.
func (f Fields) ReadAll(b Body, create bool) (values Values, faults []error) {
	if b.IsArray {
		return nil, []error{Fault("", "Invalid data. Expected a dictionary, but got list.")}
	}
	if b.Other != "" {
		return nil, []error{Fault("", "Invalid data. Expected a dictionary, but got %s.", b.Other)}
	}
	values = Values{}
	for i := range f {
		field := &f[i]
		raw, present := b.Members[field.Name]
		if !present {
			if create && field.Required {
				faults = append(faults, CodedFault(CodeRequired, field.Name, "This field is required."))
			}
			continue
		}
		v, err := field.Read(raw)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		values[field.Name] = v
	}
	return values, faults
}

// Read reads the value of a field. The Go type of the result is that of memberTypes, with time.Time
// for Time; null is nil.
func (f *Field) Read(raw json.RawMessage) (any, error) {
	kind := JSONKind(raw)
	if kind == "NoneType" {
		if f.Null || f.Type == Any {
			return nil, nil
		}
		return nil, CodedFault(CodeNull, f.Name, "This field may not be null.")
	}
	return readers[f.Type](f, raw, kind)
}

// JSONKind returns the type of a JSON value in Python's words, as in PostHog's messages of errors:
// dict, list, str, bool, int, float or NoneType. An empty raw is NoneType.
func JSONKind(raw json.RawMessage) string {
	text := strings.TrimLeft(string(raw), " \t\r\n")
	if text == "" {
		return "NoneType"
	}
	switch text[0] {
	case '{':
		return "dict"
	case '[':
		return "list"
	case '"':
		return "str"
	case 't', 'f':
		return "bool"
	case 'n':
		return "NoneType"
	}
	if strings.ContainsAny(text, ".eE") {
		return "float"
	}
	return "int"
}

// readers are the functions that read the values of each Type. They are set by init, because
// readers of lists call Field.Read, which uses readers.
var readers [Any + 1]func(f *Field, raw json.RawMessage, kind string) (any, error)

func init() {
	readers = [...]func(f *Field, raw json.RawMessage, kind string) (any, error){
		Text: readText, Email: readEmail, URL: readURL, UUID: readUUID, Choice: readChoice,
		Int: readInt, IntChoice: readIntChoice, Bool: ReadBool, Time: readTime,
		Object: readObject, Array: readArray, TextList: ReadTextList, IntList: readIntList, ObjectList: readObjectList,
		Any: func(_ *Field, raw json.RawMessage, _ string) (any, error) { return slices.Clone(raw), nil },
	}
}

func readObject(f *Field, raw json.RawMessage, kind string) (any, error) {
	if kind != "dict" {
		return nil, CodedFault(CodeNotADict, f.Name, "Expected a dictionary of items but got type %q.", kind)
	}
	return slices.Clone(raw), nil
}

func readArray(f *Field, raw json.RawMessage, kind string) (any, error) {
	if kind != "list" {
		return nil, NotAList(f.Name, kind)
	}
	return slices.Clone(raw), nil
}

// NotAList returns the error for a field that must be an array and has another kind (JSONKind).
func NotAList(field, kind string) error {
	return CodedFault(codeNotAList, field, "Expected a list of items but got type %q.", kind)
}

// Items returns the items of an array, at most f.MaxItems or MaxItems.
func Items(f *Field, raw json.RawMessage, kind string) ([]json.RawMessage, error) {
	if kind != "list" {
		return nil, NotAList(f.Name, kind)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, Fault(f.Name, "Expected a list of items.")
	}
	if most := cmp.Or(f.MaxItems, MaxItems); len(list) > most {
		return nil, CodedFault(CodeMaxLength, f.Name, "Ensure this field has no more than %d elements.", most)
	}
	return list, nil
}

// listOf reads each item of an array like the value of itemField, which must yield a T.
func listOf[T any](f *Field, raw json.RawMessage, kind string, itemField Field) (any, error) {
	list, err := Items(f, raw, kind)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(list))
	for i, item := range list {
		itemField.Name = fmt.Sprintf("%s__%d", f.Name, i)
		v, err := itemField.Read(item)
		if err != nil {
			return nil, err
		}
		out = append(out, v.(T))
	}
	return out, nil
}

// ReadTextList reads the value of a field of type TextList; the result is a []string.
func ReadTextList(f *Field, raw json.RawMessage, kind string) (any, error) {
	return listOf[string](f, raw, kind, Field{Type: Text, Blank: f.Blank, MaxLength: f.MaxLength})
}

func readIntList(f *Field, raw json.RawMessage, kind string) (any, error) {
	return listOf[int64](f, raw, kind, Field{Type: Int})
}

func readObjectList(f *Field, raw json.RawMessage, kind string) (any, error) {
	return listOf[json.RawMessage](f, raw, kind, Field{Type: Object})
}
