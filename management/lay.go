package management

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// memberTypes is what a member has to be into which a field of a type goes, or a pointer to
// it. Null makes it zero.
var memberTypes = [...]reflect.Type{
	Text: reflect.TypeFor[string](), Email: reflect.TypeFor[string](), URL: reflect.TypeFor[string](), UUID: reflect.TypeFor[string](), Choice: reflect.TypeFor[string](),
	Int: reflect.TypeFor[int64](), IntChoice: reflect.TypeFor[int64](), Bool: reflect.TypeFor[bool](), Time: reflect.TypeFor[Stamp](),
	Object: reflect.TypeFor[json.RawMessage](), Array: reflect.TypeFor[json.RawMessage](), Any: reflect.TypeFor[json.RawMessage](),
	TextList: reflect.TypeFor[[]string](), IntList: reflect.TypeFor[[]int64](), ObjectList: reflect.TypeFor[[]json.RawMessage](),
}

// memberCache are the members of structs by their JSON names, by type: map[string][]int.
var memberCache sync.Map

func membersOf(t reflect.Type) map[string][]int {
	if cached, ok := memberCache.Load(t); ok {
		return cached.(map[string][]int)
	}
	out := map[string][]int{}
	for _, m := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(m.Tag.Get("json"), ",")
		if outer, exists := out[name]; name != "" && (!exists || len(m.Index) < len(outer)) {
			out[name] = m.Index
		}
	}
	memberCache.Store(t, out)
	return out
}

// Apply puts the values of a body into the members of a struct that have the fields'
// names in JSON. What is not there stays, null is the zero value; Ruled fields are
// passed over. The table has to fit the struct: see fit.
func (f Fields) Apply(v Values, target any) {
	dest := reflect.ValueOf(target).Elem()
	members := membersOf(dest.Type())
	for i := range f {
		value, present := v[f[i].Name]
		if !present || f[i].Custom {
			continue
		}
		member := dest.FieldByIndex(members[f[i].Name])
		if when, isTime := value.(time.Time); isTime {
			value = NewStamp(when)
		}
		switch {
		case value == nil:
			member.SetZero()
		case member.Kind() == reflect.Pointer:
			member.Set(reflect.New(member.Type().Elem()))
			member.Elem().Set(reflect.ValueOf(value))
		default:
			member.Set(reflect.ValueOf(value))
		}
	}
}

// checkFit reports a row that is not Ruled and has no member where it could be put.
func (f Fields) checkFit(t reflect.Type) error {
	members := membersOf(t)
	for i := range f {
		if f[i].Custom {
			continue
		}
		index, present := members[f[i].Name]
		if !present {
			return fmt.Errorf("%v has no member for the field %s", t, f[i].Name)
		}
		member := t.FieldByIndex(index).Type
		if member.Kind() == reflect.Pointer {
			member = member.Elem()
		}
		if member != memberTypes[f[i].Type] {
			return fmt.Errorf("the field %s is kept as %v and not as %v", f[i].Name, memberTypes[f[i].Type], member)
		}
	}
	return nil
}
