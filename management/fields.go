package management

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Type is what the value of a field has to be.
type Type int

// The types of fields.
const (
	Text       Type = iota // numbers are taken as their text; spaces around it are cut off
	Email                  // an e-mail address
	URL                    // http or https
	UUID                   // in any of its forms; kept with dashes, in lower case
	Choice                 // one of Field.Choices
	Int                    // also as text
	IntChoice              // one of Field.Numbers
	Bool                   // also as the usual words and as 0 and 1
	Time                   // ISO 8601; without a zone it is UTC
	Object                 // a JSON object, kept as it stands
	Array                  // a JSON array, kept as it stands
	TextList               // an array of texts
	IntList                // an array of whole numbers
	ObjectList             // an array of JSON objects, kept as they stand
	Any                    // any JSON value, kept as it stands
)

// Field is one writable field of a resource.
type Field struct {
	Name      string
	Type      Type
	Required  bool // it has to be there when the thing is made
	Null      bool // it may be null
	Blank     bool // of texts: it may be empty
	MaxLength int  // of texts: the most characters, 0 for no limit
	MinValue  int64
	MaxValue  int64 // of Int, when it is not 0: Least <= value <= Most
	Choices   []string
	Numbers   []int64
	Help      string // for the documentation of the API
	// Custom fields are put where they belong by the rules of the resource, or have no
	// effect; all others go into the member of their name (Fields.Lay).
	Custom bool
}

// Fields are the writable fields of a resource, in the order in which their
// errors are looked for: only the first one is told (§2.1).
type Fields []Field

// Body is what a request brings: an object, or an array.
type Body struct {
	Members map[string]json.RawMessage
	Array   []json.RawMessage
	IsArray bool
	// Other is what the JSON value is when it is neither, such as str.
	Other string
	// Warn is told of members that have no effect, a line each. Nil: nobody is.
	Warn func(text string)
}

// MaxItems bounds the arrays of texts and numbers of a body.
const MaxItems = 10_000

// Create reads the body that makes a thing: required fields have to be there.
func (f Fields) Create(b Body) (Values, error) { return f.read(b, true) }

// Change reads the body that changes a thing: what is not there stays.
func (f Fields) Change(b Body) (Values, error) { return f.read(b, false) }

// Update is Change for PATCH and Create for PUT (§2.5).
func (f Fields) Update(b Body, put bool) (Values, error) { return f.read(b, put) }

func (f Fields) read(b Body, create bool) (Values, error) {
	values, faults := f.ReadAll(b, create)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return values, nil
}

// ReadAll reads what can be read of a body, and returns what is wrong with the others, in
// the order of the fields. create: required fields have to be there.
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

// Read reads the value of a field.
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

// JSONKind is the type of a JSON value in Python's words, which errors use.
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

// THE TABLE: how the value of each type is read.
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

// NotAList is the fault of a field that is no array but of another kind.
func NotAList(field, kind string) error {
	return CodedFault(codeNotAList, field, "Expected a list of items but got type %q.", kind)
}

// Items takes an array apart.
func Items(f *Field, raw json.RawMessage, kind string) ([]json.RawMessage, error) {
	if kind != "list" {
		return nil, NotAList(f.Name, kind)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, Fault(f.Name, "Expected a list of items.")
	}
	if len(list) > MaxItems {
		return nil, CodedFault(CodeMaxLength, f.Name, "Ensure this field has no more than %d elements.", MaxItems)
	}
	return list, nil
}

// listOf reads each item with a field that stands for it.
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

// ReadTextList reads the value of a field of type TextList, as []string.
func ReadTextList(f *Field, raw json.RawMessage, kind string) (any, error) {
	return listOf[string](f, raw, kind, Field{Type: Text, Blank: f.Blank, MaxLength: f.MaxLength})
}

func readIntList(f *Field, raw json.RawMessage, kind string) (any, error) {
	return listOf[int64](f, raw, kind, Field{Type: Int})
}

func readObjectList(f *Field, raw json.RawMessage, kind string) (any, error) {
	return listOf[json.RawMessage](f, raw, kind, Field{Type: Object})
}
